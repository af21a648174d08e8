//! One look at the worktree: what it may use, what it found; and how a file's content is taken in.
//!
//! Made by `owner` for each snapshot, carried through `visit`. A content comes from the user's index
//! if that proves it, else from the file.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::record::SnapshotError;
use super::repo::Repo;
use super::seed::Seed;
use super::stat::{file_flags, to_stat};
use super::state::{Skip, Stat};
use super::tree::{Blob, Change, Id};
use crate::config::used::SnapshotSettings;

/// How long before a look a change may have happened and still share its time stamp.
pub(super) const SLACK: i64 = 10_000_000;

/// One look.
pub(super) struct Pass<'a> {
    /// Where contents go.
    pub(super) repo: &'a Repo,
    /// Limits.
    pub(super) limits: &'a SnapshotSettings,
    /// The user's index, when it is needed.
    pub(super) seed: Option<&'a Seed>,
    /// Compare blob lengths before trusting the index: content may be converted.
    pub(super) check_len: bool,
    /// So many more files are kept in the shadow even if the user's repository has them.
    pub(super) own: usize,
    /// Times from here on are too young to prove anything.
    pub(super) racy_from: i64,
    /// When the look before this one ended; 0 for the first.
    pub(super) previous: i64,
    /// Bytes that may still be read in.
    pub(super) budget: u64,
    /// Untracked files that may still be added, and until when, before the worktree counts as
    /// too large; none after the first look.
    pub(super) allowance: Option<(usize, Option<Instant>)>,
    /// What it hears and gives while it runs.
    pub(super) signs: &'a Signs,
    /// What differs from the look before.
    pub(super) changes: Vec<Change>,
    /// Files that came into view without having been written: a rule changed, not the file.
    pub(super) revealed: Vec<(Vec<u8>, Blob)>,
    /// Files that went out of view and are still there.
    pub(super) hidden: Vec<(Vec<u8>, Blob)>,
    /// Files left out, with the reason.
    pub(super) skipped: Vec<(Vec<u8>, Skip)>,
    /// Folders that came to their place since the look before, with their ctime.
    pub(super) arrived: Vec<(Vec<u8>, i64)>,
    /// The worktree turned out to be too large to be looked at as a whole.
    pub(super) too_large: bool,
}

/// What passes between a look and those who wait for it.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// Set when dunlin ends.
    stop: AtomicBool,
    /// Grows while work goes on.
    beats: AtomicU64,
}

impl Signs {
    /// Dunlin ends: what is looked at is left.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True once dunlin ends.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A piece of work is done.
    pub(super) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// How many are.
    pub(super) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }
}

/// How to look at a folder and what is below it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct How {
    /// List it even if its stat has not changed.
    pub(super) list: bool,
    /// Compare the stat of every file.
    pub(super) files: bool,
    /// Apply the ignore rules to known names too.
    pub(super) recheck: bool,
    /// The rules changed: what comes into view may have been there before.
    pub(super) unveil: bool,
    /// Set the watches again: events were lost.
    pub(super) rewatch: bool,
    /// Nothing is known about what was here before, so nothing can be called new.
    pub(super) unseen: bool,
}

impl How {
    /// All of a folder of which nothing is known.
    pub(super) const ALL: Self = Self {
        list: true,
        files: true,
        recheck: false,
        unveil: false,
        rewatch: false,
        unseen: false,
    };
}

/// Why a file's content is not known.
pub(super) enum Unread {
    /// It is gone.
    Gone,
    /// It is to be left out.
    Skip(Skip),
    /// The store failed.
    Store(SnapshotError),
}

/// The blob that the user's index proves, if it can be relied on.
pub(super) fn trusted(pass: &Pass<'_>, path: &[u8], stat: &Stat) -> Option<Id> {
    let id = pass.seed?.trusted(path, stat)?;
    let good = if pass.check_len {
        pass.repo.blob_len(id) == Some(stat.size)
    } else {
        pass.repo.has(id)
    };
    good.then_some(id)
}

/// Reads a file or link into the store.
pub(super) fn read(
    pass: &mut Pass<'_>,
    dir: BorrowedFd<'_>,
    name: &[u8],
    stat: Stat,
) -> Result<(Id, Stat), Unread> {
    pass.signs.beat();
    if stat.size > pass.budget {
        return Err(Unread::Skip(Skip::Budget));
    }
    pass.budget -= stat.size;
    let own = pass.own > 0;
    pass.own = pass.own.saturating_sub(1);
    if stat.is_link() {
        let target = rustix::fs::readlinkat(dir, name, Vec::new()).map_err(unread)?;
        let id = pass.repo.put_blob(target.to_bytes(), own);
        return id.map(|id| (id, stat)).map_err(Unread::Store);
    }
    let fd = rustix::fs::openat(dir, name, file_flags(), Mode::empty()).map_err(unread)?;
    let stat = rustix::fs::fstat(&fd)
        .map(|s| to_stat(&s))
        .map_err(unread)?;
    if !stat.is_file() {
        return Err(Unread::Gone);
    }
    pass.repo
        .put_file(&mut File::from(fd), stat.size, own)
        .map(|id| (id, stat))
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::Other => {
                Unread::Store(SnapshotError::store("Storing a file's content", e))
            }
            _ => Unread::Skip(Skip::Unreadable),
        })
}

fn unread(errno: Errno) -> Unread {
    match errno {
        Errno::NOENT | Errno::LOOP | Errno::NOTDIR => Unread::Gone,
        _ => Unread::Skip(Skip::Unreadable),
    }
}
