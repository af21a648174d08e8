//! The mouse: the wheel scrolls, a drag selects, a click folds.

use super::super::input::{Mouse, MouseKind};
use super::super::overlay::Overlay;
use super::super::state::State;
use super::{Effect, keys};

const WHEEL_ROWS: i32 = 3;

/// Something was done with the mouse.
pub(super) fn mouse(state: &mut State, mouse: Mouse) -> Vec<Effect> {
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
        MouseKind::Down => press(state, mouse),
        MouseKind::Drag if state.dragging => {
            let (col, row) = within(state, mouse);
            state.transcript.select_drag(col, row);
        }
        MouseKind::Up if state.dragging => return release(state, mouse),
        MouseKind::Drag | MouseKind::Up => {}
    }
    Vec::new()
}

fn press(state: &mut State, mouse: Mouse) {
    state.transcript.clear_selection();
    let area = state.transcript_area;
    let inside = mouse.row >= area.y && mouse.row < area.bottom() && mouse.col < area.right();
    state.dragging = inside;
    if inside {
        let (col, row) = within(state, mouse);
        state.transcript.select_start(col, row);
    }
}

fn release(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    state.dragging = false;
    let (col, row) = within(state, mouse);
    state.transcript.select_end(col, row);
    if !state.transcript.has_selection() {
        state.transcript.toggle_fold_at(row);
    } else if state.settings.copy_on_select {
        let text = state.transcript.selected_text();
        return text.map(Effect::Copy).into_iter().collect();
    }
    Vec::new()
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
