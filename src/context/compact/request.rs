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

/// What the notes of the chunks before are handed to the next chunk with.
pub fn notes_so_far(notes: &str) -> String {
    format!("Notes of what came before what follows, to be folded into yours:\n\n{notes}")
}

/// What stands in the place of a summary when no model is asked: facts that need no judgement. It
/// takes at most `budget` estimated tokens, about.
pub fn removal_summary(left_out: &[&Entry], budget: u64) -> String {
    let most = (budget as usize).saturating_mul(4).clamp(800, 24_000);
    let mut text = format!(
        "{} earlier messages were left out here to make room. They are stored: the recall tool finds \
         and fetches anything in them.\n",
        left_out.len()
    );
    if let Some(summary) = left_out.iter().rfind(|e| e.message.summary) {
        text.push_str("\nNotes of an earlier stretch:\n");
        text.push_str(&clip(&summary.text(), most / 2));
        text.push('\n');
    }
    let prompts: Vec<&&Entry> = left_out
        .iter()
        .filter(|e| e.message.role == Role::User && e.is_prompt())
        .collect();
    if !prompts.is_empty() {
        text.push_str("\nWhat the user asked for, oldest first:\n");
    }
    // The newest ones say most about what is going on.
    let mut lines = Vec::new();
    let mut room = most / 2;
    for entry in prompts.iter().rev() {
        let line = clip(&entry.text().replace('\n', " "), 400);
        let Some(left) = room.checked_sub(line.len()) else {
            break;
        };
        room = left;
        lines.push(line);
    }
    if lines.len() < prompts.len() {
        text.push_str(&format!("- ({} older ones)\n", prompts.len() - lines.len()));
    }
    for line in lines.iter().rev() {
        text.push_str(&format!("- {line}\n"));
    }
    text
}

/// What is never summarised.
#[derive(Debug, Clone, Copy)]
pub struct Carry<'a> {
    /// Parts that the user pinned.
    pub pins: &'a [PartId],
    /// The plan as the `todo` tool left it.
    pub todo: &'a str,
    /// Files read so far, and whether each changed since.
    pub files: &'a [(String, bool)],
    /// The newest prompt, if it is not in the tail.
    pub prompt: Option<&'a str>,
    /// Estimated tokens that all of it may take, about.
    pub budget: u64,
}

/// What is said again, verbatim, after a compaction: pinned parts, the plan, the files read so far,
/// and the prompt that is being worked on. The last lines name the way back.
pub fn carry_over(conversation: &Conversation, carry: &Carry<'_>) -> String {
    let most = (carry.budget as usize).saturating_mul(4).max(2_000);
    let mut text = String::new();
    if let Some(prompt) = carry.prompt {
        text.push_str("My newest message was:\n");
        text.push_str(&clip(prompt, most));
        text.push_str("\n\n");
    }
    let pinned: Vec<String> = carry
        .pins
        .iter()
        .filter_map(|id| pinned_text(conversation, *id))
        .collect();
    if !pinned.is_empty() {
        text.push_str("Pinned by the user:\n");
        for pin in pinned {
            text.push_str(&pin);
            text.push('\n');
        }
        text.push('\n');
    }
    if !carry.todo.is_empty() {
        text.push_str("The plan as it stands:\n");
        text.push_str(carry.todo);
        text.push_str("\n\n");
    }
    if !carry.files.is_empty() {
        text.push_str("Files read so far:\n");
        let mut room = most / 2;
        for (shown, (path, changed)) in carry.files.iter().enumerate() {
            let Some(left) = room.checked_sub(path.len()) else {
                text.push_str(&format!("- and {} more\n", carry.files.len() - shown));
                break;
            };
            room = left;
            let state = if *changed {
                " (changed since it was read)"
            } else {
                ""
            };
            text.push_str(&format!("- {path}{state}\n"));
        }
        text.push('\n');
    }
    text.push_str(
        "All that is not shown any more is stored: `recall` searches it and fetches any part.",
    );
    text
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
