//! Help: keys by context and commands, from the two tables, in as many columns as fit.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::scroll::{self, Scroll};
use super::{Frame, Outcome, draw_rows, footer};
use crate::tui::command;
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap, TABLE};
use crate::tui::state::State;
use crate::tui::text::width::columns;
use crate::tui::text::wrap::broken;
use crate::tui::view::row::Row;

/// Columns that a column of help wants at least.
const COLUMN: u16 = 38;
/// Columns of its keys at most.
const KEYS: usize = 20;

/// Columns in which several keys stand beside one another.
const BESIDE: usize = 14;

/// Columns under which what a key does stands below it.
const WORDS: usize = 16;

/// A row of help: keys, what they do, and where that stands (0 for a heading).
type Shown = (String, String, usize);

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
    scroll: Scroll,
}

impl Help {
    /// From the tables as the user changed them.
    pub fn new(keys: &Keymap) -> Self {
        // What is wanted most comes first: writing, a running turn, then what holds everywhere.
        let mut contexts = Context::ALL;
        contexts.sort_by_key(|(context, _)| match context {
            Context::Composer => 0,
            Context::Running => 1,
            Context::Global => 2,
            _ => 3,
        });
        let mut sections: Vec<Vec<Line>> = contexts
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
        sections.insert(3, commands.collect());
        Self {
            sections,
            scroll: Scroll::default(),
        }
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        self.scroll.by(delta);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        // The key that opened it closes it.
        let help = keys.action(&[Context::Global], key) == Some(Action::Help);
        if help || key.text() == Some('?') {
            return Outcome::Close(Vec::new());
        }
        self.scroll.key(key, keys)
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let count = usize::from((frame.body.width / COLUMN).clamp(1, 3));
        Row::new()
            .fixed("Keys and commands", theme.bold())
            .right("change keys under [ui.keys]", theme.dim())
            .draw(frame.title, buf);
        let width = frame.body.width / count as u16;
        let all = self.columns(count, usize::from(width.saturating_sub(2)));
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        let height = usize::from(frame.body.height);
        let top = self.scroll.place(longest, height);
        for (at, lines) in all.iter().enumerate() {
            let row = |(keys, says, column): &Shown| match column {
                0 => Row::new().text(keys, theme.bold()),
                column => Row::new()
                    .text(keys, theme.accent())
                    .to(*column)
                    .text(says, theme.dim()),
            };
            let rows: Vec<Row> = lines.iter().skip(top).take(height).map(row).collect();
            let place = Rect {
                x: frame.body.x + at as u16 * width,
                width: width.saturating_sub(2),
                ..frame.body
            };
            draw_rows(rows.iter(), place, buf);
        }
        let hints = scroll::hints(self.scroll.is_long());
        footer(state, hints, Action::PagerClose).draw(frame.footer, buf);
        None
    }

    /// Sections dealt into columns of about the same height, in order, each line in as many rows
    /// as it takes.
    fn columns(&self, count: usize, width: usize) -> Vec<Vec<Shown>> {
        let sections: Vec<_> = self.sections.iter().map(|s| section(s, width)).collect();
        let total: usize = sections.iter().map(Vec::len).sum();
        let goal = total.div_ceil(count.max(1));
        let mut columns: Vec<Vec<Shown>> = vec![Vec::new()];
        for section in sections {
            let full = columns
                .last()
                .is_some_and(|c| !c.is_empty() && c.len() + section.len() / 2 > goal);
            if full && columns.len() < count {
                columns.push(Vec::new());
            }
            if let Some(column) = columns.last_mut() {
                column.extend(section);
            }
        }
        columns
    }
}

/// The rows of a section in so many columns.
fn section(lines: &[Line], width: usize) -> Vec<Shown> {
    let longest = lines.iter().filter_map(|line| match line {
        Line::Entry(keys, _) if columns(keys) <= BESIDE => Some(columns(keys)),
        Line::Entry(keys, _) => keys.split("  ").map(columns).max(),
        _ => None,
    });
    let keys_room = longest.max().unwrap_or(0).min(KEYS);
    let at = keys_room + 2;
    let below = width < at + WORDS;
    let mut rows = Vec::new();
    for line in lines {
        let (keys, says) = match line {
            Line::Heading(text) => {
                rows.push(((*text).to_owned(), String::new(), 0));
                continue;
            }
            Line::Blank => {
                rows.push((String::new(), String::new(), 0));
                continue;
            }
            Line::Entry(keys, says) => (keys, says),
        };
        if below {
            let keys = broken(keys, width.max(4)).into_iter();
            rows.extend(keys.map(|key| (key.to_owned(), String::new(), 1)));
            let says = broken(says, width.saturating_sub(2).max(4)).into_iter();
            rows.extend(says.map(|line| (String::new(), line.to_owned(), 2)));
            continue;
        }
        // Keys that do not fit beside one another stand below one another.
        let keys: Vec<&str> = if columns(keys) <= keys_room {
            vec![keys]
        } else {
            let each = keys.split("  ");
            each.flat_map(|key| broken(key, keys_room)).collect()
        };
        let says = broken(says, width.saturating_sub(at).max(8));
        for n in 0..keys.len().max(says.len()) {
            let piece = |pieces: &[&str]| pieces.get(n).copied().unwrap_or_default().to_owned();
            rows.push((piece(&keys), piece(&says), at));
        }
    }
    rows
}
