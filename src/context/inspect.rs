//! The context report behind `/context` and `dunlin inspect`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cache::Step;
use super::overflow::{Usage, Window};
use super::timeline::{self, Moment};
use super::{Conversation, prune, tokens};
use crate::protocol::{Part, PartBody, PartId, Role, Tokens, ToolState};

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
    /// Outputs that were truncated at the source.
    pub truncated_outputs: usize,
    /// Summaries.
    pub summaries: usize,
    /// Share of input tokens that came from the provider's cache, 0 to 1; null before the first step.
    pub cache_hit_rate: Option<f64>,
    /// Cost in USD; null if not known.
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
    for &at in &visible {
        for part in &entries[at].parts {
            count(part, entries[at].message.role, &mut distribution);
        }
    }
    let facts = Facts::gather(source.conversation, &visible, &mut large);
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
        truncated_outputs: facts.truncated,
        summaries: entries.iter().filter(|e| e.message.summary).count(),
        cache_hit_rate: facts.hit_rate(),
        cost: facts.cost,
        distribution,
        largest: large,
        reclaimed: timeline.iter().map(|moment| moment.freed).sum(),
        timeline,
        request_sizes: Sizes::of(&facts.requests),
        requests: facts.requests,
        cache_misses: source.misses.clone(),
        summary_cost: facts.summary_cost,
        warnings: Vec::new(),
    };
    let hours = match (entries.first(), entries.last()) {
        (Some(first), Some(last)) => (last.message.created - first.message.created) as f64 / 3.6e6,
        _ => 0.0,
    };
    report.warnings = warnings(&report, facts.overflowed.len(), facts.turns, hours);
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

#[derive(Default)]
struct Facts {
    pruned_parts: usize,
    pruned_tokens: u64,
    truncated: usize,
    cost: Option<f64>,
    sum: Tokens,
    turns: usize,
    /// Turns in which the context overflowed.
    overflowed: BTreeSet<usize>,
    summary_cost: Option<f64>,
    requests: Vec<u64>,
}

impl Facts {
    fn gather(conversation: &Conversation, visible: &[usize], large: &mut Vec<Large>) -> Self {
        let mut facts = Self {
            cost: Some(0.0),
            summary_cost: Some(0.0),
            ..Self::default()
        };
        for (at, entry) in conversation.entries().iter().enumerate() {
            facts.turns += usize::from(entry.is_prompt());
            if entry.message.summary && entry.message.tokens.total() > 0 {
                facts.summary_cost = facts
                    .summary_cost
                    .zip(entry.message.cost)
                    .map(|(a, b)| a + b);
            }
            let shown = visible.contains(&at);
            for part in &entry.parts {
                match &part.body {
                    PartBody::Tool(tool) => {
                        facts.tool(part, tool, shown, large);
                    }
                    PartBody::StepFinish { tokens, cost, .. } => {
                        facts.sum += *tokens;
                        facts.requests.push(tokens.prompt());
                        facts.cost = facts.cost.zip(*cost).map(|(a, b)| a + b);
                    }
                    PartBody::Compaction { after, auto, .. } if *after > 0 && *auto => {
                        facts.overflowed.insert(facts.turns);
                    }
                    _ => {}
                }
            }
        }
        facts
    }

    fn tool(
        &mut self,
        part: &Part,
        tool: &crate::protocol::ToolPart,
        shown: bool,
        large: &mut Vec<Large>,
    ) {
        let ToolState::Completed {
            output,
            title,
            truncated,
            compacted_at,
            ..
        } = &tool.state
        else {
            return;
        };
        self.truncated += usize::from(truncated.is_some());
        let tokens = tokens::of_text(output);
        if compacted_at.is_some() {
            self.pruned_parts += 1;
            self.pruned_tokens += tokens;
        } else if shown {
            large.push(Large {
                part: part.id,
                tool: tool.tool.clone(),
                title: title.clone(),
                tokens,
                turn: self.turns,
                superseded: false,
                changed_in: None,
            });
        }
    }

    fn hit_rate(&self) -> Option<f64> {
        let prompt = self.sum.prompt();
        (prompt > 0).then(|| self.sum.cache.read as f64 / prompt as f64)
    }
}

