//! Token counts of one step, kept apart by what they cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of ONE step (never cumulative). `output` leaves reasoning out, so the sum of all fields is
/// what stood in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input tokens that neither came from nor went into a cache.
    pub input: u64,
    /// Output tokens without reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
    /// Input tokens that a provider cache served or stored.
    pub cache: CacheTokens,
}

/// Input tokens that touched the provider's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTokens {
    /// Served from the cache.
    pub read: u64,
    /// Written into the cache.
    pub write: u64,
}

impl Tokens {
    /// Everything that was in the window at the end of the step (SPEC §4 overflow).
    pub const fn total(&self) -> u64 {
        self.input + self.cache.read + self.cache.write + self.output + self.reasoning
    }

    /// The whole prompt: cached or not.
    pub const fn prompt(&self) -> u64 {
        self.input + self.cache.read + self.cache.write
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cache.read += other.cache.read;
        self.cache.write += other.cache.write;
    }
}
