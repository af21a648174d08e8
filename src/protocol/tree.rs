//! The tree of a session: its turns, how they hang together, and where one can go in it.
//!
//! Made by the agent's driver for `Event::Tree`; drawn by front ends. Only plain data here.

use serde::{Deserialize, Serialize};

use super::{MessageId, Millis, PatchFile};

/// One turn of a session, whichever branch it is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeTurn {
    /// The prompt that began it.
    pub prompt: MessageId,
    /// The prompt of the turn it follows; none for a first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// What the prompt says, at most 2,000 characters.
    pub text: String,
    /// When it was said.
    pub at: Millis,
    /// Its own last message.
    pub last: MessageId,
    /// The newest message that hangs below it: where its branch ends.
    pub tip: MessageId,
    /// The files it changed, each named once, with lines added and removed over the turn.
    pub files: Vec<PatchFile>,
    /// True if it is on the current branch.
    pub current: bool,
}

/// Where an undo or a rewind leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "kebab-case")]
pub enum Destination {
    /// To before the last turn.
    #[default]
    LastTurn,
    /// Back to where the last undo began.
    Redo,
    /// To before a prompt of the current branch.
    Before {
        /// The prompt.
        message: MessageId,
    },
    /// To the end of another branch.
    Branch {
        /// Its last message.
        tip: MessageId,
    },
}

/// A place where something was found, for `Event::Found`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The session.
    pub session: super::SessionId,
    /// Its title, or the first line of its first prompt.
    pub title: String,
    /// Its worktree.
    pub worktree: String,
    /// The part.
    pub part: super::PartId,
    /// Who said it.
    pub role: super::Role,
    /// What kind of part: `text`, `tool`, …
    pub kind: String,
    /// When.
    pub at: Millis,
    /// The match and a little around it, on one line.
    pub excerpt: String,
    /// Byte range of the match within `excerpt`.
    pub found: std::ops::Range<usize>,
}
