//! Rows that moved: what one instruction to the terminal does instead of drawing them again.
//!
//! `paint` asks before it compares cells. An answer that streams or a scrolled transcript moves
//! nearly all rows by a few; deleting or inserting lines between margins costs 30 bytes where drawing
//! them costs thousands. Lines are deleted and inserted rather than scrolled: every terminal has
//! that, and none puts such lines into its history. Pure; never decides what is shown, only how much
//! is drawn: a wrong guess would cost bytes, not correctness.

use ratatui::buffer::{Buffer, Cell};

/// Cells that must be saved for a move to be worth its bytes.
const WORTH: i32 = 60;

/// Changed rows below which nothing can have moved far enough to matter.
const ROWS: usize = 3;

/// Worth less than any screen can make good.
const NEVER: i32 = -1_000_000;

/// Some rows of the screen move: the rows `top..bottom` of the screen are shifted, what leaves them
/// is gone, what comes in is blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shift {
    top: usize,
    bottom: usize,
    /// Rows up; negative for down.
    up: isize,
}

/// The best move from one screen to the next; none if drawing is as cheap. Both have the same size.
pub(super) fn find(shown: &Buffer, next: &Buffer) -> Option<Shift> {
    let width = usize::from(next.area.width).max(1);
    let changed: Vec<i32> = (0..usize::from(next.area.height))
        .map(|y| differing(row(shown, y, width), row(next, y, width)))
        .collect();
    if changed.iter().filter(|cells| **cells > 0).count() < ROWS {
        return None;
    }
    let begin = changed.iter().position(|cells| *cells > 0)?;
    let end = changed.iter().rposition(|cells| *cells > 0)? + 1;
    let sheet = Sheet {
        begin,
        old: (begin..end)
            .map(|y| Print::of(row(shown, y, width)))
            .collect(),
        new: (begin..end)
            .map(|y| Print::of(row(next, y, width)))
            .collect(),
        changed: changed.get(begin..end)?.to_vec(),
    };
    let most = (end - begin) as isize - 1;
    let (shift, gain) = (-most..=most)
        .filter(|up| *up != 0)
        .filter_map(|up| sheet.best(up))
        .max_by_key(|(_, gain)| *gain)?;
    (gain >= WORTH).then(|| sheet.with_next_row(shift, shown, next, width))
}

fn row(buffer: &Buffer, y: usize, width: usize) -> &[Cell] {
    buffer
        .content
        .get(y * width..(y + 1) * width)
        .unwrap_or_default()
}

fn differing(a: &[Cell], b: &[Cell]) -> i32 {
    a.iter().zip(b).filter(|(a, b)| a != b).count() as i32
}

/// A row for quick comparison: by its text alone, since colours cost as much to sum as the text and
/// seldom tell rows apart.
#[derive(Debug, Clone, Copy)]
struct Print {
    sum: u64,
    /// Cells that are not blank: what drawing it on nothing costs.
    cells: i32,
}

