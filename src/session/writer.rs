//! The writer of one session, owner of its journal: write, then announce, then have it synced.
//!
//! Commits come in order and are written one write(2) each, by whoever commits or by the writer's
//! thread (`intake` decides). Nothing here takes long: fdatasync is the sync thread's, the view is the
//! view thread's. A commit that cannot be written is not announced, but for what ends
//! something (`Event::unkept`); the next one is tried again.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::commit::{Announce, Commit, Record, Sync};
use super::error::StoreError;
use super::intake::Job;
use super::journal::Journal;
use super::place::{Lock, Place};
use super::syncer::{self, Syncer};
use super::view::{Ask, Line, PATIENCE};
use crate::protocol::{Event, Fault, FaultKind, Finish, MessageId, PartBody, PartId};

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
    lost_messages: HashSet<MessageId>,
    lost_parts: HashSet<PartId>,
    /// Something of the running turn was refused: it must not be told as done.
    cut: bool,
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
            lost_messages: HashSet::new(),
            lost_parts: HashSet::new(),
            cut: false,
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
            let allowed = gap(records, &self.lost_messages, &self.lost_parts)
                .and_then(|()| self.place.may_write());
            let journal = &mut self.journal;
            match allowed.and_then(|()| append(journal, records)) {
                Ok(true) => self.keep(records),
                Ok(false) => return Some(commit),
                Err(error) => {
                    self.lose(records);
                    self.refuse(commit, &error.fault());
                    return None;
                }
            }
        }
        if !commit.announce.is_empty() {
            let events = self.as_it_ended(commit.announce);
            self.announce.announce(events);
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

    /// A commit is not kept. Of its events those are announced all the same that end something: whoever
    /// waits for the end must not wait for ever.
    fn refuse(&mut self, commit: Commit, fault: &Fault) {
        self.cut = true;
        let ends: Vec<Event> = commit
            .announce
            .into_iter()
            .filter_map(Event::unkept)
            .collect();
        if !ends.is_empty() {
            let ends = self.as_it_ended(ends);
            self.announce.announce(ends);
        }
        refuse(&*self.announce, commit.sync, fault);
    }

    /// A turn of which something was refused did not end as `done`, though whoever ends it may not know yet.
    /// What was refused before it began is not its.
    fn as_it_ended(&mut self, events: Vec<Event>) -> Vec<Event> {
        if !self.cut {
            return events;
        }
        let ended = |event: Event| match event {
            Event::TurnFinished { .. } => {
                self.cut = false;
                event.unkept()
            }
            Event::TurnStarted => {
                self.cut = false;
                Some(event)
            }
            other => Some(other),
        };
        events.into_iter().filter_map(ended).collect()
    }

    fn lose(&mut self, records: &[Record]) {
        for record in records {
            match record {
                Record::Message(message) => {
                    self.lost_messages.insert(message.id);
                }
                Record::Part(part) => {
                    self.lost_parts.insert(part.id);
                }
                Record::Append { part, .. } => {
                    self.lost_parts.insert(*part);
                }
                // the mark alone is lost: the part is as it was
                Record::Compacted { .. } | Record::Value { .. } | Record::Info(_) => {}
            }
        }
    }

    fn keep(&mut self, records: &[Record]) {
        let nothing_lost = self.lost_messages.is_empty() && self.lost_parts.is_empty();
        if self.has_message && nothing_lost {
            return;
        }
        for record in records {
            match record {
                Record::Message(message) => {
                    self.has_message = true;
                    self.lost_messages.remove(&message.id);
                }
                Record::Part(part) => {
                    self.lost_parts.remove(&part.id);
                }
                _ => {}
            }
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

    pub(super) fn refuse_rest(&self, inbox: &Receiver<Job>) {
        while let Ok(job) = inbox.try_recv() {
            if let Job::Commit(commit) = job {
                refuse(&*self.announce, commit.sync, &StoreError::Closed.fault());
            }
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
/// without its message, a mark on a part that is not there, and what says that an answer is complete.
fn gap(
    records: &[Record],
    lost_messages: &HashSet<MessageId>,
    lost_parts: &HashSet<PartId>,
) -> Result<(), StoreError> {
    if lost_messages.is_empty() && lost_parts.is_empty() {
        return Ok(());
    }
    let mut mended = HashSet::new();
    let mut mended_parts = HashSet::new();
    for record in records {
        match record {
            Record::Message(message) => {
                mended.insert(message.id);
            }
            Record::Part(part)
                if lost_messages.contains(&part.message) && !mended.contains(&part.message) =>
            {
                return Err(StoreError::Gap(format!("message {}", part.message)));
            }
            Record::Part(part) => {
                mended_parts.insert(part.id);
            }
            Record::Append { part, .. } | Record::Compacted { part, .. }
                if lost_parts.contains(part) && !mended_parts.contains(part) =>
            {
                return Err(StoreError::Gap(format!("part {part}")));
            }
            _ => {}
        }
    }
    let message = lost_messages.iter().find(|id| !mended.contains(id));
    let part = lost_parts.iter().find(|id| !mended_parts.contains(id));
    let missing = message
        .map(|id| format!("message {id}"))
        .or_else(|| part.map(|id| format!("part {id}")));
    match missing {
        Some(missing) if records.iter().any(completes) => Err(StoreError::Gap(missing)),
        _ => Ok(()),
    }
}

/// True for what says that an answer is all there. (One that was cut off says so itself.)
fn completes(record: &Record) -> bool {
    let finish = match record {
        Record::Message(message) => message.finish,
        Record::Part(part) => match part.body {
            PartBody::StepFinish { reason, .. } => Some(reason),
            _ => None,
        },
        _ => None,
    };
    finish.is_some_and(|how| !matches!(how, Finish::Interrupted | Finish::Error))
}

/// Tells everybody concerned that a commit was not kept.
pub(super) fn refuse(announce: &dyn Announce, sync: Sync, fault: &Fault) {
    announce.failed(fault.clone());
    if let Sync::Now(waiter) = sync {
        drop(waiter.send(Err(fault.clone())));
    }
}
