//! Tier 3: strategies that make a long history short.
//!
//! One trait; which strategy is used is configuration. A strategy says when (`is_due`), what is
//! summarised and what is kept (`plan`), and judges the result (`validate`). The turn carries the
//! plan out: it writes the compaction request, asks the model, writes the summary.

mod request;
mod rules;
mod strategies;

pub use request::{
    Carry, SUMMARY_SYSTEM, carry_over, notes_so_far, removal_summary, request_tokens,
    summary_request,
};
pub use rules::{rules_said, rules_text, says_rules};
pub use strategies::{by_name, default};

use std::ops::Range;

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
    /// How many of the messages that the model is shown come before it.
    pub head: usize,
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

    /// True if the result is one: smaller than before.
    fn validate(&self, before: u64, after: u64) -> bool {
        after < before
    }
}

/// True if a compaction was worth it: it freed a tenth at least. One that was not isn't repeated.
pub const fn is_worth(before: u64, after: u64) -> bool {
    after <= before - before / 10
}

/// Where a tail may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TailStart {
    /// At a prompt: whole turns are kept.
    Prompt,
    /// At any message: the newest steps of a long turn are kept too.
    Anywhere,
}

/// Splits what is visible into what is summarised and what is kept: the longest tail that has at
/// most `turns` turns and at most `budget` estimated tokens.
pub(crate) fn split(view: &View<'_>, turns: u32, budget: u64, start: TailStart) -> Option<Plan> {
    let entries = view.conversation.entries();
    let visible = view.conversation.visible();
    let cost = |at: usize| view.conversation.tokens_at(at);
    // An earlier compaction's request and summary are no gain by themselves.
    let earlier = match visible.first() {
        Some(&at) if entries[at].compaction().is_some() => 2,
        _ => 0,
    };
    let mut kept = 0;
    let mut sum = 0;
    let mut first_kept = visible.len();
    for (place, &at) in visible.iter().enumerate().skip(earlier).rev() {
        sum += cost(at);
        if sum > budget || kept >= turns {
            break;
        }
        let is_prompt = entries[at].is_prompt();
        kept += u32::from(is_prompt);
        if is_prompt || start == TailStart::Anywhere {
            first_kept = place;
        }
    }
    // Everything fits into the tail: then the tail is what must shrink.
    if first_kept <= earlier {
        first_kept = visible.len();
    }
    let head = &visible[..first_kept];
    if head.len() <= earlier {
        return None;
    }
    Some(Plan {
        summarise: true,
        tail: visible.get(first_kept).map(|&at| entries[at].message.id),
        head: first_kept,
        messages: head.len() as u32,
        tokens: head.iter().map(|&at| cost(at)).sum(),
    })
}

/// One request of a summary: some of the head's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Places in `Conversation::visible`.
    pub places: Range<usize>,
    /// Texts longer than so many bytes are cut in their middle; none for all as it is.
    pub clip: Option<usize>,
}

/// Cuts the head from `first` on into chunks of at most `budget` estimated tokens. A message that
/// is larger by itself is a chunk of its own with its texts cut.
pub fn chunks(conversation: &Conversation, places: Range<usize>, budget: u64) -> Vec<Chunk> {
    let entries = conversation.entries();
    let visible = conversation.visible();
    let mut all: Vec<Chunk> = Vec::new();
    let mut sum = 0;
    for place in places {
        let Some(&at) = visible.get(place) else { break };
        let parts = &entries[at].parts;
        let cost = conversation.tokens_at(at);
        let clip = (cost > budget).then(|| {
            let texts = parts
                .iter()
                .filter(|p| tokens::of_part(p) > 0)
                .count()
                .max(1) as u64;
            ((budget * 3 / texts) as usize).max(200)
        });
        match all.last_mut() {
            Some(open) if clip.is_none() && open.clip.is_none() && sum + cost <= budget => {
                open.places.end = place + 1;
                sum += cost;
            }
            _ => {
                all.push(Chunk {
                    places: place..place + 1,
                    clip,
                });
                sum = cost;
            }
        }
    }
    all
}

/// Estimated tokens of the messages at these places of `visible`.
pub fn tokens_in(conversation: &Conversation, places: Range<usize>) -> u64 {
    let visible = conversation.visible();
    let shown = visible.get(places).unwrap_or_default();
    shown.iter().map(|&at| conversation.tokens_at(at)).sum()
}
