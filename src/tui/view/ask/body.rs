//! What is asked about: the command or change byte for byte, what the model says, what we see.
//!
//! Called by `ask::sheet`. Nothing is cut without a mark and the key that shows the rest.

use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Kind, LABEL, Sheet, more};
use crate::protocol::AskBody;
use crate::tui::composer::buffer::{grapheme_width, layout};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::state::asks::{OpenAsk, loop_subject};
use crate::tui::term::sanitise::Safe;
use crate::tui::view::row::{Row, fit};

/// What is to be approved, wrapped, hidden characters written out.
pub(super) fn subject(state: &State, open: &OpenAsk, space: (usize, usize), sheet: &mut Sheet) {
    let (width, most) = space;
    let theme = &state.theme;
    let (text, diff) = match &open.ask.body {
        AskBody::Permission { subject, diff, .. } => (subject.clone(), diff.as_str()),
        AskBody::DoomLoop { tool, subject, .. } => (loop_subject(tool, subject), ""),
        AskBody::Budget { message } => (message.clone(), ""),
        AskBody::Question { question, .. } => (question.clone(), ""),
    };
    let mut lines: Vec<Row> = Vec::new();
    for line in text.lines() {
        wrapped(
            line,
            width.saturating_sub(4),
            (theme.bold(), theme.bad()),
            &mut lines,
        );
    }
    if !diff.is_empty() {
        lines.push(Row::new());
        for line in diff
            .lines()
            .filter(|line| !line.starts_with("+++") && !line.starts_with("---"))
        {
            let style = match line.as_bytes().first() {
                Some(b'+') => theme.good(),
                Some(b'-') => theme.bad(),
                _ => theme.dim(),
            };
            wrapped(
                line,
                width.saturating_sub(4),
                (style, theme.bad().patch(theme.reverse())),
                &mut lines,
            );
        }
    }
    let total = lines.len();
    if total <= most {
        open.most_scroll.set(0);
    } else if open.full {
        // A page of it, with marks where it goes on: above, below or both.
        let scroll = open.scroll.min(total.saturating_sub(most - 1));
        open.most_scroll.set(total.saturating_sub(most - 1));
        let above = usize::from(scroll > 0);
        let fits = scroll + most - above >= total;
        let shown = most - above - usize::from(!fits);
        let left = total - (scroll + shown).min(total);
        lines = lines.into_iter().skip(scroll).take(shown).collect();
        if scroll > 0 {
            let text = format!("{} {scroll} rows above", theme.glyphs.hidden);
            let mark = Row::new().gap(4).text(&text, theme.amber());
            lines.insert(
                0,
                mark.right(&state.keys.key(Action::PageUp), theme.accent()),
            );
        }
        if left > 0 {
            lines.push(more(state, left));
        }
    } else {
        lines.truncate(most - 1);
        lines.push(more(state, total - most + 1));
    }
    let kinds = (0..lines.len()).map(|at| if at == 0 { Kind::Begins } else { Kind::Subject });
    sheet.kinds.extend(kinds);
    sheet.rows.extend(lines);
    sheet.rows.push(Row::new());
    sheet.kinds.push(Kind::Blank);
}

/// One line in as many rows as it takes.
fn wrapped(line: &str, width: usize, styles: (Style, Style), rows: &mut Vec<Row>) {
    let mut row = Row::new().gap(4);
    let mut used = 0;
    for (piece, odd) in Safe::reveal(line) {
        let style = if odd { styles.1 } else { styles.0 };
        let mut rest = piece.as_str();
        while !rest.is_empty() {
            let mut take = fit(rest, width.max(2) - used.min(width.max(2)));
            if take.is_empty() && used == 0 {
                take = rest.graphemes(true).next().unwrap_or(rest);
            }
            row = row.safe(Safe::strip(take), style);
            used += take.width();
            rest = rest.get(take.len()..).unwrap_or_default();
            if !rest.is_empty() {
                rows.push(std::mem::replace(&mut row, Row::new().gap(4)));
                used = 0;
            }
        }
    }
    rows.push(row);
}

pub(super) fn facts(state: &State, open: &OpenAsk, width: usize, rows: &mut Vec<(Kind, Row)>) {
    let theme = &state.theme;
    let mut facts: Vec<(String, String, Style)> = Vec::new();
    match &open.ask.body {
        AskBody::Permission {
            says, sees, place, ..
        } => {
            if !says.is_empty() {
                let quoted = format!(
                    "“{}”",
                    says.split_whitespace().collect::<Vec<_>>().join(" ")
                );
                facts.push(("says".to_owned(), quoted, theme.thought()));
            }
            if !sees.is_empty() {
                facts.push(("sees".to_owned(), sees.join(", "), theme.default()));
            }
            if !place.is_empty() {
                facts.push(("where".to_owned(), place.clone(), theme.default()));
            }
        }
        AskBody::DoomLoop { facts: given, .. } => facts.extend(
            given
                .iter()
                .map(|(label, text)| (label.clone(), text.clone(), theme.default())),
        ),
        AskBody::Budget { .. } | AskBody::Question { .. } => {}
    }
    if facts.is_empty() {
        return;
    }
    let label = facts
        .iter()
        .map(|(label, ..)| label.width() + 1)
        .max()
        .unwrap_or(0)
        .max(8);
    let column = LABEL - 2 + label;
    for (name, text, style) in facts {
        let room = width.saturating_sub(column).max(8);
        let kind = if name == "says" {
            Kind::Says
        } else {
            Kind::Ours
        };
        for (at, line) in layout(&text, room, grapheme_width).iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            let piece = text.get(line.range.clone()).unwrap_or_default();
            let row = Row::new()
                .gap(LABEL - 2)
                .text(name, theme.dim())
                .to(column)
                .text(piece, style);
            rows.push((kind, row));
        }
    }
}
