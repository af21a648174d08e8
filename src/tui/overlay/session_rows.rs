//! How the session picker is drawn: by day, in columns; `session_preview` draws what stands under it.
//!
//! Called by the overlay stack; `sessions` holds what is drawn.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::{Listed, SeenRows};
use super::session_preview::{fit, plain, preview};
use super::sessions::{Asking, Line, SessionList, title};
use super::{Frame, draw_field, footer};
use crate::protocol::{Millis, SessionSummary};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::text::width::columns;
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// Right edges of the columns within the margin, and where the branch begins.
const WHEN: usize = 68;
const CONTEXT: usize = 77;
const COST: usize = 86;
const BRANCH: usize = 88;
/// Columns from which on all columns are shown.
const WIDE: u16 = 100;

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
    let rows = rows(list, state, area.width >= WIDE, now);
    let preview = preview(list, state, usize::from(frame.body.width));
    let must = matches!(list.asking, Asking::Delete) || list.said.is_some();
    list_and_preview(state, (&rows, &list.seen), (&preview, must), frame, buf);
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
                _ if list.chosen().is_none() => &hints[4..5],
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
    (rows, seen): (&Listed, &SeenRows),
    (preview, must): (&[Row], bool),
    frame: Frame,
    buf: &mut Cells,
) {
    let theme = &state.theme;
    let body = Rect {
        y: (frame.body.y + 2).min(frame.body.bottom()),
        height: frame.body.height.saturating_sub(2),
        ..frame.body
    };
    let preview_height = if body.height >= 16 && !preview.is_empty() {
        preview.len() as u16 + 3
    } else {
        // The question and what came of a change are said even where there is no room.
        0
    };
    let room = usize::from(body.height.saturating_sub(preview_height));
    let list = Rect {
        height: room as u16,
        ..body
    };
    let drawn = rows.draw(list, seen, buf);
    if preview_height > 0 {
        let y = body.y + drawn + 2;
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

/// The sessions under headings of when they were used.
fn rows(list: &SessionList, state: &State, wide: bool, now: Millis) -> Listed {
    let theme = &state.theme;
    let mut rows = Listed::default();
    if wide {
        let head = Row::new()
            .to(WHEN - 4)
            .fixed("last", theme.dim())
            .to(CONTEXT - 7);
        rows.plain(
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
        rows.plain(Row::new());
        rows.plain(Row::new().gap(2).fixed(text, theme.dim()));
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
            rows.plain(Row::new());
            rows.plain(Row::new().gap(2).fixed(here, theme.dim()));
            group = here;
        }
        let selected = at == list.selected;
        let row = session_row(state, session, line, (selected, wide), now);
        rows.entry(row, at, selected);
    }
    rows
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
