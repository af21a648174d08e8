//! When a conversation no longer fits: judged by the actual tokens of the last step.

use super::{Conversation, tokens};
use crate::protocol::{ContextGauge, Tokens};

/// What is known about the window right now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// The model's window; 0 if not known.
    pub size: u64,
    /// Tokens that may stand in it (SPEC §4: input limit, or window less the output reserve).
    pub usable: u64,
}

/// Tokens of the last answered request and what came since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The provider's count of the last step: its prompt and its answer. None before the first
    /// step, after a compaction or when the provider does not count.
    pub actual: Option<Tokens>,
    /// Estimate of what was added since: tool results, new prompts.
    pub added: u64,
    /// Estimate of the whole request, for when there is no actual count.
    pub estimate: u64,
}

impl Usage {
    /// What the next request will hold, as well as can be told.
    pub fn next(&self) -> u64 {
        match self.actual {
            Some(tokens) if tokens.total() > 0 => tokens.total() + self.added,
            _ => self.estimate,
        }
    }
}

/// True if the next request would not fit.
pub fn is_overflow(usage: &Usage, window: Window) -> bool {
    window.usable > 0 && usage.next() > window.usable
}

/// Estimated tokens of all that a model is shown of the conversation.
pub fn estimate(conversation: &Conversation) -> u64 {
    let entries = conversation.entries();
    conversation
        .visible()
        .into_iter()
        .flat_map(|at| &entries[at].parts)
        .map(tokens::of_part)
        .sum()
}

/// The context line.
pub fn gauge(usage: &Usage, pruned: u64, window: Window) -> ContextGauge {
    ContextGauge {
        used: usage.next(),
        pruned,
        window: window.size,
        compact_at: window.usable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::CacheTokens;

    #[test]
    fn overflow_counts_every_kind_of_token_and_what_was_added() {
        let window = Window {
            size: 200,
            usable: 100,
        };
        let actual = Tokens {
            input: 10,
            output: 20,
            reasoning: 30,
            cache: CacheTokens {
                read: 25,
                write: 15,
            },
        };
        let fits = Usage {
            actual: Some(actual),
            added: 0,
            estimate: 0,
        };
        assert!(!is_overflow(&fits, window), "100 of 100 fits");
        assert!(is_overflow(&Usage { added: 1, ..fits }, window));
        assert!(is_overflow(
            &Usage {
                actual: None,
                added: 0,
                estimate: 101
            },
            window
        ));
        let unknown = Window { size: 0, usable: 0 };
        assert!(!is_overflow(
            &Usage {
                added: 1_000_000,
                ..fits
            },
            unknown
        ));
    }
}
