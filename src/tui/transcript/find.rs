//! Searching what is loaded: hits are counted in the cells' texts and shown where they are laid out.
//!
//! Called by the keys; `render` marks the hits on screen.

use super::{Look, Transcript, is_hidden};
use crate::protocol::PartId;
use crate::tui::cells::Cell;
use crate::tui::scroll::anchor::{Move, Unit};
use crate::tui::scroll::find::{self, Find};
use crate::tui::text::markdown;

impl Transcript {
    /// Searches what is loaded (smart case); marks the hits; gives their number. Empty: ends it.
    pub fn find(&mut self, query: &str) -> usize {
        self.begin(Find::new(query))
    }

    fn begin(&mut self, find: Option<Find>) -> usize {
        self.find = find;
        let Some(find) = &mut self.find else { return 0 };
        for entry in self.list.iter().filter(|entry| !is_hidden(&entry.cell)) {
            let text = match &entry.cell {
                // What shows is searched, not its marks.
                Cell::Answer(answer) => markdown::plain(&answer.stream.text()),
                cell => cell.text(),
            };
            let hits = find.pattern.find_iter(&text).count();
            if hits > 0 {
                find.hits.push((entry.id, hits));
            }
        }
        find.count()
    }

    /// How many places the running search found.
    pub fn found(&self) -> usize {
        self.find.as_ref().map_or(0, Find::count)
    }

    /// To the next hit below; its number from 1.
    pub fn find_next(&mut self) -> Option<usize> {
        self.find_step(true)
    }

    /// To the next hit above; its number from 1.
    pub fn find_prev(&mut self) -> Option<usize> {
        self.find_step(false)
    }

    fn find_step(&mut self, forward: bool) -> Option<usize> {
        let (cell, hit) = self.find.as_mut()?.step(forward)?;
        self.go_to_hit(cell, hit);
        self.find.as_ref()?.number()
    }

    fn go_to_hit(&mut self, cell: u64, hit: usize) {
        let (theme, key) = (self.theme.clone().unwrap_or_default(), self.key.clone());
        let look = Look {
            unfold_key: &key,
            ..Look::new(&theme, 0)
        };
        let mut place = self.hit_place(cell, hit, &look);
        if place.is_none()
            && let Some(at) = self.list.index(cell)
            && self.toggle(at)
        {
            // It is in what a fold hides.
            place = self.hit_place(cell, hit, &look);
        }
        let (unit, row) = place.map_or((Unit { cell, part: 0 }, 0), |(unit, row, _)| (unit, row));
        self.moves = vec![Move::To(unit, row)];
        if let Some(find) = &mut self.find {
            find.place = place.map(|(unit, _, nth)| (unit, nth));
        }
    }

    /// Puts the place where a part says one of these words on the screen, with all such words
    /// marked; the part's beginning if it says none of them. False if it is not loaded.
    pub fn show_words(&mut self, part: PartId, words: &str) -> bool {
        let Some(cell) = self.list.find(part).and_then(|at| self.list.get(at)) else {
            return false;
        };
        let cell = cell.id;
        self.begin(Find::words(words));
        let hits = self.find.as_ref().map(|find| find.hits.iter());
        let at = hits.and_then(|mut hits| hits.position(|(id, _)| *id == cell));
        match (at, &mut self.find) {
            (Some(at), Some(find)) => {
                find.current = Some((at, 0));
                self.go_to_hit(cell, 0);
                true
            }
            _ => {
                self.find = None;
                self.show_part(part)
            }
        }
    }

    /// Puts a part at the top of the screen; false if it is not loaded.
    pub fn show_part(&mut self, part: PartId) -> bool {
        let Some(cell) = self.list.find(part).and_then(|at| self.list.get(at)) else {
            return false;
        };
        let unit = Unit {
            cell: cell.id,
            part: 0,
        };
        self.moves = vec![Move::To(unit, 0)];
        true
    }

    /// The unit and row of a hit of a cell as it is laid out now, and which of the unit's hits it is.
    pub(super) fn hit_place(
        &mut self,
        cell: u64,
        hit: usize,
        look: &Look<'_>,
    ) -> Option<(Unit, usize, usize)> {
        let pattern = self.find.as_ref()?.pattern.clone();
        let width = self.last_width.max(1);
        let mut layouts = self.layouts(width, look);
        let at = layouts.list.index(cell)?;
        let parts = layouts.list.get_mut(at)?.cell.layouts() as u32;
        let (mut seen, mut found) = (0, None);
        for part in 0..parts.max(1) {
            let unit = Unit { cell, part };
            let (gap, rows) = layouts.spaced(unit);
            for (nth, pieces) in find::hits(&rows, &pattern).into_iter().enumerate() {
                if let Some((n, _)) = pieces.first().filter(|_| seen <= hit) {
                    found = Some((unit, gap + n, nth));
                }
                seen += 1;
            }
        }
        found
    }
}
