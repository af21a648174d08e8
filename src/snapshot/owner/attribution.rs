//! What a step wrote, and nothing of anybody else: its tools' own words, and of what changed while its
//! commands ran what other sessions did not do.
//!
//! Reads snapshots, the write logs and what the owner remembers of times; `share` decides. What is found
//! out is said in our log, so that the others come to the mirrored result.

use std::collections::{BTreeMap, HashSet};

use super::super::record::{FileState, FileWrite, SnapshotError, Step};
use super::super::share::{Part, Run, TICK, Whose};
use super::super::tree::{self, Blob, Change, EXEC, Id, PLAIN};
use super::super::writelog::{Account, Other, Write};
use super::super::{path, repo};
use super::court::{Court, Own, SLOW, Span, blobs};
use super::{Owner, tree_id};
use crate::protocol::SnapshotId;

/// More files that went out of view are not named.
const HIDDEN: usize = 200;
/// More writes of one step are not told to others; they judge by times and names then.
const CLAIMS: usize = 2_000;

impl Owner {
    /// What a step wrote between two snapshots. None if another session is about to say what a command of
    /// its own did, and there is `patience`.
    pub(in crate::snapshot) fn step_writes(
        &self,
        (from, to): (&SnapshotId, &SnapshotId),
        step: &Step,
        patience: bool,
    ) -> Result<Option<Vec<FileWrite>>, SnapshotError> {
        let trees = (tree_id(from)?, tree_id(to)?);
        let always = (i64::MIN, i64::MAX);
        let look = |tree| self.looks.get(&tree).copied();
        let span = Span {
            from: look(trees.0).unwrap_or(always),
            to: look(trees.1).unwrap_or(always),
        };
        let (own, span) = match step {
            _ if step.name.is_empty() => (Own::anything(step), span),
            _ if step.cut => self.cut(step, span),
            _ => (self.log.own(|account| own_part(account, step, span)), span),
        };
        let mut writes = self.told(step, &own, trees)?;
        if step.told && !own.unsaid {
            return Ok(Some(writes));
        }
        let changes = self.written(from, to)?;
        let others = match step.name.as_str() {
            "" => Vec::new(),
            _ => self.log.others(span.from.0.saturating_sub(SLOW)),
        };
        if patience && is_about_to_say(&others, span, &own) {
            return Ok(None);
        }
        let mut court = Court::new(span, own, &others, step);
        let changed: HashSet<&[u8]> = changes.iter().map(|c| &*c.path).collect();
        writes.retain(|write| {
            path::from_text(&write.path).is_none_or(|path| !changed.contains(&*path))
        });
        for change in &changes {
            let window = self.window(change, &court);
            court.divide(
                change,
                window,
                &mut |part| self.write_of(change, part),
                &mut writes,
            );
        }
        writes.extend(self.lost_sight_of(trees, &court)?);
        writes.sort_by(|a, b| a.path.cmp(&b.path));
        if !step.name.is_empty() && !step.cut {
            self.say(court, &others);
        }
        Ok(Some(writes))
    }

    /// Stores what a tool writes over and what it writes, up to a size, and gives their states.
    pub(in crate::snapshot) fn keep_states(
        &self,
        (before, after): (Option<Vec<u8>>, Option<Vec<u8>>),
        bits: Option<u32>,
        most: u64,
    ) -> Result<(Option<FileState>, Option<FileState>), SnapshotError> {
        let state = |data: Option<Vec<u8>>| {
            let Some(data) = data else { return Ok(None) };
            let id = if data.len() as u64 <= most {
                self.repo.put_blob(&data, true)?
            } else {
                repo::blob_id(&data)?
            };
            let mode = if bits.is_some_and(|bits| bits & 0o100 != 0) {
                EXEC
            } else {
                PLAIN
            };
            Ok(Some(Blob { id, mode }.with_bits(bits)))
        };
        Ok((state(before)?, state(after)?))
    }

