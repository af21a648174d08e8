//! CELLS → ROWS: the layouts of a list at some width, made when asked for and kept in the cache.
//!
//! Drawing, moving, searching and copying all read rows here. What a layout depends on is in its
//! stamp; nothing here knows what is on screen.

use std::cmp::Ordering;
use std::sync::Arc;

use super::list::List;
use super::{Look, Transcript, is_hidden};
use crate::tui::cells::{Cell, Cx, Geometry};
use crate::tui::picture::Pictures;
use crate::tui::scroll::anchor::{Unit, Units};
use crate::tui::text::Row;
use crate::tui::text::cache::{Cache, Stamp};
use crate::tui::text::highlight::Highlights;
use crate::tui::text::link::Links;

/// The layouts of a list at some width: made when asked for, kept in the cache.
pub(super) struct Layouts<'a> {
    pub(super) list: &'a mut List,
    pub(super) cache: &'a mut Cache,
    pub(super) highlights: &'a Highlights,
    pub(super) links: &'a Links,
    pub(super) pictures: &'a Pictures,
    pub(super) look: Look<'a>,
    pub(super) width: u16,
    /// Which theme the layouts are for.
    pub(super) theme: u32,
}

impl Layouts<'_> {
    pub(super) fn rows(&mut self, unit: Unit) -> Arc<[Row]> {
        let Some(at) = self.list.index(unit.cell) else {
            return Arc::from([]);
        };
        let Some(entry) = self.list.get_mut(at) else {
            return Arc::from([]);
        };
        let animated = entry.cell.is_animated();
        let seconds = (self.look.now / 1000) as u64;
        let finished = match &entry.cell {
            Cell::Answer(answer) => answer.stream.is_finished(unit.part as usize),
            _ => false,
        };
        let unfolded = entry.turned;
        let stamp = Stamp {
            width: self.width,
            theme: self.theme,
            revision: if finished {
                entry.epoch << 32
            } else {
                (entry.epoch << 32) + entry.revision
            },
            tick: if animated {
                (seconds << 8) | (self.look.spinner as u64 & 0xff)
            } else {
                0
            },
            unfolded,
            colours: match &entry.cell {
                Cell::Answer(_) | Cell::Edit(_) => self.highlights.version(),
                Cell::File(_) => self.pictures.version(),
                _ => 0,
            },
        };
        let key = (unit.cell, unit.part);
        if let Some(rows) = self.cache.get(key, stamp) {
            return rows;
        }
        let cx = Cx {
            geometry: Geometry::of(self.width),
            theme: self.look.theme,
            highlights: self.highlights,
            links: self.links,
            pictures: self.pictures,
            now: self.look.now,
            spinner: self.look.spinner,
            motion: self.look.motion,
            unfolded,
            key: self.look.unfold_key,
            output_key: self.look.output_key,
        };
        let rows: Arc<[Row]> = entry.cell.lay_out(unit.part as usize, &cx).into();
        self.cache.put(key, stamp, Arc::clone(&rows));
        rows
    }

    /// The shown cell before or after a place in the list.
    fn neighbour(&self, at: usize, forward: bool) -> Option<usize> {
        let mut at = at;
        loop {
            at = if forward { at + 1 } else { at.checked_sub(1)? };
            if !is_hidden(&self.list.get(at)?.cell) {
                return Some(at);
            }
        }
    }

    /// Blank rows above a cell: none above the first, none between tool cells of one row each that
    /// wait for nobody (on narrow screens between no tool cells), none inside one user message.
    fn gap(&mut self, at: usize) -> usize {
        let Some(before) = self.neighbour(at, false) else {
            return 0;
        };
        let (Some(above), Some(below)) = (self.list.get(before), self.list.get(at)) else {
            return 0;
        };
        let said = |cell: &Cell| matches!(cell, Cell::Prompt(_) | Cell::File(_));
        if said(&above.cell) && said(&below.cell) && above.message == below.message {
            return 0;
        }
        if above.cell.is_tool() && below.cell.is_tool() && below.cell.is_asked() && self.width >= 80
        {
            // What waits for the user stands apart.
            return 1;
        }
        if above.cell.is_tool() && below.cell.is_tool() {
            let (above, below) = (above.id, below.id);
            let flat = self.width < 80
                || [above, below].iter().all(|cell| {
                    self.rows(Unit {
                        cell: *cell,
                        part: 0,
                    })
                    .len()
                        <= 1
                });
            return usize::from(!flat);
        }
        1
    }

    /// The gap above a unit and its rows.
    pub(super) fn spaced(&mut self, unit: Unit) -> (usize, Arc<[Row]>) {
        let gap = match self.list.index(unit.cell) {
            Some(at) if unit.part == 0 => self.gap(at),
            _ => 0,
        };
        (gap, self.rows(unit))
    }

    pub(super) fn first_of(&mut self, at: usize) -> Option<Unit> {
        Some(Unit {
            cell: self.list.get(at)?.id,
            part: 0,
        })
    }

    fn last_of(&mut self, at: usize) -> Option<Unit> {
        let entry = self.list.get_mut(at)?;
        let parts = entry.cell.layouts().max(1);
        Some(Unit {
            cell: entry.id,
            part: parts as u32 - 1,
        })
    }

    /// The order of two units.
    pub(super) fn order(&self, a: Unit, b: Unit) -> Ordering {
        if a.cell == b.cell {
            return a.part.cmp(&b.part);
        }
        self.list.index(a.cell).cmp(&self.list.index(b.cell))
    }
}

impl Units for Layouts<'_> {
    fn before(&mut self, unit: Unit) -> Option<Unit> {
        if unit.part > 0 {
            return Some(Unit {
                part: unit.part - 1,
                ..unit
            });
        }
        let at = self.list.index(unit.cell)?;
        let before = self.neighbour(at, false)?;
        self.last_of(before)
    }

    fn after(&mut self, unit: Unit) -> Option<Unit> {
        let at = self.list.index(unit.cell)?;
        let parts = self.list.get_mut(at)?.cell.layouts();
        if (unit.part as usize) + 1 < parts {
            return Some(Unit {
                part: unit.part + 1,
                ..unit
            });
        }
        let after = self.neighbour(at, true)?;
        self.first_of(after)
    }

    fn last(&mut self) -> Option<Unit> {
        let end = self.list.len();
        let at = self.neighbour(end, false)?;
        self.last_of(at)
    }

    fn height(&mut self, unit: Unit) -> usize {
        let (gap, rows) = self.spaced(unit);
        gap + rows.len()
    }
}

impl Transcript {
    pub(super) fn layouts<'a>(&'a mut self, width: u16, look: &Look<'a>) -> Layouts<'a> {
        if self.theme.as_ref() != Some(look.theme) {
            self.theme = Some(look.theme.clone());
            self.theme_version += 1;
        }
        Layouts {
            list: &mut self.list,
            cache: &mut self.cache,
            highlights: &self.highlights,
            links: &self.links,
            pictures: &self.pictures,
            look: *look,
            width,
            theme: self.theme_version,
        }
    }
}
