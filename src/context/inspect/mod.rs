//! The context report behind `/context` and `dunlin inspect`.
//!
//! `report` makes it from a conversation; `facts` gathers what is counted over the branch, `timeline` what happened to it, `warnings`
//! says what is wrong, `text` writes it for a terminal. Pure; the JSON form is in docs/context.md.

mod facts;
mod text;
mod timeline;
mod warnings;

pub use facts::cost_of;
pub use text::{as_text, short};
pub use timeline::Moment;

use serde::{Deserialize, Serialize};

use facts::Facts;
use warnings::warnings;

use super::cache::Step;
use super::overflow::{Usage, Window};
use super::{Conversation, prune, tokens};
use crate::protocol::{Part, PartBody, PartId, Role};

/// All figures of the report. The JSON form is documented in docs/context.md.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Model as `provider/model`.
    pub model: String,
    /// Strategy in use.
    pub strategy: String,
    /// Window in tokens; 0 if not known.
    pub window: u64,
    /// Where compaction starts.
    pub compact_at: u64,
    /// Tokens that the next request will hold.
    pub total_tokens: u64,
    /// Messages of the branch.
    pub messages: usize,
    /// Parts of the branch.
    pub parts: usize,
    /// Outputs that are pruned now.
    pub pruned_parts: usize,
    /// Their estimated tokens.
    pub pruned_tokens: u64,
    /// Calls of them that are not sent any more, one line per turn standing for them.
    pub folded_calls: usize,
    /// Outputs that were truncated at the source.
    pub truncated_outputs: usize,
    /// Summaries.
    pub summaries: usize,
    /// Share of input tokens that came from the provider's cache, 0 to 1, over the steps of models
    /// that have one; 0 if none has, null before the first step.
    pub cache_hit_rate: Option<f64>,
    /// Cost in USD, summaries, titles and subagents included; null if not known.
    pub cost: Option<f64>,
    /// Estimated tokens by kind.
    pub distribution: Distribution,
    /// The largest outputs in the context.
    pub largest: Vec<Large>,
    /// What happened, in order.
    pub timeline: Vec<Moment>,
    /// Prompt tokens of each step, in order.
    pub requests: Vec<u64>,
    /// Their median, the 95th percentile and the largest.
    pub request_sizes: Sizes,
    /// Steps whose prompt should have come from the cache and did not: what changed first, and what
    /// it cost. The newest 20.
    pub cache_misses: Vec<Step>,
    /// Cost of summaries in USD; null if not known.
    pub summary_cost: Option<f64>,
    /// Tokens that prunings and compactions freed in this session.
    pub reclaimed: u64,
    /// Sentences about what is wrong.
    pub warnings: Vec<String>,
}

/// Prompt tokens of requests.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq, Eq)]
pub struct Sizes {
    /// Half of them are at most so large.
    pub median: u64,
    /// 95 % of them are.
    pub p95: u64,
    /// All of them are.
    pub largest: u64,
}

impl Sizes {
    fn of(requests: &[u64]) -> Self {
        let mut sorted = requests.to_vec();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let last = sorted.len().saturating_sub(1);
            sorted.get(last * percent / 100).copied().unwrap_or(0)
        };
        Self {
            median: at(50),
            p95: at(95),
            largest: at(100),
        }
    }
}

/// Estimated tokens of what every request begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// System prompt without instruction files.
    pub system: u64,
    /// Instruction files.
    pub instructions: u64,
    /// Tool schemas.
    pub tools: u64,
}

/// Estimated tokens by kind.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Distribution {
    /// System prompt without instruction files.
    pub system: u64,
    /// Tool schemas.
    pub tools: u64,
    /// Instruction files.
    pub instructions: u64,
    /// What the user said.
    pub user: u64,
    /// What the assistant said, calls included.
    pub assistant: u64,
    /// Reasoning.
    pub reasoning: u64,
    /// Tool results.
    pub tool_results: u64,
}

