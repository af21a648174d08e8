//! Where a session works: which paths are inside, which are outside, how a typed path is resolved.
//!
//! Paths are compared by their names. What is on the disk is known only through the functions that
//! the caller passes in (`Place::sight`); without them, `..` and `.` are taken out and that is all.

use std::path::{Component, Path, PathBuf};

pub use crate::config::sight::Kind;

/// A name in a folder, and what it is.
pub type Entry = (String, Kind);

/// How the judge sees the disk: functions that only look.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// Follows links, as far as the path exists.
    pub resolve: fn(&Path) -> PathBuf,
    /// Names in a folder with what they are; empty if it is none, none if they cannot be told (too
    /// many, or a name that is no text).
    pub entries: fn(&Path) -> Option<Vec<Entry>>,
    /// True if something is there.
    pub exists: fn(&Path) -> bool,
    /// The folder that a `.git` file names; none if it is no such file.
    pub git_link: fn(&Path) -> Option<PathBuf>,
}

impl Sight {
    /// The sight of the real disk.
    pub const fn of_disk() -> Self {
        Self {
            resolve: crate::config::paths::resolve,
            entries: crate::config::sight::entries,
            exists: crate::config::sight::exists,
            git_link: crate::config::sight::git_link,
        }
    }
}

/// The surroundings of a session.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The worktree's root, resolved.
    pub worktree: PathBuf,
    /// Folders for temporary files, resolved. Reading there is like in the worktree, writing only where
    /// the sandbox stands guard. One that the worktree lies in is a folder like any other: what is
    /// beside the worktree is outside.
    pub temp: Vec<PathBuf>,
    /// Folders that may be read without asking: full outputs, skills.
    pub readable: Vec<PathBuf>,
    /// More folders that count as inside, from `sandbox.writable`.
    pub writable: Vec<PathBuf>,
    /// The home folder.
    pub home: PathBuf,
    /// True if commands run in the sandbox.
    pub sandboxed: bool,
    /// Looks at the disk; none for a purely lexical judgement.
    pub sight: Option<Sight>,
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
    /// A typed path as the kernel would see it from `cwd`.
    pub fn absolute(&self, cwd: &Path, typed: &str) -> PathBuf {
        self.real(&normal(&cwd.join(typed)))
    }

    /// A path with its links followed.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.sight
            .map_or_else(|| path.to_owned(), |sight| (sight.resolve)(path))
    }

    /// True if this path may be read without being outside.
    pub fn reads_inside(&self, path: &Path) -> bool {
        self.writes_inside(path)
            || self.in_temp(path)
            || self.readable.iter().any(|dir| path.starts_with(dir))
    }

    /// True below a folder for temporary files that the worktree does not lie in.
    pub fn in_temp(&self, path: &Path) -> bool {
        self.temp
            .iter()
            .any(|dir| path.starts_with(dir) && !self.worktree.starts_with(dir))
    }

    /// True if this path may be written without being outside.
    pub fn writes_inside(&self, path: &Path) -> bool {
        is_device(path)
            || self.in_worktree(path)
            || self.writable.iter().any(|dir| path.starts_with(dir))
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
        assert!(!place.writes_inside(Path::new("/tmp/x")));
        assert!(place.is_protected(Path::new("/h/u/w/.git/hooks/pre-commit")));
        assert!(!place.is_protected(Path::new("/h/u/w/.gitignore")));
    }

    #[test]
    fn what_is_beside_a_worktree_in_a_temporary_folder_is_outside() {
        let place = Place {
            worktree: PathBuf::from("/tmp/run/w"),
            temp: vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")],
            ..Place::default()
        };
        let inside = |path: &str| place.reads_inside(Path::new(path));
        assert!(inside("/tmp/run/w/a") && inside("/var/tmp/x"));
        assert!(!inside("/tmp/run/x") && !inside("/tmp/y"));
    }

    #[test]
    fn links_are_followed_by_the_caller() {
        let mut place = place();
        place.sight = Some(Sight {
            resolve: |path| {
                if path.starts_with("/h/u/w/link") {
                    PathBuf::from("/etc/passwd")
                } else {
                    path.to_owned()
                }
            },
            entries: |_| None,
            exists: |_| false,
            git_link: |_| None,
        });
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
