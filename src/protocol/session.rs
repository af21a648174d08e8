//! What is known about a session without reading it.

use serde::{Deserialize, Serialize};

use super::{Millis, Mode, ModelRef, SessionId};

/// The facts of one session that every front end shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// The session it was forked from or works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// Its title; empty until there is one.
    pub title: String,
    /// Absolute path of the worktree.
    pub worktree: String,
    /// Model of the next step.
    pub model: ModelRef,
    /// Agent of the next step.
    pub agent: String,
    /// Permission mode.
    pub mode: Mode,
    /// When it was made.
    pub created: Millis,
}

impl SessionInfo {
    /// The command that goes on with it from any folder.
    pub fn open_there(&self) -> String {
        let plain = |c: char| c.is_alphanumeric() || "/._-+@:,".contains(c);
        let folder = if !self.worktree.is_empty() && self.worktree.chars().all(plain) {
            self.worktree.clone()
        } else {
            format!("'{}'", self.worktree.replace('\'', "'\\''"))
        };
        format!("dunlin -C {folder} -r {}", self.id)
    }
}

/// One row of a listing; read from the session's `meta.json` alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The facts.
    #[serde(flatten)]
    pub info: SessionInfo,
    /// When something was last written.
    pub updated: Millis,
    /// Parts stored.
    pub parts: u64,
    /// Messages stored.
    pub messages: u64,
    /// Cost in USD; none if a model's prices are not known.
    pub cost: Option<f64>,
    /// First line of the first prompt.
    #[serde(default)]
    pub first_prompt: String,
    /// Context used, 0 to 100.
    #[serde(default)]
    pub context_percent: u8,
    /// Lines added and removed in the worktree over the session.
    #[serde(default)]
    pub added: u32,
    /// See `added`.
    #[serde(default)]
    pub removed: u32,
    /// Branch of the worktree when it was last written; empty outside git.
    #[serde(default)]
    pub branch: String,
    /// True if another process has it open.
    #[serde(default)]
    pub open_elsewhere: bool,
    /// True for a copy of its parent; a session with a parent that is no fork is a subagent's.
    #[serde(default)]
    pub fork: bool,
    /// True if its view is packed away.
    #[serde(default)]
    pub archived: bool,
    /// True if something of it is known to be damaged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
}

/// What the context line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextGauge {
    /// Tokens in the context now.
    pub used: u64,
    /// Tokens pruned since the last compaction.
    pub pruned: u64,
    /// The model's window; 0 if not known.
    pub window: u64,
    /// Where automatic compaction starts; 0 if it never does.
    pub compact_at: u64,
}
