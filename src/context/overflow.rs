//! When a conversation no longer fits: judged by the actual tokens of the last step.

use super::{Conversation, fold, tokens};
use crate::protocol::{ContextGauge, Millis, Part, PartBody, Tokens, ToolState};

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
    /// Estimate of what was added since the count or the estimate: tool results, new prompts.
    pub added: u64,
    /// Estimate of the whole request, for when there is no actual count.
    pub estimate: u64,
}

impl Usage {
    /// What the next request will hold, as well as can be told.
    pub fn next(&self) -> u64 {
        match self.actual {
            Some(tokens) if tokens.total() > 0 => tokens.total() + self.added,
            _ => self.estimate + self.added,
        }
    }
}

impl Usage {
    /// Takes off what was pruned: the counts of the last step no longer hold.
    pub fn less(&mut self, saved: u64) {
        if let Some(actual) = &mut self.actual {
            // What was freed comes off the cached part.
            let from_cache = saved.min(actual.cache.read);
            actual.cache.read -= from_cache;
            actual.input = actual.input.saturating_sub(saved - from_cache);
        }
        self.estimate = self.estimate.saturating_sub(saved);
    }
}

/// True if the next request would not fit.
pub fn is_overflow(usage: &Usage, window: Window) -> bool {
    window.usable > 0 && usage.next() > window.usable
}

/// Estimated tokens of all that a model is shown of the conversation.
pub fn estimate(conversation: &Conversation) -> u64 {
    let visible = conversation.visible();
    visible.iter().map(|&at| conversation.tokens_at(at)).sum()
}

/// Usage from what is stored: the last step's own count if it still holds, else an estimate. Of a
/// count that was taken before something was pruned, what was pruned since is taken off.
pub fn measure(conversation: &Conversation, overhead: u64) -> Usage {
    let entries = conversation.entries();
    let visible = conversation.visible();
    let counted = visible.iter().rposition(|&at| {
        let message = &entries[at].message;
        message.tokens.total() > 0 && !message.summary
    });
    let compacted = conversation.last_compaction();
    match counted {
        Some(place) if compacted.is_none_or(|c| visible[place] > c + 1) => {
            let last = &entries[visible[place]];
            let when = last.message.completed.unwrap_or(last.message.created);
            let since: u64 = visible[place + 1..]
                .iter()
                .flat_map(|&at| &entries[at].parts)
                .map(tokens::of_part)
                .sum();
            let results: u64 = last.parts.iter().map(of_result).sum();
            let mut usage = Usage {
                actual: Some(last.message.tokens),
                added: results + since,
                estimate: 0,
            };
            let pruned: u64 = visible[..place]
                .iter()
                .flat_map(|&at| &entries[at].parts)
                .filter_map(|part| pruned_after(part, when))
                .sum();
            usage.less(pruned + folded_after(conversation, &visible[..place], when));
            usage
        }
        _ => Usage {
            actual: None,
            added: 0,
            estimate: estimate(conversation) + overhead,
        },
    }
}

/// Estimated tokens of the calls that a pruning after `when` folded.
fn folded_after(conversation: &Conversation, visible: &[usize], when: Millis) -> u64 {
    let folds = conversation.folds();
    if folds.newest().is_none_or(|newest| newest < when) {
        return 0;
    }
    let entries = conversation.entries();
    let parts = || {
        let of = |&at: &usize| entries[at].parts.iter().map(move |part| (at, part));
        visible.iter().flat_map(of)
    };
    // What had been cleared before the pruning before that one was folded already.
    let cleared = parts().filter_map(|(_, part)| fold::cleared_at(part));
    let before = cleared.filter(|at| *at < when).max();
    let newly = parts().filter(|(at, part)| {
        let cleared = fold::cleared_at(part);
        folds.holds(*at, part.id) && before.is_none_or(|before| cleared >= Some(before))
    });
    newly.map(|(_, part)| tokens::of_part(part)).sum()
}

/// Estimated tokens that are pruned out of what a model is shown.
pub fn pruned(conversation: &Conversation) -> u64 {
    let entries = conversation.entries();
    let visible = conversation.visible();
    let parts = visible.iter().flat_map(|&at| &entries[at].parts);
    parts
        .filter_map(|part| pruned_after(part, Millis::MIN))
        .sum()
}

fn of_result(part: &Part) -> u64 {
    match &part.body {
        PartBody::Tool(tool) => tokens::of_result(&tool.state),
        _ => 0,
    }
}

fn pruned_after(part: &Part, when: Millis) -> Option<u64> {
    match &part.body {
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed {
                output,
                compacted_at: Some(at),
                ..
            } if *at >= when => Some(tokens::of_text(output)),
            _ => None,
        },
        _ => None,
    }
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
