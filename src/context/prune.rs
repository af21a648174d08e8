//! Tier 2: mark old tool outputs, never delete them.
//!
//! A plan is a list of parts to mark. The turn marks them (`compacted_at`), the store keeps the
//! output, the model sees a marker with the way back.

use std::collections::HashSet;

use serde_json::Value;

use super::{Conversation, tokens};
use crate::config::used::ContextSettings;
use crate::protocol::{PartBody, PartId, Role, ToolPart, ToolState};

/// When pruning runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a user turn or after a compaction: the last two turns are left alone.
    Between,
    /// Mid-turn, because the next request would overflow: only the newest outputs are protected.
    Overflow,
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

struct Candidate<'a> {
    id: PartId,
    tool: &'a ToolPart,
    tokens: u64,
    protected_turn: bool,
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
    let candidates = candidates(conversation, settings, moment);
    let superseded = superseded(&candidates);
    let mut plan = Plan::default();
    let mut seen = 0;
    for candidate in &candidates {
        let is_stale = superseded.contains(&candidate.id);
        if candidate.protected_turn {
            continue;
        }
        if !is_stale {
            seen += candidate.tokens;
        }
        if seen > settings.prune_protect || is_stale {
            plan.saved += candidate.tokens;
            plan.stale += usize::from(is_stale);
            plan.parts.push(candidate.id);
        }
    }
    (plan.saved >= settings.prune_minimum && !plan.parts.is_empty()).then_some(plan)
}

/// Outputs that may be pruned or that count as newest, newest first.
fn candidates<'a>(
    conversation: &'a Conversation,
    settings: &ContextSettings,
    moment: Moment,
) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    let mut turns = 0;
    for entry in conversation.entries().iter().rev() {
        if entry.message.summary && entry.message.completed.is_some() {
            break;
        }
        if entry.message.role == Role::User {
            turns += usize::from(entry.is_prompt());
            continue;
        }
        // `turns` counts prompts newer than this entry: 0 and 1 are the last two turns.
        let protected_turn = moment == Moment::Between && turns < PROTECTED_TURNS;
        for part in entry.parts.iter().rev() {
            let PartBody::Tool(tool) = &part.body else {
                continue;
            };
            let ToolState::Completed { compacted_at, .. } = &tool.state else {
                continue;
            };
            if settings.prune_keep_tools.contains(&tool.tool) {
                continue;
            }
            if compacted_at.is_some() {
                return found;
            }
            let tokens = tokens::of_result(&tool.state);
            found.push(Candidate {
                id: part.id,
                tool,
                tokens,
                protected_turn,
            });
        }
    }
    found
}

/// Results that a later call made worthless: the same lines read again, the same command run again,
/// a read of a file that was written since.
fn superseded(newest_first: &[Candidate<'_>]) -> HashSet<PartId> {
    let mut calls = HashSet::new();
    let mut written = HashSet::new();
    let mut stale = HashSet::new();
    for candidate in newest_first {
        let tool = candidate.tool;
        let Some(input) = tool.state.input() else {
            continue;
        };
        let path = input
            .get("file_path")
            .or_else(|| input.get("path"))
            .and_then(Value::as_str);
        match (tool.tool.as_str(), path) {
            ("edit" | "write", Some(path)) => {
                written.insert(path);
                continue;
            }
            ("read", Some(path)) if written.contains(path) => {
                stale.insert(candidate.id);
            }
            ("read" | "bash" | "grep" | "glob" | "list", _) => {}
            _ => continue,
        }
        if !calls.insert((tool.tool.as_str(), canonical(input))) {
            stale.insert(candidate.id);
        }
    }
    stale
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
