//! The context report behind `/context` and `dunlin inspect`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::overflow::{Usage, Window};
use super::{Conversation, tokens};
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
    /// Sentences about what is wrong.
    pub warnings: Vec<String>,
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
}

/// One event of the timeline.
#[derive(Debug, Clone, Serialize)]
pub struct Moment {
    /// Turn, from 1.
    pub turn: usize,
    /// When, milliseconds since the epoch.
    pub at: i64,
    /// `pruned` or `compacted`.
    pub kind: &'static str,
    /// A line such as `compacted 190K → 45K`.
    pub text: String,
}

/// What the report is made from.
#[derive(Debug, Clone, Copy)]
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
    /// Estimated tokens of the system prompt without instructions.
    pub system: u64,
    /// Estimated tokens of the instruction files.
    pub instructions: u64,
    /// Estimated tokens of the tool schemas.
    pub tools: u64,
}

/// Makes the report.
pub fn report(source: &Source<'_>) -> Report {
    let entries = source.conversation.entries();
    let visible = source.conversation.visible();
    let mut distribution = Distribution {
        system: source.system,
        tools: source.tools,
        instructions: source.instructions,
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
        timeline: facts.timeline,
        requests: facts.requests,
        warnings: Vec::new(),
    };
    report.warnings = warnings(&report, facts.turns);
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
    timeline: Vec<Moment>,
    /// By instant: turn and estimated tokens.
    prunings: BTreeMap<i64, (usize, u64)>,
    requests: Vec<u64>,
}

impl Facts {
    fn gather(conversation: &Conversation, visible: &[usize], large: &mut Vec<Large>) -> Self {
        let mut facts = Self {
            cost: Some(0.0),
            ..Self::default()
        };
        for (at, entry) in conversation.entries().iter().enumerate() {
            facts.turns += usize::from(entry.is_prompt());
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
                    PartBody::Compaction { before, after, .. } if *after > 0 => {
                        facts.timeline.push(Moment {
                            turn: facts.turns,
                            at: part.start,
                            kind: "compacted",
                            text: format!("compacted {} → {}", short(*before), short(*after)),
                        });
                    }
                    _ => {}
                }
            }
        }
        for (at, (turn, tokens)) in std::mem::take(&mut facts.prunings) {
            let text = format!("pruned {}", short(tokens));
            facts.timeline.push(Moment {
                turn,
                at,
                kind: "pruned",
                text,
            });
        }
        facts.timeline.sort_by_key(|m| m.at);
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
        if let Some(when) = compacted_at {
            self.pruned_parts += 1;
            self.pruned_tokens += tokens;
            // Parts pruned in one go share the instant.
            let turn = self.turns;
            self.prunings.entry(*when).or_insert((turn, 0)).1 += tokens;
        } else if shown {
            large.push(Large {
                part: part.id,
                tool: tool.tool.clone(),
                title: title.clone(),
                tokens,
                turn: self.turns,
            });
        }
    }

    fn hit_rate(&self) -> Option<f64> {
        let prompt = self.sum.prompt();
        (prompt > 0).then(|| self.sum.cache.read as f64 / prompt as f64)
    }
}

fn warnings(report: &Report, turns: usize) -> Vec<String> {
    let mut found = Vec::new();
    let compactions = report
        .timeline
        .iter()
        .filter(|m| m.kind == "compacted")
        .count();
    if turns >= 10 && compactions * 10 > turns {
        found.push(format!(
            "The context overflowed in {compactions} of {turns} turns: use a model with a larger \
             window, or ask for less per turn."
        ));
    }
    if let Some(rate) = report.cache_hit_rate
        && rate < 0.7
        && report.requests.len() >= 5
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
        text.push_str(&format!(
            "  {:>8}  {:<6} {}   turn {}\n",
            large.tokens, large.tool, large.title, large.turn
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