impl Print {
    fn of(row: &[Cell]) -> Self {
        let (mut sum, mut cells) = (0_u64, 0);
        for cell in row {
            let symbol = cell.symbol().as_bytes();
            let word = match symbol {
                [b' '] => u64::from(b' '),
                [one] => {
                    cells += 1;
                    u64::from(*one)
                }
                more => {
                    cells += 1;
                    more.iter()
                        .fold(0, |word, byte| word << 8 | u64::from(*byte))
                }
            };
            sum = (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        Self { sum, cells }
    }
}

/// The rows between the first and the last changed one.
struct Sheet {
    begin: usize,
    old: Vec<Print>,
    new: Vec<Print>,
    /// Cells that differ in place.
    changed: Vec<i32>,
}

impl Sheet {
    /// The best stretch of rows that came from `up` rows further down, and the cells it saves.
    fn best(&self, up: isize) -> Option<(Shift, i32)> {
        let rows = self.new.len();
        let (mut best, mut from, mut sum) = (None::<(usize, usize, i32)>, 0, 0);
        for at in 0..rows {
            if sum <= 0 {
                (from, sum) = (at, 0);
            }
            sum += self.worth(at, up);
            if sum > best.map_or(0, |(_, _, most)| most) {
                best = Some((from, at + 1, sum));
            }
        }
        let (from, to, gain) = best?;
        let shift = self.shift(from, to, up);
        // The rows that become blank must be drawn on nothing.
        let vacated = if up > 0 {
            to..to + up.unsigned_abs()
        } else {
            from - up.unsigned_abs()..from
        };
        let lost: i32 = vacated
            .map(|at| self.new[at].cells - self.changed[at])
            .sum();
        Some((shift, gain - lost))
    }

    /// Cells that a row saves if it comes from `up` rows further down.
    fn worth(&self, at: usize, up: isize) -> i32 {
        let Some(old) = at
            .checked_add_signed(up)
            .and_then(|from| self.old.get(from))
        else {
            return NEVER;
        };
        if old.sum == self.new[at].sum {
            return self.changed[at];
        }
        // Drawn on something else it costs all its cells; that it may erase cheaply is no move.
        (self.changed[at] - self.new[at].cells).min(0)
    }

    fn shift(&self, from: usize, to: usize, up: isize) -> Shift {
        let by = up.unsigned_abs();
        let (top, bottom) = if up > 0 {
            (from, to + by)
        } else {
            (from - by, to)
        };
        Shift {
            top: self.begin + top,
            bottom: self.begin + bottom,
            up,
        }
    }

    /// The row after the moved ones often only grew: it may come along.
    fn with_next_row(&self, shift: Shift, shown: &Buffer, next: &Buffer, width: usize) -> Shift {
        let end = self.begin + self.new.len();
        if shift.up < 0 || shift.bottom >= end {
            return shift;
        }
        let target = shift.bottom - shift.up.unsigned_abs();
        let moved = differing(row(shown, shift.bottom, width), row(next, target, width));
        let in_place = differing(row(shown, target, width), row(next, target, width));
        if moved < in_place {
            return Shift {
                bottom: shift.bottom + 1,
                ..shift
            };
        }
        shift
    }
}

impl Shift {
    /// What to write. The cursor's place is lost, the style is the default one afterwards.
    pub(super) fn bytes(self) -> String {
        let (first, last) = (self.top + 1, self.bottom);
        let (by, order) = (self.up.unsigned_abs(), if self.up > 0 { 'M' } else { 'L' });
        format!("\x1b[0m\x1b[{first};{last}r\x1b[{first};1H\x1b[{by}{order}\x1b[r")
    }

    /// Does the same to the screen in memory.
    pub(super) fn apply(self, screen: &mut Buffer) {
        let width = usize::from(screen.area.width);
        let by = self.up.unsigned_abs() * width;
        let Some(rows) = screen
            .content
            .get_mut(self.top * width..self.bottom * width)
        else {
            return;
        };
        let blank = if self.up > 0 {
            rows.rotate_left(by);
            rows.len() - by..rows.len()
        } else {
            rows.rotate_right(by);
            0..by
        };
        rows[blank].fill(Cell::EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Style};

    fn screen(rows: &[&str]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 80, rows.len() as u16));
        for (y, text) in rows.iter().enumerate() {
            buffer.set_string(0, y as u16, text, Style::new().fg(Color::Cyan));
        }
        buffer
    }

    const A: &str = "the first line of an answer, long enough to be worth moving";
    const B: &str = "what the second line says is something else altogether, surely";
    const C: &str = "and a third one that goes on about the same thing for a while";
    const D: &str = "the last line";

    #[test]
    fn rows_that_moved_up_are_found_between_what_stands_still() {
        let before = screen(&["head", A, B, C, D, "status", "foot"]);
        let after = screen(&["head", B, C, D, "one more", "status", "foot"]);
        let shift = find(&before, &after).expect("they moved");
        assert_eq!((shift.top, shift.bottom, shift.up), (1, 5, 1));
        let mut moved = before.clone();
        shift.apply(&mut moved);
        assert_eq!(
            differing(&moved.content, &after.content),
            "onemore".len() as i32 + 1
        );
    }

    #[test]
    fn rows_that_moved_down_are_found() {
        let before = screen(&[A, B, C, D, "foot"]);
        let after = screen(&["older", "still", A, B, "foot"]);
        let shift = find(&before, &after).expect("they moved");
        assert_eq!((shift.top, shift.bottom, shift.up), (0, 4, -2));
        assert!(shift.bytes().contains("\x1b[1;4r\x1b[1;1H\x1b[2L\x1b[r"));
    }

    #[test]
    fn a_row_that_only_grew_comes_along() {
        let before = screen(&[A, B, C, "the last li", "foot"]);
        let after = screen(&[B, C, "the last line is whole now", "next", "foot"]);
        let shift = find(&before, &after).expect("they moved");
        let mut moved = before.clone();
        shift.apply(&mut moved);
        assert!(differing(&moved.content, &after.content) < 25);
    }

    #[test]
    fn what_did_not_move_is_drawn() {
        let before = screen(&[A, B, C, D]);
        assert_eq!(find(&before, &before), None);
        assert_eq!(find(&before, &screen(&[A, B, D, D])), None);
        assert_eq!(find(&before, &screen(&["x", "y", "z", "w"])), None);
        assert_eq!(find(&screen(&[A]), &screen(&[B])), None);
    }
}
