//! Selecting a word or a line by clicks: the boundaries of what stands under a place.
//!
//! Called by the mouse. A line is what was one line before it was wrapped.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Look, Transcript};
use crate::tui::scroll::select::{Place, Selection};
use crate::tui::text::Join;

/// Beyond every row: the end of a line.
const END: usize = 10_000;

impl Transcript {
    /// Selects the word at a column and row of the last area; paths and names are words.
    pub fn select_word(&mut self, column: u16, row: u16) {
        let Some(place) = self.place(column, row) else {
            return;
        };
        let found = self.rows_of(place, |rows| {
            rows.get(place.row)
                .and_then(|row| word_at(row.line.as_str(), place.column))
        });
        if let Some((from, to)) = found {
            self.hold(
                Place {
                    column: from,
                    ..place
                },
                Place {
                    column: to,
                    ..place
                },
            );
        }
    }

    /// Selects the line at a row of the last area, however it is wrapped.
    pub fn select_line(&mut self, row: u16) {
        let Some(place) = self.place(0, row) else {
            return;
        };
        let (first, last) = self.rows_of(place, |rows| {
            let joins = |row: usize| rows.get(row).is_some_and(|row| row.join != Join::Line);
            let (mut first, mut last) = (place.row, place.row);
            while first > 0 && joins(first) {
                first -= 1;
            }
            while joins(last + 1) {
                last += 1;
            }
            (first, last)
        });
        let from = Place {
            row: first,
            column: 0,
            ..place
        };
        self.hold(
            from,
            Place {
                row: last,
                column: END,
                ..place
            },
        );
    }

    fn rows_of<T>(&mut self, place: Place, look: impl FnOnce(&[crate::tui::text::Row]) -> T) -> T {
        let theme = self.theme.clone().unwrap_or_default();
        let width = self.last_width.max(1);
        let mut layouts = self.layouts(width, &Look::new(&theme, 0));
        let (_, rows) = layouts.spaced(place.unit);
        look(&rows)
    }

    const fn hold(&mut self, from: Place, to: Place) {
        self.selection = Some(Selection {
            from,
            to,
            dragging: false,
        });
    }
}

/// First and last column of the word at a column of a line; none on blanks.
fn word_at(line: &str, column: usize) -> Option<(usize, usize)> {
    let is_word = |grapheme: &str| {
        let joins = |c: char| c.is_alphanumeric() || "_-./~@:+#%=\\".contains(c);
        grapheme.chars().next().is_some_and(joins)
    };
    let mut run: Option<(usize, usize)> = None;
    let mut at = 0;
    for grapheme in line.graphemes(true) {
        let wide = grapheme.width();
        let end = at + wide.max(1) - 1;
        run = match run {
            Some((from, _)) if is_word(grapheme) => Some((from, end)),
            _ if is_word(grapheme) => Some((at, end)),
            Some((from, to)) if (from..=to).contains(&column) => return Some((from, to)),
            // A sign on its own is what was clicked.
            _ if at == column && !grapheme.trim().is_empty() => return Some((at, end)),
            _ => None,
        };
        at += wide;
    }
    run.filter(|(from, to)| (*from..=*to).contains(&column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_word_and_blanks_are_none() {
        let line = "see src/main.rs:12, 日本 (x)";
        assert_eq!(word_at(line, 6), Some((4, 17)));
        assert_eq!(word_at(line, 0), Some((0, 2)));
        assert_eq!(word_at(line, 3), None);
        assert_eq!(word_at(line, 21), Some((20, 23)));
        assert_eq!(word_at(line, 25), Some((25, 25)));
        assert_eq!(word_at(line, 90), None);
    }
}
