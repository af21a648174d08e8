//! Two screens in memory and the bytes that turn one into the other.
//!
//! `run` draws into `next`, then asks for the frame: ONE synchronized update around hide-cursor,
//! moved rows (`shift`), changes, place-cursor. If nothing changed there are no bytes. What else must reach the terminal
//! (title, notification, clipboard) goes along inside. Never writes by itself.

use std::io;

use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::{Position, Rect};

use super::gallery::{Gallery, Seen};
use super::shift;
use super::write;
use crate::protocol::Millis;
use crate::tui::text::link::Links;

const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?25l";
const END: &[u8] = b"\x1b[?2026l";
const CAPACITY: usize = 64 * 1_024;
/// Columns to the next change that are bridged: going there takes six to eight bytes.
const BRIDGE: u16 = 7;

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
    gallery: Gallery,
    links: Links,
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
            gallery: Gallery::default(),
            links: Links::default(),
        }
    }

    /// Where cells lead to.
    pub fn set_links(&mut self, links: Links) {
        self.links = links;
    }

    /// The pictures of the next frame. Gives when the screen changes by itself because of them.
    pub fn pictures(&mut self, seen: &[Seen], now: Millis) -> Option<Millis> {
        self.gallery.plan(seen, self.next.area, now)
    }

    /// What takes the pictures back that the terminal holds.
    pub fn farewell(&self) -> String {
        self.gallery.farewell()
    }

    /// The next frame as far as it is drawn.
    pub const fn canvas_drawn(&self) -> &Buffer {
        &self.next
    }

    /// The screen has another size now; everything is drawn again.
    pub fn resize(&mut self, width: u16, height: u16) {
        let area = Rect::new(0, 0, width, height);
        if area != self.next.area {
            self.shown = Buffer::empty(area);
            self.next = Buffer::empty(area);
            self.stale = true;
            self.gallery.cleared();
        }
    }

    /// What the terminal shows is not known any more: draw everything.
    pub fn forget(&mut self) {
        self.stale = true;
        self.gallery.lost();
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

    /// Bytes that go along in the next frame, which there is then: title, notification, clipboard.
    pub fn also(&mut self, bytes: &[u8]) {
        self.extra.extend_from_slice(bytes);
    }

    /// The bytes that show `next` with the cursor there (hidden if none); empty if nothing changed.
    /// `before` is written in front, outside the frame (entering the screen).
    pub fn frame(&mut self, before: &str, cursor: Option<Position>) -> io::Result<&[u8]> {
        self.bytes.clear();
        self.bytes.extend_from_slice(before.as_bytes());
        self.bytes
            .extend_from_slice(self.gallery.before().as_bytes());
        let moved = if self.stale {
            self.shown.reset();
            None
        } else if self.gallery.paints() {
            self.gallery.uncover(&mut self.shown);
            None
        } else {
            shift::find(&self.shown, &self.next)
        };
        if let Some(moved) = moved {
            moved.apply(&mut self.shown);
        }
        let mut updates = self.shown.diff_iter(&self.next).peekable();
        let changed = updates.peek().is_some();
        let painted = !self.gallery.after().is_empty();
        let extra = std::mem::take(&mut self.extra);
        if changed
            || moved.is_some()
            || self.stale
            || painted
            || cursor != self.cursor
            || !extra.is_empty()
        {
            self.bytes.extend_from_slice(BEGIN);
            if self.stale {
                self.bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
            }
            if let Some(moved) = moved {
                self.bytes.extend_from_slice(moved.bytes().as_bytes());
            }
            if changed {
                let updates = bridged(&self.next, updates);
                write::cells(&updates, self.next.area.width, &self.links, &mut self.bytes)?;
            }
            self.bytes
                .extend_from_slice(self.gallery.after().as_bytes());
            self.bytes.extend_from_slice(&extra);
            if let Some(at) = cursor {
                let place = format!("\x1b[{};{}H\x1b[?25h", at.y + 1, at.x + 1);
                self.bytes.extend_from_slice(place.as_bytes());
            }
            self.bytes.extend_from_slice(END);
            std::mem::swap(&mut self.shown, &mut self.next);
            self.cursor = cursor;
            self.stale = false;
        }
        Ok(&self.bytes)
    }

    /// What the terminal shows now.
    pub const fn shown(&self) -> &Buffer {
        &self.shown
    }
}

