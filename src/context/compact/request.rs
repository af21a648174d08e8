//! The words of a compaction: what the model is asked, and what is said without a model.

use crate::context::{Conversation, Entry, tokens};
use crate::protocol::{PartBody, PartId, Role, ToolState};

/// System prompt of the compaction agent.
pub const SUMMARY_SYSTEM: &str = "\
You write the working notes of a coding session, so that a colleague can go on with it without \
having seen it. You do not continue the work and call no tools: you only write the notes.";

/// What the model is asked for at the end of the history.
pub fn summary_request(focus: &str) -> String {
    let mut text = String::from(
        "Write the notes now. Be complete and exact: whoever reads them sees nothing else of what \
         stands above. Use these headings, leave out the empty ones:\n\
         ## Task\nWhat the user wants, with every constraint and preference, in the user's words where \
         they matter.\n\
         ## Done\nWhat was done, with results of commands and tests.\n\
         ## In progress\nWhat was being done when the notes were written.\n\
         ## Files\nFiles read or changed: path, what matters in it, why it was changed.\n\
         ## Decisions\nDecisions and their reasons, and what was rejected.\n\
         ## Errors\nErrors met and how they were dealt with; what is still open.\n\
         ## Next\nThe next steps, in order.\n\
         If notes of an earlier stretch stand at the beginning, fold them in: keep what still holds, \
         correct what changed.",
    );
    if !focus.is_empty() {
        text.push_str("\n\nThe user asks that the notes keep this above all: ");
        text.push_str(focus);
    }
    text
}

/// What stands in the place of a summary when no model is asked: facts that need no judgement.
pub fn removal_summary(left_out: &[&Entry]) -> String {
    let mut text = format!(
        "{} earlier messages were left out here to make room. They are stored: the recall tool finds \
         and fetches anything in them.\n",
        left_out.len()
    );
    let earlier: Vec<&&Entry> = left_out.iter().filter(|e| e.message.summary).collect();
    if let Some(summary) = earlier.last() {
        text.push_str("\nNotes of an earlier stretch:\n");
        text.push_str(&clip(&summary.text(), 8_000));
        text.push('\n');
    }
    text.push_str("\nWhat the user asked for:\n");
    for entry in left_out
        .iter()
        .filter(|e| e.message.role == Role::User && e.is_prompt())
    {
        text.push_str("- ");
        text.push_str(&clip(&entry.text().replace('\n', " "), 400));
        text.push('\n');
    }
    text
}

/// What is never summarised and is said again, verbatim, after a compaction: pinned parts, the plan,
/// and the files read so far. Empty if there is none of it.
pub fn carry_over(
    conversation: &Conversation,
    pins: &[PartId],
    todo: &str,
    files: &[(String, bool)],
) -> String {
    let mut text = String::new();
    let pinned: Vec<String> = pins
        .iter()
        .filter_map(|id| pinned_text(conversation, *id))
        .collect();
    if !pinned.is_empty() {
        text.push_str("Pinned by the user:\n");
        for pin in pinned {
            text.push_str(&pin);
            text.push('\n');
        }
    }
    if !todo.is_empty() {
        text.push_str("\nThe plan as it stands:\n");
        text.push_str(todo);
        text.push('\n');
    }
    if !files.is_empty() {
        text.push_str("\nFiles read so far:\n");
        for (path, changed) in files {
            let state = if *changed {
                " (changed since it was read)"
            } else {
                ""
            };
            text.push_str(&format!("- {path}{state}\n"));
        }
    }
    text.trim_start().to_owned()
}

fn pinned_text(conversation: &Conversation, id: PartId) -> Option<String> {
    let part = conversation.part(id)?;
    match &part.body {
        PartBody::Text { text, .. } => Some(text.clone()),
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed { output, title, .. } => {
                Some(format!("{} {title}:\n{output}", tool.tool))
            }
            _ => None,
        },
        _ => None,
    }
}

/// At most so many characters, with a visible mark of the cut.
fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Estimated tokens of the summary request itself.
pub fn request_tokens(focus: &str) -> u64 {
    tokens::of_text(SUMMARY_SYSTEM) + tokens::of_text(&summary_request(focus))
}
