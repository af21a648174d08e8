//! Tier 2: mark old tool outputs, never delete them.
//!
//! A plan is a list of parts to mark. The turn marks them (`compacted_at`), the store keeps the
//! output, the model sees a marker with the way back.

use std::collections::HashSet;

use serde_json::Value;

use super::{Conversation, Entry, tokens};
use crate::config::used::ContextSettings;
use crate::protocol::{PartBody, PartId, Role, ToolPart, ToolState};

/// When pruning runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a user turn or after a compaction: the last two turns are left alone.
    Between,
    /// Mid-turn, because the next request would overflow: the newest outputs are protected, and those
    /// of the newest step, which no model has seen yet, however large they are.
    Overflow,
    /// As `Overflow`, but nothing else makes room: what no model has seen yet goes as well if it lies
    /// beyond the newest outputs. Its marker says how to fetch it piece by piece.
    LastResort,
}

/// What to mark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The parts, newest first.
    pub parts: Vec<PartId>,
    /// Estimated tokens that this frees.
    pub saved: u64,
    /// How many of them were superseded by a later call.
    pub stale: usize,
}

/// Turns whose outputs are left alone between turns.
const PROTECTED_TURNS: usize = 2;

struct Candidate {
    id: PartId,
    tokens: u64,
    protected_turn: bool,
    stale: bool,
}

/// What to prune now; none if it would free less than the minimum.
pub fn plan(
    conversation: &Conversation,
    settings: &ContextSettings,
    moment: Moment,
) -> Option<Plan> {
    if !settings.prune {
        return None;
    }
    let mut plan = Plan::default();
    let mut seen = 0;
    for candidate in &candidates(conversation, settings, moment) {
        // The newest 40,000 are counted from the newest output, those of protected turns included:
        // they are in the window like any other.
        if !candidate.stale || candidate.protected_turn {
            seen += candidate.tokens;
        }
        if candidate.protected_turn {
            continue;
        }
        if seen > settings.prune_protect || candidate.stale {
            plan.saved += candidate.tokens;
            plan.stale += usize::from(candidate.stale);
            plan.parts.push(candidate.id);
        }
    }
    (plan.saved >= settings.prune_minimum && !plan.parts.is_empty()).then_some(plan)
}

/// Outputs that may be pruned or that count as newest, newest first. The walk goes over what the
/// model is shown, so a tail that a compaction kept is walked before its summary is met.
fn candidates(
    conversation: &Conversation,
    settings: &ContextSettings,
    moment: Moment,
) -> Vec<Candidate> {
    let entries = conversation.entries();
    let mut found = Vec::new();
    let mut later = Later::default();
    let mut turns = 0;
    // The step that has just ended, if one has: its results go out with the next request.
    let newest = conversation.visible().last().copied();
    for &at in conversation.visible().iter().rev() {
        let entry = &entries[at];
        if entry.message.summary {
            break;
        }
        if entry.message.role == Role::User {
            turns += usize::from(entry.is_prompt());
            continue;
        }
        // `turns` counts prompts newer than this entry: 0 and 1 are the last two turns.
        let protected_turn = match moment {
            Moment::Between => turns < PROTECTED_TURNS,
            Moment::Overflow => is_unseen(entries, at, newest),
            Moment::LastResort => false,
        };
        for part in entry.parts.iter().rev() {
            let PartBody::Tool(tool) = &part.body else {
                continue;
            };
            let ToolState::Completed { compacted_at, .. } = &tool.state else {
                continue;
            };
            let stale = later.supersedes(tool);
            if settings.prune_keep_tools.contains(&tool.tool) || conversation.is_pinned(part.id) {
                continue;
            }
            if compacted_at.is_some() {
                if stale {
                    // It went because it was superseded, maybe long before its neighbours: it does
                    // not say that everything older is gone too.
                    continue;
                }
                return found;
            }
            found.push(Candidate {
                id: part.id,
                tokens: tokens::of_result(&tool.state),
                protected_turn,
                stale,
            });
        }
    }
    found
}

