//! STATE → SCREEN: where everything stands, from the bottom up.
//!
//! `run` and the harness call `draw` once a frame. It changes nothing but the transcript's layout
//! caches, knows no clock (`now` is passed in) and does work in proportion to the visible part.

pub mod ask;
pub mod composer;
pub mod footer;
pub mod numbers;
pub mod row;
pub mod start;
pub mod status;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use self::row::Row;
use super::keymap::Action;
use super::overlay::{Overlay, subagent};
use super::state::State;
use super::theme::glyphs::{self, Glyphs};
use super::transcript::Look;
use crate::protocol::{Millis, Phase};

/// Milliseconds of one spinner frame: 8 a second.
pub const SPIN_MS: Millis = 125;

/// What a frame needs besides its cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Where the real cursor stands; none to hide it.
    pub cursor: Option<Position>,
    /// Where things were drawn, for the mouse.
    pub spots: Spots,
    /// When the screen changes by itself: the next spinner frame or second.
    pub next: Option<Millis>,
}

/// Where things stand that a click can mean, as of the last frame; empty for what was not drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spots {
    /// The conversation.
    pub transcript: Rect,
    /// `↓ Back to bottom`.
    pub pill: Rect,
    /// The list above the composer.
    pub popup: Rect,
    /// The composer's text, its sign included.
    pub composer: Rect,
}

/// Rows from the top: transcript, blank, status, blank and queue, list, hairline, composer, footer.
#[derive(Debug, Default)]
struct Places {
    transcript: Rect,
    status: Option<Rect>,
    queue: Rect,
    popup: Rect,
    hairline: Option<Rect>,
    bottom: Rect,
    footer: Option<Rect>,
}

/// True if the question on screen shows what it asks about: in a tiny window nothing may be approved.
pub fn question_fits(state: &State) -> bool {
    let (width, height) = state.terminal.size;
    let Some(open) = state.asks.current() else {
        return true;
    };
    let margin = if width < 80 { 0 } else { 2 };
    let sheet = ask::sheet(state, open, usize::from(width.saturating_sub(2 * margin)));
    let wanted = if open.full {
        usize::from(height)
    } else {
        sheet.height()
    };
    let wants = Wants {
        bottom: wanted as u16,
        ..Wants::default()
    };
    let area = Rect::new(0, 0, width, height);
    sheet.fits(usize::from(arrange(area, &wants).bottom.height))
}

/// Draws the whole screen.
pub fn draw(state: &mut State, buf: &mut Buffer, now: Millis) -> Drawn {
    let area = buf.area;
    if area.is_empty() {
        return Drawn::default();
    }
    let margin = if area.width < 80 { 0 } else { 2 };
    let width = usize::from(area.width.saturating_sub(2 * margin));
    let sheet = state
        .asks
        .current()
        .map(|open| ask::sheet(state, open, width));
    let status = status::row(state, now);
    let (queue, popup) = match sheet {
        Some(_) => (Vec::new(), Vec::new()),
        None => (status::queue(state), composer::popup_rows(state)),
    };
    let full = state.asks.current().is_some_and(|open| open.full);
    let bottom = match &sheet {
        Some(_) if full => area.height,
        Some(sheet) => u16::try_from(sheet.height()).unwrap_or(u16::MAX),
        None => composer::height(state).min((area.height / 3).max(1)),
    };
    let notice = match sheet {
        Some(_) => Vec::new(),
        None => footer::notice(state, width),
    };
    let wants = Wants {
        bottom,
        footer: sheet.is_none(),
        notice: notice.len() as u16,
        status: status.is_some(),
        queue: queue.len() as u16,
        popup: popup.len() as u16,
    };
    let places = arrange(area, &wants);
    let mut drawn = Drawn::default();
    let (animating, pill) = transcript(state, places.transcript, buf, now);
    drawn.spots = Spots {
        transcript: places.transcript,
        pill,
        popup: places.popup,
        composer: if sheet.is_some() {
            Rect::default()
        } else {
            inset(places.bottom, margin)
        },
    };
    rows(&queue, inset(places.queue, margin), buf);
    rows(&popup, inset(places.popup, margin), buf);
    if let (Some(row), Some(at)) = (&status, places.status) {
        row.draw(inset(at, margin), buf);
    }
    if let Some(line) = places.hairline {
        let gauge = state
            .status
            .as_ref()
            .map(|status| status.context)
            .unwrap_or_default();
        status::context_line(state, gauge, line, buf);
    }
    drawn.cursor = match &sheet {
        Some(sheet) => sheet.draw(state, inset(places.bottom, margin), buf),
        None => composer::draw(state, places.bottom, buf),
    };
    if let Some(at) = places.footer {
        let at = inset(at, margin);
        match notice.as_slice() {
            [] => footer::row(state).draw(at, buf),
            [only] => footer::beside(state, only, width).draw(at, buf),
            several => {
                let skip = several.len().saturating_sub(usize::from(at.height));
                rows(&several[skip..], at, buf);
            }
        }
    }
    let mut animating = animating || moves(state);
    if let Some(top) = state.overlays.last().filter(|_| sheet.is_none()) {
        clear(area, buf);
        if matches!(top, Overlay::Subagent) {
            let spinner = (now / SPIN_MS) as usize;
            animating |= subagent::draw(state, area, buf, now, spinner);
            drawn.cursor = None;
        } else {
            drawn.cursor = top.draw(state, area, buf, now);
        }
        over_overlay(state, area, margin, buf);
    }
    if state.theme.glyphs == Glyphs::ASCII {
        for cell in &mut buf.content {
            if let Some(sign) = glyphs::in_ascii(cell.symbol()) {
                cell.set_symbol(sign);
            }
        }
    }
    drawn.next = next_tick(state, animating, now);
    drawn
}

