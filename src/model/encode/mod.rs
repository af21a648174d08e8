//! REQUEST → BYTES: the body of a request in each wire format.
//!
//! `Encoder` belongs to a model instance and remembers what it encoded, so that step 1,000 costs what
//! step 1 cost: finished segments of the history are copied, only new ones are serialised. Consecutive
//! requests are byte prefixes of each other up to the moving cache marks (`prefix_form` shows them
//! without). Nothing of HTTP in here; files by job: `history` order, one file per wire, `effort`,
//! `schema`, `media`, `quirks`, `lessons`.

mod anthropic;
mod effort;
mod encoder;
mod gemini;
mod history;
mod lessons;
mod media;
mod openai_chat;
mod openai_responses;
pub mod quirks;
mod schema;

pub use encoder::Encoder;
pub use quirks::{EffortStyle, Quirks, SWITCHES};

use bytes::Bytes;

use self::encoder::Chunk;
use super::Request;

/// The body of one request, without any memory.
pub fn body(request: &Request, quirks: &Quirks) -> Bytes {
    Encoder::new(quirks.clone()).body(request)
}

/// The messages of the body without cache marks and without the closing bracket: of two consecutive
/// requests the earlier form is a byte prefix of the later one.
pub fn prefix_form(request: &Request, quirks: &Quirks) -> Bytes {
    Encoder::new(quirks.clone()).prefix_form(request)
}

#[cfg(test)]
mod validate;
#[cfg(test)]
pub(crate) use validate::check_every_wire;

#[cfg(test)]
#[path = "bodies/mod_tests.rs"]
mod bodies;
