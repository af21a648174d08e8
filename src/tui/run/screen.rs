//! The screen of the running program: guard and painter together, one write per frame.

use std::io;

use crate::protocol::Millis;
use crate::tui::state::State;
use crate::tui::term::guard::{Guard, write_all};
use crate::tui::term::osc;
use crate::tui::term::paint::Painter;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::link::Links;
use crate::tui::view;

/// Where frames go.
#[derive(Debug)]
pub(super) struct Screen {
    guard: Guard,
    painter: Painter,
    /// To be written in front of the next frame: entering the screen.
    before: String,
    title: String,
    /// The normal screen shows the conversation; any key comes back.
    pub(super) printed: bool,
}

impl Screen {
    pub(super) fn new(guard: Guard) -> Self {
        let (width, height) = size();
        Self {
            guard,
            painter: Painter::new(width, height),
            before: String::new(),
            title: String::new(),
            printed: false,
        }
    }

    /// The terminal's size; 80×24 if it does not say.
    pub(super) fn measure(&mut self) -> (u16, u16) {
        let (width, height) = size();
        // It may have been small for a moment and be as large as before again: what the terminal cut
        // off then is gone.
        self.painter.forget();
        self.painter.resize(width, height);
        (width, height)
    }

    /// Where cells lead to.
    pub(super) fn set_links(&mut self, links: Links) {
        self.painter.set_links(links);
    }

    /// Raw mode; the rest goes out with the next frame.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        self.before = self.guard.enter()?;
        self.painter.forget();
        self.printed = false;
        self.title.clear();
        Ok(())
    }

    /// Bytes in front of the next frame.
    pub(super) fn first(&mut self, bytes: &str) {
        self.before.push_str(bytes);
    }

    /// Gives the terminal back for a while.
    pub(super) fn leave(&mut self) {
        self.guard.leave();
    }

    /// Everything is drawn with the next frame.
    pub(super) fn forget(&mut self) {
        self.painter.forget();
    }

    /// Draws a frame; writes nothing if nothing changed. Gives when the screen changes by itself.
    pub(super) fn draw(&mut self, state: &mut State, now: Millis) -> io::Result<Option<Millis>> {
        // Given back already: the end waits for the agent, or the conversation is printed.
        if self.printed || !self.guard.is_active() {
            return Ok(None);
        }
        let drawn = view::draw(state, self.painter.canvas(), now);
        state.spots = drawn.spots;
        let title = state.title();
        if title != self.title {
            self.painter
                .also(osc::title(&Safe::strip(&title)).as_bytes());
            self.title = title;
        }
        let seen = state.seen_pictures(self.painter.canvas_drawn());
        let rests = self.painter.pictures(&seen, now);
        self.guard.when_left(self.painter.farewell());
        let bytes = self
            .painter
            .frame(&std::mem::take(&mut self.before), drawn.cursor)?;
        write_all(bytes)?;
        Ok([drawn.next, rests].into_iter().flatten().min())
    }

    /// Bytes that go along in the next frame.
    pub(super) fn also(&mut self, bytes: &str) {
        self.painter.also(bytes.as_bytes());
    }

    /// Prints text to the normal screen and stays there until `enter`.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.guard.show_normal_screen();
        self.printed = true;
        let mut out = String::with_capacity(text.len() + 64);
        for line in text.lines() {
            out.push_str(Safe::strip(line).as_str());
            out.push_str("\r\n");
        }
        out.push_str("\r\n\x1b[2mpress any key to return\x1b[0m");
        write_all(out.as_bytes())
    }
}

/// Columns and rows of pixels of one cell, if the terminal says.
pub(super) fn cell_pixels() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    let width = size.ws_xpixel.checked_div(size.ws_col)?;
    let height = size.ws_ypixel.checked_div(size.ws_row)?;
    (width > 0 && height > 0).then_some((width, height))
}

fn size() -> (u16, u16) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}
