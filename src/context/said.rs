//! What was said on the branch, newest first: the trace by which a scripted model finds its place.
//!
//! Unlike `assemble` it goes over the whole branch, also over what a compaction or a pruning took out
//! of requests. Compactions themselves and attempts that were retried are nobody's step. Read by the
//! driver for each request; nothing is copied.

use super::{Conversation, Entry};
use crate::model::request::Said;
use crate::protocol::{PartBody, Role, ToolPart};

/// What was said, newest first.
pub fn newest_first(conversation: &Conversation) -> impl Iterator<Item = Said<'_>> {
    let entries = conversation.entries().iter().enumerate().rev();
    entries.filter_map(|(at, entry)| said(at, entry))
}

fn said(at: usize, entry: &Entry) -> Option<Said<'_>> {
    if entry.message.summary || entry.compaction().is_some() || entry.was_retried() {
        return None;
    }
    let mut said = Said {
        at,
        assistant: entry.message.role == Role::Assistant,
        texts: Vec::new(),
        call: None,
    };
    let mut anything = false;
    for part in &entry.parts {
        match &part.body {
            PartBody::Text {
                text,
                ignored: false,
                ..
            } if !text.is_empty() => said.texts.push(text),
            PartBody::Tool(ToolPart { call, .. }) => {
                said.call = said.call.or(Some(call));
                anything = true;
            }
            PartBody::Reasoning { ignored: false, .. } | PartBody::File(_) => anything = true,
            _ => {}
        }
    }
    anything |= !said.texts.is_empty();
    anything.then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::test_world::World;

    #[test]
    fn what_a_compaction_took_out_of_requests_is_still_told_and_the_compaction_is_not() {
        let mut w = World::new();
        w.prompt("first");
        let call = w.tool("read", r#"{"file_path": "a"}"#, "out");
        w.compaction(None, "what was done");
        w.prompt("second");
        let told: Vec<(bool, String)> = newest_first(&w.conversation)
            .map(|s| (s.assistant, s.call.map_or(s.texts.join(" "), str::to_owned)))
            .collect();
        let id = match w.conversation.part(call).map(|p| &p.body) {
            Some(PartBody::Tool(tool)) => tool.call.clone(),
            _ => String::new(),
        };
        assert_eq!(
            told,
            [
                (false, "second".to_owned()),
                (true, id),
                (false, "first".to_owned())
            ]
        );
    }
}
