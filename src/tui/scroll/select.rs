//! A selection in the transcript: two places, and the text between them.
//!
//! Places are in cells, not on the screen, so the selection stays on its text while rows scroll.
//! Copied text has no gutters and is unwrapped.

use super::anchor::Unit;
use crate::tui::text::{Join, Row};

/// A column of a row of a unit (without the gap above).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The unit.
    pub unit: Unit,
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

/// A selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Where it began.
    pub from: Place,
    /// Where it is now; the column under the pointer is part of it.
    pub to: Place,
    /// True while the button is down.
    pub dragging: bool,
}

/// The selected columns of a row; none if it is not selected.
pub fn columns(
    (first, last): (Place, Place),
    at: (std::cmp::Ordering, std::cmp::Ordering),
) -> Option<std::ops::Range<usize>> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    // `at`: how the row compares with the row of the first and with that of the last place.
    match at {
        (Less, _) | (_, Greater) => None,
        (Equal, Equal) => Some(first.column..last.column + 1),
        (Equal, Less) => Some(first.column..usize::MAX),
        (Greater, Equal) => Some(0..last.column + 1),
        (Greater, Less) => Some(0..usize::MAX),
    }
}

/// Puts copied rows together.
#[derive(Debug, Default)]
pub struct Copied {
    text: String,
    begun: bool,
}

impl Copied {
    /// Appends a row's selected columns.
    pub fn row(&mut self, row: &Row, columns: std::ops::Range<usize>) {
        if self.begun {
            match row.join {
                Join::Line => self.text.push('\n'),
                Join::Space => self.text.push(' '),
                Join::Nothing => {}
            }
        }
        self.begun = true;
        self.text.push_str(&row.copy(columns));
    }

    /// Appends the blank row between two cells.
    pub fn gap(&mut self) {
        if self.begun {
            self.text.push('\n');
        }
    }

    /// The text.
    pub fn text(self) -> String {
        self.text
    }
}
