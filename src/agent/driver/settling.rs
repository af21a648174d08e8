//! What steps wrote: snapshots around them, the difference between, and the wait for it.
//!
//! Undo takes back what the agent wrote and nothing of anybody else, so the instant at which a step's calls
//! had ended goes along with its snapshot, however late that is taken. A step of which it is not known yet
//! what it wrote has a session value (`unsettled/<message>`): at the next opening that is made up for. Every
//! snapshot of the loop is asked for here.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::telling::step_name;
use super::{Agent, Back, END_PATIENCE};
use crate::agent::input::{Input, SnapshotTag};
use crate::agent::turn::{UNSETTLED, Unsettled};
use crate::context::Entry;
use crate::protocol::{Event, FileStatus, MessageId, NoticeLevel, PartBody, PatchFile, SnapshotId};
use crate::session::Record;
use crate::snapshot::{FileWrite, Hints, SnapshotState, Snapshots, Step};

/// What the last step changed is waited for so long without a word.
const QUIET: Duration = Duration::from_secs(1);
/// So long although nothing goes on, and so long at most.
const STUCK: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_mins(5);
/// How often a session says that it is alive while calls run.
pub(super) const ALIVE_EVERY: Duration = Duration::from_millis(500);
/// How much later than the last sign of life a process may have died, in nanoseconds.
const GRACE: i64 = 1_000_000_000;

/// The time now, in nanoseconds since the epoch: the clock of the times of files.
pub(super) fn clock() -> i64 {
    nanoseconds(SystemTime::now())
}

