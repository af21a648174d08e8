//! The writer of one session, owner of its journal: write, then announce, then have it synced.
//!
//! Commits come in order and are written one write(2) each, by whoever commits or by the writer's
//! thread (`intake` decides). Nothing here takes long: fdatasync is the sync thread's, the view is the
//! view thread's. A commit that cannot be written is not announced, but for what ends
//! something (`Event::unkept`); the next one is tried again.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::commit::{Announce, Commit, Record, Sync};
use super::error::StoreError;
use super::intake::Job;
use super::journal::Journal;
use super::place::{Lock, Place};
use super::syncer::{self, Syncer};
use super::view::{Ask, Line, PATIENCE};
use crate::protocol::{Event, Fault, FaultKind, MessageId, PartBody, PartId};

/// Parts whose messages are remembered.
const MOST_OWNERS: usize = 1_024;

/// What a writer starts with.
pub(super) struct Start {
    pub(super) place: Place,
    pub(super) journal: Journal,
    pub(super) lock: Lock,
    /// True for a session just made.
    pub(super) new: bool,
    pub(super) announce: Arc<dyn Announce>,
}

pub(super) struct Writer {
    place: Place,
    journal: Journal,
    announce: Arc<dyn Announce>,
    syncer: Syncer,
    view: Line,
    /// Where the journal ended when the session was opened.
    opened: u64,
    new: bool,
    /// True once a message was kept; a session without any leaves no trace.
    has_message: bool,
    /// What a failed commit left out. Nothing that builds on it is accepted until it is there.
    lost: Lost,
    /// Messages of the parts written last, for text that is added to them.
    owners: HashMap<PartId, MessageId>,
    /// True if something of the turn that runs could not be kept: then it does not end well.
    spoiled: bool,
}

/// What a failed commit left out.
#[derive(Debug, Default)]
struct Lost {
    messages: HashSet<MessageId>,
    /// With their messages, as far as they are known.
    parts: HashMap<PartId, Option<MessageId>>,
}

impl Lost {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.parts.is_empty()
    }

    fn has_part_of(&self, message: MessageId) -> bool {
        self.parts.values().any(|of| *of == Some(message))
    }
}

impl Writer {
    /// A writer, with the threads that sync and that keep the view.
    pub(super) fn start(start: Start) -> Result<(Self, Lock), StoreError> {
        let view = Line::start(start.place.clone(), Some(Arc::clone(&start.announce)))?;
        let syncer = Syncer::start(syncer::Job {
            place: start.place.clone(),
            journal: start.journal.file(),
            end: start.journal.end(),
            new: start.new,
            view: view.clone(),
            announce: Arc::clone(&start.announce),
        })?;
        let writer = Self {
            opened: start.journal.end(),
            place: start.place,
            journal: start.journal,
            announce: start.announce,
            syncer,
            view,
            new: start.new,
            has_message: !start.new,
            lost: Lost::default(),
            owners: HashMap::new(),
            spoiled: false,
        };
        Ok((writer, start.lock))
    }

    /// See `Journal::go_on_after`.
    pub(super) fn go_on_after(&mut self, n: u64) -> Result<(), StoreError> {
        self.journal.go_on_after(n)
    }

    /// A question for the view, to be answered with everything that was committed so far.
    pub(super) fn ask(&self, ask: Ask) {
        // a question whose answer can never come is noticed by whoever waits for it
        self.view.send(self.journal.end(), ask);
    }

    /// The view does not answer: leaves it behind and starts one in memory.
    pub(super) fn replace_view(&self) {
        if let Err(error) = self.view.replace() {
            self.announce.failed(error.fault());
        }
    }

    /// Keeps a commit, however long, and tells of it.
    pub(super) fn commit(&mut self, commit: Commit) {
        let left = self.guarded(commit, |journal, records| {
            journal.append(records).map(|()| true)
        });
        debug_assert!(left.is_none(), "a commit of any length is taken");
    }

    /// The same for one whose line is no longer than `most` bytes; gives a longer one back.
    pub(super) fn commit_short(&mut self, commit: Commit, most: usize) -> Option<Commit> {
        self.guarded(commit, |journal, records| {
            journal.append_short(records, most)
        })
    }

    fn guarded(
        &mut self,
        commit: Commit,
        append: impl FnOnce(&mut Journal, &[Record]) -> Result<bool, StoreError>,
    ) -> Option<Commit> {
        let worked = catch_unwind(AssertUnwindSafe(|| self.keep_and_tell(commit, append)));
        worked.unwrap_or_else(|_panic| {
            self.panicked();
            None
        })
    }

    fn keep_and_tell(
        &mut self,
        commit: Commit,
        append: impl FnOnce(&mut Journal, &[Record]) -> Result<bool, StoreError>,
    ) -> Option<Commit> {
        let records = &commit.records;
        if !records.is_empty() {
            let path = self.place.journal();
            let faults = self.place.faults.as_ref();
            let fault = faults.map_or(Ok(()), |faults| faults.write());
            let journal = &mut self.journal;
            let kept = gap(records, &self.lost)
                .and_then(|()| fault.map_err(|e| StoreError::io("write to the journal", &path, e)))
                .and_then(|()| append(journal, records));
            match kept {
                Ok(true) => self.keep(records),
                Ok(false) => return Some(commit),
                Err(error) => {
                    self.lose(records);
                    self.refuse(commit, &error.fault());
                    return None;
                }
            }
        }
        let announce = self.as_it_ended(commit.announce);
        if !announce.is_empty() {
            self.announce.announce(announce);
        }
        let end = self.journal.end();
        match commit.sync {
            Sync::Written if records.is_empty() => {}
            Sync::Written => self.syncer.written(end, false, None),
            Sync::Soon => self.syncer.written(end, true, None),
            Sync::Now(waiter) => self.syncer.written(end, true, Some(waiter)),
        }
        None
    }

