//! The answers of a question, and the field for one's own words.
//!
//! Called by `ask::sheet`; which answers there are is decided in `state::asks`.

use unicode_width::UnicodeWidthStr;

use super::{CHOICE, DETAIL, Sheet};
use crate::protocol::AskBody;
use crate::tui::composer::buffer::{Row as Line, grapheme_width, layout, position};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::state::asks::{Choice, OpenAsk, Purpose};
use crate::tui::view::row::Row;

/// The rows to choose from, and the text that is being written.
pub(super) fn choices(state: &State, open: &OpenAsk, width: usize, sheet: &mut Sheet) {
    let theme = &state.theme;
    let all = open.choices();
    let question = matches!(open.ask.body, AskBody::Question { .. });
    let detail = all
        .iter()
        .filter(|c| !c.detail.is_empty())
        .map(|c| CHOICE - 2 + c.label.width() + 2)
        .max()
        .unwrap_or(0)
        .max(DETAIL - 2);
    for (at, choice) in all.iter().enumerate() {
        let key = match choice.action {
            Some(action) => state.keys.key(action),
            None if question && at < 9 => (at + 1).to_string(),
            None => String::new(),
        };
        let selected = at == open.selected && open.field.is_none();
        // An option of the model's may be long: it is shown whole.
        let label = |line: &Line| choice.label.get(line.range.clone()).unwrap_or_default();
        let lines = if question {
            layout(
                &choice.label,
                width.saturating_sub(CHOICE - 2).max(8),
                grapheme_width,
            )
        } else {
            Vec::new()
        };
        if let [first, more @ ..] = lines.as_slice()
            && !more.is_empty()
        {
            let short = Choice {
                label: label(first).to_owned(),
                ..choice.clone()
            };
            sheet
                .rows
                .push(choice_row(state, &short, (&key, selected, detail)));
            let style = if selected {
                theme.bold()
            } else {
                theme.default()
            };
            let rest = more
                .iter()
                .map(|line| Row::new().gap(CHOICE - 2).text(label(line), style));
            sheet.rows.extend(rest);
            continue;
        }
        sheet
            .rows
            .push(choice_row(state, choice, (&key, selected, detail)));
        if choice.action == Some(Action::AskOnce) && !open.withheld().is_empty() {
            let text = format!("not offered: {}", open.withheld());
            sheet
                .rows
                .push(Row::new().gap(CHOICE - 2).text(&text, theme.dim()));
        }
    }
    if let Some(field) = &open.field {
        let label = match field.purpose {
            Purpose::Say => "tell the model",
            Purpose::Pattern => "pattern",
            Purpose::Answer => "answer",
        };
        let row = Row::new()
            .gap(1)
            .fixed(theme.glyphs.prompt, theme.accent())
            .gap(1);
        let row = row.text(label, theme.dim()).gap(2);
        let start = row.width();
        let room = width.saturating_sub(start + 1).max(4);
        let lines = layout(field.text.text(), room, grapheme_width);
        let (line, col) = position(&lines, field.text.cursor());
        let shown = field
            .text
            .text()
            .get(lines[line].range.clone())
            .unwrap_or_default();
        sheet.rows.push(Row::new());
        let row = row.text(shown, theme.default());
        sheet.rows.push(row.right(field.problem, theme.amber()));
        sheet.cursor = Some((sheet.rows.len() - 1, start + col));
    }
}

fn choice_row(state: &State, choice: &Choice, place: (&str, bool, usize)) -> Row {
    let (key, selected, detail) = place;
    let theme = &state.theme;
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let row = if selected {
        Row::new()
            .gap(1)
            .fixed(theme.glyphs.prompt, theme.accent())
            .gap(1)
    } else {
        Row::new().gap(3)
    };
    let row = row
        .text(key, theme.accent())
        .to(CHOICE - 2)
        .text(&choice.label, style);
    let row = if choice.detail.is_empty() {
        row
    } else {
        row.to(detail).text(&choice.detail, theme.default())
    };
    if choice.note.is_empty() {
        row
    } else {
        row.gap(6).text(&choice.note, theme.dim())
    }
}