    /// The writes of a step's tools, in their own words; but those of files that no snapshot holds, which
    /// are told with the snapshot itself. After a death they are told here.
    fn told(
        &self,
        step: &Step,
        own: &Own,
        trees: (Id, Id),
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let read = |id: Id| self.repo.tree(id);
        let mut files: BTreeMap<&[u8], Vec<FileWrite>> = BTreeMap::new();
        for write in own.writes.iter().filter(|write| write.step == step.name) {
            let Some((before, after)) = write.states.clone() else {
                continue;
            };
            let spans = files.entry(&write.path).or_default();
            match spans.last_mut() {
                Some(last) if last.after == before => last.after = after,
                _ => spans.push(told(&write.path, before, after)),
            }
        }
        let mut out = Vec::new();
        for (path, mut spans) in files {
            let there = tree::find(trees.1, path, &read)?;
            let held = there.is_some() || tree::find(trees.0, path, &read)?.is_some();
            if !held && !step.cut {
                continue;
            }
            if let (true, Some(last)) = (step.cut && held, spans.last()) {
                // announced, and killed before it was made
                let [before, after] = blobs(&(last.before.clone(), last.after.clone()));
                if there == before && there != after {
                    spans.pop();
                }
            }
            for mut write in spans {
                write.aside = !held;
                if let Some(state) = &mut write.after
                    && let Ok(blob) = Blob::try_from(&*state)
                {
                    state.bits = state.bits.or_else(|| self.bits_now(path, blob));
                }
                if write.before != write.after {
                    out.push(write);
                }
            }
        }
        Ok(out)
    }

    /// What a process that died said of a step, and since when; whatever changed until its last sign of life
    /// is the step's if it did not say everything.
    fn cut(&self, step: &Step, span: Span) -> (Own, Span) {
        let Some(other) = self.log.others(0).into_iter().find(|o| o.knows(step)) else {
            return (Own::anything(step), span);
        };
        let Account {
            writes, commands, ..
        } = other.account;
        let writes: Vec<Write> = writes
            .into_values()
            .filter(|w| w.step == step.name)
            .collect();
        let commands = commands.into_values().filter(|c| c.step == step.name);
        let end = step.until.unwrap_or(i64::MAX);
        let runs: Vec<Run> = commands
            .map(|c| Run {
                begin: c.begin,
                end: c.end.unwrap_or(end),
                text: c.text,
                job: c.job,
            })
            .filter(|run| !run.job)
            .collect();
        let begun = runs.iter().map(|run| run.begin);
        let begun = begun.chain(writes.iter().map(|w| w.at)).min();
        let span = Span {
            from: begun.map_or(span.from, |at| (at, at)),
            ..span
        };
        let unsaid = writes.iter().any(|write| write.states.is_none());
        let runs = if unsaid {
            Own::anything(step).runs
        } else {
            runs
        };
        let own = Own {
            writes,
            runs,
            unsaid,
            ..Own::default()
        };
        (own, span)
    }

    /// Files that commands changed and that went out of view before they were looked at: a rule excludes them
    /// now, or a repository was made around them.
    fn lost_sight_of(
        &self,
        trees: (Id, Id),
        court: &Court,
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let unknown = court.span.is_odd() || court.span.from.0 == i64::MIN;
        if self.hidden.is_empty() || !self.worktree.has_own_times() || unknown {
            return Ok(Vec::new());
        }
        let read = |id: Id| self.repo.tree(id);
        let changes = tree::changes(trees.0, trees.1, &read)?;
        let hidden = changes.into_iter().filter_map(|c| {
            let before = c.before.filter(|_| c.after.is_none())?;
            let was_hidden = self.hidden.get(&c.path) == Some(&before);
            let stat = self.worktree.stat_at(&c.path).filter(|_| was_hidden)?;
            if stat.ctime < court.span.from.0.saturating_sub(TICK) {
                return None;
            }
            let ours = court
                .runs
                .judge(&c.path, (stat.ctime, stat.ctime), court.span.whole());
            (ours == Whose::Ours).then(|| FileWrite {
                unsure: true,
                hidden: true,
                ..told(&c.path, Some(before.into()), None)
            })
        });
        Ok(hidden.take(HIDDEN).collect())
    }

    /// When a file became what it is, as far as that is known.
    fn window(&self, change: &Change, court: &Court) -> (i64, i64) {
        let whole = court.span.whole();
        if !self.worktree.has_own_times() || court.span.is_odd() {
            return whole;
        }
        let Some(at) = self.changed_at(change) else {
            // when a file went away is not known, only that its folder has not changed since
            let folder = self.last_folder_change(&change.path).unwrap_or(whole.1);
            return (whole.0, folder.min(whole.1).max(whole.0));
        };
        let begun = court.runs.own.iter().map(|run| run.begin).min();
        if begun.is_some_and(|begun| at < begun.saturating_sub(TICK))
            && let Some(moved) = self.arrived(&change.path, whole.0)
        {
            return (whole.0, moved.max(whole.0));
        }
        (at, at)
    }

