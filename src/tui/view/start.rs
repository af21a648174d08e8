//! The start screen: name, place, last sessions, what can be typed; or what is missing.

use super::numbers;
use super::row::Row;
use crate::protocol::{Millis, SessionSummary};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::text::width::fitting;
use crate::tui::text::wrap;

/// Column at which session titles begin, and where their rows end (within the margin of 4).
const TITLE: usize = 8;
const WIDTH: usize = 96;

/// The rows, to stand at the bottom of the transcript's place; `width` is what a row may take.
pub fn rows(state: &State, width: usize, now: Millis) -> Vec<Row> {
    let theme = &state.theme;
    let name = format!("dunlin {}", state.start.version);
    let mut rows = vec![Row::new().text(&name, theme.bold()), place(state)];
    if state.start.scripted {
        let text = "Scripted: answers come from a script, not from a model. The tools are real.";
        rows.push(Row::new().fixed(text, theme.amber()));
    }
    if let Some((reason, found)) = &state.start.onboarding {
        rows.push(Row::new());
        rows.extend(onboarding(state, (reason, found), width));
    } else if !state.start.recent.is_empty() {
        rows.push(Row::new());
        let recent = state.start.recent.iter().enumerate();
        rows.extend(recent.map(|(at, session)| session_row(state, session, (at, width), now)));
    }
    let hints = hints(state);
    if hints.width() > 0 {
        rows.push(Row::new());
        rows.push(hints);
    }
    for problem in state.keys.problems().iter().chain(&state.start.problems) {
        // Whole, in as many rows as it takes: what to do stands at its end.
        for (at, piece) in wrap::pieces(problem, width.saturating_sub(2), width.saturating_sub(2))
            .into_iter()
            .enumerate()
        {
            let row = if at == 0 {
                Row::new().fixed(theme.glyphs.warn, theme.amber()).gap(1)
            } else {
                Row::new().gap(2)
            };
            rows.push(row.text(problem.get(piece.range).unwrap_or_default(), theme.dim()));
        }
    }
    rows
}

fn place(state: &State) -> Row {
    let theme = &state.theme;
    let mut words = Vec::new();
    match &state.start.place {
        None => words.push(state.start.worktree.clone()),
        Some(place) => {
            words.push(place.worktree.clone());
            let git = [place.branch.as_str(), place.git_state.as_str()];
            words.push(
                git.into_iter()
                    .filter(|w| !w.is_empty())
                    .collect::<Vec<_>>()
                    .join(", "),
            );
            for (name, tokens) in &place.instructions {
                words.push(format!("{name} {} tok", numbers::tokens(*tokens, false)));
            }
            if place.skills > 0 {
                words.push(counted(place.skills, "skill", "skills"));
            }
            if place.mcp > 0 {
                words.push(counted(place.mcp, "MCP", "MCP"));
            }
        }
    }
    words.retain(|word| !word.is_empty());
    Row::new().text(&words.join("   "), theme.dim())
}

fn counted(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn session_row(state: &State, session: &SessionSummary, at: (usize, usize), now: Millis) -> Row {
    let theme = &state.theme;
    let (index, width) = at;
    let key = if index == 0 {
        state.keys.key_while_writing(Action::Sessions)
    } else {
        String::new()
    };
    let title = if session.info.title.is_empty() {
        &session.first_prompt
    } else {
        &session.info.title
    };
    let when = numbers::day(session.updated, now, &state.zone);
    let share = format!("{}% ctx", session.context_percent);
    let row = Row::new().text(&key, theme.accent()).to(TITLE);
    let end = WIDTH.min(width);
    // Cut by the end of the row, so that titles and days stand in columns.
    let beside = when.chars().count().max(9) + share.len() + 6;
    // In a narrow window the title has the row for itself.
    let room = end.saturating_sub(TITLE + if end < 60 { 0 } else { beside });
    let title: String = title.chars().filter(|c| !c.is_control()).collect();
    let title = shortened(&title, room);
    let row = row.text(&title, theme.dim());
    if end < 60 {
        return row;
    }
    let column = end.saturating_sub(when.chars().count());
    let share_at = (end - 13)
        .min(column.saturating_sub(3))
        .saturating_sub(share.len());
    row.to(share_at)
        .text(&share, theme.dim())
        .to(column)
        .text(&when, theme.dim())
}

/// A title in so many columns, with a mark where it was cut.
fn shortened(title: &str, room: usize) -> String {
    let (bytes, _) = fitting(title, room);
    if bytes == title.len() {
        return title.to_owned();
    }
    let (bytes, _) = fitting(title, room.saturating_sub(1));
    format!("{}…", title.get(..bytes).unwrap_or_default())
}

fn hints(state: &State) -> Row {
    let theme = &state.theme;
    let pairs = [
        ("@", "file"),
        ("/", "command"),
        ("!", "shell"),
        ("$", "skill"),
        ("?", "keys"),
    ];
    let skills = state
        .start
        .place
        .as_ref()
        .is_none_or(|place| place.skills > 0);
    let mut row = Row::new();
    let useful = |sign: &str| (sign != "$" || skills) && state.hints.shows(sign);
    for (sign, word) in pairs.into_iter().filter(|(sign, _)| useful(sign)) {
        if row.width() > 0 {
            row = row.gap(3);
        }
        row = row.fixed(sign, theme.dim()).gap(1).fixed(word, theme.dim());
    }
    row
}

/// What is missing and what to do, whole at any width.
fn onboarding(state: &State, (reason, found): (&str, &[String]), width: usize) -> Vec<Row> {
    let theme = &state.theme;
    let mut rows: Vec<Row> = Vec::new();
    for line in wrap::broken(reason, width.saturating_sub(2).max(8)) {
        let row = if rows.is_empty() {
            Row::new().fixed(theme.glyphs.ask, theme.amber()).gap(1)
        } else {
            Row::new().gap(2)
        };
        rows.push(row.text(line, theme.bold()));
    }
    rows.push(Row::new());
    if found.is_empty() {
        rows.push(Row::new().fixed(
            "No key in the environment, no local model server.",
            theme.dim(),
        ));
    } else {
        rows.push(Row::new().fixed("Found", theme.dim()));
        for line in found {
            let row = Row::new()
                .gap(2)
                .fixed(theme.glyphs.done, theme.good())
                .gap(1);
            rows.push(row.text(line, theme.default()));
        }
    }
    rows.push(Row::new());
    let choices = [
        (
            "/demo",
            "watch a scripted demonstration: a real bug, found, fixed and tested",
        ),
        ("/model", "choose a model of what was found"),
        (
            "dunlin auth",
            "store a key (in the shell), or set ANTHROPIC_API_KEY, OPENAI_API_KEY, …",
        ),
    ];
    // In a narrow window what a command does stands below it.
    let (beside, at) = if width < 50 { (false, 2) } else { (true, 14) };
    for (command, says) in choices {
        let mut row = Row::new().fixed(command, theme.accent());
        if !beside {
            rows.push(std::mem::take(&mut row));
        }
        for line in wrap::broken(says, width.saturating_sub(at).max(8)) {
            rows.push(std::mem::take(&mut row).to(at).text(line, theme.dim()));
        }
    }
    rows
}