    /// A turn of which something could not be kept did not end well, whatever else fitted on the disk.
    fn as_it_ended(&mut self, events: Vec<Event>) -> Vec<Event> {
        if !self.spoiled {
            return events;
        }
        let ends = |event: &Event| matches!(event, Event::TurnFinished { .. });
        self.spoiled = !events.iter().any(ends);
        let told = events.into_iter().filter_map(|event| {
            if ends(&event) {
                event.unkept()
            } else {
                Some(event)
            }
        });
        told.collect()
    }

    /// A commit is not kept. Of its events those are announced all the same that end something: whoever
    /// waits for the end must not wait for ever.
    fn refuse(&mut self, commit: Commit, fault: &Fault) {
        let last = |event: &Event| matches!(event, Event::TurnFinished { .. });
        self.spoiled &= !commit.announce.iter().any(last);
        let ends: Vec<Event> = commit
            .announce
            .into_iter()
            .filter_map(Event::unkept)
            .collect();
        if !ends.is_empty() {
            self.announce.announce(ends);
        }
        refuse(&*self.announce, commit.sync, fault);
    }

    fn lose(&mut self, records: &[Record]) {
        for record in records {
            match record {
                Record::Message(message) => {
                    self.lost.messages.insert(message.id);
                    self.spoiled = true;
                }
                Record::Part(part) => {
                    self.lost.parts.insert(part.id, Some(part.message));
                    self.spoiled = true;
                }
                Record::Append { part, .. } => {
                    let of = self.owners.get(part).copied();
                    self.lost.parts.insert(*part, of);
                    self.spoiled = true;
                }
                // the mark alone is lost: the part is as it was
                Record::Compacted { .. } | Record::Value { .. } | Record::Info(_) => {}
            }
        }
    }

    fn keep(&mut self, records: &[Record]) {
        let nothing_lost = self.lost.is_empty();
        for record in records {
            match record {
                Record::Message(message) => {
                    self.has_message = true;
                    self.lost.messages.remove(&message.id);
                }
                Record::Part(part) => {
                    if self.owners.len() > MOST_OWNERS {
                        self.owners.clear();
                    }
                    self.owners.insert(part.id, part.message);
                    self.lost.parts.remove(&part.id);
                }
                _ => {}
            }
        }
        if !nothing_lost && self.lost.is_empty() {
            self.spoiled = false;
        }
    }

    fn panicked(&self) {
        let fault = Fault::new(
            FaultKind::Internal,
            "The session store's writer panicked; the last change may not have been kept.",
            "Earlier ones are safe. Please report this bug.",
        );
        // the callback itself may be what panics
        let told = catch_unwind(AssertUnwindSafe(|| self.announce.failed(fault)));
        if told.is_err() {
            tracing::error!("a listener of the session store panicked");
        }
    }

    pub(super) fn refuse_late(&self, job: Job) {
        if let Job::Commit(commit) = job {
            refuse(&*self.announce, commit.sync, &StoreError::Closed.fault());
        }
    }

    /// Syncs what is left and lets go of the view.
    pub(super) fn finish(&mut self) {
        self.syncer.close(PATIENCE);
        let to = self.journal.end();
        let empty = self.new && !self.has_message;
        let (sender, done) = channel();
        let reply = Box::new(move |_| _ = sender.send(()));
        if self
            .view
            .send(to, Ask::Close(to > self.opened && !empty, reply))
        {
            // a view that hangs in sled is left behind: the journal has everything
            _ = done.recv_timeout(PATIENCE.min(Duration::from_secs(5)));
        }
        if empty {
            drop(std::fs::remove_dir_all(&self.place.folder));
        }
    }
}

/// Refuses what builds on something that could not be written: text with a hole in it, a part
/// without its message, a mark on a part that is not there, the good end of a message that lacks a part.
fn gap(records: &[Record], lost: &Lost) -> Result<(), StoreError> {
    if lost.is_empty() {
        return Ok(());
    }
    let mut mended = HashSet::new();
    let mut mended_parts: HashSet<PartId> = HashSet::new();
    let is_mended = |parts: &HashSet<PartId>, message: MessageId| {
        let mut lacking = lost.parts.iter().filter(|(_, of)| **of == Some(message));
        lacking.all(|(part, _)| parts.contains(part))
    };
    for record in records {
        match record {
            Record::Message(message) => {
                let ends_well = message.finish.is_some() && message.error.is_none();
                if ends_well
                    && lost.has_part_of(message.id)
                    && !is_mended(&mended_parts, message.id)
                {
                    return Err(StoreError::Gap(format!("message {}", message.id)));
                }
                mended.insert(message.id);
            }
            Record::Part(part)
                if lost.messages.contains(&part.message) && !mended.contains(&part.message) =>
            {
                return Err(StoreError::Gap(format!("message {}", part.message)));
            }
            Record::Part(part) => {
                let ends = matches!(part.body, PartBody::StepFinish { .. });
                if ends && lost.has_part_of(part.message) && !is_mended(&mended_parts, part.message)
                {
                    return Err(StoreError::Gap(format!("message {}", part.message)));
                }
                mended_parts.insert(part.id);
            }
            Record::Append { part, .. } | Record::Compacted { part, .. }
                if lost.parts.contains_key(part) && !mended_parts.contains(part) =>
            {
                return Err(StoreError::Gap(format!("part {part}")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tells everybody concerned that a commit was not kept.
pub(super) fn refuse(announce: &dyn Announce, sync: Sync, fault: &Fault) {
    announce.failed(fault.clone());
    if let Sync::Now(waiter) = sync {
        drop(waiter.send(Err(fault.clone())));
    }
}
