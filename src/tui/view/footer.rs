//! The footer: agent, model and mode, or what the keys do right now; context, cost, help.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::numbers;
use super::row::Row;
use crate::protocol::NoticeLevel;
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::text::wrap;

/// Rows that a sentence may take: the footer's, and the blank one above it.
const FLASH_ROWS: usize = 2;

/// Draws it. A sentence that is too long for one row takes the blank row above too, and then both as
/// wide as they are: figures can wait.
pub fn draw(state: &State, area: Rect, buf: &mut Buffer) {
    if state.flash.is_none() {
        return row(state).draw(area, buf);
    }
    let rows = flash_rows(state, usize::from(area.width));
    let [first, second, ..] = rows.as_slice() else {
        let fits = rows.into_iter().next().unwrap_or_default();
        return right_side(state, fits).draw(area, buf);
    };
    let above = Rect {
        y: area.y.saturating_sub(1),
        ..area
    };
    let blank = (above.left()..above.right()).all(|x| buf[(x, above.y)].symbol() == " ");
    if blank && above.y < area.y {
        first.draw(above, buf);
        second.draw(area, buf);
    } else {
        flash_row(state, state.flash.as_ref().map_or("", |f| &f.text)).draw(area, buf);
    }
}

/// The passing sentence, wrapped; the last row is cut with `…` if it is still too long.
pub fn flash_rows(state: &State, width: usize) -> Vec<Row> {
    let text = state.flash.as_ref().map_or("", |flash| &flash.text);
    let mut pieces = wrap::pieces(text, width, width);
    if let Some(last) = pieces.get(FLASH_ROWS - 1).map(|piece| piece.range.start) {
        pieces.truncate(FLASH_ROWS);
        if let Some(piece) = pieces.last_mut() {
            piece.range = last..text.len();
        }
    }
    let rows = pieces
        .into_iter()
        .map(|piece| text.get(piece.range).unwrap_or_default());
    rows.map(|text| flash_row(state, text)).collect()
}

fn flash_row(state: &State, text: &str) -> Row {
    let theme = &state.theme;
    let level = state.flash.as_ref().map(|flash| flash.level);
    let style = match level {
        Some(NoticeLevel::Warning) => theme.amber(),
        Some(NoticeLevel::Error) => theme.bad(),
        _ => theme.dim(),
    };
    Row::new().text(text, style)
}

/// The row while nothing is to be said.
fn row(state: &State) -> Row {
    let row = if state.is_running() && !state.composer.is_empty() && !state.is_narrow() {
        steering(state)
    } else {
        who(state)
    };
    right_side(state, row)
}

/// Agent · model · mode; under 80 columns without the model.
fn who(state: &State) -> Row {
    let theme = &state.theme;
    let Some(status) = &state.status else {
        return Row::new().text(if state.connected { "" } else { "starting" }, theme.dim());
    };
    let model = numbers::model(&status.model_label);
    let mut words = vec![status.agent.as_str()];
    if !state.is_narrow() {
        words.push(&model);
    }
    words.push(status.mode.name());
    let row = match &state.composer.vim {
        Some(vim) => {
            let row = Row::new().fixed(vim.word(), theme.accent()).gap(1);
            let row = row.text(&vim.pending(), theme.dim());
            if vim.pending().is_empty() {
                row.gap(2)
            } else {
                row.gap(3)
            }
        }
        None => Row::new(),
    };
    row.text(&words.join(" · "), theme.dim())
}

fn steering(state: &State) -> Row {
    let theme = &state.theme;
    let keys = &state.keys;
    let mut row = Row::new()
        .text(&keys.key(Action::Submit), theme.accent())
        .fixed(" steer   ", theme.dim())
        .text(&keys.key(Action::FollowUp), theme.accent())
        .fixed(" queue", theme.dim());
    if state.terminal.kitty {
        row = row
            .gap(3)
            .text(&keys.key(Action::InterruptSend), theme.accent())
            .fixed(" interrupt and send", theme.dim());
    }
    row
}

fn right_side(state: &State, mut row: Row) -> Row {
    let theme = &state.theme;
    if let Some(status) = &state.status {
        let gauge = status.context;
        if state.is_narrow() {
            let share = format!("{}%", numbers::percent(gauge.used, gauge.window));
            return row
                .right(&share, theme.dim())
                .right("  ", theme.dim())
                .right("?", theme.accent());
        }
        row = row
            .right(&numbers::context(gauge.used, gauge.window), theme.dim())
            .right("   ", theme.dim());
        let begun = state.session.begun;
        match status.cost {
            Some(usd) if begun || usd > 0.0 => {
                row = row
                    .right(&numbers::money(usd), theme.dim())
                    .right("   ", theme.dim());
            }
            _ => {}
        }
    }
    if state.is_narrow() {
        return row.right("?", theme.accent());
    }
    row.right("?", theme.accent()).right(" keys", theme.dim())
}
