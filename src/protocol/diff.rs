//! Changes of the worktree, as data for screens and exports.

use serde::{Deserialize, Serialize};

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileStatus {
    /// New.
    Added,
    /// Changed.
    Modified,
    /// Gone.
    Deleted,
    /// File, link or mode changed kind.
    TypeChanged,
}

/// Which changes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffScope {
    /// The running or last turn.
    Turn,
    /// The whole session.
    Session,
    /// The last step.
    Step,
    /// Since the user's last commit, whoever changed it.
    Head,
}

/// The answer to `Op::Diff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffReport {
    /// What was asked for.
    pub scope: DiffScope,
    /// The files, sorted by path.
    pub files: Vec<FileDiff>,
    /// Things the diff leaves out (too large, ignored), one sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One file's change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Path relative to the worktree's root.
    pub path: String,
    /// What happened.
    pub status: FileStatus,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// True if the contents are not text; then there are no hunks.
    #[serde(default)]
    pub binary: bool,
    /// Lines of the file as it is now, unchanged ones too; 0 if it is gone or no text.
    #[serde(default)]
    pub lines: u32,
    /// The changed places, with context.
    pub hunks: Vec<Hunk>,
}

/// A changed place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hunk {
    /// What stands after `@@`: the enclosing item, if known.
    #[serde(default)]
    pub heading: String,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffLine {
    /// Its kind.
    pub kind: LineKind,
    /// Line number before, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<u32>,
    /// Line number after, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<u32>,
    /// The text without its line end.
    pub text: String,
}

/// Kind of a diff line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// In both.
    Context,
    /// Only after.
    Added,
    /// Only before.
    Removed,
}
