//! How the session picker is drawn: by day, in columns, with a preview of the chosen one.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::picker::{Picker, title};
use super::{Frame, footer};
use crate::protocol::{Millis, SessionSummary};
use crate::tui::keymap::Action;
use crate::tui::state::State;
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
    picker: &Picker,
    state: &State,
    area: Rect,
    buf: &mut Cells,
    now: Millis,
) -> Option<Position> {
    let frame = Frame::of(area);
    let theme = &state.theme;
    let scope = if picker.everywhere() {
        "all folders ▾"
    } else {
        "this project ▾"
    };
    let count = format!("{} of {}   ", picker.hits().len(), picker.sessions.len());
    Row::new()
        .fixed("Sessions", theme.bold())
        .right(&count, theme.dim())
        .right(scope, theme.accent())
        .draw(frame.title, buf);
    let cursor = picker.draw_query(state, frame.body, buf);
    let wide = area.width >= WIDE;
    let (rows, chosen) = list(picker, state, wide, now);
    list_and_preview(state, (&rows, chosen), &preview(picker, state), frame, buf);
    let hints = [
        (Action::ListAccept, "open"),
        (Action::SessionFork, "fork"),
        (Action::SessionScope, "scope"),
    ];
    footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
    cursor
}

/// The list as far as it fits, the chosen row in sight, and the preview under it.
fn list_and_preview(
    state: &State,
    list: (&[Row], usize),
    preview: &[Row],
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
    }
}

/// The rows with their headings, and which of them is the chosen one.
fn list(picker: &Picker, state: &State, wide: bool, now: Millis) -> (Vec<Row>, usize) {
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
    if picker.hits().is_empty() {
        let text = if picker.is_waiting() {
            "looking"
        } else {
            "no session matches"
        };
        rows.push(Row::new());
        rows.push(Row::new().gap(2).fixed(text, theme.dim()));
    }
    let mut group = "";
    for (at, hit) in picker.hits().iter().enumerate() {
        let Some(session) = picker.sessions.get(hit.index) else {
            continue;
        };
        let here = match numbers::days_ago(session.updated, now, &state.zone) {
            ..=0 => "Today",
            1..7 => "This week",
            _ => "Older",
        };
        if here != group {
            rows.push(Row::new());
            rows.push(Row::new().gap(2).fixed(here, theme.dim()));
            group = here;
        }
        let selected = at == picker.selected();
        if selected {
            chosen = rows.len();
        }
        rows.push(session_row(
            state,
            session,
            (&hit.marks, selected, wide),
            now,
        ));
    }
    (rows, chosen)
}

fn session_row(
    state: &State,
    session: &SessionSummary,
    how: (&[usize], bool, bool),
    now: Millis,
) -> Row {
    let (marks, selected, wide) = how;
    let theme = &state.theme;
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let row = if selected {
        Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
    } else {
        Row::new().gap(2)
    };
    let when = numbers::when(session.updated, now, &state.zone);
    let name: String = title(session).chars().filter(|c| !c.is_control()).collect();
    let fork = if session.info.parent.is_some() {
        "└ "
    } else {
        ""
    };
    let row = row.fixed(fork, theme.dim());
    if !wide {
        return row
            .marked(&name, marks, style, theme.reverse())
            .right(&when, theme.dim());
    }
    let room = WHEN - 10;
    let cut: String = name.chars().take(room).collect();
    let row = row.marked(&cut, marks, style, theme.reverse());
    let share = format!("{}%", session.context_percent);
    let cost = session.cost.map(numbers::money).unwrap_or_default();
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
            .gap(2)
            .text(&format!("+{}", session.added), theme.good())
            .text(
                &format!(" {}{}", theme.glyphs.minus, session.removed),
                theme.bad(),
            );
    }
    row
}

fn preview(picker: &Picker, state: &State) -> Vec<Row> {
    let theme = &state.theme;
    let hit = picker.hits().get(picker.selected());
    let Some(session) = hit.and_then(|hit| picker.sessions.get(hit.index)) else {
        return Vec::new();
    };
    let facts = format!("{} messages, {} parts", session.messages, session.parts);
    let head = Row::new().gap(2).text(title(session), theme.bold());
    let head = if session.open_elsewhere {
        head.right("running in another window", theme.amber())
    } else if session.archived {
        head.right("archived", theme.dim())
    } else {
        head
    };
    vec![
        head,
        Row::new(),
        Row::new()
            .gap(2)
            .fixed(theme.glyphs.prompt, theme.accent())
            .gap(1)
            .text(&session.first_prompt, theme.default()),
        Row::new()
            .gap(4)
            .text(&facts, theme.dim())
            .gap(3)
            .text(&session.info.model.to_string(), theme.dim()),
        Row::new().gap(4).text(&session.info.worktree, theme.dim()),
    ]
}
