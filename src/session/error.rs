//! What can go wrong in the session store, as full sentences.
//!
//! Everything in this folder returns `StoreError`; the agent turns it into a `Fault` where it is
//! shown or kept. Nothing of sled, JSON or the operating system leaks past it except as a cause.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::protocol::{Fault, FaultKind, SessionId};

/// A failure of the session store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("Could not {action} {}: {source}. {}", path.display(), hint(source))]
    Io {
        /// What was tried, e.g. `create the folder`.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A journal, or a line of it, was written by a later dunlin.
    #[error(
        "{} was written by a newer dunlin (record format {found}; this one knows up to {known}). \
         It was left untouched; update dunlin to open it.",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// The format found.
        found: u32,
        /// The newest format that this program reads.
        known: u32,
    },
    /// No such session.
    #[error("There is no session {0} here. List them with `dunlin sessions`.")]
    NotFound(SessionId),
    /// A session with this id exists already.
    #[error("A session {0} exists already. Use another id, or delete it first.")]
    Exists(SessionId),
    /// Another process has the session open.
    #[error(
        "Session {id} is open in another dunlin (process {pid}). Close it there, or fork the session."
    )]
    OpenElsewhere {
        /// The session.
        id: SessionId,
        /// Process id of the owner; 0 if not known.
        pid: u32,
    },
    /// Something stored cannot be used.
    #[error("{} is damaged: {detail}.", path.display())]
    Damaged {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong and what follows from it, without the final stop.
        detail: String,
    },
    /// The queried view (sled) failed; the journal is not touched by that.
    #[error(
        "The index of this session failed: {0}. It is rebuilt from the journal when the session is opened again."
    )]
    View(String),
    /// A session handle was used after it was closed.
    #[error("This session is closed. Open it again to go on.")]
    Closed,
    /// A session that is only read was written to.
    #[error("This session is open for reading only. Fork it to go on in a copy.")]
    ReadOnly,
    /// One commit is larger than a journal line may be.
    #[error(
        "A record of {bytes} bytes is too large for the session store (limit {limit}). Keep large content in a file and refer to it."
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A record could not be written down as JSON.
    #[error("A record could not be encoded: {0}. This is a bug in dunlin; please report it.")]
    Encode(#[source] serde_json::Error),
    /// An earlier piece of the same part or message was not stored.
    #[error(
        "An earlier piece of {0} could not be stored, so what follows it is not stored either. Send the message again once the cause is mended."
    )]
    Gap(String),
    /// A file to import is not an export of dunlin.
    #[error(
        "Could not import: {0}. Give a file made by `dunlin sessions export --format json` or `jsonl`."
    )]
    Import(String),
}

/// What the user can do about it.
fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        // a network file system without a lock service
        Some(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => {
            return "This file system cannot lock files (NFS often cannot); set DUNLIN_DATA_DIR to a \
                    folder on a local disk.";
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            return "Too many files are open: close other programs, or raise the limit (see \
                    `ulimit -n`).";
        }
        Some(Errno::NAMETOOLONG) => {
            return "Set DUNLIN_DATA_DIR to a folder with a shorter path.";
        }
        Some(Errno::LOOP) => {
            return "Symbolic links lead in a circle there; set DUNLIN_DATA_DIR to another folder.";
        }
        Some(Errno::IO) => {
            return "The disk failed: copy what matters to another disk, and set DUNLIN_DATA_DIR to a \
                    folder there.";
        }
        _ => {}
    }
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space there (`df -h`, and `df -i` for the number of files); dunlin tries again \
             with the next write. `dunlin gc` removes what is no longer needed."
        }
        io::ErrorKind::FileTooLarge => {
            "A size limit for files is in force (see `ulimit -f`); raise it or start a new session."
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Set DUNLIN_DATA_DIR to a folder that you can write."
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "Move away what is in its place, or set DUNLIN_DATA_DIR to another folder."
        }
        io::ErrorKind::NotFound => "Check that it was not moved or deleted.",
        _ => "Check the disk, or set DUNLIN_DATA_DIR to a folder on another one.",
    }
}

impl StoreError {
    /// Wraps an I/O error with what was tried and on what.
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// The same failure as events and messages carry it.
    pub fn fault(&self) -> Fault {
        let kind = match self {
            Self::Encode(_) => FaultKind::Internal,
            _ => FaultKind::Storage,
        };
        let fault = Fault::new(kind, self.to_string(), "");
        if matches!(self, Self::Io { .. } | Self::Gap(_)) {
            fault.retryable()
        } else {
            fault
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        error.fault()
    }
}
