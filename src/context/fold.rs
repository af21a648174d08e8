//! Folding, the second age of pruning: calls whose results an earlier pruning cleared leave the
//! request, and one line per turn stands for them.
//!
//! A cleared call still costs its arguments and a marker, some 35 tokens each time it is sent: in a
//! long session those are what grows. A pruning breaks the provider's cache from its oldest part on
//! anyway, so that is when older ones are folded. What is folded follows from what is stored
//! (`compacted_at`, when messages were made) and from nothing else: a session that is opened again
//! sends the same bytes. Nothing is deleted; `recall` finds it by turn, `/context` brings it back.

use std::collections::BTreeMap;

use super::conversation::{Conversation, Entry};
use super::{prune, tokens};
use crate::protocol::{Millis, Part, PartBody, PartId, Role, ToolPart, ToolState};

/// Turns whose calls are not folded by a pruning between turns.
const PROTECTED_TURNS: usize = 2;
/// Changed files that a line names.
const MOST_FILES: usize = 8;

/// What is folded of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// The calls that are not sent, in order.
    pub calls: Vec<PartId>,
    /// True if no call of the message is left: what it thought about them goes as well.
    pub whole: bool,
    /// The line for all folded calls of the turn; only in the first of its messages.
    pub line: Option<String>,
}

/// What is folded of a conversation, by index of the entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folds {
    by_entry: BTreeMap<usize, Fold>,
    /// When the newest pruning was.
    newest: Option<Millis>,
}

impl Folds {
    /// What is folded of an entry.
    pub fn at(&self, entry: usize) -> Option<&Fold> {
        self.by_entry.get(&entry)
    }

    /// True if this call of the entry is folded.
    pub fn holds(&self, entry: usize, part: PartId) -> bool {
        self.at(entry).is_some_and(|f| f.calls.contains(&part))
    }

    /// How many calls are folded.
    pub fn calls(&self) -> usize {
        self.by_entry.values().map(|f| f.calls.len()).sum()
    }

    /// When the newest pruning was that is still in effect.
    pub const fn newest(&self) -> Option<Millis> {
        self.newest
    }

    /// Works out what is folded: calls cleared before the newest pruning, and before the turns that
    /// it protected.
    pub fn of(conversation: &Conversation) -> Self {
        let entries = conversation.entries();
        let visible = conversation.visible();
        let cleared = visible.iter().flat_map(|&at| &entries[at].parts);
        let Some(newest) = cleared.filter_map(cleared_at).max() else {
            return Self::default();
        };
        let mut folds = Self {
            by_entry: BTreeMap::new(),
            newest: Some(newest),
        };
        if !conversation.is_folding() {
            return folds;
        }
        let end = boundary(entries, visible, newest);
        let turns = turns_of(entries);
        let mut lines: BTreeMap<usize, (usize, Line)> = BTreeMap::new();
        for &at in visible.get(..end).unwrap_or_default() {
            let Some(fold) = of_entry(&entries[at], newest) else {
                continue;
            };
            let (_, line) = lines.entry(turns[at]).or_insert((at, Line::default()));
            for part in &entries[at].parts {
                if let PartBody::Tool(tool) = &part.body
                    && fold.calls.contains(&part.id)
                {
                    line.add(tool);
                }
            }
            folds.by_entry.insert(at, fold);
        }
        for (turn, (first, line)) in lines {
            if let Some(fold) = folds.by_entry.get_mut(&first) {
                fold.line = Some(line.text(turn));
            }
        }
        folds
    }

    /// Estimated tokens that folding takes off an entry: its calls and markers, less the line.
    pub fn saved(&self, at: usize, entry: &Entry) -> u64 {
        let Some(fold) = self.at(at) else {
            return 0;
        };
        let gone = |part: &&Part| match part.body {
            PartBody::Reasoning { .. } => fold.whole,
            _ => fold.calls.contains(&part.id),
        };
        let saved: u64 = entry.parts.iter().filter(gone).map(tokens::of_part).sum();
        let line = fold.line.as_deref().map_or(0, tokens::of_text);
        saved.saturating_sub(line)
    }
}

