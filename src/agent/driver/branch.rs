//! Messages form a tree, a branch is a path in it. Which messages are on the current branch, what
//! the tree looks like turn by turn, and how one gets from one branch to another.
//!
//! Called by `sessions` on opening and by `undo`. Functions of what is stored; no I/O here.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::context::Conversation;
use crate::protocol::{Message, MessageId, Part, PartBody, PatchFile, TreeTurn};

/// Characters of a prompt that the tree shows.
const PROMPT_CHARS: usize = 2_000;

/// Where the branch ends, written when the user goes back. It holds until a newer message exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tip {
    /// The last message of the branch; none for the empty conversation.
    pub(super) tip: Option<MessageId>,
    /// The newest message of the session when this was written.
    pub(super) newest: Option<MessageId>,
}

/// Every message's parent.
#[derive(Debug)]
pub(super) struct Parents(HashMap<MessageId, Option<MessageId>>);

impl Parents {
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut all: HashMap<_, _> = messages.iter().map(|m| (m.id, m.parent)).collect();
        // A session whose messages name no parents is one line.
        if messages.len() > 1 && messages.iter().all(|m| m.parent.is_none()) {
            let mut ids: Vec<MessageId> = messages.iter().map(|m| m.id).collect();
            ids.sort_unstable();
            for pair in ids.windows(2) {
                if let [before, after] = pair {
                    all.insert(*after, Some(*before));
                }
            }
        }
        Self(all)
    }

    /// A message and all before it on its branch, oldest first.
    pub(super) fn path(&self, tip: Option<MessageId>) -> Vec<MessageId> {
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut at = tip;
        while let Some(id) = at {
            // A damaged parent link must not become an endless walk.
            if !self.0.contains_key(&id) || !seen.insert(id) {
                break;
            }
            path.push(id);
            at = self.0.get(&id).copied().flatten();
        }
        path.reverse();
        path
    }
}

/// The end of the current branch: what was written, as long as nothing newer was said.
fn tip(messages: &[Message], values: &BTreeMap<String, serde_json::Value>) -> Option<MessageId> {
    let newest = messages.iter().map(|m| m.id).max();
    let stored: Tip = super::active::stored(values, "tip");
    if stored.newest == newest && newest.is_some() {
        stored.tip
    } else {
        newest
    }
}

/// Keeps the messages and parts of the current branch.
pub fn current(
    messages: Vec<Message>,
    parts: Vec<Part>,
    values: &BTreeMap<String, serde_json::Value>,
) -> (Vec<Message>, Vec<Part>) {
    let path = Parents::of(&messages).path(tip(&messages, values));
    only(messages, parts, &path)
}

/// Keeps the messages named, with their parts.
pub(super) fn only(
    messages: Vec<Message>,
    parts: Vec<Part>,
    path: &[MessageId],
) -> (Vec<Message>, Vec<Part>) {
    let on_branch: HashSet<MessageId> = path.iter().copied().collect();
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

/// How many messages two paths share from the beginning.
pub(super) fn shared(a: &[MessageId], b: &[MessageId]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// All turns of a session, earlier ones first. `path` is the current branch.
pub(super) fn turns(messages: Vec<Message>, parts: Vec<Part>, path: &[MessageId]) -> Vec<TreeTurn> {
    let parents = Parents::of(&messages);
    let current: HashSet<MessageId> = path.iter().copied().collect();
    let conversation = Conversation::from_history(messages, parts);
    let mut turns: Vec<TreeTurn> = Vec::new();
    let mut place: HashMap<MessageId, usize> = HashMap::new();
    let mut files: Vec<BTreeMap<String, PatchFile>> = Vec::new();
    // A parent is older than its children, so its turn is known when they come.
    for entry in conversation.entries() {
        let id = entry.message.id;
        let parent = parents.0.get(&id).copied().flatten();
        let before = parent.and_then(|p| place.get(&p)).copied();
        let at = match before {
            _ if entry.is_prompt() => {
                turns.push(TreeTurn {
                    prompt: id,
                    parent: before.and_then(|at| turns.get(at)).map(|t| t.prompt),
                    text: entry.text().chars().take(PROMPT_CHARS).collect(),
                    at: entry.message.created,
                    last: id,
                    tip: id,
                    files: Vec::new(),
                    current: current.contains(&id),
                });
                files.push(BTreeMap::new());
                turns.len() - 1
            }
            Some(at) => at,
            // What stands before the first prompt belongs to no turn.
            None => continue,
        };
        place.insert(id, at);
        if let (Some(turn), Some(files)) = (turns.get_mut(at), files.get_mut(at)) {
            turn.last = turn.last.max(id);
            turn.tip = turn.tip.max(id);
            for part in &entry.parts {
                if let PartBody::Patch { files: patch, .. } = &part.body {
                    add(files, patch);
                }
            }
        }
    }
    for (turn, files) in turns.iter_mut().zip(files) {
        turn.files = files.into_values().collect();
    }
    pass_tips_on(&mut turns);
    turns
}

/// Children come after their parents: from the end, each passes its branch's end on.
fn pass_tips_on(turns: &mut [TreeTurn]) {
    let index: HashMap<MessageId, usize> = turns
        .iter()
        .enumerate()
        .map(|(at, turn)| (turn.prompt, at))
        .collect();
    for at in (0..turns.len()).rev() {
        let (tip, parent) = (turns[at].tip, turns[at].parent);
        if let Some(turn) = parent
            .and_then(|p| index.get(&p))
            .and_then(|p| turns.get_mut(*p))
        {
            turn.tip = turn.tip.max(tip);
        }
    }
}

/// Adds a step's counts to a turn's.
fn add(files: &mut BTreeMap<String, PatchFile>, patch: &[PatchFile]) {
    for file in patch {
        match files.get_mut(&file.path) {
            Some(known) => {
                known.added += file.added;
                known.removed += file.removed;
                known.status = file.status;
            }
            None => {
                files.insert(file.path.clone(), file.clone());
            }
        }
    }
}

#[cfg(test)]
#[path = "branch_tests.rs"]
mod tests;