/// The updates, short gaps between them filled: writing a few cells again costs less than going to
/// a place.
fn bridged<'a>(
    next: &'a Buffer,
    updates: impl Iterator<Item = (u16, u16, &'a Cell)>,
) -> Vec<(u16, u16, &'a Cell)> {
    let looks = |cell: &Cell| (cell.fg, cell.bg, cell.underline_color, cell.modifier);
    let mut all: Vec<(u16, u16, &Cell)> = Vec::new();
    for (x, y, cell) in updates {
        if let Some(&(last, row, before)) = all.last()
            && row == y
            && x > last + 1
            && x <= last + BRIDGE
            && before.symbol().is_ascii()
            && before.diff_option == CellDiffOption::None
        {
            let gap = (last + 1..x).map(|x| (x, &next[(x, y)]));
            let same = |(_, gap): (u16, &Cell)| {
                gap.symbol().is_ascii()
                    && gap.diff_option == CellDiffOption::None
                    && looks(gap) == looks(before)
            };
            if gap.clone().all(same) {
                all.extend(gap.map(|(x, cell)| (x, y, cell)));
            }
        }
        all.push((x, y, cell));
    }
    all
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
    fn an_address_stands_around_its_cells_and_nowhere_else() {
        let links = Links::default();
        links.switch(true);
        let mut painter = Painter::new(30, 2);
        painter.set_links(links.clone());
        let canvas = painter.canvas();
        canvas.set_string(0, 0, "see ", Style::new());
        canvas.set_string(4, 0, "docs", links.to("https://docs.rs/a"));
        canvas.set_string(8, 0, " now", Style::new());
        let bytes = painter.frame("", None).expect("a frame").to_vec();
        let text = String::from_utf8(bytes.clone()).expect("text");
        let (before, rest) = text
            .split_once("\x1b]8;id=d0;https://docs.rs/a\x1b\\")
            .expect("begins");
        let (inside, after) = rest.split_once("\x1b]8;;\x1b\\").expect("ends");
        assert!(before.contains("see") && inside.contains("docs") && after.contains("now"));
        assert!(!text.contains("\x1b[58"), "no underline colour: {text:?}");
        let mut terminal = screen(2, 30);
        terminal.process(&bytes);
        assert_eq!(terminal.screen().contents().trim(), "see docs now");
        painter
            .canvas()
            .set_string(0, 0, "see docs now", Style::new());
        let bytes = painter.frame("", None).expect("a frame");
        assert_eq!(count(bytes, b"docs"), 1, "it leads nowhere now");
    }

    fn picture(escape: &str) -> Seen {
        use crate::tui::picture::{Made, way::Way};
        let made = Made {
            id: 7,
            way: Way::Sixel,
            cols: 4,
            rows: 2,
            pixels: (40, 40),
            halves: vec![[1, 2, 3]; 16],
            escape: escape.to_owned(),
        };
        Seen {
            made: std::sync::Arc::new(made),
            area: Rect::new(2, 1, 4, 2),
            whole: true,
        }
    }

    #[test]
    fn what_a_painted_picture_covered_is_drawn_again_when_it_goes() {
        let mut painter = Painter::new(20, 6);
        let draw = |painter: &mut Painter, seen: &[Seen], now| {
            painter.canvas().set_string(2, 1, "half", Style::new());
            painter.pictures(seen, now);
            painter.frame("", None).expect("a frame").to_vec()
        };
        let here = [picture("\x1bPpixels\x1b\\")];
        assert_eq!(count(&draw(&mut painter, &here, 0), b"pixels"), 0);
        let bytes = draw(&mut painter, &here, 1_000);
        assert_eq!(count(&bytes, b"pixels"), 1);
        assert!(bytes.starts_with(BEGIN) && bytes.ends_with(END));
        assert_eq!(draw(&mut painter, &here, 2_000), b"", "painted once");
        let bytes = draw(&mut painter, &[], 3_000);
        assert_eq!(count(&bytes, b"half"), 1, "its cells are drawn again");
        assert_eq!(draw(&mut painter, &[], 4_000), b"");
    }

    #[test]
    fn a_title_goes_along_in_a_frame() {
        let mut painter = Painter::new(10, 2);
        painter.canvas();
        painter.frame("", None).expect("a frame");
        painter.also(b"\x1b]2;t\x07");
        painter.canvas();
        let bytes = painter.frame("", None).expect("a frame");
        assert!(bytes.starts_with(BEGIN) && bytes.ends_with(END));
        assert_eq!(count(bytes, b"\x1b]2;t\x07"), 1);
        painter.canvas();
        assert_eq!(painter.frame("", None).expect("a frame"), b"", "once");
    }

    #[test]
    fn a_scrolled_screen_costs_little_more_than_its_new_rows() {
        let mut painter = Painter::new(120, 40);
        let mut sizes = Vec::new();
        for first in 0..20_u16 {
            let canvas = painter.canvas();
            for y in 0..36 {
                let words = [
                    "and", "then", "another", "line", "of", "some", "long", "answer",
                ];
                let word = |n: u16| words[usize::from((first + y) * 7 + n * 3) % 61 % 8];
                let text: Vec<_> = (0..20).map(word).collect();
                let text = format!("{} {}", first + y, text.join(" "));
                canvas.set_string(2, y, &text, Style::new());
            }
            canvas.set_string(0, 39, "the foot stands still", Style::new().fg(Color::Cyan));
            sizes.push(painter.frame("", None).expect("a frame").len());
        }
        assert!(
            sizes[0] > 3_000 && sizes[1..].iter().all(|size| *size < 250),
            "{sizes:?}"
        );
    }

    /// Rows of all kinds; none whose width terminals do not agree on.
    fn fill(canvas: &mut Buffer, rows: &[u8]) {
        const ROWS: [&str; 6] = [
            "",
            "a row of some length that many share",
            "日本語の行 with some words behind it",
            "    indented(code, with(calls)); // and a comment",
            "👍 é and what joins nothing",
            "the very last one",
        ];
        for (y, n) in rows.iter().enumerate() {
            let style = match n % 3 {
                0 => Style::new(),
                1 => Style::new().fg(Color::Red).bg(Color::Indexed(17)),
                _ => Style::new().fg(Color::Rgb(1, 2, 3)).bold(),
            };
            canvas.set_string(u16::from(n % 5), y as u16, ROWS[usize::from(*n) % 6], style);
        }
    }

    /// Every cell as it looks.
    fn look(terminal: &vt100::Parser) -> Vec<String> {
        let (rows, cols) = terminal.screen().size();
        let places = (0..rows.get()).flat_map(|y| (0..cols.get()).map(move |x| (y, x)));
        places
            .map(|(y, x)| {
                let cell = terminal.screen().cell(y, x).expect("on the screen");
                let text = if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                };
                let blank = text == " ";
                let fore = (!blank).then(|| (cell.fgcolor(), cell.bold()));
                format!("{text} {:?} {fore:?}", cell.bgcolor())
            })
            .collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        /// Whatever moved where: the terminal shows what a fresh one would.
        #[test]
        fn moved_rows_leave_the_same_screen(
            pool in proptest::collection::vec(0_u8..30, 40),
            steps in proptest::collection::vec((0_usize..28, 0_usize..4, 0_usize..4), 1..12),
        ) {
            let mut painter = Painter::new(60, 12);
            let mut terminal = screen(12, 60);
            for (first, head, foot) in steps {
                let mut rows = pool[first..first + 12].to_vec();
                rows[..head].fill(1);
                rows[12 - foot..].fill(3);
                fill(painter.canvas(), &rows);
                terminal.process(painter.frame("", None).expect("a frame"));
                let mut fresh = Painter::new(60, 12);
                fill(fresh.canvas(), &rows);
                let mut wanted = screen(12, 60);
                wanted.process(fresh.frame("", None).expect("a frame"));
                let cells = look(&terminal).into_iter().zip(look(&wanted)).enumerate();
                let wrong: Vec<_> = cells.filter(|(_, (is, wanted))| is != wanted).take(5).collect();
                proptest::prop_assert_eq!(wrong, vec![], "{:?}", rows);
            }
        }
    }
}
