//! The transcript: a list of cells, the place in it that is on screen, selection and search.
//!
//! The view renders it, `update` applies events and keys to it. Pure: no I/O, no clock (`now` is
//! passed in), no thread before `poll_highlights`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::{Event, MessageId, Millis, PartId};
use crate::tui::term::sanitise::Safe;
use crate::tui::theme::Theme;

/// How a frame is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Styles and glyphs.
    pub theme: &'a Theme,
    /// The time, for running durations and countdowns.
    pub now: Millis,
    /// The spinner's tick.
    pub spinner: usize,
    /// False: nothing moves.
    pub motion: bool,
    /// The key that shows hidden lines, e.g. `ctrl+e`.
    pub unfold_key: &'a str,
}

impl<'a> Look<'a> {
    /// A look with motion and the default keys.
    pub const fn new(theme: &'a Theme, now: Millis) -> Self {
        Self {
            theme,
            now,
            spinner: 2,
            motion: true,
            unfold_key: "ctrl+e",
        }
    }
}

/// What a frame showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// True if the newest row is on screen.
    pub at_bottom: bool,
    /// When scrolled up: first line of the prompt that the top row stands under, already drawn in
    /// the area's first row.
    pub sticky: Option<Safe>,
    /// True if something on screen changes with time (spinner, seconds): ask for a tick.
    pub animating: bool,
    /// True if something came since the bottom was left.
    pub new_activity: bool,
}

/// The transcript.
#[derive(Debug, Default)]
pub struct Transcript {}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
    /// Takes an event in; events that say nothing to a transcript are ignored.
    pub fn apply(&mut self, event: &Event, now: Millis) {
        let _ = (event, now);
    }
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
    /// True if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        true
    }
    /// Draws what is visible; the newest row stands at the bottom of `area`.
    pub fn render(&mut self, area: Rect, buf: &mut Buffer, look: &Look<'_>) -> Rendered {
        let _ = (area, buf, look);
        Rendered {
            at_bottom: true,
            ..Rendered::default()
        }
    }
    /// Scrolls by rows; negative is up.
    pub fn scroll_lines(&mut self, delta: i32) {
        let _ = delta;
    }
    /// Scrolls by screens (less two rows); negative is up.
    pub fn page(&mut self, delta: i32) {
        let _ = delta;
    }
    /// To the first row of what is loaded.
    pub fn to_top(&mut self) {}
    /// To the newest row, and stays there.
    pub fn to_bottom(&mut self) {}
    /// True if it stays at the newest row.
    pub fn is_at_bottom(&self) -> bool {
        true
    }
    /// To the prompt before (negative) or after (positive) the top row.
    pub fn jump_prompt(&mut self, delta: i32) {
        let _ = delta;
    }
    /// Folds or unfolds the cell at a row of the last area (0 is its first row); true if it did.
    pub fn toggle_fold_at(&mut self, row: u16) -> bool {
        let _ = row;
        false
    }
    /// Folds or unfolds the newest cell that can be; true if there is one.
    pub fn toggle_fold_last(&mut self) -> bool {
        false
    }
    /// The tool part shown at a row of the last area, for `Op::ReadOutput`.
    pub fn part_at(&self, row: u16) -> Option<PartId> {
        let _ = row;
        None
    }
    /// Begins a selection at a column and row of the last area.
    pub fn select_start(&mut self, column: u16, row: u16) {
        let _ = (column, row);
    }
    /// Moves its end.
    pub fn select_drag(&mut self, column: u16, row: u16) {
        let _ = (column, row);
    }
    /// Ends it; a selection of nothing is cleared.
    pub fn select_end(&mut self, column: u16, row: u16) {
        let _ = (column, row);
    }
    /// Forgets it.
    pub fn clear_selection(&mut self) {}
    /// True if something is selected.
    pub fn has_selection(&self) -> bool {
        false
    }
    /// What is selected: without gutters, unwrapped.
    pub fn selected_text(&mut self) -> Option<String> {
        None
    }
    /// Searches what is loaded (smart case); marks the hits; gives their number. Empty: ends it.
    pub fn find(&mut self, query: &str) -> usize {
        let _ = query;
        0
    }
    /// To the next hit below; its number from 1.
    pub fn find_next(&mut self) -> Option<usize> {
        None
    }
    /// To the next hit above; its number from 1.
    pub fn find_prev(&mut self) -> Option<usize> {
        None
    }
    /// All that is loaded as plain text of that width.
    pub fn plain_text(&mut self, width: u16) -> String {
        let _ = width;
        String::new()
    }
    /// The last thing the assistant said, as Markdown.
    pub fn last_answer(&self) -> Option<String> {
        None
    }
    /// The text of the cell at a row of the last area, for copying.
    pub fn cell_text_at(&mut self, row: u16) -> Option<String> {
        let _ = row;
        None
    }
    /// The oldest loaded message, once, when the top of what is loaded comes near and there is more
    /// before it: send `Op::LoadOlder`.
    pub fn wants_older(&mut self) -> Option<MessageId> {
        None
    }
    /// Takes in highlighting results and hands new work to the worker, which starts with the first
    /// piece of work. Call after a frame and on `wake`. True: draw again.
    pub fn poll_highlights(&mut self) -> bool {
        false
    }
    /// Called from the worker's thread when results are ready.
    pub fn set_waker(&mut self, wake: std::sync::Arc<dyn Fn() + Send + Sync>) {
        drop(wake);
    }
}
