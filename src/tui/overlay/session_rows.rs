//! How the session picker is drawn: by day, in columns, with a preview of the chosen one.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::sessions::{Asking, Line, SessionList, title};
use super::{Frame, draw_field, footer};
use crate::protocol::{Millis, NoticeLevel, Part, PartBody, Role, SessionSummary, ToolState};
use crate::tui::cells::{Edit, Exec, ToolFacts};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::text::width::{columns, fitting};
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// Right edges of the columns within the margin, and where the branch begins.
const WHEN: usize = 68;
const CONTEXT: usize = 77;
const COST: usize = 86;
const BRANCH: usize = 88;
/// Where the preview says how the session stands.
const STANDS: usize = 73;
/// Columns from which on all columns are shown.
const WIDE: u16 = 100;
/// Rows of a preview.
const PREVIEW: usize = 6;
/// Calls that a preview names in one row.
const CALLS: usize = 2;

/// Draws the picker.
pub(super) fn draw(
    list: &SessionList,
    state: &State,
    area: Rect,
    buf: &mut Cells,
    now: Millis,
) -> Option<Position> {
    let frame = Frame::of(area);
    let theme = &state.theme;
    let scope = if list.everywhere {
        "all folders ▾"
    } else {
        "this project ▾"
    };
    let count = format!("{} of {}   ", list.count, list.sessions.len());
    Row::new()
        .fixed("Sessions", theme.bold())
        .right(&count, theme.dim())
        .right(scope, theme.accent())
        .draw(frame.title, buf);
    let cursor = match &list.asking {
        Asking::Name(name) => draw_field("Name  ", name, state, frame.body, buf),
        _ => draw_field("", &list.query, state, frame.body, buf),
    };
    let (rows, chosen) = rows(list, state, area.width >= WIDE, now);
    let preview = preview(list, state, usize::from(frame.body.width));
    let must = matches!(list.asking, Asking::Delete) || list.said.is_some();
    list_and_preview(state, (&rows, chosen), (&preview, must), frame, buf);
    foot(list, state, area.width).draw(frame.footer, buf);
    cursor.filter(|_| !matches!(list.asking, Asking::Delete))
}

