//! What a look at the disk found goes into the state: new contents, names that are gone or hidden,
//! watches of folders.
//!
//! The other half of `visit`, which decides what to look at. Every change is noted in the `Pass`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::pass::{How, Pass};
use super::path::join;
use super::stat::born;
use super::state::{DirId, FileNode, Node, Skip, Stat};
use super::tree::Change;
use super::visit::{Open, Worktree};
use super::watch::Refused;

/// True unless the file can only have been made after this moment.
fn was_there(at: &Open<'_>, name: &[u8], stat: &Stat, moment: i64) -> bool {
    stat.ctime <= moment || born(at.fd, name).is_none_or(|born| born <= moment)
}

impl Worktree {
    /// Records a file's new state.
    pub(super) fn put(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        path: &[u8],
        file: FileNode,
        how: How,
    ) {
        let (_, name) = super::path::split(path);
        let mut bits = None;
        let before = match self.dirs.get(at.id, name) {
            Some(Node::File(before)) => {
                bits = Some(before.stat.bits());
                Some(before.blob())
            }
            Some(Node::Dir(_)) => {
                self.remove(pass, at, name);
                None
            }
            Some(Node::Skipped(..) | Node::Nested) => {
                pass.revealed.push((path.to_vec(), file.blob()));
                None
            }
            None => {
                if how.unseen || how.unveil && was_there(at, name, &file.stat, pass.previous) {
                    pass.revealed.push((path.to_vec(), file.blob()));
                }
                None
            }
        };
        self.linked.note(path, &file.stat);
        if before != Some(file.blob()) {
            self.dirs.soil(at.id);
            pass.changes.push(Change {
                path: path.to_vec(),
                before,
                after: Some(file.blob()),
                bits,
            });
        }
        self.dirs.set(at.id, name, Some(Node::File(file)));
    }

    /// Takes a name out that is still there: ignored now, or to be skipped.
    pub(super) fn hide(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        name: &[u8],
        skip: Option<(Skip, Stat)>,
    ) {
        let from = pass.changes.len();
        self.remove(pass, at, name);
        let hidden = pass.changes[from..].iter();
        pass.hidden
            .extend(hidden.filter_map(|c| Some((c.path.clone(), c.before?))));
        if let Some((why, stat)) = skip {
            pass.skipped.push((join(at.path, name), why));
            self.dirs.set(at.id, name, Some(Node::Skipped(why, stat)));
        }
    }

    pub(super) fn become_nested(&mut self, pass: &mut Pass<'_>, at: &Open<'_>, name: &[u8]) {
        self.hide(pass, at, name, None);
        self.dirs.set(at.id, name, Some(Node::Nested));
        self.nested.insert(join(at.path, name));
    }

    /// Forgets a name and all below it.
    pub(super) fn remove(&mut self, pass: &mut Pass<'_>, at: &Open<'_>, name: &[u8]) {
        let path = join(at.path, name);
        match self.dirs.get(at.id, name) {
            None => return,
            Some(Node::File(file)) => pass.changes.push(Change {
                before: Some(file.blob()),
                after: None,
                bits: Some(file.stat.bits()),
                path,
            }),
            Some(Node::Dir(child)) => {
                let child = *child;
                self.dirs.files_below(child, &path, &mut pass.changes);
                self.release(child);
            }
            Some(Node::Nested | Node::Skipped(..)) => {}
        }
        self.dirs.set(at.id, name, None);
        self.dirs.soil(at.id);
    }

    fn release(&mut self, id: DirId) {
        let children: Vec<DirId> = self.dirs[id]
            .entries
            .iter()
            .filter_map(|e| match e.node {
                Node::Dir(child) => Some(child),
                _ => None,
            })
            .collect();
        for child in children {
            self.release(child);
        }
        if let (Some(number), Some(watch)) = (self.dirs[id].watch, &mut self.watch) {
            watch.remove(number, id);
        }
        self.pending.remove(&id);
        self.dirs.release(id);
    }

    pub(super) fn set_watch(&mut self, id: DirId, path: &[u8]) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        if self.limited {
            return;
        }
        let before = self.dirs[id].watch.take();
        match watch.add(&self.root_path.join(OsStr::from_bytes(path)), id) {
            Ok(number) => {
                if let Some(before) = before.filter(|before| *before != number) {
                    watch.remove(before, id);
                }
                self.dirs[id].watch = Some(number);
            }
            Err(Refused::Gone) => {}
            Err(Refused::Full) => {
                tracing::warn!("inotify watches are used up; snapshots compare stats instead");
                self.unwatch();
            }
        }
    }
}
