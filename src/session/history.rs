//! What was said, as others read it: a session's messages, parts and values, or a page of them.
//!
//! Plain data, made by the views (`image`, `db`) and handed to the agent. No I/O here.

use std::collections::BTreeMap;

use crate::protocol::{Message, MessageId, Part, SessionInfo};

/// Parts that the newest page holds, about (a page never splits a message).
pub const PAGE_PARTS: usize = 256;

/// Bytes of stored parts after which a page ends at the next message, whatever its number of parts.
pub(super) const PAGE_BYTES: usize = 2 << 20;

/// A session's conversation, or the newest page of it.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The session's facts.
    pub info: SessionInfo,
    /// Messages in the order of their ids.
    pub messages: Vec<Message>,
    /// Their parts: by message, then by id.
    pub parts: Vec<Part>,
    /// Named values (queue, todo list, grants), always all of them.
    pub values: BTreeMap<String, serde_json::Value>,
    /// False if older messages exist: `SessionStore::page` has them.
    pub complete: bool,
    /// The newest raw id of any message or part of the whole session, for `IdMint::new`.
    pub last_id: u128,
}

/// Messages before some message, with their parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Messages in the order of their ids.
    pub messages: Vec<Message>,
    /// Their parts: by message, then by id.
    pub parts: Vec<Part>,
    /// True if the session begins here.
    pub first: bool,
}

impl Page {
    /// The message to give to `SessionStore::page` for the page before this one.
    pub fn oldest(&self) -> Option<MessageId> {
        self.messages.first().map(|m| m.id)
    }
}
