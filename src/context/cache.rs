//! The cache ledger: what each request had in common with the one before, and what a miss cost.
//!
//! The driver tells it every request for a step and what the provider counted. Requests are
//! append-only between prunings and compactions, so the whole previous prompt should be served from
//! the cache; where it was not, the ledger names the first piece that changed.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::request::{Block, Messages, Request, RequestMessage};
use crate::protocol::{Millis, Tokens};

/// Steps that are remembered.
const MOST: usize = 200;
/// Misses that a report shows.
const MOST_MISSES: usize = 20;
/// Providers cache in blocks of up to so many tokens, and the end of a prompt is often left out.
const SLACK: u64 = 2_048;

/// What one request had in common with the one before.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Step {
    /// When it was sent.
    pub at: Millis,
    /// Messages that are the same as in the request before, from the first on.
    pub same: usize,
    /// Messages of the request.
    pub messages: usize,
    /// The first piece that changed; empty if everything before is still there, unchanged.
    pub changed: String,
    /// Prompt tokens by the provider's count, and how many of them came from its cache.
    pub prompt: u64,
    /// See `prompt`.
    pub cached: u64,
    /// Tokens that should have come from the cache and did not; 0 for a hit.
    pub missed: u64,
    /// What the miss cost in USD; none if prices are not known or it was a hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The ledger of one session.
#[derive(Debug, Default)]
pub struct Ledger {
    last: Option<Sent>,
    /// Prompt tokens of the last answered request: what the provider holds.
    held: u64,
    /// True once the provider has reported anything cached.
    caches: bool,
    open: Option<Step>,
    steps: VecDeque<Step>,
}

#[derive(Debug)]
struct Sent {
    at: Millis,
    model: String,
    stable: Arc<str>,
    dynamic: Arc<str>,
    tools: usize,
    names: Vec<String>,
    messages: Messages,
}

impl Ledger {
    /// A request for a step goes out.
    pub fn sent(&mut self, now: Millis, request: &Request) {
        let sent = Sent {
            at: now,
            model: request.model.to_string(),
            stable: Arc::clone(&request.system_stable),
            dynamic: Arc::clone(&request.system_dynamic),
            tools: request.tools.len(),
            names: request.tools.iter().map(|t| t.name.clone()).collect(),
            messages: request.messages.clone(),
        };
        if self
            .last
            .as_ref()
            .is_some_and(|last| last.model != sent.model)
        {
            // Whether this one's provider has a cache is not known yet.
            self.caches = false;
        }
        let (same, changed) = match &self.last {
            Some(last) => compare(last, &sent),
            None => (0, String::new()),
        };
        self.open = Some(Step {
            at: now,
            same,
            messages: sent.messages.len(),
            changed,
            prompt: 0,
            cached: 0,
            missed: 0,
            cost: None,
        });
        let idle = self.last.as_ref().map_or(0, |last| now - last.at);
        if let Some(step) = &mut self.open
            && step.changed.is_empty()
            && idle > 5 * 60_000
        {
            step.changed = format!("nothing, but {} min had passed", idle / 60_000);
        }
        self.last = Some(sent);
    }

    /// The provider has counted it. `extra` is what an uncached token costs more than a cached one,
    /// in USD.
    pub fn answered(&mut self, tokens: &Tokens, extra: Option<f64>) {
        let Some(mut step) = self.open.take() else {
            return;
        };
        self.caches |= tokens.cache.read + tokens.cache.write > 0;
        step.prompt = tokens.prompt();
        step.cached = tokens.cache.read;
        if self.caches && tokens.cache.read + SLACK < self.held {
            step.missed = self.held.min(step.prompt) - tokens.cache.read.min(step.prompt);
            step.cost = extra.map(|usd| usd * step.missed as f64);
            if step.changed.is_empty() {
                "nothing: the provider no longer had it".clone_into(&mut step.changed);
            }
        }
        self.held = step.prompt;
        if self.steps.len() == MOST {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
    }

    /// The steps, oldest first.
    pub const fn steps(&self) -> &VecDeque<Step> {
        &self.steps
    }

    /// The newest steps that the cache missed, oldest first.
    pub fn misses(&self) -> Vec<Step> {
        let missed = self.steps.iter().filter(|s| s.missed > 0);
        let count = missed.clone().count();
        missed
            .skip(count.saturating_sub(MOST_MISSES))
            .cloned()
            .collect()
    }
}

/// How many messages are the same, and the first piece that is not.
fn compare(last: &Sent, sent: &Sent) -> (usize, String) {
    let before = if last.model != sent.model {
        "the model"
    } else if last.tools != sent.tools || last.names != sent.names {
        "the tools on offer"
    } else if last.stable != sent.stable {
        "the system prompt"
    } else if last.dynamic != sent.dynamic {
        "the environment or the instruction files"
    } else {
        ""
    };
    if !before.is_empty() {
        return (0, before.to_owned());
    }
    let shared = last.messages.same(&sent.messages);
    let rest = last.messages.iter_from(shared);
    let pairs = rest.zip(sent.messages.iter_from(shared));
    let equal = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b) || a == b);
    let same = shared + equal.count();
    let changed = match (last.messages.get(same), sent.messages.get(same)) {
        (None, _) => String::new(),
        (Some(_), None) => format!("message {} is gone", same + 1),
        (Some(a), Some(b)) => format!("message {}: {}", same + 1, first_change(a, b)),
    };
    (same, changed)
}

fn first_change(a: &RequestMessage, b: &RequestMessage) -> String {
    let at = a
        .blocks
        .iter()
        .zip(&b.blocks)
        .take_while(|(a, b)| a == b)
        .count();
    match (a.blocks.get(at), b.blocks.get(at)) {
        (_, Some(Block::Text(text))) if folded_turn(text).is_some() => {
            let turn = folded_turn(text).unwrap_or_default();
            format!("cleared calls of turn {turn} were folded")
        }
        (None, Some(block)) => format!("{} was added", named(block)),
        (Some(block), None) => format!("{} is gone", named(block)),
        (Some(Block::Result { name, .. }), Some(Block::Result { output, .. }))
            if output.starts_with(crate::protocol::tool::PRUNED_OUTPUT) =>
        {
            let marker = output.lines().next().unwrap_or_default();
            format!(
                "the result of {name} was pruned {}",
                marker
                    .split('(')
                    .nth(1)
                    .map_or_else(String::new, |way| format!("({way}"))
            )
        }
        (Some(block), _) => format!("{} changed", named(block)),
        (None, None) => "who speaks changed".to_owned(),
    }
}

/// The turn whose calls a line stands for.
fn folded_turn(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[')?.strip_suffix(")]")?;
    let (calls, turn) = inside.split_once(" (recall turn ")?;
    calls.contains(" earlier tool call").then_some(turn)
}

fn named(block: &Block) -> String {
    match block {
        Block::Text(text) => {
            let words: String = text.chars().take(40).collect();
            format!("the text \u{201c}{}\u{201d}", words.replace('\n', " "))
        }
        Block::Reasoning { .. } => "reasoning".to_owned(),
        Block::File { name, .. } => format!("the file {name}"),
        Block::Call { name, .. } => format!("the call of {name}"),
        Block::Result { name, .. } => format!("the result of {name}"),
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
