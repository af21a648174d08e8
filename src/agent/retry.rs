//! When a failed request is tried again, and after how long (SPEC §3). Pure.
//!
//! What a provider asks for wins over our own delay, however long it is: with a screen the user sees
//! the countdown and can retry now or stop. Headless nobody can, so a wait longer than `longest_ms` is
//! an error that says when to come back.

use crate::protocol::{Fault, FaultKind};

/// Longest wait between two attempts, unless the provider asks for more.
const CAP_MS: u64 = 60_000;

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Try again after so many milliseconds.
    After(u64),
    /// Give up.
    GiveUp,
}

/// How patient the loop is (`[loop]`).
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Retries of a failure that is neither a rate limit nor overload.
    pub retries: u32,
    /// Longest wait for a model that is overloaded, in milliseconds.
    pub overload_cap_ms: u64,
    /// Longest wait that a provider may ask for when nobody watches, in milliseconds; none with a
    /// user at the screen.
    pub longest_ms: Option<u64>,
}

/// Decides after attempt number `attempt` (from 1) failed. `jitter` is 0..1 and adds up to a second.
/// Rate limits and overload have no limit of attempts, and waits never longer than their cap; the
/// rest has `retries`. What the provider asks for wins.
pub fn decide(fault: &Fault, attempt: u32, patience: Patience, jitter: f64) -> Decision {
    if !fault.retryable {
        return Decision::GiveUp;
    }
    let patient = matches!(fault.kind, FaultKind::RateLimit | FaultKind::Overloaded);
    if !patient && attempt > patience.retries {
        return Decision::GiveUp;
    }
    if let Some(asked) = fault.retry_after_ms {
        return if patience.longest_ms.is_some_and(|longest| asked > longest) {
            Decision::GiveUp
        } else {
            Decision::After(asked)
        };
    }
    let doubled = 1_000_u64
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(CAP_MS);
    let base = if attempt > 16 {
        CAP_MS
    } else {
        doubled.min(CAP_MS)
    };
    let delay = base + (jitter.clamp(0.0, 1.0) * 1_000.0) as u64;
    Decision::After(if patient {
        delay.min(patience.overload_cap_ms)
    } else {
        delay
    })
}

/// The fault as it is shown when nobody waits for it: with the time to come back.
pub fn given_up(mut fault: Fault, patience: Patience) -> Fault {
    if let Some(asked) = fault
        .retry_after_ms
        .filter(|asked| patience.longest_ms.is_some_and(|longest| *asked > longest))
    {
        let wait = in_words(asked);
        fault.hint = format!(
            "The provider asks to come back in {wait}: go on then with `dunlin exec --continue`, or take \
             another model with --model. `loop.longest_wait` sets how long dunlin waits by itself."
        );
    }
    fault
}

/// A wait as people say it, rounded up: `45 s`, `12 min`, `2 h 5 min`.
fn in_words(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let minutes = seconds.div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (0, _) if seconds < 120 => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Patience = Patience {
        retries: 3,
        overload_cap_ms: 60_000,
        longest_ms: None,
    };

    fn fault(kind: FaultKind) -> Fault {
        Fault::new(kind, "x", "").retryable()
    }

    #[test]
    fn delays_double_up_to_a_minute_and_the_provider_wins() {
        let server = fault(FaultKind::Server);
        let delays: Vec<Decision> = (1..=4).map(|n| decide(&server, n, USUAL, 0.0)).collect();
        assert_eq!(
            delays,
            [
                Decision::After(1_000),
                Decision::After(2_000),
                Decision::After(4_000),
                Decision::GiveUp
            ]
        );
        let overloaded = fault(FaultKind::Overloaded);
        assert_eq!(decide(&overloaded, 7, USUAL, 0.0), Decision::After(60_000));
        assert_eq!(
            decide(&overloaded, 4_000_000_000, USUAL, 1.0),
            Decision::After(60_000),
            "never more than the cap apart"
        );
        let quicker = Patience {
            overload_cap_ms: 5_000,
            ..USUAL
        };
        assert_eq!(decide(&overloaded, 9, quicker, 1.0), Decision::After(5_000));
        let asked = Fault {
            retry_after_ms: Some(90_000),
            ..fault(FaultKind::RateLimit)
        };
        assert_eq!(decide(&asked, 1, USUAL, 0.5), Decision::After(90_000));
    }

    #[test]
    fn what_cannot_help_is_not_tried() {
        let auth = Fault::new(FaultKind::Auth, "x", "");
        assert_eq!(decide(&auth, 1, USUAL, 0.0), Decision::GiveUp);
    }

    #[test]
    fn a_wait_that_nobody_watches_has_an_end() {
        let asked = |ms| Fault {
            retry_after_ms: Some(ms),
            ..fault(FaultKind::RateLimit)
        };
        let alone = Patience {
            longest_ms: Some(600_000),
            ..USUAL
        };
        let within = decide(&asked(600_000), 1, alone, 0.0);
        assert_eq!(within, Decision::After(600_000));
        assert_eq!(decide(&asked(600_001), 1, alone, 0.0), Decision::GiveUp);
        let shown = given_up(asked(7_500_000), alone);
        assert!(shown.hint.contains("2 h 5 min"), "{shown}");
        assert_eq!(given_up(asked(1_000), alone).hint, "");
        let words = [45_000, 700_001, 3_600_000].map(in_words);
        assert_eq!(words, ["45 s", "12 min", "1 h"]);
    }
}
