//! What a session cost, apart by model, turn and subagent: the answer to `Op::Spending`.
//!
//! Made by the driver from what is stored; shown by `/cost`. Plain data.

use serde::{Deserialize, Serialize};

use super::Tokens;

/// What a session cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// All of it in USD, other branches and subagents included; none when prices are not known.
    pub total: Option<f64>,
    /// The budget in USD, if there is one.
    pub limit: Option<f64>,
    /// What the provider's cache saved in USD, as far as prices are known; less than nothing if
    /// writing it cost more than reading it saved.
    pub saved: Option<f64>,
    /// By model, in the order of their first use; every branch of the session.
    pub models: Vec<SpentOn>,
    /// By turn of the current branch, the first one first.
    pub turns: Vec<SpentOn>,
    /// By subagent, the first one first; each with its own subagents.
    pub subagents: Vec<SpentOn>,
}

/// What one model, turn or subagent took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpentOn {
    /// Its name; of a turn the first line of its prompt.
    pub name: String,
    /// Answers that were asked for.
    pub steps: u32,
    /// Tokens of all of them.
    pub tokens: Tokens,
    /// USD; none when a price is not known.
    pub cost: Option<f64>,
}

impl SpentOn {
    /// Nothing yet.
    pub fn new(name: String) -> Self {
        Self {
            name,
            cost: Some(0.0),
            ..Self::default()
        }
    }

    /// One more answer.
    pub fn add(&mut self, tokens: &Tokens, cost: Option<f64>) {
        self.steps += 1;
        self.tokens += *tokens;
        self.cost = self.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }
}
