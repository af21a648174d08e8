//! Cells → bytes: the changed cells of a frame with as few escapes as they need.
//!
//! Called by the painter for what lies between the bounds of a frame. The terminal's pen is plain before
//! and after. Not crossterm's writer: that one sets each colour and each attribute by an escape of its
//! own, resets colours that were never set, and writes blanks where a row can be erased; a full screen
//! of coloured code would take more than the 8 kB of a frame.

use std::io::{self, Write as _};

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

use crate::tui::text::link::Links;

/// A changed cell and where it stands.
pub(super) type Update<'a> = (u16, u16, &'a Cell);

/// Blanks up to the end of a row beyond which the rest of the row is erased instead.
const ERASE: usize = 4;

/// Blanks within a row beyond which they are erased and jumped over.
const JUMP: usize = 12;

/// Writes the cells; `width` is the screen's.
pub(super) fn cells(
    updates: &[Update<'_>],
    width: u16,
    links: &Links,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let mut writer = Writer {
        bytes,
        links,
        at: None,
        exact: false,
        pen: Pen::default(),
        address: Color::Reset,
    };
    let mut rest = updates;
    while let Some((first, after)) = rest.split_first() {
        let blank = blanks(rest);
        let (x, y, cell) = *first;
        let to_the_end = usize::from(x) + blank == usize::from(width);
        if (to_the_end && blank > ERASE) || blank > JUMP {
            writer.lead_to(Color::Reset)?;
            writer.go(x, y)?;
            writer.look(Pen::default())?;
            if to_the_end {
                writer.bytes.extend_from_slice(b"\x1b[K");
            } else {
                write!(writer.bytes, "\x1b[{blank}X")?;
            }
            rest = rest.get(blank..).unwrap_or_default();
            continue;
        }
        writer.lead_to(cell.underline_color)?;
        writer.go(x, y)?;
        if !writer.pen.blanks_like(cell) {
            writer.look(Pen::of(cell))?;
        }
        writer.put(cell.symbol());
        rest = after;
    }
    writer.lead_to(Color::Reset)?;
    writer.look(Pen::default())
}

/// How many cells at the beginning stand side by side and show nothing at all.
fn blanks(updates: &[Update<'_>]) -> usize {
    let Some(&(x, y, _)) = updates.first() else {
        return 0;
    };
    let nothing = |cell: &Cell| {
        is_blank(cell) && cell.bg == Color::Reset && cell.underline_color == Color::Reset
    };
    let beside = |(n, update): &(usize, &Update<'_>)| {
        update.1 == y && usize::from(update.0) == usize::from(x) + n && nothing(update.2)
    };
    updates.iter().enumerate().take_while(beside).count()
}

/// How the next cell will look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Default for Pen {
    fn default() -> Self {
        Self {
            fg: Color::Reset,
            bg: Color::Reset,
            modifier: Modifier::empty(),
        }
    }
}

impl Pen {
    const fn of(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }

    /// True if a blank looks the same with it as with its own pen: its ink shows nothing.
    fn blanks_like(&self, cell: &Cell) -> bool {
        is_blank(cell) && self.bg == cell.bg && !self.modifier.intersects(LINES)
    }
}

/// Attributes that show on a blank.
const LINES: Modifier = Modifier::UNDERLINED
    .union(Modifier::CROSSED_OUT)
    .union(Modifier::REVERSED);

/// True for a cell that shows its paper only.
fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && !cell.modifier.intersects(LINES)
}

/// What each attribute is switched on and off by. Bold and dim share their way off.
const ATTRIBUTES: [(Modifier, &str, &str); 9] = [
    (Modifier::BOLD, "1", "22"),
    (Modifier::DIM, "2", "22"),
    (Modifier::ITALIC, "3", "23"),
    (Modifier::UNDERLINED, "4", "24"),
    (Modifier::SLOW_BLINK, "5", "25"),
    (Modifier::RAPID_BLINK, "6", "25"),
    (Modifier::REVERSED, "7", "27"),
    (Modifier::HIDDEN, "8", "28"),
    (Modifier::CROSSED_OUT, "9", "29"),
];

struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    links: &'a Links,
    /// Where the cursor is, if that is sure.
    at: Option<(u16, u16)>,
    /// True if only ASCII was written since the cursor was put there: then it may be moved by steps.
    exact: bool,
    pen: Pen,
    /// The underline colour that stands for where cells lead to.
    address: Color,
}

