//! Two screens in memory and the bytes that turn one into the other.
//!
//! `run` draws into `next`, then asks for the frame: ONE synchronized update around hide-cursor,
//! changes, place-cursor. If nothing changed there are no bytes. What else must reach the terminal
//! (title, notification, clipboard) rides behind a frame. Never writes by itself.

use std::io;

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?25l";
const END: &[u8] = b"\x1b[?2026l";
const CAPACITY: usize = 64 * 1_024;

/// The screen as the terminal has it, and the bytes of the next frame.
#[derive(Debug)]
pub struct Painter {
    shown: Buffer,
    next: Buffer,
    cursor: Option<Position>,
    /// The terminal's content is not what `shown` says: draw everything.
    stale: bool,
    bytes: Vec<u8>,
    extra: Vec<u8>,
}

impl Painter {
    /// A painter for a screen of that size. `entered`: what to write before the first frame.
    pub fn new(width: u16, height: u16) -> Self {
        let area = Rect::new(0, 0, width, height);
        Self {
            shown: Buffer::empty(area),
            next: Buffer::empty(area),
            cursor: None,
            stale: true,
            bytes: Vec::with_capacity(CAPACITY),
            extra: Vec::new(),
        }
    }

    /// The screen has another size now; everything is drawn again.
    pub fn resize(&mut self, width: u16, height: u16) {
        let area = Rect::new(0, 0, width, height);
        if area != self.next.area {
            self.shown = Buffer::empty(area);
            self.next = Buffer::empty(area);
            self.stale = true;
        }
    }

    /// What the terminal shows is not known any more: draw everything.
    pub const fn forget(&mut self) {
        self.stale = true;
    }

    /// The size.
    pub const fn area(&self) -> Rect {
        self.next.area
    }

    /// An empty screen to draw the next frame into.
    pub fn canvas(&mut self) -> &mut Buffer {
        self.next.reset();
        &mut self.next
    }

    /// Bytes that follow the next frame in the same write: title, notification, clipboard.
    pub fn also(&mut self, bytes: &[u8]) {
        self.extra.extend_from_slice(bytes);
    }

    /// The bytes that show `next` with the cursor there (hidden if none); empty if nothing changed.
    /// `before` is written in front, outside the frame (entering the screen).
    pub fn frame(&mut self, before: &str, cursor: Option<Position>) -> io::Result<&[u8]> {
        self.bytes.clear();
        self.bytes.extend_from_slice(before.as_bytes());
        if self.stale {
            self.shown.reset();
        }
        let mut updates = self.shown.diff_iter(&self.next).peekable();
        let changed = updates.peek().is_some();
        if changed || self.stale || cursor != self.cursor {
            self.bytes.extend_from_slice(BEGIN);
            if self.stale {
                self.bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
            }
            if changed {
                CrosstermBackend::new(&mut self.bytes).draw(updates)?;
            }
            if let Some(at) = cursor {
                let place = format!("\x1b[{};{}H\x1b[?25h", at.y + 1, at.x + 1);
                self.bytes.extend_from_slice(place.as_bytes());
            }
            self.bytes.extend_from_slice(END);
            std::mem::swap(&mut self.shown, &mut self.next);
            self.cursor = cursor;
            self.stale = false;
        }
        self.bytes.append(&mut self.extra);
        Ok(&self.bytes)
    }

    /// What the terminal shows now.
    pub const fn shown(&self) -> &Buffer {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::{Color, Style};

    fn screen(rows: u16, cols: u16) -> vt100::Parser {
        let size = |n| std::num::NonZero::new(n).expect("not empty");
        vt100::Parser::new(size(rows), size(cols), 0)
    }

    fn count(bytes: &[u8], what: &[u8]) -> usize {
        bytes.windows(what.len()).filter(|w| *w == what).count()
    }

    #[test]
    fn a_frame_is_one_synchronized_update_and_a_second_one_is_nothing() {
        let mut painter = Painter::new(20, 3);
        painter
            .canvas()
            .set_string(0, 1, "hallo 日本", Style::new().fg(Color::Cyan));
        let at = Some(Position::new(3, 1));
        let bytes = painter.frame("", at).expect("a frame").to_vec();
        assert!(bytes.starts_with(BEGIN) && bytes.ends_with(END));
        assert_eq!(count(&bytes, BEGIN), 1);
        let mut terminal = screen(3, 20);
        terminal.process(&bytes);
        assert_eq!(terminal.screen().contents().trim(), "hallo 日本");
        assert_eq!(terminal.screen().cursor_position(), (1, 3));
        painter
            .canvas()
            .set_string(0, 1, "hallo 日本", Style::new().fg(Color::Cyan));
        assert_eq!(painter.frame("", at).expect("a frame"), b"");
    }

    #[test]
    fn only_what_changed_is_written() {
        let mut painter = Painter::new(80, 24);
        for (text, most) in [("one", 400), ("two", 60)] {
            painter.canvas().set_string(0, 0, text, Style::new());
            let bytes = painter.frame("", None).expect("a frame");
            assert!(bytes.len() < most, "{} bytes", bytes.len());
        }
    }

    #[test]
    fn a_resize_draws_everything_again() {
        let mut painter = Painter::new(10, 2);
        painter.canvas().set_string(0, 0, "abc", Style::new());
        painter.frame("", None).expect("a frame");
        painter.resize(12, 2);
        painter.canvas().set_string(0, 0, "abc", Style::new());
        let bytes = painter.frame("", None).expect("a frame");
        assert!(count(bytes, b"\x1b[2J") == 1 && count(bytes, b"abc") == 1);
    }

    #[test]
    fn a_title_rides_behind_the_frame() {
        let mut painter = Painter::new(10, 2);
        painter.canvas();
        painter.frame("", None).expect("a frame");
        painter.also(b"\x1b]2;t\x07");
        painter.canvas();
        assert_eq!(painter.frame("", None).expect("a frame"), b"\x1b]2;t\x07");
    }
}
