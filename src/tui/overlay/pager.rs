//! A long text to read: a tool's full output, the plan, the session's facts.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::{Frame, Outcome, draw_rows, footer};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::term::sanitise::Safe;
use crate::tui::view::row::Row;

/// Rows of one page up or down when the screen's height is not known.
const PAGE: isize = 20;

/// A text and the place in it.
#[derive(Debug, Clone)]
pub struct Pager {
    title: &'static str,
    lines: Vec<Vec<(Safe, Style)>>,
    top: usize,
}

impl Pager {
    /// Output of a tool: its colours stay.
    pub fn output(title: &'static str, text: &str) -> Self {
        Self {
            title,
            lines: Safe::strip_styled(text),
            top: 0,
        }
    }

    /// Plain lines of our own.
    pub fn lines(title: &'static str, lines: &[String]) -> Self {
        let lines = lines
            .iter()
            .map(|line| vec![(Safe::strip(line), Style::new())])
            .collect();
        Self {
            title,
            lines,
            top: 0,
        }
    }

    /// True if this is its title.
    pub fn is(&self, title: &str) -> bool {
        self.title == title
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        let last = self.lines.len().saturating_sub(1);
        self.top = self.top.saturating_add_signed(delta).min(last);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Pager, Context::Global], key) {
            Some(Action::PagerUp) => self.scroll(-1),
            Some(Action::PagerDown) => self.scroll(1),
            Some(Action::PageUp) => self.scroll(-PAGE),
            Some(Action::PageDown) => self.scroll(PAGE),
            Some(Action::PagerTop) => self.top = 0,
            Some(Action::PagerBottom) => self.scroll(isize::MAX),
            Some(Action::PagerClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let place = format!("{} of {}", self.top + 1, self.lines.len().max(1));
        Row::new()
            .text(self.title, theme.bold())
            .right(&place, theme.dim())
            .draw(frame.title, buf);
        let rows: Vec<Row> = self
            .lines
            .iter()
            .skip(self.top)
            .take(usize::from(frame.body.height))
            .map(|line| {
                line.iter().fold(Row::new(), |row, (text, style)| {
                    row.safe(text.clone(), *style)
                })
            })
            .collect();
        draw_rows(rows.iter(), frame.body, buf);
        let hints = [
            (Action::PagerDown, "down"),
            (Action::PageDown, "page"),
            (Action::PagerBottom, "end"),
        ];
        footer(state, &hints, Action::PagerClose).draw(frame.footer, buf);
        None
    }
}
