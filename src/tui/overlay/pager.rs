//! A long text to read: a tool's full output, the plan, the session's facts.
//!
//! Lines are broken where the window ends, so nothing is cut. Only the lines on screen are laid out,
//! however long the text is: the place is a line and a row of it.

use std::cell::Cell as Measured;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::scroll::{self, Turn};
use super::{Frame, Outcome, footer};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Keymap};
use crate::tui::state::State;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::width::columns;
use crate::tui::text::wrap::{self, Prefix};
use crate::tui::text::{self, Styled};
use crate::tui::view::row::Row;

/// Columns that the words of a hanging line need at least.
const WORDS: usize = 20;
/// A name in front of its words takes no more columns.
const NAMES: usize = 24;

/// Where the rest of a broken line stands: under its first word, or in a line of a name and its words
/// under these.
fn hang_of(line: &str) -> Option<usize> {
    let indent = columns(line) - columns(line.trim_start());
    let gap = line
        .trim_start()
        .find("  ")
        .map(|at| at + line.len() - line.trim_start().len());
    let second = gap.and_then(|gap| {
        let rest = line.get(gap..)?;
        let words = rest.trim_start();
        (!words.is_empty()).then(|| columns(line) - columns(words))
    });
    let hang = second.filter(|at| *at <= NAMES).unwrap_or(indent);
    (hang > 0).then_some(hang)
}

/// A text and the place in it.
#[derive(Debug, Clone)]
pub struct Pager {
    title: &'static str,
    lines: Vec<Vec<(Safe, Style)>>,
    /// Broken at words; else where the window ends, as a terminal does.
    prose: bool,
    /// The first line on screen, and which of its rows.
    top: (usize, usize),
    /// Columns and rows of the last frame, for moves.
    window: Measured<(usize, usize)>,
}

impl Pager {
    /// Output of a tool: its colours stay.
    pub fn output(title: &'static str, text: &str) -> Self {
        Self {
            title,
            lines: Safe::strip_styled(text),
            prose: false,
            top: (0, 0),
            window: Measured::new((80, 24)),
        }
    }

    /// Sentences: broken at words.
    pub fn prose(title: &'static str, text: &str) -> Self {
        Self {
            prose: true,
            ..Self::output(title, text)
        }
    }

    /// Plain lines of our own.
    pub fn lines(title: &'static str, lines: &[String]) -> Self {
        Self::prose(title, &lines.join("\n"))
    }

    /// True if this is its title.
    pub fn is(&self, title: &str) -> bool {
        self.title == title
    }

    /// A line in rows of the window's width.
    fn rows(&self, line: usize, width: usize) -> Vec<text::Row> {
        let mut styled = Styled::new();
        for (piece, style) in self.lines.get(line).into_iter().flatten() {
            styled.push(piece, *style);
        }
        let none = Prefix::blank(0);
        if self.prose {
            let hang = hang_of(styled.as_str()).filter(|hang| hang + WORDS <= width);
            let rest = Prefix::blank(hang.unwrap_or(0));
            wrap::wrap(&styled, &none, &rest, width.max(2))
        } else {
            wrap::chop(&styled, &none, &none, width.max(2))
        }
    }

    fn height_of(&self, line: usize) -> usize {
        self.rows(line, self.window.get().0).len().max(1)
    }

    /// Moves by rows; the last one stays at the window's end.
    pub fn scroll(&mut self, delta: isize) {
        let (mut line, mut row) = self.top;
        for _ in 0..delta.unsigned_abs().min(10_000) {
            if delta < 0 {
                match (row.checked_sub(1), line.checked_sub(1)) {
                    (Some(above), _) => row = above,
                    (None, Some(before)) => (line, row) = (before, self.height_of(before) - 1),
                    (None, None) => break,
                }
            } else if row + 1 < self.height_of(line) {
                row += 1;
            } else if line + 1 < self.lines.len() {
                (line, row) = (line + 1, 0);
            } else {
                break;
            }
        }
        self.top = (line, row).min(self.last_top());
    }

    /// The place from which the last row is the window's last one.
    fn last_top(&self) -> (usize, usize) {
        let mut left = self.window.get().1.max(1);
        for line in (0..self.lines.len()).rev() {
            let height = self.height_of(line);
            if height >= left {
                return (line, height - left);
            }
            left -= height;
        }
        (0, 0)
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let page = self.window.get().1.saturating_sub(2).max(1).cast_signed();
        match Turn::of(key, keys) {
            Some(Turn::Rows(rows)) => self.scroll(rows),
            Some(Turn::Pages(pages)) => self.scroll(pages * page),
            Some(Turn::Top) => self.top = (0, 0),
            Some(Turn::Bottom) => self.top = self.last_top(),
            Some(Turn::Close) => return Outcome::Close(Vec::new()),
            None => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let (width, height) = (frame.body.width, frame.body.height);
        self.window.set((usize::from(width), usize::from(height)));
        let end = self.last_top();
        let top = self.top.min(end);
        let mut y = frame.body.y;
        let (mut line, mut skip) = top;
        while line < self.lines.len() && y < frame.body.bottom() {
            for row in self.rows(line, usize::from(width)).iter().skip(skip) {
                if y == frame.body.bottom() {
                    break;
                }
                row.draw((frame.body.x, y), width, buf);
                y += 1;
            }
            (line, skip) = (line + 1, 0);
        }
        let mut title = Row::new().text(self.title, theme.bold());
        if end != (0, 0) {
            let place = format!("lines {}–{line} of {}", top.0 + 1, self.lines.len());
            title = title.right(&place, theme.dim());
        }
        title.draw(frame.title, buf);
        let hints = scroll::hints(end != (0, 0));
        footer(state, hints, Action::PagerClose).draw(frame.footer, buf);
        None
    }
}
