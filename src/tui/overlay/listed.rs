//! Lists with headings between their entries: which part of them fits, and which row shows which entry.
//!
//! Drawn by the overlays that are lists; `SeenRows` remembers for a click what the last frame showed.

use std::cell::RefCell;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::Rect;

use super::draw_rows;
use crate::tui::view::row::Row;

/// Which entry each row of the screen shows, as of the last frame.
#[derive(Debug, Clone, Default)]
pub struct SeenRows(RefCell<Vec<(u16, usize)>>);

impl SeenRows {
    /// A frame begins: nothing is shown.
    pub fn begin(&self) {
        self.0.borrow_mut().clear();
    }

    /// The row `y` of the screen shows this entry.
    pub fn shows(&self, y: u16, entry: usize) {
        self.0.borrow_mut().push((y, entry));
    }

    /// Chooses what a row of the screen shows; true if it shows an entry.
    pub fn choose(&self, y: u16, selected: &mut usize) -> bool {
        let at = self.at(y);
        *selected = at.unwrap_or(*selected);
        at.is_some()
    }

    /// The entry that a row of the screen shows; none if it shows none.
    pub fn at(&self, y: u16) -> Option<usize> {
        let rows = self.0.borrow();
        let found = rows.iter().find(|(row, _)| *row == y);
        found.map(|(_, entry)| *entry)
    }
}

/// The rows of a list, some of which are entries.
#[derive(Debug, Default)]
pub struct Listed {
    rows: Vec<Row>,
    entries: Vec<Option<usize>>,
    chosen: usize,
}

impl Listed {
    /// A row that is no entry: a heading, a blank, a sentence.
    pub fn plain(&mut self, row: Row) {
        self.rows.push(row);
        self.entries.push(None);
    }

    /// An entry.
    pub fn entry(&mut self, row: Row, at: usize, chosen: bool) {
        if chosen {
            self.chosen = self.rows.len();
        }
        self.rows.push(row);
        self.entries.push(Some(at));
    }

    /// True if it has more rows than that.
    pub const fn is_longer(&self, rows: u16) -> bool {
        self.rows.len() > rows as usize
    }

    /// Draws what fits, the chosen entry and the row after it in sight; gives how many rows it drew.
    pub fn draw(&self, area: Rect, hits: &SeenRows, buf: &mut Cells) -> u16 {
        hits.begin();
        let height = usize::from(area.height);
        let wanted = if height > 1 { 2 } else { 1 };
        let first = (self.chosen + wanted)
            .min(self.rows.len())
            .saturating_sub(height);
        draw_rows(self.rows.iter().skip(first), area, buf);
        let shown = self.entries.iter().skip(first).take(height);
        for (entry, y) in shown.zip(area.y..) {
            if let Some(entry) = entry {
                hits.shows(y, *entry);
            }
        }
        self.rows.len().min(height) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_entry_stays_in_sight_and_each_row_knows_its_entry() {
        let mut listed = Listed::default();
        listed.plain(Row::new());
        for at in 0..10 {
            listed.entry(Row::new(), at, at == 7);
        }
        let area = Rect::new(0, 3, 10, 4);
        let mut buf = Cells::empty(Rect::new(0, 0, 10, 10));
        let hits = SeenRows::default();
        listed.draw(area, &hits, &mut buf);
        let shown: Vec<Option<usize>> = (2..8).map(|y| hits.at(y)).collect();
        assert_eq!(shown, [None, Some(5), Some(6), Some(7), Some(8), None]);
        listed.draw(Rect { height: 20, ..area }, &hits, &mut buf);
        assert_eq!(
            (hits.at(3), hits.at(4)),
            (None, Some(0)),
            "all fits: from the top"
        );
    }
}
