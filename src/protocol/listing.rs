//! What lists and previews are made of: the answers to what a front end asks for.
//!
//! Parts of `Event`, which carries them. Plain data.

use serde::{Deserialize, Serialize};

use super::{ModelRef, PartId};

/// What the start screen says about the place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The worktree, `~` for the home folder.
    pub worktree: String,
    /// Branch, empty outside git.
    pub branch: String,
    /// `clean`, `3 changed`, or empty when not known.
    pub git_state: String,
    /// Instruction files found and their estimated tokens, e.g. (`AGENTS.md`, 2100).
    pub instructions: Vec<(String, u64)>,
    /// Number of skills.
    pub skills: u32,
    /// Number of MCP servers.
    pub mcp: u32,
}

/// One model of the registry, for pickers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// Which.
    pub model: ModelRef,
    /// Window in tokens; 0 if not known.
    pub context: u64,
    /// Price of input per million tokens, USD.
    pub input_price: Option<f64>,
    /// Price of output per million tokens, USD.
    pub output_price: Option<f64>,
    /// True if a key (or none needed) is there.
    pub usable: bool,
}

/// A part that is pinned, or that could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinChoice {
    /// Which.
    pub part: PartId,
    /// `prompt`, `answer`, `output` or `file`.
    pub kind: String,
    /// Its first line, or the call.
    pub name: String,
    /// Tokens that it takes when it is said again, estimated.
    pub tokens: u64,
    /// True if it is pinned now.
    pub pinned: bool,
}

/// One permission rule and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRule {
    /// `session`, `grants` (given for the project), `user`, `project`, `agent` or `flags`.
    pub owner: String,
    /// Tool name, or `*`.
    pub tool: String,
    /// What it is applied to.
    pub pattern: String,
    /// `allow`, `ask` or `deny`.
    pub action: String,
    /// True if it was an answer that can be taken back.
    pub revocable: bool,
}

/// One line of an undo preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoFile {
    /// Path relative to the worktree's root.
    pub path: String,
    /// What will happen: `restored`, `removed`, `merged`, or why it is left alone (a conflict).
    pub action: String,
    /// True if it is left alone because someone else changed it since.
    pub conflict: bool,
    /// The command while which it changed, clipped: whoever worked on the file at that time, it looks like the
    /// command's. None where a tool said itself that it wrote the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<String>,
}
