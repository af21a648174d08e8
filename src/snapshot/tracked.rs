//! Which files the user's index tracks: those are kept whatever the ignore rules say.
//!
//! Called by the owner after it read the index. Files in the state carry a flag; tracked files that
//! the rules exclude are also known by name, so that they are found again after they were gone.

use super::path::{join, split};
use super::rules;
use super::seed::Seed;
use super::state::{DirId, Node, ROOT};
use super::visit::Worktree;

impl Worktree {
    /// Takes over what the index says. Tracked files that the rules hide are to be looked at. True
    /// if a file is not tracked any more, so that the rules apply to it again.
    pub(super) fn retrack(&mut self, seed: &Seed) -> bool {
        let mut untracked = self.flag(ROOT, &[], seed);
        let before = std::mem::take(&mut self.kept);
        self.kept_dirs.clear();
        for path in seed.paths() {
            let (dir, rest) = self.dirs.walk(path);
            let known = !rest.contains(&b'/') && self.dirs.get(dir, rest).is_some();
            let ignored = self.dirs[dir].ignored;
            if !(ignored || before.contains(path) || self.is_excluded(dir, path, rest)) {
                continue;
            }
            self.keep(path);
            if !known {
                let name = rest.split(|&b| b == b'/').next().unwrap_or(rest);
                self.pending.entry(dir).or_default().insert(name.into());
            }
        }
        untracked |= before.iter().any(|path| !self.kept.contains(path));
        untracked
    }

    /// Sets the flags of known files; true if one was tracked and is not any more.
    fn flag(&mut self, id: DirId, path: &[u8], seed: &Seed) -> bool {
        let mut lost = false;
        let mut inner = Vec::new();
        for entry in &mut self.dirs[id].entries {
            let below = join(path, &entry.name);
            match &mut entry.node {
                Node::File(file) => {
                    let tracked = seed.tracks(&below);
                    lost |= file.tracked && !tracked;
                    file.tracked = tracked;
                }
                Node::Dir(child) => inner.push((*child, below)),
                Node::Nested | Node::Skipped(..) => {}
            }
        }
        for (child, below) in inner {
            lost |= self.flag(child, &below, seed);
        }
        lost
    }

    /// True if the rules exclude this tracked path, whose part `rest` is below the folder `dir`.
    fn is_excluded(&self, dir: DirId, path: &[u8], rest: &[u8]) -> bool {
        let above = path[..path.len() - rest.len()].strip_suffix(b"/");
        let above = above.unwrap_or_default();
        // the folders in between are not known: they are gone, or excluded
        let parts = rest.split(|&b| b == b'/').count();
        let mut end = 0;
        rest.split(|&b| b == b'/').enumerate().any(|(at, part)| {
            end += part.len() + usize::from(at > 0);
            let here = (above, &rest[..end]);
            rules::is_ignored(&self.dirs, &self.outer, dir, here, at + 1 < parts)
        })
    }

    /// Remembers a tracked file that the rules exclude.
    pub(super) fn keep(&mut self, path: &[u8]) {
        self.kept.insert(path.into());
        let mut dir = split(path).0;
        while !dir.is_empty() && self.kept_dirs.insert(dir.into()) {
            dir = split(dir).0;
        }
    }
}
