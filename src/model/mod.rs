//! REQUEST → DELTAS: everything that talks to a language model.
//!
//! The agent's driver asks a `Model` with a `Request` and reads batches of `Delta`. Wire formats,
//! HTTP, keys, prices and the scripted provider are behind it; nothing of HTTP leaves this module.

pub mod arguments;
pub mod auth;
pub mod catalog;
pub mod decode;
pub mod delta;
pub mod encode;
pub mod error;
pub mod http;
pub mod local;
pub mod messages;
pub mod provider;
pub mod request;
pub mod scripted;
pub mod sse;
pub mod tape;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

pub use delta::{Delta, Usage};
pub use messages::Messages;
pub use request::{Block, Place, Request, RequestMessage, Said, ToolSpec};
pub use tape::Tape;

use crate::protocol::{Fault, ModelRef, Tokens};

/// What a model answers: batches of deltas (as they came off the network together), or one fault, which
/// ends the stream. Dropping the stream cancels the request.
pub type Answer = BoxStream<'static, Result<Vec<Delta>, Fault>>;

/// A model that can be asked.
pub trait Model: Send + Sync + std::fmt::Debug {
    /// Limits, prices and abilities.
    fn info(&self) -> &ModelInfo;

    /// Asks. Returns at once; connecting happens when the stream is first polled. A stream that
    /// ends without `Delta::Finish` yields a `StreamTruncated` fault before it ends.
    fn ask(&self, request: Arc<Request>) -> Answer;

    /// Where a conversation stands in the script that this model plays; none for real models. What
    /// was said comes newest first and reaches back beyond what a compaction took out of requests.
    fn place(&self, _newest_first: &mut dyn Iterator<Item = Said<'_>>) -> Option<Place> {
        None
    }

    /// Asks, and puts what comes onto a tape as well: the bytes of the wire, or the deltas of a
    /// model that has none.
    fn ask_taped(&self, request: Arc<Request>, tape: Tape) -> Answer {
        self.ask(request)
            .inspect(move |batch| {
                if let Ok(deltas) = batch {
                    tape.deltas(deltas);
                }
            })
            .boxed()
    }
}

/// Limits, prices and abilities of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// Which.
    pub model: ModelRef,
    /// Short name for the eye.
    pub label: String,
    /// Window in tokens.
    pub context: u64,
    /// Largest prompt in tokens, where the provider limits it apart from the window.
    pub max_input: Option<u64>,
    /// Most output tokens.
    pub max_output: u64,
    /// True if it can call tools.
    pub tools: bool,
    /// True if it can reason.
    pub reasoning: bool,
    /// True if it takes images.
    pub images: bool,
    /// True if it takes PDFs.
    pub pdf: bool,
    /// Prices; none if not known.
    pub price: Option<Price>,
    /// True if the registry knows it; false for safe limits.
    pub known: bool,
}

/// Prices in USD per 1,000,000 tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
    /// Other prices for prompts of more than so many tokens, rising.
    pub tiers: Vec<(u64, Price)>,
}

impl Price {
    /// What these tokens cost in USD.
    pub fn cost(&self, tokens: &Tokens) -> f64 {
        let tier = self
            .tiers
            .iter()
            .rev()
            .find(|(above, _)| tokens.prompt() > *above);
        let p = tier.map_or(self, |(_, price)| price);
        (tokens.input as f64 * p.input
            + (tokens.output + tokens.reasoning) as f64 * p.output
            + tokens.cache.read as f64 * p.cache_read
            + tokens.cache.write as f64 * p.cache_write)
            / 1_000_000.0
    }
}

impl ModelInfo {
    /// Tokens that may stand in the context before it overflows: the input limit, or the window
    /// less the output reserve (at most `output_reserve`, SPEC §4).
    pub fn usable(&self, output_reserve: u64) -> u64 {
        self.max_input.unwrap_or_else(|| {
            self.context
                .saturating_sub(self.max_output.min(output_reserve))
        })
    }
}
