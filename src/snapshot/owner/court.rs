//! Who made what of the changes of an interval: all that is known of it, brought before the rules of `share`.
//!
//! Made by `attribution` for one step; touches neither disk nor store.

use std::collections::{HashMap, HashSet};

use super::super::record::{FileState, FileWrite, Step};
use super::super::share::{self, Known, Part, Run, Runs, Whose};
use super::super::tree::{Blob, Change};
use super::super::writelog::{Claim, Other, Write};

/// So much earlier than a snapshot a write may have been announced that is not in it.
pub(super) const SLOW: i64 = 60_000_000_000;
/// So shortly before a snapshot an announced write may not be in it yet.
const BRIEF: i64 = 50_000_000;
/// When a snapshot was taken: its look's begin and end, in nanoseconds.
pub(super) type Look = (i64, i64);

/// What is known of our own part in an interval.
#[derive(Default)]
pub(super) struct Own {
    pub(super) writes: Vec<Write>,
    pub(super) runs: Vec<Run>,
    /// Numbers of the commands in our log.
    pub(super) ids: Vec<u64>,
    /// Not everything was said, or nothing is known of what was.
    pub(super) unsaid: bool,
}

impl Own {
    /// Whatever changed until the end is the step's.
    pub(super) fn anything(step: &Step) -> Self {
        Self {
            runs: vec![Run {
                begin: i64::MIN,
                end: step.until.unwrap_or(i64::MAX),
                text: String::new(),
                job: false,
            }],
            unsaid: true,
            ..Self::default()
        }
    }
}

/// The time between two snapshots.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) from: Look,
    pub(super) to: Look,
}

impl Span {
    /// True if the clock was set back meanwhile, so that times prove nothing.
    pub(super) fn is_odd(self) -> bool {
        self.to.1 < self.from.0
    }

    pub(super) fn whole(self) -> (i64, i64) {
        if self.is_odd() {
            (i64::MIN, i64::MAX)
        } else {
            (self.from.0, self.to.1)
        }
    }

    /// True if something of this moment belongs to the interval, or may.
    pub(super) fn holds(self, at: i64) -> bool {
        self.is_odd() || at >= self.from.0.saturating_sub(SLOW) && at <= self.to.1
    }

    pub(super) fn known(self, at: i64, states: [Option<Blob>; 2], whose: Whose) -> Known {
        Known {
            at,
            before: states[0],
            after: states[1],
            whose,
            early: at <= self.from.1 || self.is_odd(),
            late: at >= self.to.0.saturating_sub(BRIEF) || self.is_odd(),
            claim: false,
        }
    }
}

pub(super) fn blobs(states: &(Option<FileState>, Option<FileState>)) -> [Option<Blob>; 2] {
    // both were checked when they were read
    let blob = |state: &Option<FileState>| state.as_ref().and_then(|s| Blob::try_from(s).ok());
    [blob(&states.0), blob(&states.1)]
}

impl Other {
    /// True if it said something of this step: the process that ran it.
    pub(super) fn knows(&self, step: &Step) -> bool {
        let mut commands = self.account.commands.values();
        let mut writes = self.account.writes.values();
        commands.any(|c| c.step == step.name) || writes.any(|w| w.step == step.name)
    }
}

/// What is known of an interval, and what comes of it.
pub(super) struct Court {
    pub(super) span: Span,
    pub(super) runs: Runs,
    pub(super) ids: Vec<u64>,
    known: HashMap<Vec<u8>, Vec<Known>>,
    /// Files that others wrote, nobody says what.
    opaque: HashSet<Vec<u8>>,
    pub(super) claims: Vec<Claim>,
}

impl Court {
    pub(super) fn new(span: Span, own: Own, others: &[Other], step: &Step) -> Self {
        let mut court = Self {
            span,
            ids: own.ids,
            runs: Runs::default(),
            known: HashMap::new(),
            opaque: HashSet::new(),
            claims: Vec::new(),
        };
        for write in &own.writes {
            court.hear(write, Whose::Ours);
        }
        let first = own.runs.iter().map(|run| run.begin).min();
        court.runs.own = own.runs;
        for other in others {
            if step.cut && other.knows(step) {
                continue;
            }
            for write in other.account.writes.values().filter(|w| span.holds(w.at)) {
                court.hear(write, Whose::Theirs);
            }
            for claim in other.account.claims.iter().filter(|c| span.holds(c.at)) {
                let ours_too = first.is_some_and(|first| first <= claim.at);
                let whose = if claim.disputed && ours_too {
                    Whose::Disputed
                } else {
                    Whose::Theirs
                };
                let known = Known {
                    late: true,
                    claim: true,
                    ..span.known(claim.at, blobs(&claim.states), whose)
                };
                court
                    .known
                    .entry(claim.path.clone())
                    .or_default()
                    .push(known);
            }
            let commands = other.account.commands.values().filter(|c| !c.settled);
            court.runs.others.extend(commands.map(|c| Run {
                begin: c.begin,
                end: match c.end {
                    Some(end) => end,
                    None if other.alive => i64::MAX,
                    None => other.seen,
                },
                text: c.text.clone(),
                job: c.job,
            }));
        }
        court
    }

    fn hear(&mut self, write: &Write, whose: Whose) {
        let Some(states) = &write.states else {
            if whose == Whose::Theirs {
                self.opaque.insert(write.path.clone());
            }
            return;
        };
        let known = self.span.known(write.at, blobs(states), whose);
        self.known
            .entry(write.path.clone())
            .or_default()
            .push(known);
    }

    /// Divides a file's change: what is ours goes to `out`, and is claimed if commands made it.
    pub(super) fn divide(
        &mut self,
        change: &Change,
        window: (i64, i64),
        write: &mut dyn FnMut(&Part) -> FileWrite,
        out: &mut Vec<FileWrite>,
    ) {
        let none = Vec::new();
        let known = self.known.get(&change.path).unwrap_or(&none);
        let whole = self.span.whole();
        let mut parts = share::chain(change.before, change.after, known);
        if share::is_broken(&parts) {
            let whose = if self.runs.may_be_ours(&change.path, window) {
                Whose::Disputed
            } else {
                Whose::Theirs
            };
            parts = vec![Part {
                before: change.before,
                after: change.after,
                whose: Some(whose),
                claim: true,
                since: None,
                until: None,
            }];
        }
        for mut part in parts {
            let is_gap = part.whose.is_none();
            let mut whose = match (part.whose, part.until) {
                (Some(whose), _) => whose,
                (None, Some(until)) => {
                    let window = (part.since.unwrap_or(whole.0), until);
                    self.runs.judge(&change.path, window, whole)
                }
                (None, None) => self.runs.judge(&change.path, window, whole),
            };
            if is_gap && whose == Whose::Ours && self.opaque.contains(&change.path) {
                whose = Whose::Disputed;
            }
            part.whose = Some(whose);
            if whose == Whose::Theirs {
                continue;
            }
            let made = write(&part);
            if is_gap && whose != Whose::Late {
                let ends = self.runs.own.iter().map(|run| run.end);
                self.claims.push(Claim {
                    at: ends.max().unwrap_or(whole.1),
                    path: change.path.clone(),
                    states: (made.before.clone(), made.after.clone()),
                    disputed: made.disputed,
                });
            }
            out.push(made);
        }
    }
}
