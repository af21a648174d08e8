//! How much disk a project takes, for `dunlin sessions`, `/status` and the clean-up. Looks, changes nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::StoreError;
use super::list;
use super::project::Project;
use crate::protocol::SessionId;

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Of each session.
    pub sessions: Vec<(SessionId, u64)>,
    /// Of the blobs of all sessions.
    pub blobs: u64,
    /// Of the snapshots.
    pub snapshots: u64,
}

/// Bytes that a file or folder takes on disk, as `du` counts them.
pub(super) fn size(path: &Path) -> u64 {
    let Ok(facts) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = facts.blocks() * 512;
    if !facts.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| size(&entry.path())).sum::<u64>()
}

impl Project {
    /// Bytes that all sessions of a project take on disk, for every project under `data_dir`, with a
    /// worktree of each (empty if no session tells), largest first.
    pub fn disk_use_all(data_dir: &Path) -> Result<Vec<(String, u64)>, StoreError> {
        let mut projects = Vec::new();
        for folder in list::all_folders(data_dir)? {
            let rows = list::of_folders(std::slice::from_ref(&folder))?;
            let worktree = rows.first().map(|row| row.info.worktree.clone());
            let bytes = folder.parent().map_or(0, size);
            projects.push((worktree.unwrap_or_default(), bytes));
        }
        projects.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        Ok(projects)
    }

    /// Bytes on disk: of each session, of all blobs, and of the snapshots.
    pub fn disk_use(&self) -> Result<DiskUse, StoreError> {
        let places = list::places(&[self.sessions_dir()])?;
        Ok(DiskUse {
            sessions: places.iter().map(|p| (p.id, size(&p.folder))).collect(),
            blobs: size(self.blobs().folder()),
            snapshots: size(&self.snapshot_dir()),
        })
    }
}
