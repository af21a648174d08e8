//! What stays on the normal screen: the last answer, what changed, how to go on.

use std::fmt::Write as _;

use crate::protocol::ReadOnly;
use crate::tui::state::State;
use crate::tui::term::sanitise::Safe;

/// Rows of the last answer that are repeated.
const MOST_LINES: usize = 40;

/// The text; empty if nothing was said. Safe to print.
pub fn text(state: &State) -> String {
    let Some(answer) = state.transcript.last_answer() else {
        return String::new();
    };
    let mut out = String::new();
    let lines: Vec<&str> = answer.trim().lines().collect();
    for line in lines.iter().take(MOST_LINES) {
        out.push_str(Safe::strip(line).as_str());
        out.push('\n');
    }
    if lines.len() > MOST_LINES {
        let _ = writeln!(out, "… {} more lines", lines.len() - MOST_LINES);
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
