//! What a model may have meant by a path that does not exist.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::edit::alike;
use super::workspace::Workspace;

/// Suggestions at most.
const MOST: usize = 3;

/// A search of the worktree stops after this; a wrong path must not cost seconds.
const PATIENCE: Duration = Duration::from_millis(80);

/// Existing paths that come close, best first.
pub(crate) fn near(path: &Path, workspace: &Workspace) -> Vec<PathBuf> {
    let Some(name) = path.file_name() else {
        return Vec::new();
    };
    let mut found = siblings(path, name);
    if found.len() < MOST {
        for other in elsewhere(path, name, workspace) {
            if !found.contains(&other) {
                found.push(other);
            }
        }
    }
    found.truncate(MOST);
    found
}

/// Names in the same folder that look like the wanted one.
fn siblings(path: &Path, name: &OsStr) -> Vec<PathBuf> {
    let wanted = name.to_string_lossy().to_lowercase();
    let entries = path
        .parent()
        .and_then(|parent| std::fs::read_dir(parent).ok());
    let mut scored: Vec<(f32, PathBuf)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .take(5_000)
        .filter_map(|entry| {
            let other = entry.file_name().to_string_lossy().to_lowercase();
            let stem = |name: &str| {
                name.rsplit_once('.')
                    .map_or(name.to_owned(), |(stem, _)| stem.to_owned())
            };
            let inside = wanted.len() > 2
                && (other.contains(&wanted) || wanted.contains(&other) && other.len() > 2);
            let score = if stem(&other) == stem(&wanted) || inside {
                0.9
            } else {
                alike::ratio(&other, &wanted)
            };
            (score >= 0.7).then(|| (score, entry.path()))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, path)| path).collect()
}

/// Files of the same name elsewhere in the worktree; those that share the end of the path first.
fn elsewhere(path: &Path, name: &OsStr, workspace: &Workspace) -> Vec<PathBuf> {
    if !workspace.is_inside(path) {
        return Vec::new();
    }
    let until = Instant::now().checked_add(PATIENCE);
    let walk = ignore::WalkBuilder::new(workspace.root())
        .require_git(false)
        .build();
    let mut found: Vec<PathBuf> = walk
        .take_while(|_| until.is_some_and(|until| Instant::now() < until))
        .flatten()
        .filter(|entry| entry.file_name() == name && entry.depth() > 0)
        .map(ignore::DirEntry::into_path)
        .take(50)
        .collect();
    let common = |other: &Path| {
        let same = path
            .components()
            .rev()
            .zip(other.components().rev())
            .take_while(|(a, b)| a == b);
        same.count()
    };
    found.sort_by(|a, b| common(b).cmp(&common(a)).then_with(|| a.cmp(b)));
    found
}
