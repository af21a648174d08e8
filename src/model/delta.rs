//! What a model says, piece by piece, in dunlin's own words: what every wire decodes to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::{Finish, Tokens};

/// One piece of an answer. `block` numbers count up from 0 in order of first appearance; text,
/// reasoning and calls share the numbers, so they give the order of the parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delta {
    /// A text block grew.
    Text {
        /// Its number.
        block: u32,
        /// What was appended.
        text: String,
    },
    /// A reasoning block grew (also with an empty text, to announce it).
    Reasoning {
        /// Its number.
        block: u32,
        /// What was appended.
        text: String,
    },
    /// A text or reasoning block is complete.
    BlockEnd {
        /// Its number.
        block: u32,
        /// What must go back with it to the same model (signature, encrypted content).
        provider: Option<Value>,
    },
    /// A tool call begins.
    CallStart {
        /// Its number.
        block: u32,
        /// The wire's id; none if the wire has none (yet).
        id: Option<String>,
        /// Tool.
        name: String,
    },
    /// Arguments of a call grew (raw JSON text).
    CallArguments {
        /// Its number.
        block: u32,
        /// What was appended.
        json: String,
    },
    /// A call is complete: it may run now.
    CallEnd {
        /// Its number.
        block: u32,
        /// The wire's id; none if the wire has none (the driver makes one).
        id: Option<String>,
        /// Tool.
        name: String,
        /// The arguments. `Err` holds the raw text of what is cut off or no valid JSON: the call
        /// must not run.
        arguments: Result<Value, String>,
        /// What must go back with it to the same model (thought signature).
        provider: Option<Value>,
    },
    /// Token counts so far; replaces what was said before.
    Usage(Usage),
    /// Why it ended. Comes once, after everything else but `Usage`.
    Finish {
        /// In our words.
        reason: Finish,
        /// In the wire's words.
        raw: String,
    },
}

/// Token counts of one answer; none where the wire says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input without cached and cache-writing tokens.
    pub input: Option<u64>,
    /// Output INCLUDING reasoning.
    pub output: Option<u64>,
    /// Reasoning.
    pub reasoning: Option<u64>,
    /// Served from the cache.
    pub cache_read: Option<u64>,
    /// Written into the cache.
    pub cache_write: Option<u64>,
}

impl Usage {
    /// The same as our per-step tokens, where output leaves reasoning out.
    pub fn tokens(self) -> Tokens {
        let reasoning = self.reasoning.unwrap_or(0);
        Tokens {
            input: self.input.unwrap_or(0),
            output: self.output.unwrap_or(0).saturating_sub(reasoning),
            reasoning,
            cache: crate::protocol::CacheTokens {
                read: self.cache_read.unwrap_or(0),
                write: self.cache_write.unwrap_or(0),
            },
        }
    }
}

/// Adds deltas, joining what continues the delta before.
pub(super) fn append(deltas: &mut Vec<Delta>, more: Vec<Delta>) {
    for delta in more {
        match (deltas.last_mut(), delta) {
            (
                Some(Delta::Text { block, text }),
                Delta::Text {
                    block: same,
                    text: more,
                },
            ) if *block == same => text.push_str(&more),
            (
                Some(Delta::Reasoning { block, text }),
                Delta::Reasoning {
                    block: same,
                    text: more,
                },
            ) if *block == same => text.push_str(&more),
            (
                Some(Delta::CallArguments { block, json }),
                Delta::CallArguments {
                    block: same,
                    json: more,
                },
            ) if *block == same => json.push_str(&more),
            (_, delta) => deltas.push(delta),
        }
    }
}
