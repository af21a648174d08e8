//! The words between the agent and the snapshots: what is asked, what comes back.
//!
//! Plain data. `FileWrite` is stored by sessions, so its serde form is a contract.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::protocol::SnapshotId;
use crate::protocol::event::UndoFile;

/// What a caller knows about what may have changed since the last snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Paths that tools wrote, absolute or relative to the worktree. Paths outside are ignored.
    pub paths: Vec<PathBuf>,
    /// A command ran: anything may have changed.
    pub unknown: bool,
    /// Trust nothing: list every folder, look at every file.
    pub full: bool,
    /// Tools are about to write the paths: of those that snapshots leave out the content is kept now, so
    /// that the next snapshot that names them can tell what was written.
    pub before: bool,
    /// When the tools whose writes are looked for had ended, in nanoseconds since the epoch; none if that is
    /// not known. What changed later is somebody else's.
    pub until: Option<i64>,
    /// The step that they belong to, as in `Step::name`; empty if nothing is to be found out about one.
    pub step: String,
}

/// A step whose writes are to be found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// The name that its tools' writes and commands were announced with; empty: whatever changed until
    /// `until` is its own.
    pub name: String,
    /// Only tools ran that say what they write: nothing else is the step's.
    pub told: bool,
    /// When its calls had ended, in nanoseconds since the epoch; none if that is not known.
    pub until: Option<i64>,
    /// Its process died: what it announced is read from its log.
    pub cut: bool,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its tree.
    pub tree: SnapshotId,
    /// Paths that differ from the snapshot before, sorted; empty for the first one.
    pub changed: Vec<String>,
    /// What was written to paths of the hints that snapshots leave out (ignored files, repositories
    /// inside), since `Hints::before` named them.
    pub aside: Vec<FileWrite>,
    /// Things the user should know, one sentence each, each told once: files left out and why.
    pub notices: Vec<String>,
}

/// Content and kind of a file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileState {
    /// Id of the blob in the shadow repository, 40 hex digits. A link's blob is its target.
    pub blob: String,
    /// Git's mode: `0o100644`, `0o100755` or `0o120000`.
    pub mode: u32,
    /// The file's own permission bits; none if they are not known. What is made anew gets these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
}

impl FileState {
    /// True if content and kind are the same, whatever the permissions.
    pub(super) fn reads_like(&self, other: &Self) -> bool {
        self.blob == other.blob && self.mode == other.mode
    }
}

/// What an interval did to one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileWrite {
    /// Path relative to the worktree. A name that is not UTF-8 (or that begins with a quotation
    /// mark) is written the way git quotes it: `"caf\351"`.
    pub path: String,
    /// Before; none if there was no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileState>,
    /// After; none if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FileState>,
    /// True if no snapshot holds the file, because it is ignored or in a repository inside: a tool named
    /// it, so an undo may reach there too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// True if somebody wrote the file after the tools had ended and before it was looked at: what they left
    /// is not known, so an undo leaves the file alone and says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsure: bool,
    /// With `unsure`: it may be another session's, which ran a command at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disputed: bool,
}

impl FileWrite {
    /// The write that takes this one back.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self {
            path: self.path,
            before: self.after,
            after: self.before,
            aside: self.aside,
            unsure: self.unsure,
            disputed: self.disputed,
        }
    }
}

/// What an undo did, or would do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Restored {
    /// Every file, sorted by path, with what happened to it.
    pub files: Vec<UndoFile>,
    /// The worktree just before; none for a dry run or when nothing had to be done.
    pub safety: Option<SnapshotId>,
    /// What was really done. Handed to `restore` again, it brings everything back (redo).
    pub undone: Vec<FileWrite>,
}

/// Whether snapshots can be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotState {
    /// The first one is being made.
    Starting,
    /// They can.
    Ready,
    /// They can't, and this sentence says why.
    Off(String),
}

/// Why something could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Snapshots are off; the sentence says why.
    #[error("{0}")]
    Off(String),
    /// A snapshot or a file's old content is not in the store any more.
    #[error(
        "The snapshot store has no {what} {id}. It may have been collected (`snapshot.keep_days`, \
         `snapshot.quota`) or belong to another project; what is newer can still be used."
    )]
    Missing {
        /// Kind of thing.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A file, folder or the store could not be used.
    #[error("{doing} failed: {cause}. {remedy}")]
    Failed {
        /// What was being done, naming the thing and the place.
        doing: String,
        /// What the system said.
        cause: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The owner thread is gone.
    #[error("Snapshots were closed. Start dunlin again in this folder to take new ones.")]
    Closed,
}

impl SnapshotError {
    /// A failure of the shadow store itself.
    pub(super) fn store(doing: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self::Failed {
            doing: doing.into(),
            cause: cause.to_string().trim_end_matches('.').to_owned(),
            remedy: "Check free space and permissions of dunlin's data folder.",
        }
    }

    /// A failure to use a file or folder of the worktree.
    pub(super) fn file(doing: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self::Failed {
            doing: doing.into(),
            cause: cause.to_string().trim_end_matches('.').to_owned(),
            remedy: "Check that it exists and that you may read and write it.",
        }
    }
}

impl Hints {
    /// Nothing is known to have changed.
    pub fn none() -> Self {
        Self::default()
    }

    /// Tools wrote these paths.
    pub fn paths(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            paths: paths.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A command ran.
    pub fn unknown() -> Self {
        Self {
            unknown: true,
            ..Self::default()
        }
    }

    /// Verify everything.
    pub fn full() -> Self {
        Self {
            full: true,
            ..Self::default()
        }
    }
}
