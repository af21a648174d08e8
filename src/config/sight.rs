//! Looking at the disk for the judge of permissions: names in folders, links, repositories.
//!
//! `permission` itself does no I/O; whoever asks it passes these functions in (`Place::sight`). They
//! only look, and give up where there is too much to see.

use std::path::{Path, PathBuf};

/// What an entry of a folder is; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file, or anything that is neither of the others.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// A folder with more entries than this is not listed.
const MOST: usize = 20_000;

/// Names in a folder with what they are, links not followed; empty for what is no folder or may not
/// be read, none if there are too many or one is no text.
pub fn entries(folder: &Path) -> Option<Vec<(String, Kind)>> {
    let Ok(reader) = std::fs::read_dir(folder) else {
        return Some(Vec::new());
    };
    let mut names = Vec::new();
    for entry in reader.flatten() {
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => Kind::Link,
            Ok(kind) if kind.is_dir() => Kind::Folder,
            Ok(_) => Kind::File,
            Err(_gone) => continue,
        };
        names.push((entry.file_name().into_string().ok()?, kind));
        if names.len() > MOST {
            return None;
        }
    }
    Some(names)
}

/// True if something is there, be it a link that leads nowhere.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The folder that a `.git` file (of a linked worktree or a submodule) names.
pub fn git_link(dot_git: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(dot_git).ok()?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(super::paths::resolve(&dot_git.parent()?.join(named)))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn names_links_and_repositories_are_seen() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().expect("temp");
        let root = dir.path().canonicalize().expect("real");
        std::fs::create_dir_all(root.join("a/.git-real")).expect("folder");
        std::fs::write(root.join("a/.git"), "gitdir: .git-real\n").expect("file");
        std::os::unix::fs::symlink("nowhere", root.join("gone")).expect("link");
        let mut names = entries(&root).expect("names");
        names.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(names.len(), 2);
        assert_eq!((names[0].1, names[1].1), (Kind::Folder, Kind::Link));
        assert!(exists(&root.join("gone")) && !exists(&root.join("none")));
        assert_eq!(
            git_link(&root.join("a/.git")),
            Some(root.join("a/.git-real"))
        );
        assert_eq!(git_link(&root.join("gone")), None);
        assert_eq!(entries(&root.join("none")).map(|n| n.len()), Some(0));
        let odd = std::ffi::OsStr::from_bytes(b"\xff");
        std::fs::write(root.join(odd), "").expect("file");
        assert_eq!(entries(&root), None);
    }
}