/// A notice while an overlay is open: in the rows above the overlay's footer.
fn over_overlay(state: &State, area: Rect, margin: u16, buf: &mut Buffer) {
    let notice = footer::notice(state, usize::from(area.width.saturating_sub(2 * margin)));
    let height = (notice.len() as u16).min(area.height.saturating_sub(2));
    if height == 0 {
        return;
    }
    // Some overlays have their keys one row above the last one; those stay in sight.
    let keys_at = (area.bottom().saturating_sub(2)..area.bottom())
        .find(|y| (area.left()..area.right()).any(|x| buf[(x, *y)].symbol() != " "));
    let bottom = keys_at.unwrap_or(area.bottom() - 1);
    let place = Rect {
        y: bottom.saturating_sub(height),
        height,
        ..area
    };
    clear(place, buf);
    rows(&notice, inset(place, margin), buf);
}

#[derive(Debug, Default)]
struct Wants {
    bottom: u16,
    footer: bool,
    /// Rows of a notice in the footer's place.
    notice: u16,
    status: bool,
    queue: u16,
    popup: u16,
}

/// Gives out rows from the bottom, the most needed first.
fn arrange(area: Rect, wants: &Wants) -> Places {
    let mut places = Places::default();
    let mut left = area.height;
    let take = |want: u16, left: &mut u16| {
        let got = want.min(*left);
        *left -= got;
        Rect {
            y: area.y + *left,
            height: got,
            ..area
        }
    };
    let tiny = area.height < 8;
    if wants.footer && !tiny && (area.width >= 40 || wants.notice > 0) {
        places.footer = Some(take(wants.notice.max(1), &mut left));
        // A notice of several rows has the blank row, too.
        take(u16::from(area.height >= 12 && wants.notice < 2), &mut left);
    }
    places.bottom = take(wants.bottom, &mut left);
    if !tiny || !wants.footer {
        places.hairline = Some(take(1, &mut left)).filter(|r| r.height == 1);
    }
    // Something of the conversation stays visible.
    let spare = left.saturating_sub(3);
    places.popup = take(wants.popup.min(spare), &mut left);
    let queue = wants.queue.min(left.saturating_sub(3));
    places.queue = take(queue, &mut left);
    if wants.status && left > 0 {
        if queue > 0 && left > 4 {
            take(1, &mut left);
        }
        places.status = Some(take(1, &mut left));
    }
    if left > 2 {
        take(1, &mut left);
    }
    places.transcript = Rect {
        height: left,
        ..area
    };
    places
}

fn inset(area: Rect, margin: u16) -> Rect {
    Rect {
        x: area.x + margin,
        width: area.width.saturating_sub(2 * margin),
        ..area
    }
}

pub(super) fn rows(rows: &[Row], area: Rect, buf: &mut Buffer) {
    for (at, row) in rows.iter().take(usize::from(area.height)).enumerate() {
        row.draw(
            Rect {
                y: area.y + at as u16,
                height: 1,
                ..area
            },
            buf,
        );
    }
}

/// Blanks an area.
pub fn clear(area: Rect, buf: &mut Buffer) {
    for y in area.y..area.bottom() {
        for x in area.x..area.right() {
            buf[(x, y)].reset();
        }
    }
}

/// The conversation, or the start screen; true if something in it moves, and where the way back to
/// the newest row is shown.
fn transcript(state: &mut State, area: Rect, buf: &mut Buffer, now: Millis) -> (bool, Rect) {
    let none = Rect::default();
    if area.is_empty() {
        return (false, none);
    }
    if !state.has_begun() {
        let margin = if state.is_narrow() { 0 } else { 4 };
        let inner = inset(area, margin);
        let all = start::rows(state, usize::from(inner.width), now);
        let skip = all.len().saturating_sub(usize::from(inner.height));
        let shown = &all[skip..];
        let y = inner.bottom() - shown.len() as u16;
        rows(
            shown,
            Rect {
                y,
                height: shown.len() as u16,
                ..inner
            },
            buf,
        );
        return (false, none);
    }
    let unfold_key = state.keys.key(Action::Unfold);
    let output_key = state.keys.key(Action::ShowOutput);
    let look = Look {
        theme: &state.theme,
        now,
        spinner: (now / SPIN_MS) as usize,
        motion: state.motion(),
        unfold_key: &unfold_key,
        output_key: &output_key,
    };
    let rendered = state.transcript.render(area, buf, &look);
    let mut pill = none;
    if !rendered.at_bottom {
        let theme = &state.theme;
        let mut row = Row::new()
            .fixed(theme.glyphs.down, theme.accent())
            .fixed(" Back to bottom", theme.accent());
        if rendered.new_activity {
            let text = format!(" {} new activity", theme.glyphs.dot);
            row = row.text(&text, theme.amber());
        }
        let row = row.right(&state.keys.key(Action::Bottom), theme.dim());
        let margin = if state.is_narrow() { 0 } else { 2 };
        // Its place is the blank row under the conversation.
        if area.bottom() < buf.area.bottom() {
            pill = Rect {
                y: area.bottom(),
                height: 1,
                ..area
            };
            row.draw(inset(pill, margin), buf);
        }
    }
    (rendered.animating, pill)
}

/// True if the status row changes with time.
fn moves(state: &State) -> bool {
    match state.phase() {
        Phase::Idle => false,
        Phase::Asking => state.asks.current().is_none(),
        _ => true,
    }
}

fn next_tick(state: &State, animating: bool, now: Millis) -> Option<Millis> {
    if !animating || !state.terminal.focused || state.transcript.has_selection() {
        return None;
    }
    let every = if state.motion() && state.overlays.is_empty() {
        SPIN_MS
    } else {
        1_000
    };
    Some(now - now.rem_euclid(every) + every)
}
