//! Instructions of folders as they stand in a conversation: their words, and which it still shows.
//!
//! They are the user's rules, so a compaction says them again verbatim. Used by the turn.

use crate::context::Conversation;
use crate::protocol::{PartBody, Role};

const HEAD: &str = "Instructions from ";

/// What the model reads.
pub fn rules_text(label: &str, text: &str) -> String {
    let folder = label.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!(
        "{HEAD}{label}, for everything in {folder}/:\n{}",
        text.trim_end()
    )
}

/// True if the model is shown the instructions with this label.
pub fn says_rules(conversation: &Conversation, label: &str) -> bool {
    let head = format!("{HEAD}{label}, for ");
    let places = 0..conversation.visible().len();
    rules_said(conversation, places)
        .iter()
        .any(|text| text.starts_with(&head))
}

/// The instructions of folders that stand at these places of `visible`, oldest first, each once.
pub fn rules_said(conversation: &Conversation, places: std::ops::Range<usize>) -> Vec<String> {
    let entries = conversation.entries();
    let visible = conversation.visible();
    let shown = visible.get(places).unwrap_or_default();
    let mut said: Vec<String> = Vec::new();
    for entry in shown.iter().map(|&at| &entries[at]) {
        if entry.message.role != Role::User {
            continue;
        }
        for part in &entry.parts {
            if let PartBody::Text {
                text,
                synthetic: true,
                ignored: false,
            } = &part.body
                && text.starts_with(HEAD)
                && !said.contains(text)
            {
                said.push(text.clone());
            }
        }
    }
    said
}
