//! The mouse: the wheel scrolls, a drag selects, a click folds; two clicks take a word, three a line.
//! A click chooses a row of a list, puts the cursor into the composer's text, and goes back to the
//! bottom where that is offered.

use ratatui::layout::{Position, Rect};

use super::super::input::{Mouse, MouseKind};
use super::super::overlay::Overlay;
use super::super::state::State;
use super::super::view::composer;
use super::{Effect, compose, keys, layers};
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
            MouseKind::Down => {
                let twice = clicks(state, mouse, now) == 2;
                return layers::click(state, mouse.row, twice, now);
            }
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
        MouseKind::Up if state.dragging => return release(state, mouse, now),
        MouseKind::Drag | MouseKind::Up => {}
    }
    Vec::new()
}

/// How many clicks this is at one place in a row, from 1 to 3.
fn clicks(state: &mut State, mouse: Mouse, now: Millis) -> u8 {
    let place = (mouse.col, mouse.row);
    let count = match state.times.click {
        Some((at, last, count)) if last == place && now - at <= CLICKS_MS => count % 3 + 1,
        _ => 1,
    };
    state.times.click = Some((now, place, count));
    count
}

fn press(state: &mut State, mouse: Mouse, now: Millis) -> Vec<Effect> {
    state.transcript.clear_selection();
    state.times.fold = None;
    let count = clicks(state, mouse, now);
    let spots = state.spots;
    let on = |area: Rect| area.contains(Position::new(mouse.col, mouse.row));
    state.dragging = on(spots.transcript) && count == 1;
    if on(spots.pill) {
        state.transcript.to_bottom();
    } else if on(spots.popup) {
        return choose(state, usize::from(mouse.row - spots.popup.y), now);
    } else if on(spots.composer) {
        let (col, row) = (mouse.col - spots.composer.x, mouse.row - spots.composer.y);
        let at = composer::byte_at(state, (col, row), spots.composer.height);
        state.composer.buffer.move_to(at);
        return compose::changed(state);
    }
    if !on(spots.transcript) {
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

/// Takes an entry of the list above the composer, as its key does.
fn choose(state: &mut State, row: usize, now: Millis) -> Vec<Effect> {
    let Some(popup) = &mut state.composer.popup else {
        return Vec::new();
    };
    let at = popup.first() + row;
    if at >= popup.items.len() {
        return Vec::new();
    }
    popup.selected = at;
    compose::accept_popup(state, false, now)
}

/// Copies what is selected, if that is wanted without a key.
fn copied(state: &mut State) -> Vec<Effect> {
    if !state.settings.copy_on_select {
        return Vec::new();
    }
    let text = state.transcript.selected_text();
    text.map(Effect::Copy).into_iter().collect()
}

/// A click on a cell's sign folds at once; elsewhere it may be the first of two, which select.
fn release(state: &mut State, mouse: Mouse, now: Millis) -> Vec<Effect> {
    state.dragging = false;
    let (col, row) = within(state, mouse);
    state.transcript.select_end(col, row);
    if state.transcript.has_selection() {
        return copied(state);
    }
    let signs = if state.is_narrow() { 2 } else { 4 };
    if col < signs {
        state.transcript.toggle_fold_at(row);
    } else if let Some(cell) = state.transcript.cell_number_at(row) {
        state.times.fold = Some((now + CLICKS_MS, cell));
    }
    Vec::new()
}

/// Column and row within the transcript, at its edge when outside.
fn within(state: &State, mouse: Mouse) -> (u16, u16) {
    let area = state.spots.transcript;
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
