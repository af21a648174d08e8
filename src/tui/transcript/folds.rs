//! Folding and unfolding: by a click on a cell, or by a key for what the eye is on.
//!
//! The key means the lowest cell on screen that says it hides something, else one that looks
//! different when it is unfolded: never one that stays as it is, never one out of sight.

use std::sync::Arc;

use super::layouts::Layouts;
use super::{Look, Transcript};
use crate::protocol::PartId;
use crate::tui::cells::Cell;
use crate::tui::scroll::anchor::Unit;
use crate::tui::text::Row;

/// Where all of what a cell shows in part can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// The output of a call: `Op::ReadOutput`.
    Output(PartId),
    /// The changes of files: `Op::Diff`.
    Changes,
}

/// A cell's layout.
type Rows = Arc<[Row]>;

impl Transcript {
    /// Folds or unfolds the cell at a row of the last area (0 is its first row); true if it did.
    pub fn toggle_fold_at(&mut self, row: u16) -> bool {
        self.cell_at(row).is_some_and(|at| self.toggle(at))
    }

    /// The number of the cell at a row of the last area: it stays the same whatever moves.
    pub fn cell_number_at(&self, row: u16) -> Option<u64> {
        Some(self.list.get(self.cell_at(row)?)?.id)
    }

    /// Folds or unfolds a cell by its number; true if it did.
    pub fn toggle_fold_of(&mut self, number: u64) -> bool {
        let at = self.list.index(number);
        at.is_some_and(|at| self.toggle(at))
    }

    /// Unfolds what hides most plainly on screen, or folds it again; true if there is such a cell.
    pub fn toggle_fold_last(&mut self) -> bool {
        let cells = self.cells_on_screen();
        let named = cells.iter().find(|at| {
            let turned = self.list.get(**at).is_some_and(|entry| entry.turned);
            turned || self.names_key(**at)
        });
        let named = named.copied();
        let at = named.or_else(|| cells.into_iter().find(|at| self.hides(*at)));
        at.is_some_and(|at| self.toggle(at))
    }

    pub(super) fn toggle(&mut self, at: usize) -> bool {
        let turned = self.list.get(at).is_some_and(|entry| entry.turned);
        if !turned && !self.hides(at) {
            return false;
        }
        let Some(entry) = self.list.get_mut(at) else {
            return false;
        };
        entry.turned = !entry.turned;
        true
    }

    /// What the newest call on screen holds more of than it shows.
    pub fn whole_in_view(&self) -> Option<Whole> {
        self.cells_on_screen().into_iter().find_map(|at| {
            let entry = self.list.get(at)?;
            let facts = match &entry.cell {
                Cell::Exec(cell) => &cell.facts,
                Cell::Call(cell) => &cell.facts,
                Cell::Task(cell) => &cell.facts,
                Cell::Edit(edit) if edit.dropped > 0 => return Some(Whole::Changes),
                _ => return None,
            };
            let part = entry.part.filter(|_| facts.output.total > 0);
            part.map(Whole::Output)
        })
    }

    /// Places of the cells on screen, the lowest first; before the first frame, of all of them.
    fn cells_on_screen(&self) -> Vec<usize> {
        if self.screen.is_empty() {
            return (0..self.list.len()).rev().collect();
        }
        let mut cells: Vec<usize> = Vec::new();
        for (unit, row) in self.screen.iter().rev().flatten() {
            if row.is_some()
                && let Some(at) = self.list.index(unit.cell)
                && cells.last() != Some(&at)
            {
                cells.push(at);
            }
        }
        cells
    }

    /// True if one of the cell's rows says how to see what it hides.
    fn names_key(&mut self, at: usize) -> bool {
        let key = self.key.clone();
        let Some((folded, _)) = self.both(at) else {
            return false;
        };
        let names = |row: &Row| row.right.is_some() && row.line.as_str().ends_with(&key);
        !key.is_empty() && folded.iter().any(names)
    }

    /// True if the cell looks different unfolded.
    fn hides(&mut self, at: usize) -> bool {
        let Some((folded, unfolded)) = self.both(at) else {
            return false;
        };
        let same = |(a, b): (&Row, &Row)| a.line.as_str() == b.line.as_str();
        folded.len() != unfolded.len() || !folded.iter().zip(unfolded.iter()).all(same)
    }

    /// A cell's rows folded and unfolded; none if it knows no fold.
    fn both(&mut self, at: usize) -> Option<(Rows, Rows)> {
        let entry = self.list.get(at).filter(|entry| entry.cell.can_unfold())?;
        let unit = Unit {
            cell: entry.id,
            part: 0,
        };
        let (theme, key) = (self.theme.clone().unwrap_or_default(), self.key.clone());
        let look = Look {
            unfold_key: &key,
            ..Look::new(&theme, 0)
        };
        // Before the first frame no width is known.
        let width = if self.last_width == 0 {
            80
        } else {
            self.last_width
        };
        let mut layouts = self.layouts(width, &look);
        Some((
            layouts.turned(at, unit, false),
            layouts.turned(at, unit, true),
        ))
    }
}

impl Layouts<'_> {
    /// A cell's rows as if its fold stood so.
    fn turned(&mut self, at: usize, unit: Unit, on: bool) -> Rows {
        let turn = |layouts: &mut Self, on| {
            let entry = layouts.list.get_mut(at);
            entry.map(|entry| std::mem::replace(&mut entry.turned, on))
        };
        let before = turn(self, on);
        let rows = self.rows(unit);
        turn(self, before.unwrap_or_default());
        rows
    }
}
