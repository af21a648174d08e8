//! The lines of a write log: what a process says of its own writes and commands.
//!
//! One JSON object a line. Files of other processes are read, so nothing here is believed before it is
//! checked: a line that is too long, torn, or names a path that no tool may write is no line. Pure.

use serde::{Deserialize, Serialize};

use crate::snapshot::path;
use crate::snapshot::record::FileState;
use crate::snapshot::tree::Blob;

/// Bytes of the longest line that is read or written.
pub(super) const LONGEST: usize = 16 << 10;
/// Bytes of a command line that are kept.
pub(super) const COMMAND: usize = 6 << 10;
/// Bytes of the longest path.
const PATH: usize = 4096;

/// One thing that a process says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(super) enum Line {
    /// The first line: who writes, and of which worktree.
    Open {
        v: u32,
        pid: u32,
        /// When the process was started, in the system's own units; 0 if that cannot be told.
        #[serde(default)]
        start: u64,
        root: String,
    },
    /// A tool is about to write a file.
    Write {
        id: u64,
        at: i64,
        path: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        step: String,
    },
    /// What that write leads from and to.
    Wrote {
        id: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<FileState>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<FileState>,
    },
    /// It was not made after all.
    Not { id: u64 },
    /// A command was started.
    Begin {
        id: u64,
        at: i64,
        command: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        step: String,
        /// It runs on in the background, beyond its call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        job: bool,
    },
    /// It has ended.
    End { id: u64, at: i64 },
    /// What a command is held to have written, once that is known; `disputed`: it may have been another
    /// session's command.
    Claim {
        at: i64,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<FileState>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<FileState>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        disputed: bool,
    },
    /// Of these commands all is claimed that will be.
    Settled { ids: Vec<u64> },
}

impl Line {
    /// The line with its end; none if it would be too long.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        let mut text = serde_json::to_vec(self).ok()?;
        text.push(b'\n');
        (text.len() <= LONGEST).then_some(text)
    }

    /// Reads a line; none if it is not a sound one.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let line: Self = serde_json::from_slice(text).ok()?;
        let states = match &line {
            Self::Wrote { before, after, .. } | Self::Claim { before, after, .. } => {
                [before.as_ref(), after.as_ref()]
            }
            _ => [None, None],
        };
        let sound = match &line {
            Self::Write { path, .. } | Self::Claim { path, .. } => place(path).is_some(),
            Self::Begin { command, .. } => command.len() <= COMMAND,
            Self::Open { v, .. } => *v == VERSION,
            _ => true,
        };
        let known = |state: &FileState| Blob::try_from(state).is_ok();
        (sound && states.into_iter().flatten().all(known)).then_some(line)
    }
}

/// Of the lines' form.
pub(super) const VERSION: u32 = 1;

/// A path as bytes, if it is one that a tool may write.
pub(super) fn place(text: &str) -> Option<Vec<u8>> {
    let bytes = path::from_text(text)?;
    (bytes.len() <= PATH && path::is_safe(&bytes)).then_some(bytes)
}
