//! The mouse: the wheel scrolls, a drag selects, a click folds; two clicks take a word, three a line.

use super::super::input::{Mouse, MouseKind};
use super::super::overlay::Overlay;
use super::super::state::State;
use super::{Effect, keys};
use crate::protocol::Millis;

const WHEEL_ROWS: i32 = 3;
/// Clicks within this time on one cell are a double or a triple click.
const CLICKS_MS: Millis = 400;

/// Something was done with the mouse.
pub(super) fn mouse(state: &mut State, mouse: Mouse, now: Millis) -> Vec<Effect> {
    let over = state.asks.current().is_none_or(|ask| !ask.full);
    if matches!(state.overlays.last(), Some(Overlay::Subagent))
        && let Some(watched) = &mut state.subagents.watched
        && over
    {
        match mouse.kind {
            MouseKind::WheelUp => watched.transcript.scroll_lines(-WHEEL_ROWS),
            MouseKind::WheelDown => watched.transcript.scroll_lines(WHEEL_ROWS),
            _ => {}
        }
        return Vec::new();
    }
    if let Some(top) = state.overlays.last_mut()
        && over
    {
        match mouse.kind {
            MouseKind::WheelUp => top.scroll(-WHEEL_ROWS as isize),
            MouseKind::WheelDown => top.scroll(WHEEL_ROWS as isize),
            _ => {}
        }
        return Vec::new();
    }
    match mouse.kind {
        MouseKind::WheelUp => {
            state.transcript.scroll_lines(-WHEEL_ROWS);
            return keys::older(state);
        }
        MouseKind::WheelDown => state.transcript.scroll_lines(WHEEL_ROWS),
        MouseKind::Down => return press(state, mouse, now),
        MouseKind::Drag if state.dragging => {
            let (col, row) = within(state, mouse);
            state.transcript.select_drag(col, row);
        }
        MouseKind::Up if state.dragging => return release(state, mouse),
        MouseKind::Drag | MouseKind::Up => {}
    }
    Vec::new()
}

fn press(state: &mut State, mouse: Mouse, now: Millis) -> Vec<Effect> {
    state.transcript.clear_selection();
    let area = state.transcript_area;
    let inside = mouse.row >= area.y && mouse.row < area.bottom() && mouse.col < area.right();
    let place = (mouse.col, mouse.row);
    let count = match state.times.click {
        Some((at, last, count)) if last == place && now - at <= CLICKS_MS => count % 3 + 1,
        _ => 1,
    };
    state.times.click = inside.then_some((now, place, count));
    state.dragging = inside && count == 1;
    if !inside {
        return Vec::new();
    }
    let (col, row) = within(state, mouse);
    match count {
        1 => state.transcript.select_start(col, row),
        2 => state.transcript.select_word(col, row),
        _ => state.transcript.select_line(row),
    }
    if count > 1 { copied(state) } else { Vec::new() }
}

/// Copies what is selected, if that is wanted without a key.
fn copied(state: &mut State) -> Vec<Effect> {
    if !state.settings.copy_on_select {
        return Vec::new();
    }
    let text = state.transcript.selected_text();
    text.map(Effect::Copy).into_iter().collect()
}

fn release(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    state.dragging = false;
    let (col, row) = within(state, mouse);
    state.transcript.select_end(col, row);
    if !state.transcript.has_selection() {
        state.transcript.toggle_fold_at(row);
        return Vec::new();
    }
    copied(state)
}

/// Column and row within the transcript, at its edge when outside.
fn within(state: &State, mouse: Mouse) -> (u16, u16) {
    let area = state.transcript_area;
    let row = mouse
        .row
        .clamp(area.y, area.bottom().saturating_sub(1).max(area.y))
        - area.y;
    let col = mouse
        .col
        .clamp(area.x, area.right().saturating_sub(1).max(area.x))
        - area.x;
    (col, row)
}
