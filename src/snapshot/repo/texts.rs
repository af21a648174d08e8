//! Two or three texts beside each other: differing places, counts of lines, merges; by libgit2.
//!
//! Called for diffs, patches and undo. Works on bytes in memory: no repository is needed and nothing is
//! read or written.

use std::path::Path;

use git2::{DiffOptions, MergeFileInput, MergeFileOptions, Patch};

use crate::protocol::{DiffLine, Hunk, LineKind};
use crate::snapshot::record::SnapshotError;

/// The differing places of two texts; none if one of them is not text.
pub(in crate::snapshot) fn hunks(
    old: &[u8],
    new: &[u8],
    context: u32,
) -> Result<Option<Vec<Hunk>>, SnapshotError> {
    let failed = |e: git2::Error| SnapshotError::store("Comparing two files", e.message());
    let mut options = DiffOptions::new();
    options.context_lines(context).interhunk_lines(0);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options)).map_err(failed)?;
    if patch.delta().flags().is_binary() {
        return Ok(None);
    }
    let mut hunks = Vec::with_capacity(patch.num_hunks());
    for at in 0..patch.num_hunks() {
        let (hunk, count) = patch.hunk(at).map_err(failed)?;
        let heading = heading(hunk.header());
        let mut lines = Vec::with_capacity(count);
        for line in 0..count {
            let line = patch.line_in_hunk(at, line).map_err(failed)?;
            let kind = match line.origin() {
                '+' => LineKind::Added,
                '-' => LineKind::Removed,
                ' ' => LineKind::Context,
                _ => continue,
            };
            let text = String::from_utf8_lossy(line.content());
            let text = text.strip_suffix('\n').unwrap_or(&text);
            lines.push(DiffLine {
                kind,
                old: line.old_lineno(),
                new: line.new_lineno(),
                text: text.strip_suffix('\r').unwrap_or(text).to_owned(),
            });
        }
        hunks.push(Hunk { heading, lines });
    }
    Ok(Some(hunks))
}

/// What stands behind the second `@@`.
fn heading(header: &[u8]) -> String {
    let text = String::from_utf8_lossy(header);
    let behind = text.splitn(3, "@@").nth(2).unwrap_or_default();
    behind.trim().to_owned()
}

/// Lines added and removed; none if one of the two is not text.
pub(in crate::snapshot) fn line_counts(
    old: &[u8],
    new: &[u8],
) -> Result<Option<(u32, u32)>, SnapshotError> {
    let failed = |e: git2::Error| SnapshotError::store("Comparing two files", e.message());
    let mut options = DiffOptions::new();
    options.context_lines(0);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options)).map_err(failed)?;
    if patch.delta().flags().is_binary() {
        return Ok(None);
    }
    let (_, added, removed) = patch.line_stats().map_err(failed)?;
    Ok(Some((added as u32, removed as u32)))
}

/// Brings the change from `base` to `theirs` into `ours`. None if the two touch the same lines.
pub(in crate::snapshot) fn merge(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
) -> Result<Option<Vec<u8>>, SnapshotError> {
    let failed = |e: git2::Error| SnapshotError::store("Merging a file", e.message());
    let input = |data| {
        let mut input = MergeFileInput::new();
        input.content(data);
        input
    };
    let mut base_input = input(base);
    let mut our_input = input(ours);
    let mut their_input = input(theirs);
    let mut options = MergeFileOptions::new();
    let merged = git2::merge_file(
        base_input.path(Path::new("base")),
        our_input.path(Path::new("ours")),
        their_input.path(Path::new("theirs")),
        Some(&mut options),
    )
    .map_err(failed)?;
    Ok(merged.is_automergeable().then(|| merged.content().to_vec()))
}