impl Writer<'_> {
    fn go(&mut self, x: u16, y: u16) -> io::Result<()> {
        match self.at {
            Some(at) if at == (x, y) => {}
            Some((from, row)) if self.exact && row == y && from < x => {
                write!(self.bytes, "\x1b[{}C", x - from)?;
            }
            _ => {
                match x {
                    0 => write!(self.bytes, "\x1b[{}H", y + 1)?,
                    _ => write!(self.bytes, "\x1b[{};{}H", y + 1, x + 1)?,
                }
                self.exact = true;
            }
        }
        self.at = Some((x, y));
        Ok(())
    }

    /// Writes a cell's text. Terminals do not agree on how wide wide signs are: after one the cursor
    /// is put in its place.
    fn put(&mut self, symbol: &str) {
        self.bytes.extend_from_slice(symbol.as_bytes());
        let sure = symbol.is_ascii() || (symbol.width() == 1 && symbol.chars().nth(1).is_none());
        self.exact &= symbol.is_ascii();
        self.at = self.at.filter(|_| sure).map(|(x, y)| (x + 1, y));
    }

    /// Takes up another pen.
    fn look(&mut self, pen: Pen) -> io::Result<()> {
        let old = std::mem::replace(&mut self.pen, pen);
        if old == pen {
            return Ok(());
        }
        if pen == Pen::default() {
            self.bytes.extend_from_slice(b"\x1b[0m");
            return Ok(());
        }
        let mut codes: Vec<String> = Vec::new();
        let gone = old.modifier.difference(pen.modifier);
        let mut on = old.modifier;
        for (attribute, _, off) in ATTRIBUTES {
            if gone.contains(attribute) && on.contains(attribute) {
                codes.push(off.to_owned());
                // What is switched off along with it must be switched on again.
                let along = ATTRIBUTES.iter().filter(|(.., other)| *other == off);
                along.for_each(|(attribute, ..)| on.remove(*attribute));
            }
        }
        for (attribute, switch, _) in ATTRIBUTES {
            if pen.modifier.contains(attribute) && !on.contains(attribute) {
                codes.push(switch.to_owned());
            }
        }
        if old.fg != pen.fg {
            codes.push(colour(pen.fg, 30));
        }
        if old.bg != pen.bg {
            codes.push(colour(pen.bg, 40));
        }
        write!(self.bytes, "\x1b[{}m", codes.join(";"))
    }

    /// Lets what follows lead to another address, or nowhere.
    fn lead_to(&mut self, address: Color) -> io::Result<()> {
        if std::mem::replace(&mut self.address, address) == address {
            return Ok(());
        }
        match self.links.of(address) {
            // The number joins the rows of an address that is wrapped.
            Some((number, to)) => write!(self.bytes, "\x1b]8;id=d{number};{to}\x1b\\"),
            None => write!(self.bytes, "\x1b]8;;\x1b\\"),
        }
    }
}

/// A colour's code; `base` is 30 for ink and 40 for paper.
fn colour(colour: Color, base: u8) -> String {
    let named = |n: u8| (base + n).to_string();
    let bright = |n: u8| (base + 60 + n).to_string();
    match colour {
        Color::Reset => named(9),
        Color::Black => named(0),
        Color::Red => named(1),
        Color::Green => named(2),
        Color::Yellow => named(3),
        Color::Blue => named(4),
        Color::Magenta => named(5),
        Color::Cyan => named(6),
        Color::Gray => named(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
        Color::Indexed(n @ 0..8) => named(n),
        Color::Indexed(n @ 8..16) => bright(n - 8),
        Color::Indexed(n) => format!("{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn written(draw: impl FnOnce(&mut Buffer)) -> String {
        let empty = Buffer::empty(Rect::new(0, 0, 30, 3));
        let mut full = empty.clone();
        draw(&mut full);
        let updates: Vec<Update<'_>> = empty.diff_iter(&full).collect();
        let mut bytes = Vec::new();
        cells(&updates, 30, &Links::default(), &mut bytes).expect("memory");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn one_escape_changes_all_that_changes() {
        let text = written(|buf| {
            buf.set_string(0, 0, "a", Style::new().fg(Color::Red).bold());
            buf.set_string(1, 0, "b", Style::new().fg(Color::Red).dim());
            buf.set_string(2, 0, "c", Style::new());
        });
        assert_eq!(text, "\x1b[1H\x1b[1;31ma\x1b[22;2mb\x1b[0mc");
    }

    #[test]
    fn plain_text_names_no_colour() {
        let text = written(|buf| {
            buf.set_string(3, 1, "x", Style::new().bold());
            buf.set_string(9, 1, "y", Style::new());
        });
        assert_eq!(text, "\x1b[2;4H\x1b[1mx\x1b[5C\x1b[0my");
    }

    #[test]
    fn a_blank_needs_no_pen_of_its_own() {
        let text = written(|buf| {
            buf.set_string(0, 0, "a b ", Style::new().dim());
            buf.set_string(4, 0, "c d", Style::new().dim().underlined());
        });
        assert_eq!(text, "\x1b[1H\x1b[2ma b \x1b[4mc d\x1b[0m");
    }

    #[test]
    fn what_stands_behind_a_wide_sign_is_put_in_its_place() {
        let text = written(|buf| {
            buf.set_string(0, 0, "日x👩‍👩‍👧‍👦y", Style::new());
        });
        assert_eq!(text, "\x1b[1H日\x1b[1;3Hx👩‍👩‍👧‍👦\x1b[1;6Hy");
    }

    #[test]
    fn the_rest_of_a_row_is_erased_not_overwritten() {
        let full = {
            let mut full = Buffer::empty(Rect::new(0, 0, 30, 1));
            full.set_string(0, 0, "x".repeat(30), Style::new());
            full
        };
        let mut next = Buffer::empty(full.area);
        next.set_string(0, 0, "ab", Style::new());
        next.set_string(20, 0, "c", Style::new().fg(Color::Red));
        let updates: Vec<Update<'_>> = full.diff_iter(&next).collect();
        let mut bytes = Vec::new();
        cells(&updates, 30, &Links::default(), &mut bytes).expect("memory");
        let text = String::from_utf8(bytes).expect("text");
        assert_eq!(text, "\x1b[1Hab\x1b[18X\x1b[18C\x1b[31mc\x1b[0m\x1b[K");
    }
}
