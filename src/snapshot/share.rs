//! Whose part of a file's change is whose: the way from one content to another, cut at the writes that are
//! known, and a judgement of what is left between them.
//!
//! `chain` orders the known writes so that as little as possible stays unexplained; `judge` says whether a
//! rest can be our commands' work. Pure: times, states and command lines come from the owner.

use super::naming::names;
use super::tree::Blob;

/// A file's content and kind; none if there is no file.
pub(super) type State = Option<Blob>;

/// More known writes to one file than are looked at; the oldest are left out.
const MOST: usize = 400;
/// Writes that were told within so short a time may have been made the other way round.
const CLOSE: i64 = 2_000_000_000;
/// Times of files are those of the kernel's last tick.
pub(super) const TICK: i64 = 10_000_000;

/// Who made a part of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Ours,
    /// Another session's, or the user's.
    Theirs,
    /// It may be ours or another session's command.
    Disputed,
    /// Somebody wrote after our commands had ended, so that it is not known what they left.
    Late,
}

/// A write that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) at: i64,
    pub(super) before: State,
    pub(super) after: State,
    pub(super) whose: Whose,
    /// It may have been made before what is looked at begins.
    pub(super) early: bool,
    /// It may have been made after what is looked at ends, or never.
    pub(super) late: bool,
    /// Not the word of a tool but what a command of another session is held to have done.
    pub(super) claim: bool,
}

/// A part of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) before: State,
    pub(super) after: State,
    /// None: nobody said that he made it.
    pub(super) whose: Option<Whose>,
    pub(super) claim: bool,
    /// Of an unexplained part: when the write before it was made, and the one after it; none at the ends.
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
}

/// The way from one state to another through the writes that are known.
pub(super) fn chain(from: State, to: State, known: &[Known]) -> Vec<Part> {
    let known = ordered(from, &begun(from, known));
    let mut parts = Vec::new();
    let (mut at, mut since) = (from, None);
    let mut gap = |at: State, after: State, since, until| {
        if at != after {
            parts.push(Part {
                before: at,
                after,
                whose: None,
                claim: false,
                since,
                until,
            });
        }
        parts.len()
    };
    let mut taken = Vec::new();
    for one in ended(to, &known) {
        let place = gap(at, one.before, since, Some(one.at));
        taken.push((place, *one));
        (at, since) = (one.after, Some(one.at));
    }
    gap(at, to, since, None);
    for (count, (place, one)) in taken.into_iter().enumerate() {
        parts.insert(
            place + count,
            Part {
                before: one.before,
                after: one.after,
                whose: Some(one.whose),
                claim: one.claim,
                since: None,
                until: None,
            },
        );
    }
    parts.retain(|part| part.before != part.after);
    parts
}

/// True if claims do not fit into the way: they are made of snapshots, so what stands between them or before
/// them may be an echo of what they say themselves. Only what comes after the last one is to be trusted.
pub(super) fn is_broken(parts: &[Part]) -> bool {
    let before = parts.split_last().map_or(parts, |(_, before)| before);
    parts.iter().any(|part| part.claim) && before.iter().any(|part| part.whose.is_none())
}

/// By time; of two that were told at nearly the same time the one comes first that the other goes on from.
fn ordered(from: State, known: &[Known]) -> Vec<Known> {
    let mut rest: Vec<Known> = known.to_vec();
    rest.drain(..rest.len().saturating_sub(MOST));
    let mut out = Vec::with_capacity(rest.len());
    let mut at = from;
    while let Some(first) = rest.first() {
        let limit = first.at.saturating_add(CLOSE);
        let near = rest.iter().take_while(|one| one.at <= limit);
        let next = near
            .enumerate()
            .find(|(_, one)| one.before == at && one.after == first.before)
            .map_or(0, |(index, _)| index);
        let one = rest.remove(next);
        at = one.after;
        out.push(one);
    }
    out
}

/// By time, without those that are in the first snapshot: what was told around its time is, unless what is
/// there says that it came after.
fn begun(from: State, known: &[Known]) -> Vec<Known> {
    let mut rest = known.to_vec();
    rest.sort_by_key(|one| one.at);
    let early = rest.iter().take_while(|one| one.early).count();
    let goes_on = rest[..early].iter().position(|one| one.before == from);
    rest.split_off(goes_on.unwrap_or(early))
}

/// Without those that are not in the second snapshot yet: what was told around its time is, unless what is
/// there says that it is not. A write too many there costs nothing, one too few is somebody's work.
fn ended(to: State, known: &[Known]) -> &[Known] {
    if known.last().is_none_or(|last| last.after == to) {
        return known;
    }
    let late = known.iter().rev().take_while(|one| one.late).count();
    let from_here = known.len() - late;
    let not_yet = known[from_here..].iter().position(|one| one.before == to);
    &known[..not_yet.map_or(known.len(), |at| from_here + at)]
}

/// A command, as far as a dispute is concerned.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) text: String,
    /// It runs beside everything else for long (a server), so that it ran proves little.
    pub(super) job: bool,
}

impl Run {
    fn meets(&self, (from, to): (i64, i64)) -> bool {
        to >= self.begin.saturating_sub(TICK) && from <= self.end
    }
}

/// The commands of a time.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub(super) own: Vec<Run>,
    /// Those of other sessions of which it is not known yet what they wrote.
    pub(super) others: Vec<Run>,
}

impl Runs {
    /// True if a change at this time may be ours at all.
    pub(super) fn may_be_ours(&self, path: &[u8], window: (i64, i64)) -> bool {
        let mut own = self.own.iter();
        own.any(|run| run.meets(window) || names(&run.text, path))
    }

    /// Who made an unexplained part of a file's change: `window` is when it happened last, as far as that is
    /// known, `span` the whole time looked at.
    pub(super) fn judge(&self, path: &[u8], window: (i64, i64), span: (i64, i64)) -> Whose {
        let named = |runs: &[&Run]| runs.iter().any(|run| names(&run.text, path));
        let own: Vec<&Run> = self.own.iter().filter(|run| run.meets(window)).collect();
        let around: Vec<&Run> = self.others.iter().filter(|run| run.meets(span)).collect();
        let within = around.iter().filter(|run| run.meets(window));
        let inside: Vec<&Run> = within.copied().collect();
        let ran: Vec<&Run> = inside.iter().filter(|run| !run.job).copied().collect();
        if own.is_empty() {
            let all: Vec<&Run> = self.own.iter().collect();
            return if !inside.is_empty() && (named(&inside) || !ran.is_empty()) {
                // ours may have written before them
                if named(&all) {
                    Whose::Disputed
                } else {
                    Whose::Theirs
                }
            } else if all.iter().any(|run| run.begin <= window.1)
                && all.iter().all(|run| run.end < window.0)
            {
                Whose::Late
            } else {
                Whose::Theirs
            };
        }
        match (named(&own), named(&around)) {
            (true, true) => Whose::Disputed,
            (true, false) => Whose::Ours,
            (false, true) if named(&inside) => Whose::Theirs,
            (false, true) => Whose::Disputed,
            (false, false) if ran.is_empty() => Whose::Ours,
            (false, false) => Whose::Disputed,
        }
    }
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
