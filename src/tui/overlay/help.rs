//! Help: keys by context and commands, from the two tables, in as many columns as fit.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::{Frame, Outcome, draw_rows, footer};
use crate::tui::command;
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap, TABLE};
use crate::tui::state::State;
use crate::tui::view::row::Row;

const COLUMN: u16 = 52;

/// One line of help.
#[derive(Debug, Clone)]
enum Line {
    Heading(&'static str),
    Entry(String, String),
    Blank,
}

/// The lines, and how far they are scrolled.
#[derive(Debug, Clone)]
pub struct Help {
    sections: Vec<Vec<Line>>,
    top: usize,
}

impl Help {
    /// From the tables as the user changed them.
    pub fn new(keys: &Keymap) -> Self {
        let mut sections: Vec<Vec<Line>> = Context::ALL
            .iter()
            .map(|(context, heading)| {
                let rows = TABLE.iter().filter(|row| row.context == *context);
                let entries =
                    rows.map(|row| Line::Entry(keys.keys(row.action), row.says.to_owned()));
                std::iter::once(Line::Heading(heading))
                    .chain(entries)
                    .chain([Line::Blank])
                    .collect()
            })
            .collect();
        let commands = command::TABLE.iter().map(|row| {
            Line::Entry(
                format!("/{} {}", row.name, row.takes).trim_end().to_owned(),
                row.says.to_owned(),
            )
        });
        let commands = std::iter::once(Line::Heading("Commands"))
            .chain(commands)
            .chain([Line::Blank]);
        sections.insert(2, commands.collect());
        Self { sections, top: 0 }
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        let most = self
            .sections
            .iter()
            .map(Vec::len)
            .sum::<usize>()
            .saturating_sub(1);
        self.top = self.top.saturating_add_signed(delta).min(most);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Pager, Context::Global], key) {
            Some(Action::PagerUp) => self.scroll(-1),
            Some(Action::PagerDown) => self.scroll(1),
            Some(Action::PageUp) => self.scroll(-20),
            Some(Action::PageDown) => self.scroll(20),
            Some(Action::PagerTop) => self.top = 0,
            Some(Action::PagerClose | Action::Help) => return Outcome::Close(Vec::new()),
            _ if key.text() == Some('?') => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let columns = usize::from((frame.body.width / COLUMN).clamp(1, 3));
        Row::new()
            .fixed("Keys and commands", theme.bold())
            .right("change keys under [ui.keys]", theme.dim())
            .draw(frame.title, buf);
        let width = frame.body.width / columns as u16;
        let deep = usize::from(width).min(24);
        let all = self.columns(columns);
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        let top = self.top.min(longest.saturating_sub(1));
        for (at, lines) in all.iter().enumerate() {
            let rows: Vec<Row> = lines
                .iter()
                .skip(top)
                .take(usize::from(frame.body.height))
                .map(|line| match line {
                    Line::Heading(text) => Row::new().text(text, theme.bold()),
                    Line::Entry(keys, says) => Row::new()
                        .text(keys, theme.accent())
                        .to(deep)
                        .text(says, theme.dim()),
                    Line::Blank => Row::new(),
                })
                .collect();
            let x = frame.body.x + at as u16 * width;
            draw_rows(
                rows.iter(),
                Rect {
                    x,
                    width: width.saturating_sub(2),
                    ..frame.body
                },
                buf,
            );
        }
        footer(
            state,
            &[(Action::PagerDown, "down"), (Action::PageDown, "page")],
            Action::PagerClose,
        )
        .draw(frame.footer, buf);
        None
    }

    /// Sections dealt into columns of about the same height, in order.
    fn columns(&self, count: usize) -> Vec<Vec<Line>> {
        let total: usize = self.sections.iter().map(Vec::len).sum();
        let goal = total.div_ceil(count.max(1));
        let mut columns: Vec<Vec<Line>> = vec![Vec::new()];
        for section in &self.sections {
            let full = columns
                .last()
                .is_some_and(|c| !c.is_empty() && c.len() + section.len() / 2 > goal);
            if full && columns.len() < count {
                columns.push(Vec::new());
            }
            if let Some(column) = columns.last_mut() {
                column.extend(section.iter().cloned());
            }
        }
        columns
    }
}
