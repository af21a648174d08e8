//! Scrolling of long pages: what their keys mean, and how far one is scrolled.
//!
//! Used by every overlay that is read and not chosen from. Keys in, a place out; draws nothing.

use std::cell::Cell as Measured;

use super::Outcome;
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};

/// What a key of long texts means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// So many rows; negative is up.
    Rows(isize),
    /// So many screens.
    Pages(isize),
    /// To the beginning.
    Top,
    /// To the end.
    Bottom,
    /// It goes.
    Close,
}

impl Turn {
    /// What this key means; none for any other.
    pub fn of(key: Key, keys: &Keymap) -> Option<Self> {
        Some(
            match keys.action(&[Context::Pager, Context::Global], key)? {
                Action::PagerUp | Action::LineUp => Self::Rows(-1),
                Action::PagerDown | Action::LineDown => Self::Rows(1),
                Action::PageUp => Self::Pages(-1),
                Action::PageDown => Self::Pages(1),
                Action::PagerTop | Action::Top => Self::Top,
                Action::PagerBottom | Action::Bottom => Self::Bottom,
                Action::PagerClose => Self::Close,
                _ => return None,
            },
        )
    }
}

/// The keys to name where a page is longer than its window; nothing where all of it shows.
pub const fn hints(is_long: bool) -> &'static [(Action, &'static str)] {
    const HINTS: [(Action, &str); 3] = [
        (Action::PagerDown, "down"),
        (Action::PageDown, "page"),
        (Action::PagerBottom, "last page"),
    ];
    if is_long { &HINTS } else { &[] }
}

/// How far a page of rows is scrolled.
#[derive(Debug, Clone, Default)]
pub struct Scroll {
    top: usize,
    /// The largest `top` that the last frame had a use for.
    last: Measured<usize>,
    /// Rows of the last frame's window.
    height: Measured<usize>,
}

impl Scroll {
    /// Moves by rows; the last one stays at the window's end.
    pub fn by(&mut self, delta: isize) {
        let to = self.top.saturating_add_signed(delta);
        self.top = to.min(self.last.get());
    }

    /// A key of long texts.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let page = self.height.get().saturating_sub(2).max(1).cast_signed();
        match Turn::of(key, keys) {
            Some(Turn::Rows(rows)) => self.by(rows),
            Some(Turn::Pages(pages)) => self.by(pages * page),
            Some(Turn::Top) => self.top = 0,
            Some(Turn::Bottom) => self.top = self.last.get(),
            Some(Turn::Close) => return Outcome::Close(Vec::new()),
            None => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// The first row to draw of so many in a window of so many.
    pub fn place(&self, rows: usize, height: usize) -> usize {
        self.last.set(rows.saturating_sub(height));
        self.height.set(height);
        self.top.min(self.last.get())
    }

    /// True if the last frame could not show all.
    pub fn is_long(&self) -> bool {
        self.last.get() > 0
    }
}
