//! What is wrong with how a session uses its window, its provider's cache and its summaries.
//!
//! One sentence each, with what to do. The thresholds are SPEC's; called by `report` alone.

use super::Report;

/// Dollars per hour above which summaries are too dear, and the shortest time that counts.
const SUMMARY_USD_PER_HOUR: f64 = 10.0;
const SHORTEST_HOURS: f64 = 0.25;

/// How fast a session goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Turns in which the context overflowed.
    pub(super) overflowed: usize,
    /// Turns.
    pub(super) turns: usize,
    /// From its first message to its newest.
    pub(super) hours: f64,
    /// True if a provider has reported anything cached.
    pub(super) caches: bool,
}

/// Sentences about what is wrong (SPEC §4: overflow in more than 10 % of turns, hit rate below 70 %,
/// summaries above $10/h).
pub(super) fn warnings(report: &Report, pace: &Pace) -> Vec<String> {
    let Pace {
        overflowed,
        turns,
        hours,
        caches,
    } = *pace;
    let mut found = Vec::new();
    if overflowed * 10 > turns {
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
        && caches
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
