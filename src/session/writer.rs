//! The writer thread of one session, owner of its journal: write, then announce, then have it synced.
//!
//! Commits come in order and are written one write(2) each. The thread does nothing that can take
//! long: fdatasync is the sync thread's, the view is the view thread's. A commit that cannot be
//! written is not announced; the next one is tried again.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::commit::{Announce, Commit, Record, Sync};
use super::error::StoreError;
use super::journal::Journal;
use super::place::{Lock, Place};
use super::syncer::{self, Syncer};
use super::view::{Ask, Line, PATIENCE};
use crate::protocol::{Fault, FaultKind, MessageId, PartId};

/// Name of the thread.
pub(super) const THREAD: &str = "dunlin-store";

/// What the handle sends to the thread.
pub(super) enum Job {
    Commit(Commit),
    /// A question for the view, to be answered with everything that was committed before it.
    Ask(Ask),
    /// The view does not answer: leave it behind and start one in memory.
    ReplaceView,
    /// End; answers when everything is on disk and the lock is free.
    Close(Box<dyn FnOnce() + Send>),
}

/// What the thread starts with.
pub(super) struct Start {
    pub(super) place: Place,
    pub(super) journal: Journal,
    pub(super) lock: Lock,
    /// True for a session just made.
    pub(super) new: bool,
    pub(super) announce: Arc<dyn Announce>,
}

struct Writer {
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
}

/// Starts the threads of a session.
pub(super) fn start(start: Start) -> Result<Sender<Job>, StoreError> {
    let view = Line::start(start.place.clone(), Some(Arc::clone(&start.announce)))?;
    let syncer = Syncer::start(syncer::Job {
        place: start.place.clone(),
        journal: start.journal.file(),
        end: start.journal.end(),
        new: start.new,
        view: view.clone(),
        announce: Arc::clone(&start.announce),
    })?;
    let (sender, inbox) = channel();
    let folder = start.place.folder.clone();
    let mut writer = Writer {
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
    };
    let lock = start.lock;
    std::thread::Builder::new()
        .name(THREAD.to_owned())
        .spawn(move || {
            let done = writer.run(&inbox);
            writer.finish();
            // whoever was told that it is closed must find the door shut
            writer.refuse_rest(&inbox);
            drop(inbox);
            // the session may be opened again from here on
            drop(lock);
            if let Some(done) = done {
                done();
            }
        })
        .map_err(|e| StoreError::io("start a thread for", &folder, e))?;
    Ok(sender)
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<Job>) -> Option<Box<dyn FnOnce() + Send>> {
        // the channel closes when the last handle is dropped
        while let Ok(job) = inbox.recv() {
            match job {
                Job::Close(done) => return Some(done),
                Job::Ask(ask) => {
                    // a question whose answer can never come is noticed by whoever waits for it
                    self.view.send(self.journal.end(), ask);
                }
                Job::ReplaceView => {
                    if let Err(error) = self.view.replace() {
                        self.announce.failed(error.fault());
                    }
                }
                Job::Commit(commit) => {
                    let worked = catch_unwind(AssertUnwindSafe(|| self.commit(commit)));
                    if worked.is_err() {
                        self.panicked();
                    }
                }
            }
        }
        None
    }

    fn commit(&mut self, commit: Commit) {
        let Commit {
            records,
            announce,
            sync,
        } = commit;
        if !records.is_empty() {
            let written = self
                .gap(&records)
                .and_then(|()| self.journal.append(&records));
            if let Err(error) = written {
                self.lose(&records);
                refuse(&*self.announce, sync, &error.fault());
                return;
            }
            self.keep(&records);
        }
        if !announce.is_empty() {
            self.announce.announce(announce);
        }
        let end = self.journal.end();
        match sync {
            Sync::Written if records.is_empty() => {}
            Sync::Written => self.syncer.written(end, false, None),
            Sync::Soon => self.syncer.written(end, true, None),
            Sync::Now(waiter) => self.syncer.written(end, true, Some(waiter)),
        }
    }

    /// Refuses what builds on something that could not be written: text with a hole in it, a part
    /// without its message.
    fn gap(&self, records: &[Record]) -> Result<(), StoreError> {
        if self.lost_messages.is_empty() && self.lost_parts.is_empty() {
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
                    if self.lost_messages.contains(&part.message)
                        && !mended.contains(&part.message) =>
                {
                    return Err(StoreError::Gap(format!("message {}", part.message)));
                }
                Record::Part(part) => {
                    mended_parts.insert(part.id);
                }
                Record::Append { part, .. }
                    if self.lost_parts.contains(part) && !mended_parts.contains(part) =>
                {
                    return Err(StoreError::Gap(format!("part {part}")));
                }
                _ => {}
            }
        }
        Ok(())
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
                Record::Value { .. } | Record::Info(_) => {}
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

    fn refuse_rest(&self, inbox: &Receiver<Job>) {
        while let Ok(job) = inbox.try_recv() {
            if let Job::Commit(commit) = job {
                refuse(&*self.announce, commit.sync, &StoreError::Closed.fault());
            }
        }
    }

    fn finish(&mut self) {
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

/// Tells everybody concerned that a commit was not kept.
pub(super) fn refuse(announce: &dyn Announce, sync: Sync, fault: &Fault) {
    announce.failed(fault.clone());
    if let Sync::Now(waiter) = sync {
        drop(waiter.send(Err(fault.clone())));
    }
}
