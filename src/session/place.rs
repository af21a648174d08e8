//! Where a session's files are, and its lock.
//!
//! `<project>/sessions/<ses_id>/{meta.json, lock, journal, db/, out/}`. Only paths and the lock
//! here; what is in the files belongs to `meta`, `journal` and `db`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::SMALL;
use super::error::StoreError;
use super::faults::FaultPoints;
use super::meta::since_epoch;
use crate::config::private;
use crate::protocol::SessionId;

/// The folder of one session.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) id: SessionId,
    pub(super) folder: PathBuf,
    /// What a test lets go wrong.
    pub(super) faults: Option<Arc<FaultPoints>>,
}

impl Place {
    pub(super) fn new(sessions: &Path, id: SessionId) -> Self {
        Self {
            id,
            folder: sessions.join(id.to_string()),
            faults: None,
        }
    }

    pub(super) fn meta(&self) -> PathBuf {
        self.folder.join("meta.json")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    pub(super) fn archive(&self) -> PathBuf {
        self.folder.join("journal.zst")
    }

    pub(super) fn db(&self) -> PathBuf {
        self.folder.join("db")
    }

    pub(super) fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// One step of a change to more than one file is done: a test may let the program die here.
    pub(super) fn step(&self) {
        if let Some(faults) = &self.faults {
            faults.step();
        }
    }

    /// Asked before each write to the journal: a test may refuse it.
    pub(super) fn may_write(&self) -> Result<(), StoreError> {
        let Some(faults) = &self.faults else {
            return Ok(());
        };
        let io = |e| StoreError::io("write to the journal", &self.journal(), e);
        faults.write().map_err(io)
    }

    /// A journal up to so many bytes is read whole into memory; a test of the index wants it always.
    pub(super) fn small(&self) -> u64 {
        if self.faults.is_some() { 0 } else { SMALL }
    }

    /// A name in the session's folder that nothing has yet: `name`, `name.2`, …
    pub(super) fn unused(&self, name: &str) -> PathBuf {
        let first = self.folder.join(name);
        let numbered = (2..).map(|n: u32| self.folder.join(format!("{name}.{n}")));
        let mut names = std::iter::once(first.clone()).chain(numbered);
        names.find(|path| !path.exists()).unwrap_or(first)
    }

    /// Takes the session for this process.
    pub(super) fn claim(&self) -> Result<Claim, StoreError> {
        let path = self.lock();
        let io = |e| StoreError::io("lock the session with", &path, e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        if let Some(faults) = &self.faults {
            faults.locking().map_err(io)?;
        }
        let mut tries = 0;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                // a listing that looks at the lock holds it for a moment
                Err(rustix::io::Errno::WOULDBLOCK) if tries < 3 => {
                    tries += 1;
                    std::thread::park_timeout(Duration::from_millis(5));
                }
                // and for longer where the machine is busy, but shares it, which an owner does not
                Err(rustix::io::Errno::WOULDBLOCK) if tries < 40 && is_shared(&file) => {
                    tries += 1;
                    std::thread::park_timeout(Duration::from_millis(5));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Claim::Taken(owner(&mut file))),
                Err(error) => return Err(io(error.into())),
            }
        }
        let body = Owner {
            pid: std::process::id(),
            start: since_epoch(std::time::SystemTime::now()),
        };
        // only a help for the reader of a message: the lock itself is what counts
        let noted = serde_json::to_vec(&body).map(|json| {
            file.set_len(0)?;
            file.write_all(&json)
        });
        drop(noted);
        Ok(Claim::Ours(Lock { _file: file }))
    }

    /// True if some process (this one included) has the session open.
    pub(super) fn is_taken(&self) -> bool {
        self.taken_by().is_some()
    }

    /// The process that has the session open (0 if not known).
    pub(super) fn taken_by(&self) -> Option<u32> {
        let mut file = File::open(self.lock()).ok()?;
        let locked = flock(&file, FlockOperation::NonBlockingLockShared);
        // a file system without locks says something else
        (locked == Err(rustix::io::Errno::WOULDBLOCK)).then(|| owner(&mut file))
    }
}

/// True if whoever holds the lock only looks.
fn is_shared(file: &File) -> bool {
    let shared = flock(file, FlockOperation::NonBlockingLockShared).is_ok();
    // to hold on to it would keep others from what they wait for
    shared && flock(file, FlockOperation::Unlock).is_ok()
}

/// Whose a session is.
#[derive(Debug)]
pub(super) enum Claim {
    Ours(Lock),
    /// Another handle's, of the process with this id (0 if not known).
    Taken(u32),
}

/// Held while a session is open for writing. The kernel lets go of it when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

#[derive(Serialize, Deserialize)]
struct Owner {
    pid: u32,
    start: i64,
}

fn owner(file: &mut File) -> u32 {
    let mut body = [0; 256];
    let read = file.rewind().and_then(|()| file.read(&mut body));
    let owner = read.map(|n| serde_json::from_slice::<Owner>(&body[..n]));
    owner.map_or(0, |owner| owner.map_or(0, |owner| owner.pid))
}

/// Makes a folder (and those above it) that only the user can look into.
pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    private::make_folder(path).map_err(|e| StoreError::io("create the folder", path, e))
}

/// Makes the names in a folder survive a power cut.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
