//! CELLS → SCREEN. Lays out what is visible, carries out the moves, draws.
//!
//! Called by `Transcript::render`. Work is proportional to the visible rows (and to the rows that a
//! move passes), never to the length of the transcript.

use std::cmp::Ordering;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::list::List;
use super::{Look, Rendered, Transcript, is_hidden};
use crate::tui::cells::{Cell, Cx, Geometry};
use crate::tui::scroll::anchor::{self, Anchor, Move, Position, Unit, Units};
use crate::tui::scroll::select::{self, Place};
use crate::tui::term::sanitise::Safe;
use crate::tui::text::cache::{Cache, Stamp};
use crate::tui::text::highlight::Highlights;
use crate::tui::text::{Row, Styled, width};

/// The layouts of a list at some width: made when asked for, kept in the cache.
pub(super) struct Layouts<'a> {
    pub(super) list: &'a mut List,
    pub(super) cache: &'a mut Cache,
    pub(super) highlights: &'a Highlights,
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
            now: self.look.now,
            spinner: self.look.spinner,
            motion: self.look.motion,
            unfolded,
            key: self.look.unfold_key,
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

    /// Blank rows above a cell: none above the first, none between tool cells of one row each (on
    /// narrow screens between no tool cells), none inside one user message.
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

    fn first_of(&mut self, at: usize) -> Option<Unit> {
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
    fn order(&self, a: Unit, b: Unit) -> Ordering {
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

/// A row on screen: its unit, its row there (none for the gap above), and the unit's rows.
type Shown = (Unit, Option<usize>, Arc<[Row]>);

/// Bytes that a row says, blanks apart: the same however it is wrapped.
fn said(row: &Row) -> usize {
    row.content()
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .count()
}

/// An anchor at a row of a unit.
fn anchor_at(layouts: &mut Layouts<'_>, (unit, row): (Unit, usize)) -> Anchor {
    let (gap, rows) = layouts.spaced(unit);
    let offset = rows.iter().take(row.saturating_sub(gap)).map(said).sum();
    Anchor {
        unit,
        row,
        width: layouts.width,
        offset,
    }
}

/// The anchor's row at the present width.
fn settle_anchor(layouts: &mut Layouts<'_>, anchor: Anchor) -> (Unit, usize) {
    let parts = layouts
        .list
        .index(anchor.unit.cell)
        .and_then(|at| layouts.list.get_mut(at))
        .map_or(0, |entry| entry.cell.layouts());
    let unit = Unit {
        part: anchor.unit.part.min((parts as u32).saturating_sub(1)),
        ..anchor.unit
    };
    let (gap, rows) = layouts.spaced(unit);
    let last = (gap + rows.len()).saturating_sub(1);
    if anchor.width == layouts.width {
        return (unit, anchor.row.min(last));
    }
    if anchor.offset == 0 {
        return (unit, anchor.row.min(gap));
    }
    let mut above = 0;
    for (n, row) in rows.iter().enumerate() {
        above += said(row);
        if above > anchor.offset {
            return (unit, gap + n);
        }
    }
    (unit, last)
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
            look: *look,
            width,
            theme: self.theme_version,
        }
    }

    /// Carries out the moves that were asked for; gives the top row, none for the newest screen.
    fn move_to(&mut self, area: Rect, look: &Look<'_>) -> Option<(Unit, usize)> {
        let height = usize::from(area.height);
        let moves = std::mem::take(&mut self.moves);
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
        let position = match top {
            None => Position::Latest,
            Some(top) => Position::At(anchor_at(&mut layouts, top)),
        };
        self.position = position;
        top
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, look: &Look<'_>) -> Rendered {
        self.cache.begin();
        self.area = area;
        self.screen.clear();
        if area.is_empty() {
            return Rendered {
                at_bottom: true,
                ..Rendered::default()
            };
        }
        if self.last_width != area.width {
            self.last_width = area.width;
            self.selection = None;
        }
        let height = usize::from(area.height);
        let top = self.move_to(area, look);
        let mut layouts = self.layouts(area.width, look);
        let begin = top.or_else(|| anchor::top_of_latest(&mut layouts, height));
        let mut shown: Vec<Shown> = Vec::with_capacity(height);
        let first = match begin {
            Some(begin) => Some(begin),
            None => (0..layouts.list.len())
                .find(|at| layouts.list.get(*at).is_some_and(|e| !is_hidden(&e.cell)))
                .and_then(|at| layouts.first_of(at))
                .map(|unit| (unit, 0)),
        };
        let mut next = first;
        let mut animating = false;
        while let Some((unit, from)) = next {
            let (gap, rows) = layouts.spaced(unit);
            if let Some(at) = layouts.list.index(unit.cell) {
                animating |= layouts
                    .list
                    .get(at)
                    .is_some_and(|entry| entry.cell.is_animated());
            }
            for row in from..gap + rows.len() {
                if shown.len() == height {
                    break;
                }
                shown.push((unit, row.checked_sub(gap), Arc::clone(&rows)));
            }
            next = if shown.len() < height {
                layouts.after(unit).map(|unit| (unit, 0))
            } else {
                None
            };
        }
        let sticky = top.and_then(|top| sticky_prompt(layouts.list, top.0, shown.first()));
        let blank = height - shown.len();
        self.screen.resize(blank, None);
        for (n, (unit, row, rows)) in shown.iter().enumerate() {
            let y = area.y + (blank + n) as u16;
            if let Some(row) = row.and_then(|row| rows.get(row)) {
                row.draw((area.x, y), area.width, buf);
                self.mark_hits(row, (area.x, y), buf, look);
            }
            self.screen.push(Some((*unit, *row)));
        }
        self.mark_selection(area, buf, look);
        if let Some(prompt) = &sticky {
            draw_sticky(prompt, area, buf, look);
        }
        if top.is_none() {
            self.new_activity = false;
        }
        self.near_top = near_top(&self.list, first);
        Rendered {
            at_bottom: top.is_none(),
            sticky,
            animating,
            new_activity: self.new_activity,
        }
    }

    fn mark_hits(&self, row: &Row, (x, y): (u16, u16), buf: &mut Buffer, look: &Look<'_>) {
        let Some(find) = &self.find else { return };
        let text = row.line.as_str();
        for hit in find.pattern.find_iter(text) {
            let from = width::columns(text.get(..hit.start()).unwrap_or_default()) as u16;
            let columns = width::columns(hit.as_str()) as u16;
            buf.set_style(Rect::new(x + from, y, columns, 1), look.theme.reverse());
        }
    }

    fn mark_selection(&self, area: Rect, buf: &mut Buffer, look: &Look<'_>) {
        let Some((first, last)) = self.ordered_selection() else {
            return;
        };
        for (n, place) in self.screen.iter().enumerate() {
            let Some((unit, Some(row))) = place else {
                continue;
            };
            let compare = |other: Place| self.order(*unit, other.unit).then(row.cmp(&other.row));
            let Some(columns) = select::columns((first, last), (compare(first), compare(last)))
            else {
                continue;
            };
            let from = columns.start.min(usize::from(area.width)) as u16;
            let to = columns.end.min(usize::from(area.width)) as u16;
            let rect = Rect::new(area.x + from, area.y + n as u16, to.saturating_sub(from), 1);
            buf.set_style(rect, look.theme.reverse());
        }
    }

    fn order(&self, a: Unit, b: Unit) -> Ordering {
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
                for row in rows.iter() {
                    text.push_str(row.line.as_str().trim_end());
                    text.push('\n');
                }
            }
        }
        text
    }

    /// The unit and row of a hit of a cell, as it is laid out now.
    pub(super) fn hit_place(
        &mut self,
        cell: u64,
        hit: usize,
        look: &Look<'_>,
    ) -> Option<(Unit, usize)> {
        let pattern = self.find.as_ref()?.pattern.clone();
        let width = self.last_width.max(1);
        let mut layouts = self.layouts(width, look);
        let at = layouts.list.index(cell)?;
        let parts = layouts.list.get_mut(at)?.cell.layouts() as u32;
        let (mut seen, mut found) = (0, None);
        for part in 0..parts.max(1) {
            let unit = Unit { cell, part };
            let (gap, rows) = layouts.spaced(unit);
            for (n, row) in rows.iter().enumerate() {
                for _ in pattern.find_iter(row.line.as_str()) {
                    if seen <= hit {
                        found = Some((unit, gap + n));
                    }
                    seen += 1;
                }
            }
        }
        found
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

/// The prompt that the top row stands under, unless it is on screen itself.
fn sticky_prompt(list: &List, top: Unit, first: Option<&Shown>) -> Option<Safe> {
    let mut at = list.index(top.cell)?;
    let shows_its_beginning = first.is_some_and(|(_, row, _)| row.is_none_or(|row| row == 0));
    loop {
        let entry = list.get(at)?;
        if let Cell::Prompt(prompt) = &entry.cell
            && !prompt.synthetic
        {
            if entry.id == top.cell && shows_its_beginning {
                return None;
            }
            return prompt.text.lines().next().map(Safe::strip);
        }
        at = at.checked_sub(1)?;
    }
}

fn draw_sticky(prompt: &Safe, area: Rect, buf: &mut Buffer, look: &Look<'_>) {
    let theme = look.theme;
    let geometry = Geometry::of(area.width);
    let mut line = Styled::new();
    line.pad(geometry.glyph);
    line.fixed(theme.glyphs.prompt, theme.accent());
    line.pad(1);
    line.push(prompt, theme.dim());
    let mut line = line.fit(geometry.right);
    line.pad(usize::from(area.width).saturating_sub(line.columns()));
    let row = Row {
        line,
        fill: Some(theme.tint_user()),
        ..Row::BLANK
    };
    for x in area.left()..area.right() {
        buf[(x, area.y)].reset();
    }
    row.draw((area.x, area.y), area.width, buf);
}

/// True if older history should be on its way.
fn near_top(list: &List, first: Option<(Unit, usize)>) -> bool {
    match first {
        None => true,
        Some((unit, _)) => list.index(unit.cell).is_none_or(|at| at < 40),
    }
}
