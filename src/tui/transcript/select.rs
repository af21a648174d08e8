//! Selecting and copying: from places on the screen to text without gutters, unwrapped.
//!
//! Called by the keys and the mouse. What a row gives to a copy is decided in `scroll::select`.

use std::cmp::Ordering;

use super::layouts::Layouts;
use super::{Look, Transcript, is_hidden};
use crate::tui::cells::Cell;
use crate::tui::scroll::anchor::{Unit, Units as _};
use crate::tui::scroll::select::{self, Place, Selection};

impl Transcript {
    /// The place under a column and row of the last area; gaps and blank rows mean the row below.
    pub(super) fn place(&self, column: u16, row: u16) -> Option<Place> {
        let mut rows = self.screen.iter().enumerate().skip(usize::from(row));
        let (at, (unit, row_of)) = rows.find_map(|(at, place)| {
            Some((at, place.and_then(|(unit, row)| Some((unit, row?)))?))
        })?;
        let column = if at == usize::from(row) {
            usize::from(column)
        } else {
            0
        };
        Some(Place {
            unit,
            row: row_of,
            column,
        })
    }

    /// Begins a selection at a column and row of the last area.
    pub fn select_start(&mut self, column: u16, row: u16) {
        self.selection = self.place(column, row).map(|place| Selection {
            from: place,
            to: place,
            dragging: true,
        });
    }

    /// Moves its end.
    pub fn select_drag(&mut self, column: u16, row: u16) {
        let row = row.min(self.area.height.saturating_sub(1));
        if let Some(place) = self.place(column, row)
            && let Some(selection) = &mut self.selection
        {
            selection.to = place;
        }
    }

    /// Ends it; a selection of nothing is cleared.
    pub fn select_end(&mut self, column: u16, row: u16) {
        self.select_drag(column, row);
        match &mut self.selection {
            Some(selection) if selection.from == selection.to => self.selection = None,
            Some(selection) => selection.dragging = false,
            None => {}
        }
    }

    /// Forgets it.
    pub fn clear_selection(&mut self) {
        self.selection = None;
    }

    /// True if something is selected.
    pub fn has_selection(&self) -> bool {
        self.selection
            .is_some_and(|selection| selection.from != selection.to)
    }

    /// What is selected: without gutters, unwrapped.
    pub fn selected_text(&mut self) -> Option<String> {
        if !self.has_selection() {
            return None;
        }
        let places = self.ordered_selection()?;
        let theme = self.theme.clone().unwrap_or_default();
        let text = self.copied(places, &Look::new(&theme, 0));
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn order(&self, a: Unit, b: Unit) -> Ordering {
        if a.cell == b.cell {
            return a.part.cmp(&b.part);
        }
        self.list.index(a.cell).cmp(&self.list.index(b.cell))
    }

    /// The selection's places, the earlier one first.
    pub(super) fn ordered_selection(&self) -> Option<(Place, Place)> {
        let selection = self.selection?;
        let (a, b) = (selection.from, selection.to);
        self.list.index(a.unit.cell)?;
        self.list.index(b.unit.cell)?;
        let order = self
            .order(a.unit, b.unit)
            .then(a.row.cmp(&b.row))
            .then(a.column.cmp(&b.column));
        Some(if order == Ordering::Greater {
            (b, a)
        } else {
            (a, b)
        })
    }

    /// The text between two places.
    pub(super) fn copied(&mut self, (first, last): (Place, Place), look: &Look<'_>) -> String {
        let width = self.last_width.max(1);
        let mut layouts = self.layouts(width, look);
        let mut copied = select::Copied::default();
        let mut unit = Some(first.unit);
        while let Some(at) = unit {
            let (gap, rows) = layouts.spaced(at);
            if gap > 0 && at != first.unit {
                copied.gap();
            }
            for (n, row) in rows.iter().enumerate() {
                let compare = |layouts: &Layouts<'_>, other: Place| {
                    layouts.order(at, other.unit).then(n.cmp(&other.row))
                };
                let at = (compare(&layouts, first), compare(&layouts, last));
                if let Some(columns) = select::columns((first, last), at) {
                    copied.row(row, columns);
                }
            }
            unit = if at == last.unit {
                None
            } else {
                layouts.after(at)
            };
        }
        copied.text()
    }

    /// Everything as plain rows of that width.
    pub(super) fn plain(&mut self, width: u16, look: &Look<'_>) -> String {
        let mut text = String::new();
        for at in 0..self.list.len() {
            self.cache.begin();
            let mut layouts = self.layouts(width, look);
            let Some(entry) = layouts.list.get_mut(at) else {
                continue;
            };
            if is_hidden(&entry.cell) {
                continue;
            }
            let (cell, parts) = (entry.id, entry.cell.layouts() as u32);
            for part in 0..parts.max(1) {
                let (gap, rows) = layouts.spaced(Unit { cell, part });
                text.extend(std::iter::repeat_n('\n', gap));
                for row in rows.iter().filter(|row| row.picture.is_none()) {
                    text.push_str(row.line.as_str().trim_end());
                    text.push('\n');
                }
            }
        }
        text
    }

    /// All that is loaded as plain text of that width.
    pub fn plain_text(&mut self, width: u16) -> String {
        let theme = self.theme.clone().unwrap_or_default();
        self.plain(width, &Look::new(&theme, 0))
    }

    /// The last thing the assistant said, as Markdown.
    pub fn last_answer(&self) -> Option<String> {
        self.list.iter().rev().find_map(|entry| match &entry.cell {
            Cell::Answer(answer) if !answer.stream.is_blank() => Some(answer.stream.text()),
            _ => None,
        })
    }

    /// The text of the cell in view: the first one on screen that begins there when scrolled up,
    /// else the newest.
    pub fn cell_text_in_view(&self) -> Option<String> {
        let shown = |cell: &Cell| !is_hidden(cell);
        if self.is_at_bottom() {
            let newest = self.list.iter().rev().find(|e| shown(&e.cell))?;
            return Some(newest.cell.text());
        }
        let begins = |place: &Option<(Unit, Option<usize>)>| {
            let (unit, row) = (*place)?;
            (unit.part == 0 && row == Some(0)).then_some(unit)
        };
        let first = self.screen.iter().find_map(begins);
        let unit = first.or_else(|| self.screen.iter().find_map(|place| Some((*place)?.0)))?;
        Some(self.list.get(self.list.index(unit.cell)?)?.cell.text())
    }

    /// The text of the cell at a row of the last area, for copying.
    pub fn cell_text_at(&mut self, row: u16) -> Option<String> {
        Some(self.list.get(self.cell_at(row)?)?.cell.text())
    }
}
