//! Looks only at what was reported: names from the watch, paths from tools.
//!
//! The quick half of `visit`: with a watch this is all that a snapshot does. Also serves worktrees
//! that are too large to be looked at as a whole, where only touched paths count.

use std::os::fd::AsFd as _;

use super::pass::{How, Pass};
use super::path::join;
use super::record::SnapshotError;
use super::state::{Node, ROOT};
use super::visit::{Open, Worktree};
use super::watch::Seen;

/// Nested repositories that every snapshot looks after; a full look finds the others.
const NESTED_PER_LOOK: usize = 64;

impl Worktree {
    /// Reads the queue of the watch. True if events were lost.
    pub(super) fn drain(&mut self) -> bool {
        let Some(watch) = &mut self.watch else {
            return false;
        };
        let (dirs, pending) = (&mut self.dirs, &mut self.pending);
        watch.drain(|seen| match seen {
            Seen::Name(dir, name) => {
                pending.entry(dir).or_default().insert(name);
            }
            Seen::Lost(dir) => {
                dirs[dir].watch = None;
                // list it again, should it still (or again) be there
                dirs[dir].racy = true;
            }
        })
    }

    /// A tool wrote this path.
    pub(super) fn hint(&mut self, pass: &mut Pass<'_>, path: &[u8]) -> Result<(), SnapshotError> {
        if self.limited {
            return self.touch(pass, path);
        }
        let (dir, rest) = self.dirs.walk(path);
        let name = rest.split(|&b| b == b'/').next().unwrap_or(rest);
        self.pending.entry(dir).or_default().insert(name.into());
        Ok(())
    }

    /// True if the watch or a tool reported names that were not looked at yet.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nested repositories are not watched; looks whether they still are any.
    pub(super) fn hint_nested(&mut self, pass: &mut Pass<'_>) -> Result<(), SnapshotError> {
        let ended: Vec<Vec<u8>> = self
            .nested
            .iter()
            .take(NESTED_PER_LOOK)
            .filter(|path| self.stat_at(&join(path, b".git")).is_none())
            .cloned()
            .collect();
        for path in ended {
            self.nested.remove(&path);
            self.hint(pass, &path)?;
        }
        Ok(())
    }

    /// Looks at the names that were reported.
    pub(super) fn visit_pending(&mut self, pass: &mut Pass<'_>) -> Result<(), SnapshotError> {
        while let Some((id, names)) = self.pending.pop_first() {
            if !self.dirs[id].alive {
                continue;
            }
            let path = self.dirs.path(id);
            let Ok(fd) = self.open_dir(&path) else {
                continue; // its own parent reports that it is gone
            };
            let at = Open {
                id,
                fd: fd.as_fd(),
                path: &path,
            };
            if names.contains(&b".git"[..]) && id != ROOT {
                // it became a repository of its own, or stopped being one
                let (dir, name) = (self.dirs[id].parent, self.dirs[id].name.clone());
                self.pending.entry(dir).or_default().insert(name);
                continue;
            }
            for name in &names {
                self.look(pass, &at, name, true, How::ALL)?;
            }
            if names.contains(&b".gitignore"[..]) && self.dirs[id].alive {
                self.visit(pass, id, &path, How::default())?;
            }
        }
        Ok(())
    }

    /// Looks at one path of a worktree that is too large to be looked at as a whole.
    fn touch(&mut self, pass: &mut Pass<'_>, path: &[u8]) -> Result<(), SnapshotError> {
        let mut id = ROOT;
        let mut done = 0;
        while let Some(slash) = path[done..].iter().position(|&b| b == b'/') {
            let name = &path[done..done + slash];
            let below = &path[..done + slash];
            let is_dir = self.stat_at(below).is_some_and(|stat| stat.is_dir());
            let nested = self.stat_at(&join(below, b".git")).is_some();
            if !is_dir || nested || name == b".git" {
                break;
            }
            id = if let Some(Node::Dir(child)) = self.dirs.get(id, name) {
                *child
            } else {
                let child = self.dirs.add(id, name, false);
                self.dirs.set(id, name, Some(Node::Dir(child)));
                self.dirs.soil(id);
                child
            };
            done += slash + 1;
        }
        let name = path[done..]
            .split(|&b| b == b'/')
            .next()
            .unwrap_or_default();
        let first = self.touched.insert(path.into());
        let dir_path = self.dirs.path(id);
        let Ok(fd) = self.open_dir(&dir_path) else {
            return Ok(());
        };
        let at = Open {
            id,
            fd: fd.as_fd(),
            path: &dir_path,
        };
        let how = How {
            // what was not named before it was written is not known to be new
            unseen: first,
            ..How::ALL
        };
        self.look(pass, &at, name, true, how)
    }
}
