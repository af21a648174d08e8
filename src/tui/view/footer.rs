//! The footer: agent, model and mode, or what the keys do right now; context, cost, help.

use super::numbers;
use super::row::Row;
use crate::protocol::NoticeLevel;
use crate::tui::composer::buffer::{grapheme_width, layout};
use crate::tui::keymap::Action;
use crate::tui::state::State;

/// Rows of a notice at most: more would push the conversation away.
const NOTICE_ROWS: usize = 3;

/// The notice that is to be read now, whole: in as many rows as it takes. Empty for none.
pub fn notice(state: &State, width: usize) -> Vec<Row> {
    let Some(flash) = &state.flash else {
        return Vec::new();
    };
    let theme = &state.theme;
    let style = match flash.level {
        NoticeLevel::Info => theme.dim(),
        NoticeLevel::Warning => theme.amber(),
        NoticeLevel::Error => theme.bad(),
    };
    let text = flash.text.replace('\n', " ");
    let lines = layout(&text, width.max(8), grapheme_width);
    let mut rows: Vec<Row> = lines
        .iter()
        .map(|line| text.get(line.range.clone()).unwrap_or_default())
        .map(|line| Row::new().text(line.trim_end(), style))
        .collect();
    if rows.len() > NOTICE_ROWS {
        rows.truncate(NOTICE_ROWS);
        // `Row` marks what is cut: the rest of the text is too long for the last row.
        let last = lines
            .get(NOTICE_ROWS - 1)
            .map_or(0, |line| line.range.start);
        if let Some(row) = rows.last_mut() {
            *row = Row::new().text(text.get(last..).unwrap_or_default(), style);
        }
    }
    rows
}

/// A notice of one row with the numbers beside it, if both fit.
pub fn beside(state: &State, notice: &Row, width: usize) -> Row {
    let row = right_side(state, notice.clone());
    if row.wanted() <= width {
        row
    } else {
        notice.clone()
    }
}

/// The row.
pub fn row(state: &State) -> Row {
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
    let dot = format!(" {} ", theme.glyphs.dot);
    row.text(&words.join(&dot), theme.dim())
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
