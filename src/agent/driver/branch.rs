//! Which messages are on the current branch: messages form a tree, the branch is a path in it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::protocol::{Message, MessageId, Part};

/// Where the branch ends, written when the user goes back. It holds until a newer message exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tip {
    /// The last message of the branch; none for the empty conversation.
    pub(super) tip: Option<MessageId>,
    /// The newest message of the session when this was written.
    pub(super) newest: Option<MessageId>,
}

/// Keeps the messages and parts of the current branch.
pub fn current(
    messages: Vec<Message>,
    parts: Vec<Part>,
    values: &BTreeMap<String, serde_json::Value>,
) -> (Vec<Message>, Vec<Part>) {
    let newest = messages.iter().map(|m| m.id).max();
    let stored: Tip = super::active::stored(values, "tip");
    let tip = if stored.newest == newest && newest.is_some() {
        stored.tip
    } else {
        newest
    };
    let parents: HashMap<MessageId, Option<MessageId>> =
        messages.iter().map(|m| (m.id, m.parent)).collect();
    let mut on_branch = HashSet::new();
    let mut at = tip;
    while let Some(id) = at {
        // A damaged parent link must not become an endless walk.
        if !on_branch.insert(id) {
            break;
        }
        at = parents.get(&id).copied().flatten();
    }
    let messages = messages
        .into_iter()
        .filter(|m| on_branch.contains(&m.id))
        .collect();
    let parts = parts
        .into_iter()
        .filter(|p| on_branch.contains(&p.message))
        .collect();
    (messages, parts)
}