/// When the result of a call was cleared.
pub fn cleared_at(part: &Part) -> Option<Millis> {
    match &part.body {
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed { compacted_at, .. } => *compacted_at,
            _ => None,
        },
        _ => None,
    }
}

/// The place in `visible` at which folding ends. Between turns the last two turns of that moment are
/// left alone, as by the pruning; a pruning in the middle of a turn protects no turn.
fn boundary(entries: &[Entry], visible: &[usize], newest: Millis) -> usize {
    let was_there = |at: usize| entries[at].message.created <= newest;
    let prompts: Vec<usize> = (0..visible.len())
        .filter(|&place| was_there(visible[place]) && entries[visible[place]].is_prompt())
        .collect();
    let last = prompts.last().map_or(0, |place| place + 1);
    let mid_turn = visible.iter().skip(last).any(|&at| {
        let message = &entries[at].message;
        message.role == Role::Assistant && !message.summary && message.created < newest
    });
    if mid_turn {
        return visible.len();
    }
    let first_protected = prompts.iter().rev().nth(PROTECTED_TURNS - 1);
    first_protected.copied().unwrap_or(0)
}

/// The turn of each entry, from 1; 0 before the first prompt. `recall` counts the same way.
fn turns_of(entries: &[Entry]) -> Vec<usize> {
    let mut turn = 0;
    let count = |entry: &Entry| {
        turn += usize::from(entry.is_prompt());
        turn
    };
    entries.iter().map(count).collect()
}

fn of_entry(entry: &Entry, newest: Millis) -> Option<Fold> {
    let tools = || {
        entry.parts.iter().filter_map(|part| match &part.body {
            PartBody::Tool(tool) => Some((part, tool)),
            _ => None,
        })
    };
    let calls: Vec<PartId> = tools()
        .filter(|(part, _)| cleared_at(part).is_some_and(|at| at < newest))
        .map(|(part, _)| part.id)
        .collect();
    let whole = calls.len() == tools().count();
    // A wire's data stands with the first call of a step and speaks for all of them.
    let signed = tools().any(|(_, tool)| tool.provider.is_some());
    let folds = !calls.is_empty() && (whole || !signed);
    folds.then_some(Fold {
        calls,
        whole,
        line: None,
    })
}

/// What the folded calls of one turn were.
#[derive(Debug, Default)]
struct Line {
    tools: Vec<(String, usize)>,
    changed: Vec<String>,
}

impl Line {
    fn add(&mut self, tool: &ToolPart) {
        match self.tools.iter_mut().find(|(name, _)| *name == tool.tool) {
            Some((_, count)) => *count += 1,
            None => self.tools.push((tool.tool.clone(), 1)),
        }
        for path in prune::written_by(tool) {
            if !self.changed.contains(&path) {
                self.changed.push(path);
            }
        }
    }

    fn text(&self, turn: usize) -> String {
        let all: usize = self.tools.iter().map(|(_, count)| count).sum();
        let named = self
            .tools
            .iter()
            .map(|(name, count)| format!("{name} {count}"));
        let named = named.collect::<Vec<_>>().join(", ");
        let calls = if all == 1 { "call" } else { "calls" };
        let mut text = format!("[{all} earlier tool {calls} of turn {turn} cleared: {named}");
        if !self.changed.is_empty() {
            let shown = self.changed.iter().take(MOST_FILES).cloned();
            text.push_str("; changed ");
            text.push_str(&shown.collect::<Vec<_>>().join(", "));
            if self.changed.len() > MOST_FILES {
                text.push_str(&format!(" and {} more", self.changed.len() - MOST_FILES));
            }
        }
        text.push_str(&format!(" (recall turn {turn})]"));
        text
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
