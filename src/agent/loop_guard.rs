//! The doom loop guard: notices when a model makes the same calls again and again.
//!
//! Pure. It is told of every call before it runs and of every result; it says when the user should
//! be asked. Polling (each result differs) is no loop until much later.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::context::prune::canonical;

/// Longest cycle of different calls that is noticed.
const LONGEST_CYCLE: usize = 3;
/// Calls that are remembered; enough for the polling limit at the longest cycle.
const MEMORY: usize = 128;

/// Limits (SPEC §3).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Identical calls in a row that make a loop.
    pub repeats: u32,
    /// The same when each result differed.
    pub repeats_polling: u32,
    /// Calls that *Always allow* lets through.
    pub always: u32,
}

#[derive(Debug, Clone, PartialEq)]
struct Seen {
    part: u128,
    call: u64,
    result: Option<u64>,
}

/// What the guard noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// How often the call would have been made, this one included.
    pub repeats: u32,
    /// Length of the cycle; 1 for the same call.
    pub cycle: u32,
    /// How many of the results so far were the same as the one before in the cycle.
    pub same_results: u32,
    /// The first call of the loop: the part that records it.
    pub first: u128,
}

/// Memory of the session's calls, across steps and messages.
#[derive(Debug, Clone, Default)]
pub struct LoopGuard {
    seen: Vec<Seen>,
    /// Calls the user always allows: hash of the call, and how many more may pass.
    always: Vec<(u64, u32)>,
}

/// What identifies a call: the tool and its canonical input.
pub fn call_key(tool: &str, input: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    tool.hash(&mut hasher);
    canonical(input).hash(&mut hasher);
    hasher.finish()
}

impl LoopGuard {
    /// Is this call the next of a loop? Call it before the call runs.
    pub fn check(&mut self, tool: &str, input: &Value, limits: Limits) -> Option<Loop> {
        let call = call_key(tool, input);
        let found = (1..=LONGEST_CYCLE).find_map(|cycle| self.cycle_of(call, cycle, limits))?;
        if let Some((_, left)) = self.always.iter_mut().find(|(key, _)| *key == call)
            && *left > 0
        {
            *left -= 1;
            return None;
        }
        Some(found)
    }

    /// Records a call that will run.
    pub fn record(&mut self, part: u128, tool: &str, input: &Value) {
        if self.seen.len() >= MEMORY {
            self.seen.remove(0);
        }
        self.seen.push(Seen {
            part,
            call: call_key(tool, input),
            result: None,
        });
    }

    /// Records a result.
    pub fn result(&mut self, part: u128, output: &str) {
        let mut hasher = DefaultHasher::new();
        output.hash(&mut hasher);
        if let Some(seen) = self.seen.iter_mut().rev().find(|s| s.part == part) {
            seen.result = Some(hasher.finish());
        }
    }

    /// The user continues: counting starts anew.
    pub fn forgive(&mut self) {
        self.seen.clear();
    }

    /// The user always allows exactly this call, up to the limit.
    pub fn allow_always(&mut self, tool: &str, input: &Value, limits: Limits) {
        let call = call_key(tool, input);
        self.always.retain(|(key, _)| *key != call);
        self.always.push((call, limits.always));
    }

    /// Does the new call go on a cycle of this length that was already run often enough?
    fn cycle_of(&self, call: u64, cycle: usize, limits: Limits) -> Option<Loop> {
        let calls: Vec<u64> = self.seen.iter().map(|s| s.call).collect();
        let full = |times: u32| {
            let needed = cycle * times as usize;
            let start = calls.len().checked_sub(needed)?;
            let tail = &calls[start..];
            let periodic = tail.iter().zip(&tail[cycle..]).all(|(a, b)| a == b);
            // The new call must be the one that begins the next round; all of the cycle differ.
            let goes_on = tail.first() == Some(&call);
            let distinct = cycle == 1 || tail[1..cycle].iter().all(|c| *c != tail[0]);
            (periodic && goes_on && distinct).then_some(start)
        };
        let start = full(limits.repeats)?;
        let results: Vec<Option<u64>> = self.seen[start..].iter().map(|s| s.result).collect();
        let pairs = results.len() - cycle;
        let same = (0..pairs)
            .filter(|&i| !differs(results[i], results[i + cycle]))
            .count();
        let polling = pairs > 0 && same == 0;
        if polling && full(limits.repeats_polling).is_none() {
            return None;
        }
        let mut repeats = limits.repeats;
        while full(repeats + 1).is_some() {
            repeats += 1;
        }
        Some(Loop {
            repeats: repeats + 1,
            cycle: cycle as u32,
            same_results: same as u32,
            first: self.seen[start.saturating_sub((repeats - limits.repeats) as usize * cycle)]
                .part,
        })
    }
}