/// One large output.
#[derive(Debug, Clone, Serialize)]
pub struct Large {
    /// The part.
    pub part: PartId,
    /// The tool.
    pub tool: String,
    /// Its title.
    pub title: String,
    /// Estimated tokens.
    pub tokens: u64,
    /// Turn it was made in, from 1.
    pub turn: usize,
    /// True if a later call made it worthless: the next pruning takes it.
    pub superseded: bool,
    /// The turn in which the file that was read was written since.
    pub changed_in: Option<usize>,
}

/// What the report is made from.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The conversation, whole.
    pub conversation: &'a Conversation,
    /// Tokens now.
    pub usage: Usage,
    /// Room.
    pub window: Window,
    /// Model as `provider/model`.
    pub model: &'a str,
    /// Strategy in use.
    pub strategy: &'a str,
    /// What every request begins with.
    pub overhead: Overhead,
    /// From the cache ledger.
    pub misses: Vec<Step>,
    /// What the session has cost in USD; none if it is not known.
    pub cost: Option<f64>,
}

/// Makes the report.
pub fn report(source: &Source<'_>) -> Report {
    let entries = source.conversation.entries();
    let visible = source.conversation.visible();
    let mut distribution = Distribution {
        system: source.overhead.system,
        tools: source.overhead.tools,
        instructions: source.overhead.instructions,
        ..Distribution::default()
    };
    let mut large = Vec::new();
    let folds = source.conversation.folds();
    for &at in visible {
        let fold = folds.at(at);
        for part in &entries[at].parts {
            let gone = match part.body {
                PartBody::Reasoning { .. } => fold.is_some_and(|f| f.whole),
                _ => folds.holds(at, part.id),
            };
            if !gone {
                count(part, entries[at].message.role, &mut distribution);
            }
        }
        let line = fold.and_then(|f| f.line.as_deref());
        distribution.tool_results += line.map_or(0, tokens::of_text);
    }
    let facts = Facts::gather(source.conversation, visible, &mut large);
    large.sort_by_key(|l: &Large| std::cmp::Reverse(l.tokens));
    large.truncate(10);
    let superseded = prune::superseded(source.conversation);
    let changed = timeline::changed_since(source.conversation);
    for output in &mut large {
        output.superseded = superseded.contains(&output.part);
        output.changed_in = changed.get(&output.part).copied();
    }
    let timeline = timeline::timeline(source.conversation);
    let mut report = Report {
        model: source.model.to_owned(),
        strategy: source.strategy.to_owned(),
        window: source.window.size,
        compact_at: source.window.usable,
        total_tokens: source.usage.next(),
        messages: entries.len(),
        parts: entries.iter().map(|e| e.parts.len()).sum(),
        pruned_parts: facts.pruned_parts,
        pruned_tokens: facts.pruned_tokens,
        folded_calls: folds.calls(),
        truncated_outputs: facts.truncated,
        summaries: entries.iter().filter(|e| e.message.summary).count(),
        cache_hit_rate: facts.hit_rate(),
        cost: source.cost,
        distribution,
        largest: large,
        reclaimed: timeline.iter().map(|moment| moment.freed).sum(),
        timeline,
        request_sizes: Sizes::of(&facts.requests),
        requests: facts.requests.clone(),
        cache_misses: source.misses.clone(),
        summary_cost: facts.summary_cost,
        warnings: Vec::new(),
    };
    let hours = match (entries.first(), entries.last()) {
        (Some(first), Some(last)) => (last.message.created - first.message.created) as f64 / 3.6e6,
        _ => 0.0,
    };
    report.warnings = warnings(&report, &facts.pace(hours));
    report
}

fn count(part: &Part, role: Role, into: &mut Distribution) {
    let all = tokens::of_part(part);
    match &part.body {
        PartBody::Tool(tool) => {
            let result = tokens::of_result(&tool.state);
            into.tool_results += result;
            into.assistant += all.saturating_sub(result);
        }
        PartBody::Reasoning { .. } => into.reasoning += all,
        _ if role == Role::User => into.user += all,
        _ => into.assistant += all,
    }
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
