//! Where a session works: which paths are inside, which are outside, how a typed path is resolved.
//!
//! Paths are compared by their names. Links are followed only by the function that the caller passes
//! in (`Place::resolve`); without one, `..` and `.` are taken out and that is all.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Follows links, as far as the path exists.
pub type Resolve = Arc<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// The surroundings of a session.
#[derive(Clone, Default)]
pub struct Place {
    /// The worktree's root, resolved.
    pub worktree: PathBuf,
    /// Folders for temporary files, resolved; reading and writing there is like in the worktree.
    pub temp: Vec<PathBuf>,
    /// Folders that may be read without asking: full outputs, skills.
    pub readable: Vec<PathBuf>,
    /// More folders that count as inside, from `sandbox.writable`.
    pub writable: Vec<PathBuf>,
    /// The home folder.
    pub home: PathBuf,
    /// True if commands run in the sandbox.
    pub sandboxed: bool,
    /// Follows links; none for a purely lexical judgement.
    pub resolve: Option<Resolve>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("worktree", &self.worktree)
            .field("temp", &self.temp)
            .field("readable", &self.readable)
            .field("writable", &self.writable)
            .field("home", &self.home)
            .field("sandboxed", &self.sandboxed)
            .field("resolve", &self.resolve.is_some())
            .finish()
    }
}

/// Devices that hold nothing.
const HARMLESS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
];

impl Place {
    /// The folders for temporary files that count as inside: one that holds the worktree itself does
    /// not, or whatever lies beside the worktree would.
    pub fn passing(temp: &[PathBuf], worktree: &Path) -> Vec<PathBuf> {
        let around = |folder: &&PathBuf| worktree.starts_with(folder);
        let passing = temp.iter().filter(|folder| !around(folder));
        passing.cloned().collect()
    }

    /// A typed path as the kernel would see it from `cwd`.
    pub fn absolute(&self, cwd: &Path, typed: &str) -> PathBuf {
        let path = normal(&cwd.join(typed));
        self.resolve.as_ref().map_or(path.clone(), |r| r(&path))
    }

    /// True if this path may be read without being outside.
    pub fn reads_inside(&self, path: &Path) -> bool {
        self.writes_inside(path) || self.readable.iter().any(|dir| path.starts_with(dir))
    }

    /// True if this path may be written without being outside.
    pub fn writes_inside(&self, path: &Path) -> bool {
        is_device(path)
            || self.in_worktree(path)
            || self
                .temp
                .iter()
                .chain(&self.writable)
                .any(|dir| path.starts_with(dir))
    }

    /// True below the worktree (or at its root).
    pub fn in_worktree(&self, path: &Path) -> bool {
        !self.worktree.as_os_str().is_empty() && path.starts_with(&self.worktree)
    }

    /// True for what gives its writer more power than a source file: dunlin's own folder, git's
    /// hooks and configuration. Never written without asking outside the sandbox's `auto`.
    pub fn is_protected(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.worktree) else {
            return false;
        };
        below.components().any(|part| {
            matches!(part, Component::Normal(name)
                if name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".dunlin"))
        })
    }

    /// The path for the eye: relative to the worktree, `~` for the home folder.
    pub fn show(&self, path: &Path) -> String {
        match (
            path.strip_prefix(&self.worktree),
            path.strip_prefix(&self.home),
        ) {
            (Ok(below), _) if below.as_os_str().is_empty() => ".".to_owned(),
            (Ok(below), _) if !self.worktree.as_os_str().is_empty() => below.display().to_string(),
            (_, Ok(below)) if below.as_os_str().is_empty() => "~".to_owned(),
            (_, Ok(below)) if !self.home.as_os_str().is_empty() => format!("~/{}", below.display()),
            _ => path.display().to_string(),
        }
    }
}

/// True for `/dev/null` and its like.
pub fn is_device(path: &Path) -> bool {
    HARMLESS.iter().any(|d| path == Path::new(d)) || path.starts_with("/dev/fd")
}

/// A path without `.` and `..`; `..` at the root stays there.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            worktree: PathBuf::from("/h/u/w"),
            temp: vec![PathBuf::from("/tmp")],
            readable: vec![PathBuf::from("/data/out")],
            home: PathBuf::from("/h/u"),
            ..Place::default()
        }
    }

    #[test]
    fn dots_do_not_lead_out_unseen() {
        let place = place();
        let inside =
            |typed: &str| place.reads_inside(&place.absolute(Path::new("/h/u/w/src"), typed));
        assert!(inside("a.rs") && inside("../b") && inside("/tmp/x") && inside("/data/out/1"));
        assert!(!inside("../../x") && !inside("/h/u/w2") && !inside("/tmp/../etc/passwd"));
        assert!(!place.writes_inside(Path::new("/data/out/1")));
        assert!(place.is_protected(Path::new("/h/u/w/.git/hooks/pre-commit")));
        assert!(!place.is_protected(Path::new("/h/u/w/.gitignore")));
    }

    #[test]
    fn links_are_followed_by_the_caller() {
        let mut place = place();
        place.resolve = Some(Arc::new(|path| {
            if path.starts_with("/h/u/w/link") {
                PathBuf::from("/etc/passwd")
            } else {
                path.to_owned()
            }
        }));
        assert!(!place.reads_inside(&place.absolute(Path::new("/h/u/w"), "link/x")));
    }

    #[test]
    fn paths_show_short() {
        let place = place();
        for (path, shown) in [
            ("/h/u/w", "."),
            ("/h/u/w/a/b", "a/b"),
            ("/h/u/x", "~/x"),
            ("/h/u", "~"),
            ("/etc", "/etc"),
        ] {
            assert_eq!(place.show(Path::new(path)), shown);
        }
    }
}
