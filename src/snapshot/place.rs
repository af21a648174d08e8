//! Where the worktree is: its git repository if there is one, and the places where snapshots are
//! refused.
//!
//! Finds `.git` by reading files; the user's repository is never opened. Called once by the owner.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::repo::{UserSettings, read_settings};
use super::seed::rewrites;

/// The worktree and what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The worktree, links resolved.
    pub(super) worktree: PathBuf,
    /// The git repository it is in.
    pub(super) git: Option<GitPlace>,
    /// The user's own ignore file (`core.excludesFile`).
    pub(super) excludes: Option<PathBuf>,
}

/// A git repository, as far as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitPlace {
    /// Folder that holds `.git`.
    pub(super) root: PathBuf,
    /// The git folder of this checkout: where its index is.
    pub(super) git_dir: PathBuf,
    /// The git folder that checkouts share: objects, settings, `info/exclude`.
    pub(super) common_dir: PathBuf,
    /// The worktree's path within `root`; empty at the root.
    pub(super) prefix: Vec<u8>,
    /// Its objects can be shared and its index can be read.
    pub(super) usable: bool,
    /// Content may be converted between worktree and blob.
    pub(super) converts: bool,
    /// Files of attributes outside of the worktree, where there are any.
    outer_attributes: Vec<PathBuf>,
}

impl GitPlace {
    /// True if attributes ask for a conversion that may keep the length. `tracked` are the files of
    /// attributes in the worktree, from the root; one at the root counts before it is tracked.
    pub(super) fn rewrites(&self, tracked: &[Vec<u8>]) -> bool {
        let tracked = tracked.iter().map(|path| OsStr::from_bytes(path));
        let inner = std::iter::once(OsStr::new(".gitattributes")).chain(tracked);
        let inner = inner.map(|path| self.root.join(path));
        let mut all = inner.chain(self.outer_attributes.iter().cloned());
        all.any(|file| std::fs::read(file).is_ok_and(|text| rewrites(&text)))
    }
}

/// Finds out about the worktree; an error is the sentence that says why snapshots are off.
pub(super) fn find(worktree: &Path, home: Option<&Path>) -> Result<Place, String> {
    let worktree = worktree.canonicalize().map_err(|e| {
        format!(
            "Snapshots are off: the folder {} cannot be opened ({e}). Start dunlin in a folder that exists.",
            worktree.display()
        )
    })?;
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    let home = home.as_deref();
    if is_refused(&worktree, home) {
        return Err(format!(
            "Snapshots are off in {}: it is not a project folder. Start dunlin inside a project to have /undo and /diff.",
            worktree.display()
        ));
    }
    let mut git = None;
    let mut settings: Option<UserSettings> = None;
    let found = worktree
        .ancestors()
        .take_while(|dir| !is_refused(dir, home))
        .find_map(|dir| Some((dir.to_owned(), git_dir(dir)?)));
    if let Some((root, git_dir)) = found {
        let common_dir = common_dir(&git_dir);
        let files = settings_files(Some((&common_dir, &git_dir)), home);
        let settings = settings.insert(read_settings(&files, home));
        let own = || Some(config_home(home)?.join("git/attributes"));
        let outer_attributes = [
            Some(common_dir.join("info/attributes")),
            settings.attributes.clone().or_else(own),
            Some(PathBuf::from("/etc/gitattributes")),
        ];
        let outer_attributes: Vec<PathBuf> = outer_attributes.into_iter().flatten().collect();
        let prefix = worktree.strip_prefix(&root).unwrap_or(Path::new(""));
        git = Some(GitPlace {
            prefix: prefix.as_os_str().as_bytes().to_vec(),
            usable: !settings.sha256,
            converts: settings.converts || outer_attributes.iter().any(|file| file.exists()),
            outer_attributes,
            root,
            git_dir,
            common_dir,
        });
    }
    let settings = settings.unwrap_or_else(|| read_settings(&settings_files(None, home), home));
    let fallback = || Some(config_home(home)?.join("git/ignore"));
    Ok(Place {
        worktree,
        git,
        excludes: settings.excludes.or_else(fallback),
    })
}

/// `/`, the home folder and everything above it.
fn is_refused(dir: &Path, home: Option<&Path>) -> bool {
    dir.parent().is_none() || home.is_some_and(|home| home.starts_with(dir))
}

fn config_home(home: Option<&Path>) -> Option<PathBuf> {
    let home = home?;
    // the variable belongs to the process's own user, not to a home that a test made up
    let own = std::env::var_os("HOME").is_some_and(|own| Path::new(&own) == home);
    let set = std::env::var_os("XDG_CONFIG_HOME").filter(|set| own && !set.is_empty());
    Some(set.map_or_else(|| home.join(".config"), PathBuf::from))
}

fn settings_files(git: Option<(&Path, &Path)>, home: Option<&Path>) -> Vec<PathBuf> {
    // the order is the one `read_settings` has levels for
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.push(config_home(home).unwrap_or_default().join("git/config"));
    files.push(home.map(|home| home.join(".gitconfig")).unwrap_or_default());
    if let Some((common_dir, git_dir)) = git {
        files.push(common_dir.join("config"));
        files.push(git_dir.join("config.worktree"));
    }
    files
}

/// The git folder of `dir`, if it is the root of a checkout.
pub(super) fn git_dir(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    let is_git = |path: &Path| path.join("HEAD").symlink_metadata().is_ok();
    if dot_git.is_dir() {
        return is_git(&dot_git).then_some(dot_git);
    }
    let text = std::fs::read_to_string(&dot_git).ok()?;
    let target = dir.join(text.strip_prefix("gitdir:")?.trim());
    is_git(&target).then_some(target)
}

fn common_dir(git_dir: &Path) -> PathBuf {
    match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => {
            let joined = git_dir.join(text.trim());
            joined.canonicalize().unwrap_or(joined)
        }
        Err(_) => git_dir.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_folder_and_what_is_above_it_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("home/me");
        std::fs::create_dir_all(home.join("project")).unwrap();
        for dir in [Path::new("/"), temp.path(), &home] {
            let said = find(dir, Some(&home)).unwrap_err();
            assert!(said.starts_with("Snapshots are off"), "{said}");
        }
        assert!(find(&home.join("project"), Some(&home)).is_ok());
        assert!(find(&home.join("absent"), Some(&home)).is_err());
    }

    #[test]
    fn a_repository_in_the_home_folder_does_not_swallow_projects() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".git")).unwrap();
        std::fs::write(home.join(".git/HEAD"), "ref: refs/heads/main").unwrap();
        std::fs::create_dir_all(home.join("project")).unwrap();
        assert_eq!(find(&home.join("project"), Some(&home)).unwrap().git, None);
    }

    #[test]
    fn a_linked_checkout_has_its_own_index_and_shared_objects() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let linked = base.join("main/.git/worktrees/side");
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::write(linked.join("HEAD"), "x").unwrap();
        std::fs::write(linked.join("commondir"), "../..\n").unwrap();
        std::fs::create_dir_all(base.join("side/deep")).unwrap();
        std::fs::write(
            base.join("side/.git"),
            format!("gitdir: {}\n", linked.display()),
        )
        .unwrap();
        let git = find(&base.join("side/deep"), None).unwrap().git.unwrap();
        assert_eq!(git.git_dir, linked);
        assert_eq!(git.common_dir, base.join("main/.git"));
        assert_eq!(git.prefix, b"deep");
    }
}
