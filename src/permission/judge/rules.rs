//! What the rules of all layers say about one thing.

use super::Judge;
use crate::config::used::RuleAction;
use crate::permission::pattern::matches_command;

/// Owners whose word is the user's newest, strongest first: their `allow` beats another's `ask`.
const STRONG: [&str; 3] = ["session", "flags", "grants"];

/// What the rules say about one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ruling {
    pub(super) deny: Option<Word>,
    pub(super) ask: Option<Word>,
    pub(super) allow: Option<Word>,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) owner: String,
    pub(super) tool: String,
    pub(super) pattern: String,
}

impl Word {
    pub(super) fn named(&self) -> String {
        format!(
            "the rule {} `{}` of the {} layer",
            self.tool, self.pattern, self.owner
        )
    }
}

impl Judge {
    /// What the rules say: within a layer the last match; across layers a deny of anybody, then the
    /// strong owners' word, then ask before allow.
    pub(super) fn ruling(&self, tools: &[&str], matches: &dyn Fn(&str) -> bool) -> Ruling {
        let mut ruling = Ruling::default();
        let mut strong: Option<(usize, RuleAction, Word)> = None;
        for layer in &self.layers {
            let last = layer.rules.iter().rev().find(|rule| {
                tools.iter().any(|t| names_tool(&rule.tool, t)) && matches(&rule.pattern)
            });
            let Some(rule) = last else { continue };
            let word = Word {
                owner: layer.owner.clone(),
                tool: rule.tool.clone(),
                pattern: rule.pattern.clone(),
            };
            let rank = STRONG.iter().position(|o| *o == layer.owner);
            match (rule.action, rank) {
                (RuleAction::Deny, _) => ruling.deny = ruling.deny.or(Some(word)),
                (action, Some(rank)) => {
                    if strong.as_ref().is_none_or(|(best, ..)| rank < *best) {
                        strong = Some((rank, action, word));
                    }
                }
                (RuleAction::Ask, None) => ruling.ask = ruling.ask.or(Some(word)),
                (RuleAction::Allow, None) => ruling.allow = ruling.allow.or(Some(word)),
            }
        }
        if ruling.ask.is_some() {
            ruling.allow = None;
        }
        match strong {
            Some((_, RuleAction::Allow, word)) => {
                ruling.allow = Some(word);
                ruling.ask = None;
            }
            Some((_, _, word)) => {
                ruling.ask = Some(word);
                ruling.allow = None;
            }
            None => {}
        }
        ruling
    }
}

fn names_tool(rule: &str, tool: &str) -> bool {
    matches_command(&rule.to_ascii_lowercase(), &tool.to_ascii_lowercase())
}
