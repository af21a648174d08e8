//! One row of the screen: pieces from the left, pieces from the right, cut where they meet.
//!
//! Every view builds its rows here, so text reaches the screen only as `Safe` and nothing is ever
//! cut without a visible mark. Knows no meaning.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::tui::term::sanitise::Safe;

/// Columns kept free between left and right.
const GAP: usize = 2;

/// Pieces of one row.
#[derive(Debug, Clone, Default)]
pub struct Row {
    left: Vec<(Safe, Style)>,
    right: Vec<(Safe, Style)>,
}

impl Row {
    /// An empty row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text of this program.
    pub fn fixed(mut self, text: &'static str, style: Style) -> Self {
        self.left.push((Safe::fixed(text), style));
        self
    }

    /// Any other text: what a terminal would obey or hide is taken out.
    pub fn text(mut self, text: &str, style: Style) -> Self {
        self.left.push((Safe::strip(text), style));
        self
    }

    /// Text cut to so many columns, with a mark.
    pub fn cut(self, text: &str, columns: usize, style: Style) -> Self {
        let safe = Safe::strip(text);
        if safe.as_str().width() <= columns {
            return self.safe(safe, style);
        }
        let kept = fit(safe.as_str(), columns.saturating_sub(1));
        self.text(kept, style).fixed("…", style)
    }

    /// Text that is safe already.
    pub fn safe(mut self, text: Safe, style: Style) -> Self {
        self.left.push((text, style));
        self
    }

    /// So many blanks.
    pub fn gap(self, columns: usize) -> Self {
        self.text(&" ".repeat(columns), Style::new())
    }

    /// Blanks up to this column; at least one if the column is passed already.
    pub fn to(self, column: usize) -> Self {
        let blanks = column
            .saturating_sub(self.width())
            .max(usize::from(self.width() > 0));
        if self.width() == column {
            self
        } else {
            self.gap(blanks)
        }
    }

    /// Text with some of its characters marked.
    pub fn marked(mut self, text: &str, marks: &[usize], plain: Style, mark: Style) -> Self {
        let mut piece = String::new();
        let mut hit = false;
        for (at, c) in text.char_indices() {
            let marked = marks.contains(&at);
            if marked != hit && !piece.is_empty() {
                let style = if hit { plain.patch(mark) } else { plain };
                self.left
                    .push((Safe::strip(&std::mem::take(&mut piece)), style));
            }
            hit = marked;
            piece.push(c);
        }
        let style = if hit { plain.patch(mark) } else { plain };
        self.left.push((Safe::strip(&piece), style));
        self
    }

    /// Text at the right edge; pieces follow one another.
    pub fn right(mut self, text: &str, style: Style) -> Self {
        self.right.push((Safe::strip(text), style));
        self
    }

    /// A hint at the right edge: a key in `key`, what it does in `says`, three blanks between hints.
    pub fn hint(mut self, key: &str, says: &str, styles: (Style, Style)) -> Self {
        if !self.right.is_empty() {
            self = self.right("   ", Style::new());
        }
        self.right(key, styles.0)
            .right(&format!(" {says}"), styles.1)
    }

    /// Columns of the left pieces.
    pub fn width(&self) -> usize {
        width(&self.left)
    }

    /// Columns that both sides need.
    pub fn wanted(&self) -> usize {
        self.width() + GAP + width(&self.right)
    }

    /// Draws into the first row of `area`.
    pub fn draw(&self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        let room = usize::from(area.width);
        let right = width(&self.right);
        let left = self.width();
        // The right side gives way when too little of the left would stay.
        let keeps = right > 0 && (left + GAP + right <= room || room >= right + GAP + room / 3);
        let most = if keeps {
            room - right - GAP.min(room - right)
        } else {
            room
        };
        put(buf, (area.x, area.y), &self.left, most);
        if keeps {
            let x = area.x + (room - right) as u16;
            put(buf, (x, area.y), &self.right, right);
        }
    }
}

fn width(pieces: &[(Safe, Style)]) -> usize {
    pieces.iter().map(|(text, _)| text.as_str().width()).sum()
}

fn put(buf: &mut Buffer, at: (u16, u16), pieces: &[(Safe, Style)], most: usize) {
    let cut = width(pieces) > most;
    let mut room = most;
    let mut x = at.0;
    for (text, style) in pieces {
        let keep = if cut { room.saturating_sub(1) } else { room };
        let piece = fit(text.as_str(), keep);
        let (next, _) = buf.set_stringn(x, at.1, piece, room, *style);
        room -= usize::from(next - x);
        x = next;
        if cut && piece.len() < text.as_str().len() {
            if room > 0 {
                buf.set_stringn(x, at.1, "…", room, *style);
            }
            return;
        }
    }
}

/// The longest beginning that takes no more than so many columns.
pub fn fit(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(row: &Row, width: u16) -> String {
        let area = Rect::new(0, 0, width, 1);
        let mut buf = Buffer::empty(area);
        row.draw(area, &mut buf);
        (0..width)
            .map(|x| buf[(x, 0)].symbol())
            .collect::<String>()
            .trim_end()
            .to_owned()
    }

    #[test]
    fn what_does_not_fit_is_cut_with_a_mark_and_the_right_side_stays() {
        let row = Row::new()
            .text("a long label here", Style::new())
            .right("12s", Style::new());
        assert_eq!(drawn(&row, 40), "a long label here                    12s");
        assert_eq!(drawn(&row, 16), "a long lab…  12s");
        assert_eq!(drawn(&row, 4), "a l…");
        for width in 0..30 {
            drawn(&row, width);
        }
    }

    #[test]
    fn hostile_text_draws_nothing_a_terminal_would_obey() {
        let row = Row::new().text("a\x1b]0;x\x07b\u{202e}c", Style::new());
        let shown = drawn(&row, 40);
        assert!(!shown.contains(['\x1b', '\u{202e}', '\x07']), "{shown:?}");
    }
}