/// Dollars per hour above which summaries are too dear, and the shortest time that counts.
const SUMMARY_USD_PER_HOUR: f64 = 10.0;
const SHORTEST_HOURS: f64 = 0.25;

fn warnings(report: &Report, overflowed: usize, turns: usize, hours: f64) -> Vec<String> {
    let mut found = Vec::new();
    if overflowed >= 2 && overflowed * 10 > turns {
        found.push(format!(
            "The context overflowed in {overflowed} of {turns} turns: use a model with a larger \
             window, or ask for less per turn."
        ));
    }
    if let Some(usd) = report.summary_cost
        && usd / hours.max(SHORTEST_HOURS) > SUMMARY_USD_PER_HOUR
    {
        found.push(format!(
            "Summaries cost ${:.2} an hour: set small_model to a cheaper model, or use the strategy \
             middle-removal.",
            usd / hours.max(SHORTEST_HOURS)
        ));
    }
    if let Some(rate) = report.cache_hit_rate
        && rate < 0.7
        && report.requests.len() >= 3
    {
        found.push(format!(
            "Only {:.0} % of the input came from the provider's cache: something at the beginning of \
             the requests keeps changing.",
            rate * 100.0
        ));
    }
    found
}

/// The report as lines, for a terminal.
pub fn as_text(report: &Report) -> String {
    let percent = |part: u64| {
        let all = report.total_tokens.max(1);
        format!("{:>5.1}%", part as f64 * 100.0 / all as f64)
    };
    let d = &report.distribution;
    let mut text = format!(
        "Context of {}: {} of {} tokens, compacts at {} ({})\n\
         {} messages, {} parts, {} outputs pruned ({}), {} truncated, {} summaries\n",
        report.model,
        report.total_tokens,
        report.window,
        report.compact_at,
        report.strategy,
        report.messages,
        report.parts,
        report.pruned_parts,
        short(report.pruned_tokens),
        report.truncated_outputs,
        report.summaries,
    );
    if let Some(rate) = report.cache_hit_rate {
        text.push_str(&format!("Cached {:.0}%\n", rate * 100.0));
    }
    match report.cost {
        Some(usd) => text.push_str(&format!("Cost ${usd:.2}\n\n")),
        None => text.push_str("Cost unknown\n\n"),
    }
    for (name, tokens) in [
        ("System prompt", d.system),
        ("Tool schemas", d.tools),
        ("Project instructions", d.instructions),
        ("Your messages", d.user),
        ("Assistant text", d.assistant),
        ("Reasoning", d.reasoning),
        ("Tool results", d.tool_results),
    ] {
        text.push_str(&format!("  {name:<22}{tokens:>10} {}\n", percent(tokens)));
    }
    for large in &report.largest {
        let stale = match large.changed_in {
            Some(turn) => format!("   stale: file changed in turn {turn}"),
            None if large.superseded => "   superseded".to_owned(),
            None => String::new(),
        };
        text.push_str(&format!(
            "  {:>8}  {:<6} {}   turn {}{stale}\n",
            large.tokens, large.tool, large.title, large.turn
        ));
    }
    let sizes = report.request_sizes;
    if !report.requests.is_empty() {
        text.push_str(&format!(
            "Requests {}: median {}, 95 % up to {}, largest {}\n",
            report.requests.len(),
            short(sizes.median),
            short(sizes.p95),
            short(sizes.largest)
        ));
    }
    for miss in &report.cache_misses {
        let cost = miss
            .cost
            .map_or_else(String::new, |usd| format!(" (${usd:.3})"));
        text.push_str(&format!(
            "  cache missed {}{cost}: {}\n",
            short(miss.missed),
            miss.changed
        ));
    }
    for moment in &report.timeline {
        text.push_str(&format!("  turn {}: {}\n", moment.turn, moment.text));
    }
    for warning in &report.warnings {
        text.push_str(&format!("! {warning}\n"));
    }
    text
}

/// `23K`, `1.2M`, or the number itself below a thousand.
pub fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}K", (tokens + 500) / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1_000_000.0),
    }
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
