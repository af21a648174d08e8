//! `SessionStore`: the handle through which the agent writes and reads one open session.
//!
//! Cheap to clone. Commits go to the writer (`intake`), questions pass it on their way to the view
//! thread, so that an answer holds everything committed before.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::blob::Blobs;
use super::commit::{Announce, Commit};
use super::error::StoreError;
use super::follow::Follower;
use super::frames::Frames;
use super::history::{History, Page};
use super::intake::{Intake, Job};
use super::meta::SummaryPatch;
use super::place::Place;
use super::view::{Ask, Line, PATIENCE, Reply};
use super::writer::refuse;
use crate::protocol::{MessageId, Part, PartId, SessionId};

/// One open session.
#[derive(Clone)]
pub struct SessionStore {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) place: Place,
    pub(super) blobs: Blobs,
    pub(super) announce: Arc<dyn Announce>,
    pub(super) end: End,
}

/// Where jobs go.
pub(super) enum End {
    /// To the writer.
    Writer(Intake),
    /// To a view of a journal that another process writes.
    Reader {
        view: Line,
        /// Offset up to which the journal was read on opening.
        from: u64,
    },
}

impl fmt::Debug for SessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionStore")
            .field("folder", &self.inner.place.folder)
            .field("writable", &self.is_writable())
            .finish()
    }
}

impl SessionStore {
    /// The session.
    pub fn id(&self) -> SessionId {
        self.inner.place.id
    }

    /// False if the session is only read: commits are refused.
    pub fn is_writable(&self) -> bool {
        matches!(self.inner.end, End::Writer(_))
    }

    /// Hands a commit to the writer. What is short is written and announced before this returns, in some
    /// 5 µs, unless the disk is slow; else the writer's thread does it. Never waits for a sync. Commits are
    /// written and announced in the order of the calls; one that cannot be written is told to
    /// `Announce::failed`.
    pub fn commit(&self, commit: Commit) {
        let refused = match &self.inner.end {
            End::Writer(writer) => writer
                .commit(commit)
                .err()
                .map(|commit| (commit, StoreError::Closed)),
            End::Reader { .. } => Some((commit, StoreError::ReadOnly)),
        };
        if let Some((commit, error)) = refused {
            refuse(&*self.inner.announce, commit.sync, &error.fault());
        }
    }

    /// Lets the writer go on after the commit `n` of what was found on opening.
    pub(super) fn go_on_after(&self, n: u64) -> Result<(), StoreError> {
        match &self.inner.end {
            End::Writer(writer) => writer.go_on_after(n),
            End::Reader { .. } => Ok(()),
        }
    }

    /// Sets what the listing shows besides counts: cost with subagents, context used, lines
    /// changed, branch. Written to `meta.json` within a second, or when the session is closed.
    pub fn set_summary(&self, patch: SummaryPatch) {
        // a closed or read-only session has no listing row of ours
        let _refused = self.ask(Ask::Summary(patch));
    }

    /// Keeps what a model answered, for `dunlin replay`. Never blocks; nothing depends on it, so a
    /// failure is only logged.
    pub fn keep_frames(&self, frames: Frames) {
        let _refused = self.ask(Ask::Frames(Box::new(frames)));
    }

    /// Says on the disk that this process is alive, without writing anything: after its death the time of the
    /// journal tells when that was, to the second. Blocks for a system call.
    pub fn touch(&self) {
        let journal = std::fs::File::open(self.inner.place.journal());
        // nothing depends on it but the precision
        drop(journal.and_then(|file| file.set_modified(std::time::SystemTime::now())));
    }

    /// Folder for the full outputs of this session's tools. It may not exist yet.
    pub fn out_dir(&self) -> PathBuf {
        self.inner.place.out()
    }

    /// Images and documents by content, shared by the sessions of the project.
    pub fn blobs(&self) -> Blobs {
        self.inner.blobs.clone()
    }

    /// The messages before `before` (the newest if none) with their parts: about `most_parts` of
    /// them, whole messages only, fewer if they are large. Blocks for a few milliseconds.
    pub fn page(&self, before: Option<MessageId>, most_parts: usize) -> Result<Page, StoreError> {
        self.answer(|reply| Ask::Page(before, most_parts, reply))
    }

    /// `page` for async code.
    pub async fn page_async(
        &self,
        before: Option<MessageId>,
        most_parts: usize,
    ) -> Result<Page, StoreError> {
        self.answer_async(|reply| Ask::Page(before, most_parts, reply))
            .await
    }

    /// The message `from` and all after it (everything if none), with their parts. Blocks; a
    /// session of 100,000 parts takes about a second.
    pub fn since(&self, from: Option<MessageId>) -> Result<Page, StoreError> {
        self.answer(|reply| Ask::Since(from, reply))
    }

