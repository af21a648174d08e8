//! Where the transcript stands and how it moves: by rows, pages, prompts, to a place.
//!
//! Called at the start of a frame, where the screen's height is known. A move lays out the rows it
//! passes and no others.

use ratatui::layout::Rect;

use super::layouts::Layouts;
use super::{Look, Transcript};
use crate::tui::cells::Cell;
use crate::tui::scroll::anchor::{self, Anchor, Move, Position, Unit};
use crate::tui::text::Row;

/// Bytes that a row says, blanks and rules apart: the same however it is wrapped.
pub(super) fn said(row: &Row) -> usize {
    let counts = |c: &char| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(c);
    row.content()
        .chars()
        .filter(counts)
        .map(char::len_utf8)
        .sum()
}

/// An anchor at a row of a unit.
fn anchor_at(layouts: &mut Layouts<'_>, (unit, row): (Unit, usize)) -> Anchor {
    let (gap, rows) = layouts.spaced(unit);
    let own = row.saturating_sub(gap);
    Anchor {
        unit,
        row,
        gap,
        width: layouts.width,
        offset: rows.iter().take(own).map(said).sum(),
        blank: rows.get(own).is_none_or(|row| said(row) == 0),
    }
}

/// The anchor's row at the present width.
fn settle_anchor(layouts: &mut Layouts<'_>, anchor: Anchor) -> (Unit, usize) {
    let parts = layouts
        .list
        .index(anchor.unit.cell)
        .and_then(|at| layouts.list.get_mut(at))
        .map_or(0, |entry| entry.cell.layouts() as u32);
    let last_part = parts.saturating_sub(1);
    let mut unit = Unit {
        part: anchor.unit.part.min(last_part),
        ..anchor.unit
    };
    let same_width = anchor.width == layouts.width;
    let (mut row, mut offset) = (anchor.row.saturating_sub(anchor.gap), anchor.offset);
    loop {
        let (gap, rows) = layouts.spaced(unit);
        if anchor.row < anchor.gap {
            return (unit, anchor.row.min(gap));
        }
        let found = if same_width {
            Some(row).filter(|row| *row < rows.len())
        } else {
            row_saying(&rows, offset, anchor.blank)
        };
        if let Some(found) = found {
            return (unit, gap + found);
        }
        if unit.part >= last_part {
            return (unit, (gap + rows.len()).saturating_sub(1));
        }
        // The unit was the end of a text that went on: what came after its first block is a unit of
        // its own now.
        row = row.saturating_sub(rows.len());
        offset = offset.saturating_sub(rows.iter().map(said).sum());
        unit.part += 1;
    }
}

/// The row that says the byte after `offset`; for a blank anchor the blank row before it, if there is
/// one.
fn row_saying(rows: &[Row], offset: usize, blank: bool) -> Option<usize> {
    let mut above = 0;
    let at = rows.iter().position(|row| {
        above += said(row);
        above > offset
    })?;
    let before = at.checked_sub(1);
    let bare = |row: &usize| rows.get(*row).is_some_and(|row| said(row) == 0);
    Some(before.filter(|row| blank && bare(row)).unwrap_or(at))
}

impl Transcript {
    /// Carries out the moves that were asked for; gives the top row, none for the newest screen.
    pub(super) fn move_to(&mut self, area: Rect, look: &Look<'_>) -> Option<(Unit, usize)> {
        let height = usize::from(area.height);
        let moves = std::mem::take(&mut self.moves);
        let moved_by_hand = !moves.is_empty();
        let position = self.position;
        let mut layouts = self.layouts(area.width, look);
        let mut top = match position {
            Position::Latest => None,
            Position::At(anchor) if layouts.list.index(anchor.unit.cell).is_none() => None,
            Position::At(anchor) => {
                let from = settle_anchor(&mut layouts, anchor);
                // At the end of what there is, it is the newest screen again.
                anchor::down(&mut layouts, from, 0, height.saturating_sub(1)).map(|_| from)
            }
        };
        for step in moves {
            top = moved(&mut layouts, top, step, height);
        }
        self.position = match (top, position) {
            (None, _) => Position::Latest,
            // Whoever only changes the columns, there and back, comes back to the same row.
            (Some(_), Position::At(anchor)) if !moved_by_hand => Position::At(anchor),
            (Some(top), _) => Position::At(anchor_at(&mut layouts, top)),
        };
        top
    }
}

fn moved(
    layouts: &mut Layouts<'_>,
    top: Option<(Unit, usize)>,
    step: Move,
    height: usize,
) -> Option<(Unit, usize)> {
    let page = i32::try_from(height.saturating_sub(2).max(1)).unwrap_or(1);
    let rows = match step {
        Move::Rows(rows) => rows,
        Move::Pages(pages) => pages.saturating_mul(page),
        Move::Top => {
            let latest = anchor::top_of_latest(layouts, height)?;
            return Some(anchor::up(layouts, top.unwrap_or(latest), usize::MAX));
        }
        Move::Prompt(by) => return to_prompt(layouts, top, by, height),
        Move::To(unit, row) => {
            anchor::top_of_latest(layouts, height)?;
            let top = anchor::up(layouts, (unit, row), height / 3);
            return anchor::down(layouts, top, 0, height.saturating_sub(1)).map(|_| top);
        }
    };
    let latest = anchor::top_of_latest(layouts, height);
    let steps = rows.unsigned_abs() as usize;
    if rows < 0 {
        Some(anchor::up(layouts, top.or(latest)?, steps)).filter(|top| Some(*top) != latest)
    } else {
        anchor::down(layouts, top?, steps, height.saturating_sub(1))
            .filter(|top| Some(*top) != latest)
    }
}

/// To a prompt before or after the top row.
fn to_prompt(
    layouts: &mut Layouts<'_>,
    top: Option<(Unit, usize)>,
    by: i32,
    height: usize,
) -> Option<(Unit, usize)> {
    let latest = anchor::top_of_latest(layouts, height)?;
    let (unit, row) = top.unwrap_or(latest);
    let mut at = layouts.list.index(unit.cell)?;
    let is_prompt = |layouts: &Layouts<'_>, at: usize| {
        layouts
            .list
            .get(at)
            .is_some_and(|e| matches!(&e.cell, Cell::Prompt(p) if !p.synthetic))
    };
    // A prompt whose first row is above the top row counts as being before it.
    let gap = layouts.spaced(Unit { part: 0, ..unit }).0;
    let mut left = by.unsigned_abs();
    if by < 0 && is_prompt(layouts, at) && row > gap {
        left -= 1;
    }
    let mut found = at;
    while left > 0 {
        if by < 0 && at == 0 {
            break;
        }
        at = if by < 0 { at - 1 } else { at + 1 };
        layouts.list.get(at)?;
        if is_prompt(layouts, at) {
            found = at;
            left -= 1;
        }
    }
    let unit = layouts.first_of(if left > 0 { at } else { found })?;
    let gap = layouts.spaced(unit).0;
    let target = (unit, gap);
    anchor::down(layouts, target, 0, height.saturating_sub(1)).map(|_| target)
}