/// True for the newest answer: what follows it, instructions of a folder or guidance, has not been sent
/// either.
fn is_unseen(entries: &[Entry], at: usize, newest: Option<usize>) -> bool {
    let since = newest.and_then(|newest| entries.get(at + 1..=newest));
    since
        .unwrap_or_default()
        .iter()
        .all(|later| later.message.role == Role::User)
}

/// The outputs of what is shown that a later call made worthless, pruned or not.
pub fn superseded(conversation: &Conversation) -> HashSet<PartId> {
    let entries = conversation.entries();
    let mut later = Later::default();
    let mut stale = HashSet::new();
    for &at in conversation.visible().iter().rev() {
        for part in entries[at].parts.iter().rev() {
            if let PartBody::Tool(tool) = &part.body
                && matches!(tool.state, ToolState::Completed { .. })
                && later.supersedes(tool)
            {
                stale.insert(part.id);
            }
        }
    }
    stale
}

/// What calls newer than the one in hand did. Fed from the newest to the oldest.
#[derive(Debug, Default)]
struct Later {
    calls: HashSet<(String, String)>,
    written: HashSet<String>,
}

impl Later {
    /// True if the same lines were read again, the same command was run again, or the file that was
    /// read was written since. Notes the call.
    fn supersedes(&mut self, tool: &ToolPart) -> bool {
        let Some(input) = tool.state.input() else {
            return false;
        };
        match tool.tool.as_str() {
            "edit" | "write" | "apply_patch" => {
                self.written.extend(written_by(tool));
                false
            }
            "read" => {
                let path = path_of(input).unwrap_or_default();
                let number = |name: &str, default: u64| {
                    input.get(name).and_then(Value::as_u64).unwrap_or(default)
                };
                let lines = format!("{}+{}", number("offset", 1).max(1), number("limit", 0));
                let rewritten = self.written.contains(&path);
                !self.calls.insert((format!("read {lines}"), path)) || rewritten
            }
            "bash" => {
                // Neither the description nor the time-out makes it another command.
                let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
                let key = format!("{}\n{}", text("cwd"), text("command"));
                !self.calls.insert(("bash".to_owned(), key))
            }
            name @ ("grep" | "glob" | "list") => {
                !self.calls.insert((name.to_owned(), canonical(input)))
            }
            _ => false,
        }
    }
}

/// The files that a call writes, as far as its arguments say.
pub(super) fn written_by(tool: &ToolPart) -> Vec<String> {
    let Some(input) = tool.state.input() else {
        return Vec::new();
    };
    match tool.tool.as_str() {
        "edit" | "write" => path_of(input).into_iter().collect(),
        "apply_patch" => patched(input),
        _ => Vec::new(),
    }
}

/// The file that a call names.
pub(super) fn path_of(input: &Value) -> Option<String> {
    let path = input.get("file_path").or_else(|| input.get("path"))?;
    let path = path.as_str()?;
    Some(path.strip_prefix("./").unwrap_or(path).to_owned())
}

/// The files that a patch touches.
fn patched(input: &Value) -> Vec<String> {
    const HEADS: [&str; 4] = [
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let text = match input {
        Value::String(text) => text.as_str(),
        other => other
            .as_object()
            .and_then(|fields| fields.values().find_map(Value::as_str))
            .unwrap_or_default(),
    };
    text.lines()
        .filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
        .map(|path| {
            path.trim()
                .strip_prefix("./")
                .unwrap_or(path.trim())
                .to_owned()
        })
        .collect()
}

/// JSON with sorted keys, so that equal inputs have equal text (`serde_json` may keep typed order).
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            let inner: Vec<String> = keys
                .into_iter()
                .map(|key| format!("{}:{}", Value::from(key.as_str()), canonical(&fields[key])))
                .collect();
            format!("{{{}}}", inner.join(","))
        }
        Value::Array(items) => {
            let inner: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", inner.join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "prune_tests.rs"]
mod tests;
