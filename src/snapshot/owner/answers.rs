//! What snapshots tell: differences between two of them, counts, hunks, and what an interval wrote.
//!
//! Reads the store and what the owner remembers; takes no snapshot and touches no file.

use super::super::record::{FileWrite, SnapshotError};
use super::super::state::{FileNode, Node};
use super::super::tree::{self, Blob, Change, Id};
use super::super::{diff, head, path};
use super::{Owner, snapshot_id, tree_id};
use crate::protocol::{FileDiff, Hunk, PatchFile, SnapshotId};

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

    /// What an interval wrote. Files that only came into view or went out of it are left out; of those that
    /// were changed after `until` it is not known what the interval left.
    pub(in crate::snapshot) fn writes(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        until: Option<i64>,
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let until = until.filter(|_| self.worktree.has_own_times());
        let changes = self.changes(from, to)?;
        let written = changes.into_iter().filter(|c| match (c.before, c.after) {
            (None, Some(after)) => self.revealed.get(&c.path) != Some(&after),
            (Some(before), None) => self.hidden.get(&c.path) != Some(&before),
            _ => true,
        });
        Ok(written
            .map(|c| FileWrite {
                unsure: until.is_some_and(|until| self.changed_after(&c, until)),
                path: path::to_text(&c.path),
                before: c
                    .before
                    .map(|blob| blob.with_bits(self.bits_before(&c.path, blob))),
                after: c
                    .after
                    .map(|blob| blob.with_bits(self.bits_now(&c.path, blob))),
                aside: false,
            })
            .collect())
    }

    /// True if the file became what it is after this moment. When a file went away is not known.
    fn changed_after(&self, change: &Change, moment: i64) -> bool {
        let Some(after) = change.after else {
            return false;
        };
        let noted = self.times.get(&(change.path.clone(), after)).copied();
        let at = noted.or_else(|| self.known(&change.path, after).map(|file| file.stat.ctime));
        at.is_some_and(|at| at > moment)
    }

    /// Permission bits of a file that was there before the last looks.
    fn bits_before(&self, path: &[u8], blob: Blob) -> Option<u32> {
        let (known, bits) = self.bits.get(path)?;
        (*known == blob).then_some(*bits)
    }

    /// Permission bits of a file as the newest snapshot has it.
    fn bits_now(&self, path: &[u8], blob: Blob) -> Option<u32> {
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
