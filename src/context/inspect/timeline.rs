//! What was pruned and compacted, when, and what it freed: the timeline of the context report.
//!
//! Called by `inspect`. All of it is read from the conversation: marks on outputs and compaction
//! parts say what happened, so a session reopened years later has the same timeline.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;

use super::short;
use crate::context::{Conversation, Entry, prune, tokens};
use crate::protocol::{MessageId, PartBody, PartId, ToolPart, ToolState};

/// One event of the timeline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Moment {
    /// Turn, from 1.
    pub turn: usize,
    /// When, milliseconds since the epoch.
    pub at: i64,
    /// `pruned` or `compacted`.
    pub kind: &'static str,
    /// A line such as `compacted 190K → 45K`.
    pub text: String,
    /// Requests that were made before it.
    pub request: usize,
    /// Outputs pruned, or messages summarised.
    pub count: usize,
    /// Tokens before and after a compaction.
    pub before: u64,
    /// See `before`.
    pub after: u64,
    /// Tokens that it freed.
    pub freed: u64,
    /// More about it in words: what was pruned, what was kept. May be empty.
    pub note: String,
    /// What can be brought back: the outputs that are pruned still.
    pub parts: Vec<PartId>,
    /// The pruned outputs, one line each, or the lines of the summary.
    pub details: Vec<String>,
}

/// Everything that happened, oldest first.
pub(super) fn timeline(conversation: &Conversation) -> Vec<Moment> {
    let mut walk = Walk::new(conversation);
    let entries = conversation.entries();
    for (at, entry) in entries.iter().enumerate() {
        walk.entry(at, entry);
    }
    let Walk {
        mut moments,
        prunings,
        prompts,
        requests,
        ..
    } = walk;
    moments.extend(prunings.into_iter().map(|(at, pruned)| {
        // The turn that it happened in, not the one whose output went.
        let turn = prompts.iter().filter(|began| **began <= at).count();
        pruned.moment(at, turn)
    }));
    moments.sort_by_key(|m| m.at);
    for moment in &mut moments {
        moment.request = requests.iter().filter(|made| **made <= moment.at).count();
    }
    moments
}

/// The turn in which a file was written after it was read, for outputs of reads.
pub(super) fn changed_since(conversation: &Conversation) -> HashMap<PartId, usize> {
    let mut reads: HashMap<String, Vec<PartId>> = HashMap::new();
    let mut changed = HashMap::new();
    let mut turn = 0;
    for entry in conversation.entries() {
        turn += usize::from(entry.is_prompt());
        for part in &entry.parts {
            let PartBody::Tool(tool) = &part.body else {
                continue;
            };
            if !matches!(tool.state, ToolState::Completed { .. }) {
                continue;
            }
            if tool.tool == "read" {
                let path = tool.state.input().and_then(prune::path_of);
                reads
                    .entry(path.unwrap_or_default())
                    .or_default()
                    .push(part.id);
                continue;
            }
            for path in prune::written_by(tool) {
                let stale = reads.remove(&path).unwrap_or_default();
                changed.extend(stale.into_iter().map(|part| (part, turn)));
            }
        }
    }
    changed
}

/// Outputs that were pruned in one go: they share the instant.
#[derive(Debug, Default)]
struct Pruning {
    parts: Vec<PartId>,
    tokens: u64,
    stale: usize,
    /// How many of the stale ones were reads.
    reads: usize,
    lines: Vec<String>,
}

impl Pruning {
    fn moment(self, at: i64, turn: usize) -> Moment {
        let old = self.parts.len() - self.stale;
        let counted = |n: usize, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        };
        let note = if self.stale == 0 {
            String::new()
        } else {
            let stale = if self.reads == self.stale {
                counted(self.stale, "stale read", "stale reads")
            } else {
                counted(self.stale, "stale output", "stale outputs")
            };
            let old = counted(old, "old output", "old outputs");
            let words: Vec<String> = stale.into_iter().chain(old).collect();
            words.join(", ")
        };
        Moment {
            turn,
            at,
            kind: "pruned",
            text: format!("pruned {}", short(self.tokens)),
            count: self.parts.len(),
            freed: self.tokens,
            note,
            parts: self.parts,
            details: self.lines,
            ..Moment::default()
        }
    }
}

