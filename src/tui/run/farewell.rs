//! What stays on the normal screen: the last answer, what changed, how to go on.

use std::fmt::Write as _;

use crate::protocol::ReadOnly;
use crate::tui::state::State;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::markdown::Page;
use crate::tui::text::stream::Stream;

/// Rows of the last answer that are repeated: its end, where it says what came of it.
const MOST_ROWS: usize = 24;

/// The text; empty if nothing was said. Safe to print.
pub fn text(state: &State) -> String {
    let Some(answer) = state.transcript.last_answer() else {
        return String::new();
    };
    let mut out = String::new();
    let rows = laid_out(state, &answer);
    let hidden = rows.len().saturating_sub(MOST_ROWS);
    if hidden > 0 {
        let _ = writeln!(
            out,
            "… {hidden} rows above; ctrl+o in the session prints all of it\n"
        );
    }
    for row in rows.iter().skip(hidden) {
        out.push_str(row.trim_end());
        out.push('\n');
    }
    let mut paths: Vec<&str> = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for file in state.session.patches.values().flatten() {
        if !paths.contains(&file.path.as_str()) {
            paths.push(&file.path);
        }
        added += file.added;
        removed += file.removed;
    }
    if !paths.is_empty() {
        let files = if paths.len() == 1 { "file" } else { "files" };
        let _ = writeln!(
            out,
            "\n{} {files} changed  +{added} −{removed}",
            paths.len()
        );
    }
    if let Some(info) = &state.session.info {
        let command = match state.session.read_only {
            Some(ReadOnly::OtherFolder) => info.open_there(),
            _ => format!("dunlin -r {}", info.id),
        };
        let command = Safe::strip(&command);
        let _ = writeln!(out, "\nContinue with: {}", command.as_str());
    }
    out
}

/// An answer as plain rows of the terminal's width, as ctrl+o prints it.
fn laid_out(state: &State, answer: &str) -> Vec<String> {
    let width = usize::from(state.terminal.size.0).max(20);
    let page = Page {
        theme: &state.theme,
        highlights: state.transcript.highlights(),
        links: None,
        left: 0,
        measure: width,
        room: width,
    };
    let mut stream = Stream::new(answer);
    let parts = stream.settle();
    let rows = (0..parts).flat_map(|part| stream.lay_out(part, &page));
    let mut rows: Vec<String> = rows.map(|row| row.line.as_str().to_owned()).collect();
    let blank = |row: &String| row.trim().is_empty();
    while rows.last().is_some_and(blank) {
        rows.pop();
    }
    let first = rows.iter().position(|row| !blank(row)).unwrap_or(0);
    rows.split_off(first)
}

#[cfg(test)]
mod tests {
    use crate::protocol::{Event, IdMint, Message, Part, PartBody, Role, Tokens};
    use crate::tui::Harness;

    fn said(answer: &str, width: u16) -> String {
        let mut tui = Harness::new(width, 24);
        let mut mint = IdMint::new(1, 0);
        let (session, id) = (mint.session(1), mint.message(1));
        let message = Message {
            id,
            session,
            parent: None,
            role: Role::Assistant,
            agent: "build".to_owned(),
            model: "p/m".parse().expect("a model"),
            summary: false,
            finish: None,
            error: None,
            tokens: Tokens::default(),
            cost: None,
            created: 1,
            completed: None,
        };
        tui.event(Event::MessageCreated { message });
        let part = Part {
            id: mint.part(1),
            message: id,
            session,
            start: 1,
            end: Some(1),
            body: PartBody::Text {
                text: answer.to_owned(),
                synthetic: false,
                ignored: false,
            },
        };
        tui.event(Event::PartUpdated { part });
        super::text(&tui.state)
    }

    #[test]
    fn the_last_answer_is_wrapped_at_words_and_without_its_marks() {
        let text = said(&format!("**Done.** {}", "some words ".repeat(30)), 60);
        assert!(text.starts_with("Done. some words"), "{text}");
        assert!(text.lines().all(|row| row.chars().count() <= 60), "{text}");
        assert!(text.lines().all(|row| !row.ends_with("wor")), "{text}");
    }

    #[test]
    fn of_a_long_answer_its_end_stays_and_the_rest_is_counted() {
        let lines: Vec<String> = (1..=60).map(|n| format!("- item {n}")).collect();
        let text = said(&lines.join("\n"), 60);
        assert!(text.starts_with("… 36 rows above"), "{text}");
        assert!(
            text.contains("item 60") && !text.contains("item 36\n"),
            "{text}"
        );
        let short = said("One word.", 60);
        assert_eq!(short, "One word.\n");
    }
}
