//! Files that no snapshot holds and that tools write all the same: ignored ones, those of a repository inside.
//!
//! The content of each is kept by itself, right before and right after the tools that name it, so that an
//! undo can take back what they did. What commands do to such files is not seen. Called by the owner with
//! each snapshot; what is too large for a snapshot is too large here.

use std::collections::HashMap;
use std::path::Path;

use super::disk::{Current, Disk};
use super::path;
use super::record::{FileState, FileWrite, SnapshotError};
use super::repo::Repo;
use super::tree::{Blob, EXEC, LINK, PLAIN};

/// More than a turn names; older ones belong to turns that are over.
const MOST: usize = 10_000;

/// What files beside the snapshots were.
#[derive(Debug, Default)]
pub(super) struct Aside {
    /// By path, before the tools that are running now.
    before: HashMap<Vec<u8>, Content>,
}

/// What is at a path.
#[derive(Debug)]
enum Content {
    /// It cannot be told, or is not to be kept.
    Unknown,
    Nothing,
    File(FileState),
}

impl Content {
    /// The write that leads from here to there; none if nothing was written or that is not known.
    fn write(self, after: Self, path: &[u8], unsure: bool) -> Option<FileWrite> {
        let (before, after) = match (self, after) {
            (Self::File(before), Self::File(after)) if before.reads_like(&after) => return None,
            (Self::File(before), Self::File(after)) => (Some(before), Some(after)),
            (Self::Nothing, Self::File(after)) => (None, Some(after)),
            (Self::File(before), Self::Nothing) => (Some(before), None),
            _ => return None,
        };
        Some(FileWrite {
            path: path::to_text(path),
            before,
            after,
            aside: true,
            unsure,
            disputed: false,
        })
    }
}

/// What a look needs.
pub(super) struct Look<'a> {
    pub(super) repo: &'a Repo,
    pub(super) worktree: &'a Path,
    /// Bytes of the largest file that is kept.
    pub(super) max_file: u64,
    /// True for a path that is part of the snapshot.
    pub(super) held: &'a dyn Fn(&[u8]) -> bool,
    /// True for a path that was changed after the tools had ended.
    pub(super) late: &'a dyn Fn(&[u8]) -> bool,
}

impl Aside {
    /// Tools are about to write these paths.
    pub(super) fn note(&mut self, look: &Look<'_>, paths: &[Vec<u8>]) -> Result<(), SnapshotError> {
        if self.before.len() > MOST {
            self.before.clear();
        }
        for path in paths {
            self.before.remove(path);
            if !(look.held)(path) {
                self.before.insert(path.clone(), look.content(path)?);
            }
        }
        Ok(())
    }

    /// Tools may have written these paths: what became of those that were noted.
    pub(super) fn written(
        &mut self,
        look: &Look<'_>,
        paths: &[Vec<u8>],
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let mut writes = Vec::new();
        for path in paths {
            // what is part of the snapshot by now is told by that
            let known = self.before.remove(path).filter(|_| !(look.held)(path));
            if let Some(before) = known {
                writes.extend(before.write(look.content(path)?, path, (look.late)(path)));
            }
        }
        Ok(writes)
    }
}

impl Look<'_> {
    /// What is at a path now. The content of a file is put into the store.
    fn content(&self, at: &[u8]) -> Result<Content, SnapshotError> {
        let opened = Disk::open(self.worktree, true);
        let disk = opened
            .map_err(|e| SnapshotError::file(format!("Opening {}", self.worktree.display()), e))?;
        if disk.size(at).is_some_and(|size| size > self.max_file) {
            return Ok(Content::Unknown);
        }
        let (data, mode, bits) = match disk.read(at) {
            Current::Absent => return Ok(Content::Nothing),
            Current::File(data, bits) if bits & 0o100 != 0 => (data, EXEC, Some(bits)),
            Current::File(data, bits) => (data, PLAIN, Some(bits)),
            Current::Link(target) => (target, LINK, None),
            _ => return Ok(Content::Unknown),
        };
        let id = self.repo.put_blob(&data, true)?;
        Ok(Content::File(Blob { id, mode }.with_bits(bits)))
    }
}
