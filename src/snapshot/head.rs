//! The tree of the user's last commit, for changes "vs HEAD".
//!
//! Found by reading files of the git folder, like everything about the user's repository; the
//! commit itself comes through the shadow's view of the user's objects. Called by the owner.

use std::path::Path;

use super::place::GitPlace;
use super::record::SnapshotError;
use super::repo::Repo;
use super::tree::{self, Id};

/// Symbolic references that are followed.
const HOPS: usize = 5;

/// The worktree's tree in the last commit; none if there is no commit or no repository to read.
pub(super) fn tree(git: &GitPlace, repo: &Repo) -> Result<Option<Id>, SnapshotError> {
    if !git.usable {
        return Ok(None);
    }
    let Some(commit) = commit(git) else {
        return Ok(None);
    };
    let Some(root) = commit_tree(&repo.commit(commit)?) else {
        return Ok(None);
    };
    let mut at = root;
    for name in git.prefix.split(|byte| *byte == b'/') {
        if name.is_empty() {
            continue;
        }
        let bytes = repo.tree(at)?;
        let Some(inner) = tree::decode(&bytes)
            .iter()
            .find(|i| i.name == name)
            .copied()
        else {
            return Ok(None);
        };
        at = inner.id;
    }
    Ok(Some(at))
}

/// `tree <id>` is a commit's first line.
fn commit_tree(bytes: &[u8]) -> Option<Id> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let text = std::str::from_utf8(line).ok()?;
    Id::from_hex(text.strip_prefix("tree ")?.trim())
}

fn commit(git: &GitPlace) -> Option<Id> {
    let mut text = std::fs::read_to_string(git.git_dir.join("HEAD")).ok()?;
    for _ in 0..HOPS {
        let Some(name) = text.trim().strip_prefix("ref:") else {
            return Id::from_hex(text.trim());
        };
        text = reference(git, name.trim())?;
    }
    None
}

/// What a reference holds: a loose file of this checkout or of all, else a packed line.
fn reference(git: &GitPlace, name: &str) -> Option<String> {
    let sound = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
    if !sound {
        return None;
    }
    let loose = |folder: &Path| std::fs::read_to_string(folder.join(name)).ok();
    loose(&git.git_dir)
        .or_else(|| loose(&git.common_dir))
        .or_else(|| {
            let packed = std::fs::read_to_string(git.common_dir.join("packed-refs")).ok()?;
            packed.lines().find_map(|line| {
                let (id, packed) = line.split_once(' ')?;
                (packed == name).then(|| id.to_owned())
            })
        })
}
