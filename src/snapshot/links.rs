//! Files with several names: a change through one of them is a change of all, and only that one is reported.
//!
//! Called by the owner around each look; what is found goes to the names that are to be looked at.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::state::{Node, Stat};
use super::visit::Worktree;

/// More names are not looked at in each snapshot, only in full ones.
const MOST: usize = 2_000;

/// Names by inode.
#[derive(Debug, Default)]
pub(super) struct Linked {
    names: HashMap<u64, BTreeSet<Vec<u8>>>,
    /// Inodes that have more names than are known.
    wanted: HashSet<u64>,
    /// Those that were looked for already: the other names are elsewhere.
    sought: HashSet<u64>,
}

impl Linked {
    /// A file was looked at.
    pub(super) fn note(&mut self, path: &[u8], stat: &Stat) {
        if !stat.is_file() || stat.links < 2 {
            return;
        }
        let names = self.names.entry(stat.ino).or_default();
        if names.insert(path.to_vec()) && names.len() < stat.links as usize {
            self.wanted.insert(stat.ino);
        } else if names.len() >= stat.links as usize {
            self.wanted.remove(&stat.ino);
        }
    }
}

impl Worktree {
    /// Looks whether files with several names have changed: through another name it is not reported.
    pub(super) fn hint_linked(&mut self) {
        let all: usize = self.linked.names.values().map(BTreeSet::len).sum();
        if all > MOST {
            return;
        }
        let mut gone = Vec::new();
        let mut changed = Vec::new();
        for (ino, names) in &self.linked.names {
            for path in names {
                let (dir, name) = self.dirs.walk(path);
                let here = self.stat_at(path);
                match self.dirs.get(dir, name) {
                    Some(Node::File(file)) if file.stat.ino == *ino => {
                        if here != Some(file.stat) {
                            changed.push((dir, name.into()));
                        }
                    }
                    _ => gone.push((*ino, path.clone())),
                }
            }
        }
        for (dir, name) in changed {
            self.pending.entry(dir).or_default().insert(name);
        }
        for (ino, path) in gone {
            if let Some(names) = self.linked.names.get_mut(&ino) {
                names.remove(&path);
            }
        }
        self.linked.names.retain(|_, names| !names.is_empty());
    }

    /// A file got another name: looks which of the known files it is, and has them looked at.
    pub(super) fn find_linked(&mut self) {
        let wanted = std::mem::take(&mut self.linked.wanted);
        let wanted: HashSet<u64> = wanted.difference(&self.linked.sought).copied().collect();
        if wanted.is_empty() || wanted.len() > MOST {
            return;
        }
        let mut found = Vec::new();
        for id in self.dirs.alive() {
            for entry in &self.dirs[id].entries {
                if let Node::File(file) = &entry.node
                    && wanted.contains(&file.stat.ino)
                    && file.stat.links < 2
                {
                    found.push((id, entry.name.clone()));
                }
            }
        }
        for (dir, name) in found {
            self.pending.entry(dir).or_default().insert(name);
        }
        self.linked.sought.extend(wanted);
    }
}
