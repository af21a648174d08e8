//! Tier 3: strategies that make a long history short.
//!
//! One trait; which strategy is used is configuration. A strategy says when (`is_due`), what is
//! summarised and what is kept (`plan`), and judges the result (`validate`). The turn carries the
//! plan out: it writes the compaction request, asks the model, writes the summary.

mod request;
mod strategies;

pub use request::{SUMMARY_SYSTEM, carry_over, removal_summary, request_tokens, summary_request};
pub use strategies::{by_name, default};

use super::overflow::{Usage, Window};
use super::{Conversation, tokens};
use crate::config::used::ContextSettings;
use crate::protocol::MessageId;

/// What a strategy may look at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The conversation.
    pub conversation: &'a Conversation,
    /// Tokens now.
    pub usage: Usage,
    /// Room.
    pub window: Window,
    /// Limits.
    pub settings: &'a ContextSettings,
}

/// How to make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// True: ask a model for a summary. False: say what was left out, without a model.
    pub summarise: bool,
    /// The first message that stays verbatim; none if nothing does.
    pub tail: Option<MessageId>,
    /// Messages that will be summarised or left out.
    pub messages: u32,
    /// Their estimated tokens.
    pub tokens: u64,
}

/// A way of compacting.
pub trait Strategy: std::fmt::Debug + Send + Sync {
    /// Name in the configuration.
    fn name(&self) -> &'static str;

    /// True if the next request should not be sent before a compaction.
    fn is_due(&self, view: &View<'_>) -> bool;

    /// What to summarise and what to keep; none if there is nothing to gain.
    fn plan(&self, view: &View<'_>) -> Option<Plan>;

    /// True if the result is worth having: smaller than before, by a tenth at least.
    fn validate(&self, before: u64, after: u64) -> bool {
        after < before - before / 10
    }
}

/// Splits what is visible into what is summarised and what is kept: the longest tail that begins at
/// a prompt, has at most `turns` turns and at most `budget` estimated tokens.
pub(crate) fn split(view: &View<'_>, turns: u32, budget: u64) -> Option<Plan> {
    let entries = view.conversation.entries();
    let visible = view.conversation.visible();
    let cost = |at: usize| entries[at].parts.iter().map(tokens::of_part).sum::<u64>();
    let mut kept = 0;
    let mut sum = 0;
    let mut first_kept = visible.len();
    for (place, &at) in visible.iter().enumerate().rev() {
        sum += cost(at);
        if sum > budget || kept >= turns {
            break;
        }
        if entries[at].is_prompt() {
            kept += 1;
            first_kept = place;
        }
    }
    // Everything fits into the tail: then the tail is what must shrink.
    if first_kept == 0 {
        first_kept = visible.len();
    }
    let head = &visible[..first_kept];
    if head.is_empty() {
        return None;
    }
    Some(Plan {
        summarise: true,
        tail: visible.get(first_kept).map(|&at| entries[at].message.id),
        messages: head.len() as u32,
        tokens: head.iter().map(|&at| cost(at)).sum(),
    })
}