    /// When the folder changed last in which a path is, or was; of those that are gone the one above. What is
    /// a link by now is not followed.
    fn last_folder_change(&self, path: &[u8]) -> Option<i64> {
        let (dir, _) = self.worktree.dirs.walk(path);
        let mut above = &path[..self.worktree.dirs.path(dir).len()];
        loop {
            let at: &[u8] = if above.is_empty() { b"." } else { above };
            match self.worktree.stat_at(at) {
                Some(stat) if stat.is_dir() => return Some(stat.ctime.max(stat.mtime)),
                _ if above.is_empty() => return None,
                _ => above = path::split(above).0,
            }
        }
    }

    /// When a folder above the path came to its place, if that was after this moment: files in it that are
    /// older were moved there with it.
    fn arrived(&self, path: &[u8], since: i64) -> Option<i64> {
        let mut above = path::split(path).0;
        let mut found = None;
        while !above.is_empty() {
            let at = self.arrivals.get(above).copied();
            found = found.max(at.filter(|at| *at >= since.saturating_sub(TICK)));
            above = path::split(above).0;
        }
        found
    }

    fn write_of(&self, change: &Change, part: &Part) -> FileWrite {
        let whose = part.whose.unwrap_or(Whose::Theirs);
        FileWrite {
            path: path::to_text(&change.path),
            before: part
                .before
                .map(|blob| blob.with_bits(self.bits_before(&change.path, blob))),
            after: part
                .after
                .map(|blob| blob.with_bits(self.bits_now(&change.path, blob))),
            aside: false,
            unsure: matches!(whose, Whose::Late | Whose::Disputed),
            disputed: whose == Whose::Disputed,
            hidden: false,
        }
    }

    /// Tells others what our commands are held to have done.
    fn say(&self, court: Court, others: &[Other]) {
        let heard = others.iter().any(|other| other.alive);
        if !heard {
            self.log.settle(Vec::new(), &court.ids);
        } else if court.claims.len() <= CLAIMS {
            self.log.settle(court.claims, &court.ids);
        }
    }
}

fn told(at: &[u8], before: Option<FileState>, after: Option<FileState>) -> FileWrite {
    FileWrite {
        path: path::to_text(at),
        before,
        after,
        aside: false,
        unsure: false,
        disputed: false,
        hidden: false,
    }
}

/// Our tools' writes and commands in an interval, those of subagents included.
fn own_part(account: &Account, step: &Step, span: Span) -> Own {
    let writes = account.writes.values();
    let writes = writes.filter(|write| write.step == step.name || span.holds(write.at));
    let commands = account.commands.iter().filter(|(_, command)| {
        let ended = command.end.unwrap_or(i64::MAX);
        let meets = span.is_odd() || ended >= span.from.0 && command.begin <= span.to.1;
        !command.job && (command.step == step.name || meets)
    });
    let (ids, runs) = commands
        .map(|(id, command)| {
            let run = Run {
                begin: command.begin,
                end: command.end.or(step.until).unwrap_or(span.to.1),
                text: command.text.clone(),
                job: false,
            };
            (*id, run)
        })
        .unzip();
    Own {
        writes: writes.cloned().collect(),
        runs,
        ids,
        unsaid: false,
    }
}

/// True if somebody else is finding out right now what a command or a tool of his did.
fn is_about_to_say(others: &[Other], span: Span, own: &Own) -> bool {
    let last = own
        .runs
        .iter()
        .map(|run| run.end)
        .max()
        .unwrap_or(span.to.1);
    let mut alive = others.iter().filter(|other| other.alive);
    alive.any(|other| {
        let mut commands = other.account.commands.values();
        let mut writes = other.account.writes.values();
        // who ended first speaks first, so nobody waits for each other
        commands.any(|c| {
            !c.job && !c.settled && c.end.is_some_and(|end| end >= span.from.0 && end <= last)
        }) || writes.any(|w| w.states.is_none() && span.holds(w.at))
    })
}
