//! What the report counts over a whole branch: outputs, steps, costs.

use std::collections::{BTreeMap, BTreeSet};

use super::Large;
use super::warnings::Pace;
use crate::context::{Conversation, tokens};
use crate::protocol::{ModelRef, Part, PartBody, Tokens, ToolPart, ToolState};

#[derive(Default)]
pub(super) struct Facts {
    pub(super) pruned_parts: usize,
    pub(super) pruned_tokens: u64,
    pub(super) truncated: usize,
    /// Tokens of each model's steps.
    by_model: BTreeMap<ModelRef, Tokens>,
    pub(super) turns: usize,
    /// Turns in which the context overflowed.
    pub(super) overflowed: BTreeSet<usize>,
    pub(super) summary_cost: Option<f64>,
    pub(super) requests: Vec<u64>,
}

impl Facts {
    pub(super) fn gather(
        conversation: &Conversation,
        visible: &[usize],
        large: &mut Vec<Large>,
    ) -> Self {
        let mut facts = Self {
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
                    PartBody::StepFinish { tokens, .. } => {
                        let model = entry.message.model.clone();
                        *facts.by_model.entry(model).or_default() += *tokens;
                        // A step that was cut before the provider counted says nothing.
                        if tokens.prompt() > 0 {
                            facts.requests.push(tokens.prompt());
                        }
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

    fn tool(&mut self, part: &Part, tool: &ToolPart, shown: bool, large: &mut Vec<Large>) {
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

    /// Tokens of the steps of models whose provider has reported anything cached.
    fn cached(&self) -> Option<Tokens> {
        let all = self.by_model.values();
        all.filter(|t| t.cache.read + t.cache.write > 0)
            .copied()
            .reduce(|mut sum, tokens| {
                sum += tokens;
                sum
            })
    }

    pub(super) fn hit_rate(&self) -> Option<f64> {
        match self.cached() {
            Some(sum) => Some(sum.cache.read as f64 / sum.prompt() as f64),
            None => (!self.requests.is_empty()).then_some(0.0),
        }
    }

    /// What warnings are judged by.
    pub(super) fn pace(&self, hours: f64) -> Pace {
        Pace {
            overflowed: self.overflowed.len(),
            turns: self.turns,
            hours,
            caches: self.cached().is_some(),
        }
    }
}

/// The sum of what a conversation's messages cost in USD; none if the price of one is not known.
pub fn cost_of(conversation: &Conversation) -> Option<f64> {
    let messages = conversation.entries().iter().map(|e| &e.message);
    let counted = messages.filter(|m| m.tokens.total() > 0);
    counted
        .map(|m| m.cost)
        .try_fold(0.0, |sum, cost| Some(sum + cost?))
}
