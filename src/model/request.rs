//! The request in dunlin's own words: what context assembly makes and every wire encodes.
//!
//! Messages are shared (`Arc`) because consecutive requests have all but their last messages in
//! common: encoders may keep what they encoded by pointer. This file is plain data; `context` may
//! import it, nothing else of `model`.

use std::sync::Arc;

use serde_json::Value;

pub use super::messages::Messages;
use crate::protocol::{Effort, ModelRef, SessionId};

/// One request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which model.
    pub model: ModelRef,
    /// System prompt, stable part: agent prompt and tool guidance. Cached.
    pub system_stable: Arc<str>,
    /// System prompt, dynamic part: environment, date, instruction files.
    pub system_dynamic: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Messages,
    /// The tools on offer; empty for none (then calls of the history are still sent).
    pub tools: Arc<[ToolSpec]>,
    /// Most output tokens, reasoning included.
    pub max_output: u64,
    /// Reasoning effort; none for the model's default.
    pub effort: Option<Effort>,
    /// Cache key: requests of one session share it.
    pub session: SessionId,
    /// Where the conversation stands in a script; none for real models (`Model::place`).
    pub place: Option<Place>,
}

/// Something that was said on the branch, for models that must find their place in it.
#[derive(Debug, Clone)]
pub struct Said<'a> {
    /// Which message of the branch it is, from 0; those count that no request shows any more.
    pub at: usize,
    /// True for the assistant.
    pub assistant: bool,
    /// The texts, in order.
    pub texts: Vec<&'a str>,
    /// The id of the first call.
    pub call: Option<&'a str>,
}

/// The step of a script that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index of the branch; none for the main steps.
    pub branch: Option<usize>,
    /// How many steps were played before this one, loops counted through.
    pub played: usize,
    /// The message that chose the branch; keeps the ids of two turns apart.
    pub prompt: usize,
}

/// One side's contribution. Blocks are in the order in which they were said.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMessage {
    /// True for the assistant, false for the user (tool results are the user's).
    pub assistant: bool,
    /// What it says.
    pub blocks: Vec<Block>,
    /// The model that made it (assistant) or that it was sent to.
    pub model: ModelRef,
}

/// One piece of a request message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text of either side.
    Text(String),
    /// The assistant's thoughts; encoders drop them unless `RequestMessage::model` is the request's
    /// model.
    Reasoning {
        /// Visible text; may be empty.
        text: String,
        /// What the decoder gave with it (signature, encrypted content, redacted data).
        provider: Option<Value>,
    },
    /// An image or a document with its bytes at hand.
    File {
        /// Media type.
        mime: String,
        /// Name.
        name: String,
        /// The bytes.
        bytes: bytes::Bytes,
    },
    /// The assistant calls a tool.
    Call {
        /// Call id as the wire gave it.
        id: String,
        /// Tool.
        name: String,
        /// Arguments, a JSON object (or a string for custom tools).
        input: Value,
        /// What the decoder gave with it (a thought signature).
        provider: Option<Value>,
    },
    /// The result of a call of the assistant message before.
    Result {
        /// Call id.
        id: String,
        /// Tool.
        name: String,
        /// What the model reads.
        output: String,
        /// True if it is an error.
        error: bool,
        /// Images and documents (only `Block::File`).
        files: Vec<Block>,
    },
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Name.
    pub name: String,
    /// What it is for, with examples.
    pub description: String,
    /// JSON schema of its input, an object schema.
    pub schema: Value,
}
