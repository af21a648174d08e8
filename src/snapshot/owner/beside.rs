//! What is told with a snapshot of files that it leaves out.

use super::super::record::{FileWrite, Hints, SnapshotError};
use super::super::state::Node;
use super::super::{aside, path};
use super::Owner;

impl Owner {
    /// Of the paths that tools named, those that the snapshot leaves out.
    pub(super) fn look_aside(
        &mut self,
        named: &[Vec<u8>],
        hints: &Hints,
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let dirs = &self.worktree.dirs;
        let held = |path: &[u8]| {
            let (dir, name) = dirs.walk(path);
            matches!(dirs.get(dir, name), Some(Node::File(_)))
        };
        let until = hints.until.filter(|_| self.worktree.has_own_times());
        let late = |path: &[u8]| {
            let changed = self.worktree.stat_at(path).map(|stat| stat.ctime);
            until.is_some_and(|until| changed.is_some_and(|at| at > until))
        };
        let look = aside::Look {
            repo: &self.repo,
            worktree: &self.place.worktree,
            max_file: self.settings.max_file,
            held: &held,
            late: &late,
        };
        if hints.before {
            self.aside.note(&look, named)?;
            return Ok(Vec::new());
        }
        let mut writes = self.aside.written(&look, named)?;
        if !hints.step.is_empty() {
            self.in_own_words(&hints.step, &mut writes);
        }
        Ok(writes)
    }

    /// Where tools said what they wrote, that is what they wrote, whatever somebody else made of it since.
    fn in_own_words(&self, step: &str, writes: &mut Vec<FileWrite>) {
        self.log.own(|account| {
            writes.retain_mut(|write| {
                let at = path::from_text(&write.path).unwrap_or_default();
                let said = account.writes.values();
                let mut said = said.filter(|one| one.step == step && one.path == at);
                let (first, last) = (said.clone().next(), said.next_back());
                let states = first
                    .zip(last)
                    .map(|(first, last)| (&first.states, &last.states));
                if let Some((Some((before, _)), Some((_, after)))) = states {
                    write.before.clone_from(before);
                    write.after.clone_from(after);
                    write.unsure = false;
                }
                write.before != write.after
            });
        });
    }
}