fn nanoseconds(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

/// When the last call ended; none if none has.
fn moment(ended: &AtomicI64) -> Option<i64> {
    Some(ended.load(Ordering::SeqCst)).filter(|at| *at > 0)
}

impl Agent {
    /// Takes a snapshot. The one after a step waits for calls that were cut and are not gone yet.
    pub(super) fn take_snapshot(&mut self, tag: SnapshotTag, mut hints: Hints) -> Option<Input> {
        let snapshots = self.ports.snapshots.clone();
        match snapshots.state() {
            SnapshotState::Off(_) => return Some(Input::Snapshot { tag, tree: None }),
            SnapshotState::Starting | SnapshotState::Ready => {}
        }
        let calls = match tag {
            SnapshotTag::End(_) => std::mem::take(&mut self.active.calls),
            SnapshotTag::Start(_) | SnapshotTag::BeforeWrite(_) => TaskTracker::new(),
        };
        calls.close();
        let ended = Arc::clone(&self.active.ended);
        // What is asked for first is looked at first.
        let begun = calls.is_empty().then(|| {
            if let SnapshotTag::End(_) = tag {
                hints.until = moment(&ended);
            }
            (hints.until, snapshots.take(hints.clone()))
        });
        let back = self.active.back.clone();
        self.active.pending += 1;
        tokio::spawn(async move {
            let (until, taken) = match begun {
                Some((until, taking)) => (until, taking.await),
                None => {
                    let over = tokio::time::timeout(END_PATIENCE, calls.wait()).await;
                    hints.until = moment(&ended).filter(|_| over.is_ok());
                    (hints.until, snapshots.take(hints).await)
                }
            };
            let tree = match taken {
                Ok(taken) => {
                    for text in taken.notices {
                        let level = NoticeLevel::Info;
                        drop(back.send(Back::Event(Event::Notice { level, text })));
                    }
                    if let SnapshotTag::End(message) = tag {
                        drop(back.send(Back::Until(message, until)));
                        if !taken.aside.is_empty() {
                            drop(back.send(Back::Writes(message, taken.aside)));
                        }
                    }
                    Some(taken.tree)
                }
                Err(error) => {
                    tracing::warn!(%error, "no snapshot");
                    None
                }
            };
            drop(back.send(Back::Input(Input::Snapshot { tag, tree })));
            drop(back.send(Back::Settled));
        });
        None
    }

    /// What a step changed: its files with counts for the transcript, its writes for undo. Where the
    /// tools say what they wrote, only that is theirs.
    pub(super) fn find_difference(
        &mut self,
        message: MessageId,
        from: SnapshotId,
        to: SnapshotId,
        wrote: Option<Vec<PathBuf>>,
    ) {
        let until = self.active.ends.remove(&message).flatten();
        let snapshots = self.ports.snapshots.clone();
        let root = self.ports.worktree.clone();
        let back = self.active.back.clone();
        self.active.pending += 1;
        tokio::spawn(async move {
            let own = |path: &str| {
                wrote
                    .as_ref()
                    .is_none_or(|paths| paths.iter().any(|p| *p == root.join(path)))
            };
            let step = Step {
                name: step_name(message),
                told: wrote.is_some(),
                until,
                cut: false,
            };
            let found = difference(&snapshots, (&from, &to), &step, own).await;
            if let Some((writes, files)) = found {
                tell(&back, message, (from, to), (writes, files));
            }
            drop(back.send(Back::Settled));
        });
    }

    /// What steps changed is still being found out: undo needs it, so it is waited for as long as there is
    /// progress, but not for ever. `hint` is what is said to somebody who wonders.
    pub(super) async fn wait_for_patches(&mut self, hint: &str) {
        let begun = Instant::now();
        let (mut beats, mut alive) = (self.ports.snapshots.beats(), begun);
        let mut told = false;
        while self.active.pending > 0 {
            match tokio::time::timeout(QUIET, self.back.recv()).await {
                Ok(Some(back)) => {
                    alive = Instant::now();
                    self.came_back(back);
                    continue;
                }
                Ok(None) => return,
                Err(_quiet) => {}
            }
            let now = Instant::now();
            let done = self.ports.snapshots.beats();
            if done != std::mem::replace(&mut beats, done) {
                alive = now;
            }
            if now - alive > STUCK || now - begun > PATIENCE {
                let text = "What the last step changed could not be found out in time; it is made up for when \
                            the session is opened again.";
                self.notice(NoticeLevel::Warning, text);
                return;
            }
            if !std::mem::replace(&mut told, true) {
                let text =
                    format!("Finding out which files the last step changed, for /undo. {hint}");
                self.notice(NoticeLevel::Info, text.trim_end());
            }
        }
    }

    /// Remembers of which steps the turn says that their writes are not known yet.
    pub(super) fn note_unsettled(&mut self, records: &[Record]) {
        for record in records {
            match record {
                Record::Value { name, value } if name.starts_with(UNSETTLED) => {
                    if value.is_null() {
                        let step = name.strip_prefix(UNSETTLED).unwrap_or_default();
                        self.ports.snapshots.nothing_written(step);
                        self.active.values.remove(name);
                    } else {
                        self.active.values.insert(name.clone(), value.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The steps whose writes are not known, with the moment at which their calls had ended: that of the
    /// last result, or for those that were cut together with the process its last sign of life.
    pub(super) fn unsettled(&self, alive: Option<SystemTime>) -> Vec<(MessageId, Unsettled, i64)> {
        let died = alive.map_or(0, |at| nanoseconds(at).saturating_add(GRACE));
        let steps = self.active.values.range(UNSETTLED.to_owned()..);
        steps
            .take_while(|(name, _)| name.starts_with(UNSETTLED))
            .filter_map(|(name, value)| {
                let message = name.strip_prefix(UNSETTLED)?.parse().ok()?;
                let step: Unsettled = serde_json::from_value(value.clone()).ok()?;
                let entry = self.active.turn.conversation().entry(message);
                let until = entry.and_then(ended).unwrap_or(died).min(died);
                Some((message, step, until))
            })
            .collect()
    }

    /// Makes up for what was not found out before the process ended.
    pub(super) fn make_up_for(&mut self, steps: Vec<(MessageId, Unsettled, i64)>) {
        if matches!(self.ports.snapshots.state(), SnapshotState::Off(_)) {
            return;
        }
        for (message, step, until) in steps {
            let hints = Hints {
                paths: step.wrote.clone(),
                unknown: true,
                ..Hints::default()
            };
            let taking = self.ports.snapshots.take(hints);
            let snapshots = self.ports.snapshots.clone();
            let root = self.ports.worktree.clone();
            let back = self.active.back.clone();
            self.active.pending += 1;
            tokio::spawn(async move {
                let own = |path: &str| {
                    step.unknown || step.wrote.iter().any(|written| *written == root.join(path))
                };
                let from = step.from.clone();
                let cut = Step {
                    name: step_name(message),
                    told: !step.unknown,
                    until: Some(until),
                    cut: true,
                };
                let found = match taking.await {
                    Ok(now) => difference(&snapshots, (&from, &now.tree), &cut, own)
                        .await
                        .map(|found| (found, now.tree)),
                    Err(error) => {
                        tracing::warn!(%error, "what a cut step wrote is not known");
                        None
                    }
                };
                if let Some(((writes, files), to)) = found {
                    tell(&back, message, (from, to), (writes, files));
                }
                drop(back.send(Back::Settled));
            });
        }
    }
}

/// Tells what a step wrote: what undo works by first, then what is shown of it.
fn tell(
    back: &UnboundedSender<Back>,
    message: MessageId,
    (from, to): (SnapshotId, SnapshotId),
    (writes, files): (Vec<FileWrite>, Vec<PatchFile>),
) {
    drop(back.send(Back::Writes(message, writes)));
    drop(back.send(Back::Known(message)));
    drop(back.send(Back::Input(Input::Patch {
        message,
        from,
        to,
        files,
    })));
}

/// When the last call of a step ended, in nanoseconds; none if one was cut with the process.
fn ended(entry: &Entry) -> Option<i64> {
    let calls = entry
        .parts
        .iter()
        .filter(|part| matches!(part.body, PartBody::Tool(_)));
    let ends: Option<Vec<i64>> = calls.map(|part| part.end).collect();
    // milliseconds were cut off
    let last = ends?.into_iter().max()?.checked_add(1)?;
    last.checked_mul(1_000_000)
}

/// The writes of an interval and the line counts of those that are known, for the paths that are ours; none
/// if they cannot be found out.
async fn difference(
    snapshots: &Snapshots,
    (from, to): (&SnapshotId, &SnapshotId),
    step: &Step,
    own: impl Fn(&str) -> bool,
) -> Option<(Vec<FileWrite>, Vec<PatchFile>)> {
    let mut writes = match snapshots.step_writes(from, to, step).await {
        Ok(writes) => writes,
        Err(error) => {
            tracing::warn!(%error, "what the step wrote is not known: it cannot be undone");
            return None;
        }
    };
    writes.retain(|w| own(&w.path));
    // what no snapshot holds no diff shows
    let sure = writes.iter().filter(|w| !w.unsure && !w.aside);
    let sure: Vec<FileWrite> = sure.cloned().collect();
    if sure.is_empty() {
        return Some((writes, Vec::new()));
    }
    let counted = snapshots.count_writes(sure.clone()).await;
    let files = counted.unwrap_or_else(|error| {
        tracing::warn!(%error, "no line counts");
        sure.iter().map(uncounted).collect()
    });
    Some((writes, files))
}

/// A file of a patch whose lines could not be counted.
fn uncounted(write: &FileWrite) -> PatchFile {
    let status = match (&write.before, &write.after) {
        (None, _) => FileStatus::Added,
        (_, None) => FileStatus::Deleted,
        _ => FileStatus::Modified,
    };
    PatchFile {
        path: write.path.clone(),
        added: 0,
        removed: 0,
        status,
    }
}