struct Walk<'a> {
    conversation: &'a Conversation,
    superseded: HashSet<PartId>,
    turn: usize,
    /// When each turn began.
    prompts: Vec<i64>,
    /// When each request was answered.
    requests: Vec<i64>,
    /// Where what a request holds begins.
    begins: usize,
    files: BTreeSet<String>,
    plan: bool,
    prunings: BTreeMap<i64, Pruning>,
    moments: Vec<Moment>,
}

impl<'a> Walk<'a> {
    fn new(conversation: &'a Conversation) -> Self {
        Self {
            conversation,
            superseded: prune::superseded(conversation),
            turn: 0,
            prompts: Vec::new(),
            requests: Vec::new(),
            begins: 0,
            files: BTreeSet::new(),
            plan: false,
            prunings: BTreeMap::new(),
            moments: Vec::new(),
        }
    }

    fn entry(&mut self, at: usize, entry: &Entry) {
        if entry.is_prompt() {
            self.turn += 1;
            self.prompts.push(entry.message.created);
        }
        for part in &entry.parts {
            match &part.body {
                PartBody::Tool(tool) => self.tool(part.id, tool),
                PartBody::StepFinish { tokens, .. } if tokens.prompt() > 0 => {
                    self.requests.push(part.end.unwrap_or(part.start));
                }
                PartBody::Compaction {
                    before,
                    after,
                    tail,
                    ..
                } if *after > 0 => self.compacted(at, part.start, (*before, *after), *tail),
                _ => {}
            }
        }
    }

    fn tool(&mut self, part: PartId, tool: &ToolPart) {
        let ToolState::Completed {
            input,
            output,
            title,
            compacted_at,
            ..
        } = &tool.state
        else {
            return;
        };
        self.plan |= tool.tool == "todo";
        if matches!(tool.tool.as_str(), "read" | "edit" | "write") {
            self.files.extend(prune::path_of(input));
        }
        let Some(when) = compacted_at else { return };
        let size = tokens::of_text(output);
        let pruning = self.prunings.entry(*when).or_default();
        pruning.parts.push(part);
        pruning.tokens += size;
        if self.superseded.contains(&part) {
            pruning.stale += 1;
            pruning.reads += usize::from(tool.tool == "read");
        }
        pruning.lines.push(format!(
            "{size:>8}  {:<6} {title}   turn {}",
            tool.tool, self.turn
        ));
    }

    fn compacted(
        &mut self,
        at: usize,
        when: i64,
        (before, after): (u64, u64),
        tail: Option<MessageId>,
    ) {
        let entries = self.conversation.entries();
        let place = |id| entries.iter().position(|e| e.message.id == id);
        let kept_from = tail.and_then(place).unwrap_or(at);
        let kept = entries.get(kept_from..at).unwrap_or_default();
        let turns = kept.iter().filter(|e| e.is_prompt()).count();
        let mut words = Vec::new();
        match turns {
            0 => {}
            1 => words.push("the last turn".to_owned()),
            n => words.push(format!("the last {n} turns")),
        }
        if self.plan {
            words.push("plan".to_owned());
        }
        match self.files.len() {
            0 => {}
            1 => words.push("1 file".to_owned()),
            n => words.push(format!("{n} files")),
        }
        let note = if words.is_empty() {
            String::new()
        } else {
            format!("kept {}", words.join(", "))
        };
        let summary = entries.get(at..).unwrap_or_default().iter();
        let summary = summary.take(2).find(|e| e.message.summary);
        let text = summary.map(Entry::text).unwrap_or_default();
        self.moments.push(Moment {
            turn: self.turn,
            at: when,
            kind: "compacted",
            text: format!("compacted {} → {}", short(before), short(after)),
            count: kept_from.saturating_sub(self.begins),
            before,
            after,
            freed: before.saturating_sub(after),
            note,
            details: text.lines().map(str::to_owned).collect(),
            ..Moment::default()
        });
        self.begins = kept_from;
    }
}
