//! CELLS → SCREEN. Draws what is visible: rows, hits, selection, the sticky prompt.
//!
//! Called by `Transcript::render`. Work is proportional to the visible rows (and to the rows that a
//! move passes), never to the length of the transcript.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::list::List;
use super::{Look, Rendered, Transcript, is_hidden};
use crate::tui::cells::{Cell, Geometry};
use crate::tui::scroll::anchor::{self, Unit, Units as _};
use crate::tui::scroll::find;
use crate::tui::scroll::select::{self, Place};
use crate::tui::term::gallery::Seen;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled, width};

/// A row on screen: its unit, its row there (none for the gap above), and the unit's rows.
type Shown = (Unit, Option<usize>, Arc<[Row]>);

impl Transcript {
    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, look: &Look<'_>) -> Rendered {
        self.cache.begin();
        self.pictures.begin_frame();
        self.area = area;
        self.screen.clear();
        if self.key != look.unfold_key {
            look.unfold_key.clone_into(&mut self.key);
        }
        self.seen.clear();
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
        let sticky = top.and_then(|top| sticky_prompt(layouts.list, top.0, &shown));
        let blank = height - shown.len();
        self.screen.resize(blank, None);
        for (n, (unit, row, rows)) in shown.iter().enumerate() {
            let y = area.y + (blank + n) as u16;
            if let Some(row) = row.and_then(|row| rows.get(row)) {
                row.draw((area.x, y), area.width, buf);
            }
            self.screen.push(Some((*unit, *row)));
        }
        self.see_pictures(&shown, area, area.y + blank as u16);
        self.mark_hits(&shown, area.y + blank as u16, area, buf);
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

    /// Notes the pictures of the shown rows. A sticky prompt stands over the first row.
    fn see_pictures(&mut self, shown: &[Shown], area: Rect, top: u16) {
        let mut last: Option<u32> = None;
        for (n, (_, row, rows)) in shown.iter().enumerate() {
            let part = row
                .and_then(|row| rows.get(row))
                .and_then(|row| row.picture);
            let Some(part) = part else {
                last = None;
                continue;
            };
            if last == Some(part.id) && part.row > 0 {
                if let Some(seen) = self.seen.last_mut() {
                    seen.area.height += 1;
                    seen.whole &= seen.area.height <= seen.made.rows;
                }
                continue;
            }
            last = Some(part.id);
            let Some(made) = self.pictures.shown(part.id) else {
                last = None;
                continue;
            };
            let place = Rect::new(area.x + part.column, top + n as u16, made.cols, 1);
            self.seen.push(Seen {
                whole: part.row == 0,
                area: place.intersection(area),
                made,
            });
        }
        for seen in &mut self.seen {
            seen.whole &= seen.area.height == seen.made.rows && seen.area.width == seen.made.cols;
        }
    }

    /// Marks the hits of the shown rows; a unit's hits are looked for once.
    fn mark_hits(&self, shown: &[Shown], top: u16, area: Rect, buf: &mut Buffer) {
        let (Some(find), Some(theme)) = (&self.find, &self.theme) else {
            return;
        };
        let mut last: Option<(Unit, Vec<Vec<find::Piece>>)> = None;
        for (n, (unit, row, rows)) in shown.iter().enumerate() {
            let Some(at) = row else { continue };
            if last.as_ref().is_none_or(|(same, _)| same != unit) {
                last = Some((*unit, find::hits(rows, &find.pattern)));
            }
            let Some(row) = rows.get(*at) else { continue };
            let hits = last.iter().flat_map(|(_, hits)| hits.iter().enumerate());
            let pieces = hits.flat_map(|(n, hit)| hit.iter().map(move |piece| (n, piece)));
            for (hit, (_, range)) in pieces.filter(|(_, (place, _))| place == at) {
                let text = row.line.as_str();
                let columns = |to: usize| width::columns(text.get(..to).unwrap_or_default()) as u16;
                let (from, to) = (columns(range.start), columns(range.end));
                let rect = Rect::new(area.x + from, top + n as u16, to - from, 1);
                let current = find.place == Some((*unit, hit));
                let style = if current {
                    theme.reverse().patch(theme.bold())
                } else {
                    theme.reverse()
                };
                buf.set_style(rect.intersection(area), style);
            }
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
}

/// The prompt that the top row stands under, unless it is on screen itself.
fn sticky_prompt(list: &List, top: Unit, shown: &[Shown]) -> Option<Safe> {
    let mut at = list.index(top.cell)?;
    let first = shown.first();
    let shows_its_beginning = first.is_some_and(|(_, row, _)| row.is_none_or(|row| row == 0));
    // The line would cover all that is left of a turn: the next prompt follows, after blank rows.
    let says = |(_, row, rows): &&Shown| {
        let row = row.and_then(|row| rows.get(row));
        row.is_some_and(|row| !row.content().trim().is_empty())
    };
    if let Some((unit, Some(_), _)) = shown.iter().skip(1).find(says)
        && unit.cell != top.cell
        && let Some(entry) = list.index(unit.cell).and_then(|at| list.get(at))
        && matches!(&entry.cell, Cell::Prompt(prompt) if !prompt.synthetic)
    {
        return None;
    }
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
