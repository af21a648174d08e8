//! Which folder a worktree's project has, and that nobody else can look into it.
//!
//! Called when a project is opened. Creates nothing; what is there and was made too open is closed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::config::private;

/// `<data>/projects/<hash>` for a worktree (its real path). All worktrees of one git repository share it.
pub(super) fn folder_of(data_dir: &Path, worktree: &Path) -> PathBuf {
    let identity = common_dir(worktree).unwrap_or_else(|| worktree.to_owned());
    let hash = blake3::hash(identity.as_os_str().as_bytes()).to_hex();
    data_dir.join("projects").join(hash.as_str())
}

/// Closes the folders of a project that an earlier dunlin left open to others. Costs a few system calls:
/// what is below a closed folder cannot be reached. (`snap` is closed, with all in it, when it is opened.)
pub(super) fn close(project: &Path) {
    let projects = project.parent().unwrap_or(project);
    private::close_folder(projects);
    if private::close_folder(project) {
        for name in ["sessions", "blobs", "staging"] {
            private::close_folder(&project.join(name));
        }
    }
}

/// The folder that all worktrees of a git repository share, from its plain files.
fn common_dir(worktree: &Path) -> Option<PathBuf> {
    for folder in worktree.ancestors() {
        let dot_git = folder.join(".git");
        let Ok(kind) = fs::metadata(&dot_git) else {
            continue;
        };
        if kind.is_dir() {
            // an empty folder of that name is not a repository
            return dot_git.join("HEAD").exists().then_some(dot_git);
        }
        let text = fs::read_to_string(&dot_git).ok()?;
        let git_dir = folder.join(text.strip_prefix("gitdir:")?.trim());
        let common = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(relative) => git_dir.join(relative.trim()),
            Err(_) => git_dir,
        };
        return fs::canonicalize(common).ok();
    }
    None
}