/// Results that are both known and not equal.
fn differs(a: Option<u64>, b: Option<u64>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: Limits = Limits {
        repeats: 3,
        repeats_polling: 10,
        always: 20,
    };

    /// Runs calls one after the other with their results; returns at which (from 1) it asked.
    fn run(calls: &[(&str, &str)]) -> Vec<usize> {
        let mut guard = LoopGuard::default();
        let mut asked = Vec::new();
        for (at, (input, output)) in calls.iter().enumerate() {
            let input = json!({ "command": input });
            if guard.check("bash", &input, LIMITS).is_some() {
                asked.push(at + 1);
            }
            guard.record(at as u128, "bash", &input);
            guard.result(at as u128, output);
        }
        asked
    }

    #[test]
    fn the_fourth_identical_call_asks() {
        assert_eq!(run(&[("a", "x"); 4]), [4]);
        assert_eq!(run(&[("a", "x"); 3]), [0_usize; 0]);
        assert_eq!(
            run(&[("a", "x"), ("a", "x"), ("b", "x"), ("a", "x"), ("a", "x")]),
            [0_usize; 0]
        );
    }

    #[test]
    fn cycles_of_two_and_three_ask_after_three_rounds() {
        let two = [("a", "x"), ("b", "y")].repeat(4);
        assert_eq!(run(&two)[0], 7);
        let three = [("a", "x"), ("b", "y"), ("c", "z")].repeat(4);
        assert_eq!(run(&three)[0], 10);
        let four = [("a", "x"), ("b", "y"), ("c", "z"), ("d", "w")].repeat(5);
        assert_eq!(run(&four), [0_usize; 0], "longer cycles are work");
    }

    #[test]
    fn polling_is_no_loop_until_the_tenth_call() {
        let outputs: Vec<String> = (0..12).map(|i| i.to_string()).collect();
        let calls: Vec<(&str, &str)> = outputs.iter().map(|o| ("poll", o.as_str())).collect();
        assert_eq!(run(&calls)[0], 11);
    }

    #[test]
    fn equal_inputs_with_other_key_order_are_the_same_call() {
        let a = json!({ "x": 1, "y": 2 });
        let b: Value = serde_json::from_str("{\"y\":2,\"x\":1}").expect("json");
        assert_eq!(call_key("t", &a), call_key("t", &b));
        assert_ne!(call_key("t", &a), call_key("u", &a));
    }

    #[test]
    fn always_allow_is_for_this_call_and_ends_at_its_limit() {
        let mut guard = LoopGuard::default();
        let limits = Limits {
            always: 2,
            ..LIMITS
        };
        let (same, other) = (json!({"c": "a"}), json!({"c": "b"}));
        guard.allow_always("bash", &same, limits);
        let mut asked = Vec::new();
        for at in 0..8_u128 {
            if guard.check("bash", &same, limits).is_some() {
                asked.push(at + 1);
            }
            guard.record(at, "bash", &same);
            guard.result(at, "x");
        }
        assert_eq!(asked, [6, 7, 8], "calls 4 and 5 were let through");
        for at in 10..14_u128 {
            guard.record(at, "bash", &other);
            guard.result(at, "x");
        }
        assert!(
            guard.check("bash", &other, limits).is_some(),
            "only that call was allowed"
        );
    }

    #[test]
    fn continue_starts_counting_anew() {
        let mut guard = LoopGuard::default();
        let input = json!({"c": "a"});
        for at in 0..3_u128 {
            guard.record(at, "bash", &input);
            guard.result(at, "x");
        }
        assert!(guard.check("bash", &input, LIMITS).is_some());
        guard.forgive();
        for at in 3..6_u128 {
            assert!(guard.check("bash", &input, LIMITS).is_none());
            guard.record(at, "bash", &input);
            guard.result(at, "x");
        }
        assert!(guard.check("bash", &input, LIMITS).is_some());
    }
}
