//! When a failed request is tried again, and after how long (SPEC §3). Pure.

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
        return Decision::After(asked);
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

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Patience = Patience {
        retries: 3,
        overload_cap_ms: 60_000,
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
}
