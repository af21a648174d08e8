//! Columns: how wide text is on the terminal.
//!
//! The same figures that the TUI library uses when it writes cells (`CellWidth`), so what is wrapped
//! here fits there. Walks by grapheme, with a short way for ASCII.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Columns of a text.
pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    Graphemes::new(text).map(|g| usize::from(g.width)).sum()
}

/// One grapheme of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grapheme {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// Its columns: 0, 1 or 2.
    pub width: u16,
}

/// Walks a text by grapheme.
#[derive(Debug, Clone)]
pub struct Graphemes<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Graphemes<'a> {
    /// From the beginning.
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Graphemes<'_> {
    type Item = Grapheme;

    fn next(&mut self) -> Option<Grapheme> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let first = *bytes.get(start)?;
        // ASCII before ASCII stands alone; before anything else it may carry a mark.
        if first.is_ascii() && bytes.get(start + 1).is_none_or(u8::is_ascii) {
            self.at += 1;
            return Some(Grapheme {
                start,
                end: start + 1,
                width: u16::from(!first.is_ascii_control()),
            });
        }
        let symbol = self.text.get(start..)?.graphemes(true).next()?;
        self.at += symbol.len();
        let width = if symbol.contains(char::is_control) {
            0
        } else {
            symbol.cell_width()
        };
        Some(Grapheme {
            start,
            end: self.at,
            width,
        })
    }
}

/// The longest beginning of a text that fits into so many columns: its bytes and its columns.
pub fn fitting(text: &str, limit: usize) -> (usize, usize) {
    if text.is_ascii() {
        let end = text.len().min(limit);
        return (end, end);
    }
    let (mut bytes, mut used) = (0, 0);
    for g in Graphemes::new(text) {
        if used + usize::from(g.width) > limit {
            break;
        }
        used += usize::from(g.width);
        bytes = g.end;
    }
    (bytes, used)
}

/// The byte where the grapheme at a column begins, or the text's end.
pub fn byte_at(text: &str, column: usize) -> usize {
    let mut used = 0;
    for g in Graphemes::new(text) {
        let width = usize::from(g.width);
        if used + width > column {
            return g.start;
        }
        used += width;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn wide_joined_and_marked_text_has_its_columns() {
        for (text, wanted) in [
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("👍", 2),
            ("👍🏽", 2),
            ("👨\u{200d}👩\u{200d}👧", 2),
            ("❤\u{fe0f}", 2),
            ("", 0),
            ("−", 1),
        ] {
            assert_eq!(columns(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_column_inside_a_wide_grapheme_means_the_grapheme() {
        assert_eq!(byte_at("a日b", 0), 0);
        assert_eq!(byte_at("a日b", 1), 1);
        assert_eq!(byte_at("a日b", 2), 1);
        assert_eq!(byte_at("a日b", 3), 4);
        assert_eq!(byte_at("a日b", 9), 5);
        assert_eq!(fitting("a日b", 2), (1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn columns_are_what_the_buffer_uses(text in "[a-z éß日本👍🏽ﾊﾞ\u{301}\u{200d}\u{fe0f}❤]{0,20}") {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 200, 1));
            let (end, _) = buffer.set_stringn(0, 0, &text, 200, Style::new());
            prop_assert_eq!(usize::from(end), columns(&text));
        }
    }
}
