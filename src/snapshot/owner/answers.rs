//! What snapshots tell: differences between two of them, counts, hunks, and what an interval wrote.
//!
//! Reads the store and what the owner remembers; takes no snapshot and touches no file.

use std::collections::BTreeMap;

use super::super::record::{FileWrite, SnapshotError};
use super::super::state::{FileNode, Node};
use super::super::tree::{self, Blob, Change, Id};
use super::super::{diff, head, path};
use super::{Owner, snapshot_id, tree_id};
use crate::protocol::{FileDiff, FileStatus, Hunk, PatchFile, SnapshotId};

impl Owner {
    /// What differs between two snapshots.
    fn changes(&self, from: &SnapshotId, to: &SnapshotId) -> Result<Vec<Change>, SnapshotError> {
        let read = |id: Id| self.repo.tree(id);
        tree::changes(tree_id(from)?, tree_id(to)?, &read)
    }

    /// Line counts per changed file.
    pub(in crate::snapshot) fn counts(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
    ) -> Result<Vec<PatchFile>, SnapshotError> {
        let changes = self.changes(from, to)?;
        let count = |c| {
            self.signs.beat();
            diff::count(&self.repo, c)
        };
        changes.iter().map(count).collect()
    }

    /// Changed places per changed file.
    pub(in crate::snapshot) fn diff(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        context: u32,
    ) -> Result<Vec<FileDiff>, SnapshotError> {
        let changes = self.changes(from, to)?;
        let of = |c: &Change| diff::file(&self.repo, c, context);
        changes.iter().map(of).collect()
    }

    /// One file's change with so many lines around it; none if the file is the same in both.
    pub(in crate::snapshot) fn file_diff(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        file: (&str, u32),
    ) -> Result<Option<FileDiff>, SnapshotError> {
        let (wanted, context) = file;
        let changes = self.changes(from, to)?;
        let change = changes.iter().find(|c| path::to_text(&c.path) == wanted);
        change
            .map(|c| diff::file(&self.repo, c, context))
            .transpose()
    }

    /// The write that one hunk stands for, to be handed to `restore`.
    pub(in crate::snapshot) fn hunk(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        place: (&str, &Hunk),
    ) -> Result<Option<FileWrite>, SnapshotError> {
        let (wanted, hunk) = place;
        let changes = self.changes(from, to)?;
        let change = changes.iter().find(|c| path::to_text(&c.path) == wanted);
        match change {
            Some(change) => diff::hunk(&self.repo, change, hunk),
            None => Ok(None),
        }
    }

    /// The tree of the user's last commit; none if there is none.
    pub(in crate::snapshot) fn head(&self) -> Result<Option<SnapshotId>, SnapshotError> {
        let Some(git) = &self.place.git else {
            return Ok(None);
        };
        Ok(head::tree(git, &self.repo)?.map(snapshot_id))
    }

    /// What differs between two snapshots without the files that only came into view or went out of it.
    pub(super) fn written(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
    ) -> Result<Vec<Change>, SnapshotError> {
        let mut changes = self.changes(from, to)?;
        changes.retain(|c| match (c.before, c.after) {
            (None, Some(after)) => self.revealed.get(&c.path) != Some(&after),
            (Some(before), None) => self.hidden.get(&c.path) != Some(&before),
            _ => true,
        });
        Ok(changes)
    }

    /// Line counts of writes, one for each file, in the order of their paths.
    pub(in crate::snapshot) fn count_writes(
        &self,
        writes: &[FileWrite],
    ) -> Result<Vec<PatchFile>, SnapshotError> {
        let mut files: BTreeMap<&str, Vec<PatchFile>> = BTreeMap::new();
        for write in writes {
            self.signs.beat();
            let blob = |state: &Option<_>| state.as_ref().map(Blob::try_from).transpose();
            let change = Change {
                path: path::from_text(&write.path).unwrap_or_default(),
                before: blob(&write.before)?,
                after: blob(&write.after)?,
                bits: None,
            };
            let count = diff::count(&self.repo, &change)?;
            files.entry(&write.path).or_default().push(count);
        }
        Ok(files.into_values().filter_map(summed).collect())
    }

    /// When the file became what it is; none for one that is gone, or if it is not known.
    pub(super) fn changed_at(&self, change: &Change) -> Option<i64> {
        let after = change.after?;
        let noted = self.times.get(&(change.path.clone(), after)).copied();
        noted.or_else(|| self.known(&change.path, after).map(|file| file.stat.ctime))
    }

    /// Permission bits of a file that was there before the last looks.
    pub(super) fn bits_before(&self, path: &[u8], blob: Blob) -> Option<u32> {
        let (known, bits) = self.bits.get(path)?;
        (*known == blob).then_some(*bits)
    }

    /// Permission bits of a file as the newest snapshot has it.
    pub(super) fn bits_now(&self, path: &[u8], blob: Blob) -> Option<u32> {
        self.known(path, blob).map(|file| file.stat.bits())
    }

    /// A file of the newest snapshot, if it has this content.
    pub(super) fn known(&self, path: &[u8], blob: Blob) -> Option<&FileNode> {
        let (dir, name) = self.worktree.dirs.walk(path);
        match self.worktree.dirs.get(dir, name)? {
            Node::File(file) if file.blob() == blob => Some(file),
            _ => None,
        }
    }
}

/// Several parts of one file's change as one.
fn summed(parts: Vec<PatchFile>) -> Option<PatchFile> {
    let first = parts.first()?.status;
    let last = parts.last()?.status;
    let mut all = parts.into_iter();
    let mut sum = all.next()?;
    for part in all {
        sum.added += part.added;
        sum.removed += part.removed;
    }
    sum.status = match (first, last) {
        (FileStatus::Added, FileStatus::Deleted) => FileStatus::Modified,
        (FileStatus::Added, _) => FileStatus::Added,
        (_, last) => last,
    };
    Some(sum)
}
