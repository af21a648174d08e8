//! Changes of files as line counts and as hunks, for patch parts and `/diff`.
//!
//! Called by the owner with two blobs' ids; the line work is libgit2's, in `repo`. Files that are
//! too large to be compared line by line count as binary.

use super::record::{FileWrite, SnapshotError};
use super::repo::{self, Repo};
use super::tree::{Blob, Change, LINK};
use super::{hunk, path};
use crate::protocol::{FileDiff, FileStatus, Hunk, PatchFile};

/// Contents above this are not compared line by line.
const MAX_TEXT: u64 = 4 << 20;

fn status(change: &Change) -> FileStatus {
    match (change.before, change.after) {
        (None, _) => FileStatus::Added,
        (_, None) => FileStatus::Deleted,
        (Some(a), Some(b)) if (a.mode == LINK) != (b.mode == LINK) => FileStatus::TypeChanged,
        (Some(a), Some(b)) if a.id == b.id => FileStatus::TypeChanged,
        _ => FileStatus::Modified,
    }
}

/// Both contents; none if one is too large.
fn contents(repo: &Repo, change: &Change) -> Result<Option<[Vec<u8>; 2]>, SnapshotError> {
    let small = |blob: Option<Blob>| {
        blob.is_none_or(|blob| repo.blob_len(blob.id).is_none_or(|len| len <= MAX_TEXT))
    };
    if !small(change.before) || !small(change.after) {
        return Ok(None);
    }
    let read = |blob: Option<Blob>| blob.map_or_else(|| Ok(Vec::new()), |b| repo.blob(b.id));
    Ok(Some([read(change.before)?, read(change.after)?]))
}

/// Lines added and removed in one file.
pub(super) fn count(repo: &Repo, change: &Change) -> Result<PatchFile, SnapshotError> {
    let same = change.before.map(|b| b.id) == change.after.map(|b| b.id);
    let counts = match contents(repo, change)? {
        Some([old, new]) if !same => counts(&old, &new)?,
        _ => (0, 0),
    };
    Ok(PatchFile {
        path: path::to_text(&change.path),
        added: counts.0,
        removed: counts.1,
        status: status(change),
    })
}

fn counts(old: &[u8], new: &[u8]) -> Result<(u32, u32), SnapshotError> {
    // whole files need no comparison, only their lines
    if old.is_empty() || new.is_empty() {
        let text = if old.is_empty() { new } else { old };
        let lines = if memchr::memchr(0, &text[..text.len().min(8000)]).is_some() {
            0
        } else {
            let open = u32::from(text.last().is_some_and(|&b| b != b'\n'));
            memchr::memchr_iter(b'\n', text).count() as u32 + open
        };
        return Ok(if old.is_empty() {
            (lines, 0)
        } else {
            (0, lines)
        });
    }
    Ok(repo::line_counts(old, new)?.unwrap_or((0, 0)))
}

/// The write that one hunk of a change stands for: from what it leaves to what is there now. None if
/// the contents are not texts or do not read as the hunk says.
pub(super) fn hunk(
    repo: &Repo,
    change: &Change,
    wanted: &Hunk,
) -> Result<Option<FileWrite>, SnapshotError> {
    let Some([old, new]) = contents(repo, change)? else {
        return Ok(None);
    };
    let Some(bytes) = hunk::back(&old, &new, wanted) else {
        return Ok(None);
    };
    let before = match (change.before, change.after) {
        // All of a change: the file is as it was, mode and absence too.
        (before, _) if bytes == old => before,
        (_, Some(now)) => Some(Blob {
            id: repo.put_blob(&bytes, true)?,
            mode: now.mode,
        }),
        (before, None) => before,
    };
    Ok(Some(FileWrite {
        path: path::to_text(&change.path),
        before: before.map(Into::into),
        after: change.after.map(Into::into),
        aside: false,
        unsure: false,
        disputed: false,
    }))
}

/// One file's hunks.
pub(super) fn file(repo: &Repo, change: &Change, context: u32) -> Result<FileDiff, SnapshotError> {
    let same = change.before.map(|b| b.id) == change.after.map(|b| b.id);
    let mut lines = 0;
    let hunks = match contents(repo, change)? {
        _ if same => Some(Vec::new()),
        Some([old, new]) => {
            let open = u32::from(new.last().is_some_and(|&byte| byte != b'\n'));
            lines = memchr::memchr_iter(b'\n', &new).count() as u32 + open;
            repo::hunks(&old, &new, context)?
        }
        None => None,
    };
    let count = |kind| {
        let lines = hunks.iter().flatten().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.kind == kind).count() as u32
    };
    Ok(FileDiff {
        path: path::to_text(&change.path),
        status: status(change),
        added: count(crate::protocol::LineKind::Added),
        removed: count(crate::protocol::LineKind::Removed),
        binary: hunks.is_none(),
        lines,
        hunks: hunks.unwrap_or_default(),
    })
}