    /// `since` for async code.
    pub async fn since_async(&self, from: Option<MessageId>) -> Result<Page, StoreError> {
        self.answer_async(|reply| Ask::Since(from, reply)).await
    }

    /// One part by its id. Blocks for a few milliseconds.
    pub fn part(&self, id: PartId) -> Result<Option<Part>, StoreError> {
        self.answer(|reply| Ask::Part(id, reply))
    }

    /// `part` for async code.
    pub async fn part_async(&self, id: PartId) -> Result<Option<Part>, StoreError> {
        self.answer_async(|reply| Ask::Part(id, reply)).await
    }

    /// Reads what another process writes into this session after what `open_session` returned.
    /// None for a session that this process writes: its events say the same.
    pub fn follow(&self) -> Option<Follower> {
        match &self.inner.end {
            End::Reader { from, .. } => Some(Follower::new(&self.inner.place, *from)),
            End::Writer(_) => None,
        }
    }

    /// Ends the session: all commits are written and synced, files and lock are let go of. Later
    /// commits are refused. Takes one fdatasync at most; safe to call twice.
    pub async fn close(&self) {
        let (sender, done) = tokio::sync::oneshot::channel();
        if self.send_close(Box::new(move || _ = sender.send(()))) {
            // an error means that the thread is gone, which is what was wanted
            _ = done.await;
        }
    }

    /// `close` for code that is not async.
    pub fn close_blocking(&self) {
        let (sender, done) = channel();
        if self.send_close(Box::new(move || _ = sender.send(()))) {
            _ = done.recv();
        }
    }

    fn send_close(&self, done: Box<dyn FnOnce() + Send>) -> bool {
        match &self.inner.end {
            End::Writer(writer) => writer.send(Job::Close(done)).is_ok(),
            End::Reader { view, .. } => {
                let reply: Reply<()> = Box::new(move |_| done());
                view.send(0, Ask::Close(false, reply))
            }
        }
    }

    fn ask(&self, ask: Ask) -> Result<(), StoreError> {
        let sent = match &self.inner.end {
            End::Writer(writer) => writer.ask(ask),
            End::Reader { view, .. } => view.send(u64::MAX, ask),
        };
        if sent {
            Ok(())
        } else {
            Err(StoreError::Closed)
        }
    }

    /// Asks again if the view hangs: a view made again answers then, or a session read into memory.
    pub(super) fn answer<T: Send + 'static>(
        &self,
        ask: impl Fn(Reply<T>) -> Ask,
    ) -> Result<T, StoreError> {
        for attempt in 0..3 {
            let (sender, answer) = channel();
            self.ask(ask(Box::new(move |result| drop(sender.send(result)))))?;
            match answer.recv_timeout(self.patience(attempt)) {
                Ok(result) => return result,
                Err(_) => self.leave_view_behind(),
            }
        }
        Err(hangs())
    }

    async fn answer_async<T: Send + 'static>(
        &self,
        ask: impl Fn(Reply<T>) -> Ask,
    ) -> Result<T, StoreError> {
        for attempt in 0..3 {
            let (sender, answer) = tokio::sync::oneshot::channel();
            self.ask(ask(Box::new(move |result| drop(sender.send(result)))))?;
            match tokio::time::timeout(self.patience(attempt), answer).await {
                Ok(Ok(result)) => return result,
                _ => self.leave_view_behind(),
            }
        }
        Err(hangs())
    }

    /// A view that is being made from a large journal is slow, not hanging.
    /// The last one, in memory, cannot hang: a machine may be that busy.
    fn patience(&self, attempt: u32) -> Duration {
        let journal = std::fs::metadata(self.inner.place.journal());
        let megabytes = journal.map_or(0, |facts| facts.len() >> 20);
        let faults = self.inner.place.faults.as_ref();
        let patience = faults.map_or(PATIENCE, |faults| faults.patience);
        let patience = patience + Duration::from_millis(250 * megabytes);
        if attempt < 2 { patience } else { 30 * patience }
    }

    fn leave_view_behind(&self) {
        match &self.inner.end {
            // an error means that the session is closed, which the next question tells
            End::Writer(writer) => drop(writer.send(Job::ReplaceView)),
            End::Reader { view, .. } => drop(view.replace()),
        }
    }
}

fn hangs() -> StoreError {
    StoreError::View(format!("it did not answer within {} s", PATIENCE.as_secs()))
}

/// A session that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The handle.
    pub store: SessionStore,
    /// False if it can only be read: another process has it, or its folder cannot be written.
    pub writable: bool,
    /// True if that is because another process has it: `SessionStore::follow` shows what that does.
    pub elsewhere: bool,
    /// When its journal was written or touched last before it was opened.
    pub alive: Option<std::time::SystemTime>,
    /// Its newest page (all of it if it is small), facts and values.
    pub history: History,
    /// Sentences for the user: what was found damaged or mended, who has it open.
    pub notices: Vec<String>,
}
