//! Budgets: money, tokens, steps and time of a session, its subagents included. Pure.

use serde::{Deserialize, Serialize};

use crate::config::used::Budget;
use crate::protocol::Tokens;

/// What a session has spent; kept with it, so that a resume goes on counting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// US dollars; what models without known prices cost is not in it.
    pub usd: f64,
    /// True if a model without known prices was used.
    #[serde(default)]
    pub usd_unknown: bool,
    /// Tokens, input and output.
    pub tokens: u64,
    /// Steps.
    pub steps: u32,
    /// Milliseconds that turns ran.
    pub time_ms: u64,
    /// What titles took, besides: they count towards budgets, but a session's cost is that of its
    /// messages and its subagents.
    #[serde(default, skip_serializing_if = "Titles::is_nothing")]
    pub titles: Titles,
}

/// What titles took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Titles {
    /// US dollars.
    pub usd: f64,
    /// Tokens, input and output.
    pub tokens: u64,
}

impl Titles {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Spent {
    /// Adds a step.
    pub fn step(&mut self, tokens: &Tokens, cost: Option<f64>) {
        self.steps += 1;
        self.request(tokens, cost);
    }

    /// What a title took.
    pub fn of_title(tokens: &Tokens, cost: Option<f64>) -> Self {
        Self {
            titles: Titles {
                usd: cost.unwrap_or(0.0),
                tokens: tokens.total(),
            },
            ..Self::default()
        }
    }

    /// Adds a request that is no step: a summary's.
    pub fn request(&mut self, tokens: &Tokens, cost: Option<f64>) {
        self.tokens += tokens.total();
        match cost {
            Some(usd) => self.usd += usd,
            // What did not begin costs nothing.
            None => self.usd_unknown |= tokens.total() > 0,
        }
    }

    /// Adds what a subagent spent.
    pub fn add(&mut self, other: &Self) {
        self.usd += other.usd;
        self.usd_unknown |= other.usd_unknown;
        self.tokens += other.tokens;
        self.steps += other.steps;
        self.titles.usd += other.titles.usd;
        self.titles.tokens += other.titles.tokens;
    }

    /// What was spent since `before`; time is left out, it runs for all at once.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            usd: self.usd - before.usd,
            usd_unknown: self.usd_unknown && !before.usd_unknown,
            tokens: self.tokens.saturating_sub(before.tokens),
            steps: self.steps.saturating_sub(before.steps),
            time_ms: 0,
            titles: Titles {
                usd: self.titles.usd - before.titles.usd,
                tokens: self.titles.tokens.saturating_sub(before.titles.tokens),
            },
        }
    }

    /// True if nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Cost for the eye: none when a price is not known.
    pub const fn cost(&self) -> Option<f64> {
        if self.usd_unknown {
            None
        } else {
            Some(self.usd)
        }
    }

    /// The first limit that is reached, as a sentence; `granted` multiplies the limits (the user may
    /// grant the same amount again). `running_ms` is the time of the turn so far.
    pub fn exceeded(&self, budget: &Budget, granted: u32, running_ms: u64) -> Option<String> {
        let times = u64::from(granted) + 1;
        let cost = self.usd + self.titles.usd;
        if let Some(usd) = budget.usd
            && cost >= usd * times as f64
        {
            return Some(format!(
                "The session has cost ${cost:.2}; its budget is ${usd:.2}."
            ));
        }
        let used = self.tokens + self.titles.tokens;
        if let Some(tokens) = budget.tokens
            && used >= tokens * times
        {
            return Some(format!(
                "The session has used {used} tokens; its budget is {tokens}."
            ));
        }
        if let Some(steps) = budget.steps
            && u64::from(self.steps) >= u64::from(steps) * times
        {
            return Some(format!(
                "The session has made {} steps; its budget is {steps}.",
                self.steps
            ));
        }
        if let Some(time) = budget.time
            && u128::from(self.time_ms + running_ms) >= time.as_millis() * u128::from(times)
        {
            return Some(format!(
                "The session has worked for {} s; its budget is {} s.",
                (self.time_ms + running_ms) / 1_000,
                time.as_secs()
            ));
        }
        None
    }
}
