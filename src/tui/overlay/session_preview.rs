//! What stands under the session picker's list: the end of the chosen session, or what is asked about it.
//!
//! Called by `session_rows`. Prompts, the first line of each answer, the newest calls.

use super::sessions::{Asking, SessionList, title};
use crate::protocol::{NoticeLevel, Part, PartBody, Role, SessionSummary, ToolState};
use crate::tui::cells::{Edit, Exec, ToolFacts};
use crate::tui::state::State;
use crate::tui::text::width::{columns, fitting};
use crate::tui::view::row::Row;

/// Where it says how the session stands.
const STANDS: usize = 73;
/// Rows of a preview.
const PREVIEW: usize = 6;
/// Calls that one row names.
const CALLS: usize = 2;

/// Takes out what a terminal would obey, one for one, so that marks stay where they are.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// As much of a text as fits, with a sign where it was cut.
pub(super) fn fit(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let (end, _) = fitting(text, room.saturating_sub(1));
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// The rows under the list: how the chosen session stands and how it ended, or what is asked about it.
pub(super) fn preview(list: &SessionList, state: &State, width: usize) -> Vec<Row> {
    let theme = &state.theme;
    if let Some((level, text)) = &list.said {
        let style = match level {
            NoticeLevel::Info => theme.default(),
            NoticeLevel::Warning => theme.amber(),
            NoticeLevel::Error => theme.bad(),
        };
        return vec![Row::new().gap(2).text(text, style)];
    }
    let Some(session) = list.chosen() else {
        return Vec::new();
    };
    if matches!(list.asking, Asking::Delete) {
        return question(session, list, state);
    }
    let head = Row::new().gap(2).text(&plain(title(session)), theme.bold());
    // How it stands wins over a long title.
    let stands = |words: &'static str, style| {
        let at = STANDS.min(width.saturating_sub(words.len()));
        let name = fit(&plain(title(session)), at.saturating_sub(4));
        let row = Row::new().gap(2).text(&name, theme.bold());
        row.to(at).fixed(words, style)
    };
    let head = if session.open_elsewhere {
        stands("running in another window", theme.amber())
    } else if session.archived {
        stands("archived", theme.dim())
    } else {
        head
    };
    let mut rows = vec![head, Row::new()];
    if list.everywhere {
        rows.push(Row::new().gap(4).text(&session.info.worktree, theme.dim()));
    }
    match list.preview() {
        Some((messages, parts)) => {
            let by_user = |part: &Part| {
                let message = messages.iter().find(|m| m.id == part.message);
                message.is_some_and(|m| m.role == Role::User)
            };
            let mut end = ending(state, parts, by_user);
            let over = end.len().saturating_sub(PREVIEW);
            rows.extend(end.drain(over..));
        }
        None => rows.push(
            Row::new()
                .gap(2)
                .fixed(theme.glyphs.prompt, theme.accent())
                .gap(1)
                .text(&session.first_prompt, theme.default()),
        ),
    }
    rows
}

/// Whether to delete, with what goes.
fn question(session: &SessionSummary, list: &SessionList, state: &State) -> Vec<Row> {
    let theme = &state.theme;
    let id = Some(session.info.id);
    let below = list
        .sessions
        .iter()
        .filter(|s| s.info.parent == id && !s.fork);
    let with = match below.count() {
        0 => String::new(),
        1 => " with its subagent".to_owned(),
        n => format!(" with its {n} subagents"),
    };
    let what = format!("Delete “{}”{with} for ever?", plain(title(session)));
    let facts = format!("{} messages, {} parts", session.messages, session.parts);
    vec![
        Row::new()
            .gap(2)
            .text(&what, theme.amber())
            .gap(3)
            .fixed("y", theme.accent())
            .gap(1)
            .fixed("delete", theme.dim())
            .gap(3)
            .fixed("any other key", theme.accent())
            .gap(1)
            .fixed("keep", theme.dim()),
        Row::new(),
        Row::new().gap(4).text(&facts, theme.dim()),
    ]
}

/// What was said and done last: prompts, the first line of each answer, the newest calls.
fn ending(state: &State, parts: &[Part], by_user: impl Fn(&Part) -> bool) -> Vec<Row> {
    let theme = &state.theme;
    let mut rows = Vec::new();
    let mut said: Option<Row> = None;
    let mut calls: Vec<&Part> = Vec::new();
    let flush = |rows: &mut Vec<Row>, said: &mut Option<Row>, calls: &mut Vec<&Part>| {
        rows.extend(said.take());
        if !calls.is_empty() {
            let from = calls.len().saturating_sub(CALLS);
            let mut row = Row::new().gap(4);
            for (at, part) in calls.drain(..).skip(from).enumerate() {
                row = call(row.gap(if at > 0 { 5 } else { 0 }), state, part);
            }
            rows.push(row);
        }
    };
    for part in parts {
        match &part.body {
            PartBody::Text {
                text,
                synthetic: false,
                ..
            } if by_user(part) => {
                flush(&mut rows, &mut said, &mut calls);
                rows.push(
                    Row::new()
                        .gap(2)
                        .fixed(theme.glyphs.prompt, theme.accent())
                        .gap(1)
                        .text(text.lines().next().unwrap_or_default(), theme.default()),
                );
            }
            PartBody::Text {
                text,
                synthetic: false,
                ignored: false,
            } if !text.trim().is_empty() => {
                let mut lines = text.trim().lines();
                let first = lines.next().unwrap_or_default().to_owned();
                let more = if lines.next().is_some() { " …" } else { "" };
                said = Some(Row::new().gap(4).text(&(first + more), theme.dim()));
            }
            PartBody::Tool(tool) if matters(&tool.tool, &tool.state) => calls.push(part),
            _ => {}
        }
    }
    flush(&mut rows, &mut said, &mut calls);
    rows
}

/// True for calls that changed files or ran something.
fn matters(tool: &str, state: &ToolState) -> bool {
    let ended = matches!(state, ToolState::Completed { .. } | ToolState::Error { .. });
    ended && (Edit::is(tool) || matches!(tool, "bash" | "shell"))
}

fn call(row: Row, state: &State, part: &Part) -> Row {
    let theme = &state.theme;
    let PartBody::Tool(tool) = &part.body else {
        return row;
    };
    let facts = ToolFacts::of(tool, part.start);
    let metadata = crate::tui::cells::metadata(&tool.state);
    let failed = matches!(tool.state, ToolState::Error { .. });
    if Edit::is(&tool.tool) {
        let edit = Edit::of(facts, metadata);
        let row = sign(row, state, failed)
            .text(&edit.headline(), theme.dim())
            .gap(2);
        return row.text(&format!("+{}", edit.added), theme.good()).text(
            &format!(" {}{}", theme.glyphs.minus, edit.removed),
            theme.bad(),
        );
    }
    let exec = Exec::of(facts, metadata);
    let (headline, verdict) = exec.headline();
    let row = sign(
        row,
        state,
        failed || exec.exit.is_some_and(|code| code != 0),
    );
    row.text(&headline, theme.dim())
        .gap(2)
        .text(&verdict, theme.dim())
}

fn sign(row: Row, state: &State, failed: bool) -> Row {
    let theme = &state.theme;
    let (glyph, style) = if failed {
        (theme.glyphs.failed, theme.bad())
    } else {
        (theme.glyphs.done, theme.good())
    };
    row.fixed(glyph, style).gap(1)
}