/// What the keys do in the state that the picker is in.
fn foot(list: &SessionList, state: &State, width: u16) -> Row {
    let theme = &state.theme;
    let words = |pairs: [(&str, &'static str); 2]| {
        let [(accept, does), (close, leaves)] = pairs;
        Row::new()
            .text(accept, theme.accent())
            .gap(1)
            .fixed(does, theme.dim())
            .gap(3)
            .text(close, theme.accent())
            .gap(1)
            .fixed(leaves, theme.dim())
    };
    let close = state.keys.key(Action::ListClose);
    match list.asking {
        Asking::Name(_) => {
            let accept = state.keys.key(Action::ListAccept);
            words([(&accept, "save"), (&close, "keep the old name")])
        }
        Asking::Delete => words([("y", "delete for ever"), ("any other key", "keep")]),
        Asking::Nothing => {
            let hints = [
                (Action::ListAccept, "open"),
                (Action::SessionFork, "fork"),
                (Action::SessionRename, "rename"),
                (Action::SessionArchive, "archive"),
                (Action::SessionScope, "scope"),
                (Action::SessionDelete, "delete"),
            ];
            let shown = match width {
                ..80 => &hints[..1],
                80..=120 => &hints[..5],
                _ => &hints[..],
            };
            footer(state, shown, Action::ListClose)
        }
    }
}

/// The list as far as it fits, the chosen row in sight, and the preview under it.
fn list_and_preview(
    state: &State,
    list: (&[Row], usize),
    (preview, must): (&[Row], bool),
    frame: Frame,
    buf: &mut Cells,
) {
    let theme = &state.theme;
    let (rows, chosen) = list;
    let body = Rect {
        y: (frame.body.y + 2).min(frame.body.bottom()),
        height: frame.body.height.saturating_sub(2),
        ..frame.body
    };
    let preview_height = if body.height >= 16 {
        preview.len() as u16 + 3
    } else {
        // The question and what came of a change are said even where there is no room.
        0
    };
    let room = usize::from(body.height.saturating_sub(preview_height));
    let first = (chosen + 2).saturating_sub(room);
    super::draw_rows(
        rows.iter().skip(first),
        Rect {
            height: room as u16,
            ..body
        },
        buf,
    );
    if preview_height > 0 {
        let y = body.y + (rows.len().min(room) as u16) + 2;
        let rule = theme.glyphs.free.repeat(usize::from(body.width));
        Row::new().text(&rule, theme.dim()).draw(
            Rect {
                y,
                height: 1,
                ..body
            },
            buf,
        );
        let rest = Rect {
            y: y + 1,
            height: frame.footer.y.saturating_sub(y + 1),
            ..body
        };
        super::draw_rows(preview.iter(), rest, buf);
    } else if let Some(first) = preview.first().filter(|_| must && body.height > 0) {
        // Its first row stands in the blank row under the query.
        let y = body.y.saturating_sub(1);
        first.draw(
            Rect {
                y,
                height: 1,
                ..body
            },
            buf,
        );
    }
}

/// The rows with their headings, and which of them is the chosen one.
fn rows(list: &SessionList, state: &State, wide: bool, now: Millis) -> (Vec<Row>, usize) {
    let theme = &state.theme;
    let mut rows = Vec::new();
    let mut chosen = 0;
    if wide {
        let head = Row::new()
            .to(WHEN - 4)
            .fixed("last", theme.dim())
            .to(CONTEXT - 7);
        rows.push(
            head.fixed("context", theme.dim())
                .to(COST - 4)
                .fixed("cost", theme.dim()),
        );
    }
    if list.lines.is_empty() {
        let text = if list.waiting {
            "looking"
        } else if list.sessions.is_empty() {
            "no other session here yet"
        } else {
            "no session matches"
        };
        rows.push(Row::new());
        rows.push(Row::new().gap(2).fixed(text, theme.dim()));
    }
    let mut group = "";
    for (at, line) in list.lines.iter().enumerate() {
        let Some(session) = list.sessions.get(line.index) else {
            continue;
        };
        let here = match numbers::days_ago(line.family, now, &state.zone) {
            ..=0 => "Today",
            1..7 => "This week",
            _ => "Older",
        };
        if here != group {
            rows.push(Row::new());
            rows.push(Row::new().gap(2).fixed(here, theme.dim()));
            group = here;
        }
        let selected = at == list.selected;
        if selected {
            chosen = rows.len();
        }
        rows.push(session_row(state, session, line, (selected, wide), now));
    }
    (rows, chosen)
}

/// Takes out what a terminal would obey, one for one, so that marks stay where they are.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn session_row(
    state: &State,
    session: &SessionSummary,
    line: &Line,
    (selected, wide): (bool, bool),
    now: Millis,
) -> Row {
    let theme = &state.theme;
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let mut row = if selected {
        Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
    } else {
        Row::new().gap(2)
    };
    if line.depth > 0 {
        row = row
            .gap(2 * (line.depth - 1))
            .fixed(theme.glyphs.tree.1, theme.dim())
            .gap(1);
        let kind = if session.fork { "fork: " } else { "task: " };
        row = row.fixed(kind, theme.dim());
    }
    let when = numbers::when(session.updated, now, &state.zone);
    let (row, width) = (row.clone(), row.width());
    let room = if wide {
        (WHEN - 7).saturating_sub(width)
    } else {
        usize::MAX
    };
    let row = named(row, state, session, (line, style, room));
    if !wide {
        return row.right(&when, theme.dim());
    }
    let share = format!("{}%", session.context_percent);
    let cost = session.cost.map_or_else(|| "?".to_owned(), numbers::money);
    let mut row = row
        .to(WHEN.saturating_sub(when.chars().count()))
        .text(&when, theme.dim())
        .to(CONTEXT - share.len())
        .text(&share, theme.dim())
        .to(COST - cost.len().min(8))
        .text(&cost, theme.dim())
        .to(BRANCH)
        .text(&session.branch, theme.dim());
    if session.added + session.removed > 0 {
        row = row
            .gap(if session.branch.is_empty() { 0 } else { 2 })
            .text(&format!("+{}", session.added), theme.good())
            .text(
                &format!(" {}{}", theme.glyphs.minus, session.removed),
                theme.bad(),
            );
    }
    row
}

/// As much of a text as fits, with a sign where it was cut.
fn fit(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let (end, _) = fitting(text, room.saturating_sub(1));
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// The session's name with what matches, cut to `room` columns.
fn named(
    row: Row,
    state: &State,
    session: &SessionSummary,
    (line, style, room): (&Line, ratatui::style::Style, usize),
) -> Row {
    let theme = &state.theme;
    let name = plain(title(session));
    let cut = fit(&name, room);
    let used = columns(&cut);
    let row = row.marked(&cut, &line.title, style, theme.reverse());
    if !line.prompt.is_empty() && room > used + 10 {
        let prompt = plain(&session.first_prompt);
        let prompt = fit(&prompt, room - used - 2);
        return row
            .gap(2)
            .marked(&prompt, &line.prompt, theme.dim(), theme.reverse());
    }
    if let Some((prompt, marks)) = &line.later
        && room > used + 10
    {
        let prompt = fit(prompt, room - used - 2);
        return row
            .gap(2)
            .marked(&prompt, marks, theme.dim(), theme.reverse());
    }
    if session.archived && room > used + 10 {
        return row.gap(2).fixed("archived", theme.dim());
    }
    if line.more > 0 {
        return row
            .gap(2)
            .text(&format!("{} more subagents", line.more), theme.dim());
    }
    row
}

fn preview(list: &SessionList, state: &State, width: usize) -> Vec<Row> {
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
