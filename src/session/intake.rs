//! How commits reach the writer: on the thread of whoever commits if nobody is before it, the line is
//! short and the disk is quick; else through a thread of the session's own.
//!
//! Waking that thread took two thirds of a commit's time, and much more on a busy machine. But whoever
//! commits is the agent, which must never wait for a disk: after one slow write, and for what is long,
//! the thread does the work. `store` is the caller; the order of commits is that of the calls.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::commit::Commit;
use super::error::StoreError;
use super::place::Lock;
use super::view::Ask;
use super::writer::{Start, Writer};

/// Name of the thread.
pub(super) const THREAD: &str = "dunlin-store";

/// Longest line, in bytes, that is made and written on the thread of whoever commits.
const SHORT: usize = 16 << 10;
/// A write that takes longer than this is the disk's fault.
const SLOW: Duration = Duration::from_millis(20);
/// So long after a slow write the thread does the work.
const WARY: Duration = Duration::from_secs(10);

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

/// The writer, and whether it is to be kept off other threads.
struct Desk {
    /// None once the session is closed.
    writer: Option<Writer>,
    wary_until: Option<Instant>,
}

/// The way to a session's writer.
pub(super) struct Intake {
    desk: Arc<Mutex<Desk>>,
    /// Jobs that were sent to the thread and are not done.
    waiting: Arc<AtomicUsize>,
    /// True once the thread takes nothing more.
    shut: Arc<AtomicBool>,
    jobs: Sender<Job>,
}

impl Intake {
    /// Starts the threads of a session.
    pub(super) fn start(start: Start) -> Result<Self, StoreError> {
        let folder = start.place.folder.clone();
        let (writer, lock) = Writer::start(start)?;
        let desk = Arc::new(Mutex::new(Desk {
            writer: Some(writer),
            wary_until: None,
        }));
        let waiting = Arc::new(AtomicUsize::new(0));
        let shut = Arc::new(AtomicBool::new(false));
        let (jobs, inbox) = channel();
        let thread = Thread {
            desk: Arc::clone(&desk),
            waiting: Arc::clone(&waiting),
            shut: Arc::clone(&shut),
            inbox,
        };
        std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || thread.run(lock))
            .map_err(|e| StoreError::io("start a thread for", &folder, e))?;
        Ok(Self {
            desk,
            waiting,
            shut,
            jobs,
        })
    }

    /// Takes a commit; gives it back if the session is closed.
    pub(super) fn commit(&self, commit: Commit) -> Result<(), Commit> {
        let Some(commit) = self.at_once(commit) else {
            return Ok(());
        };
        match self.send(Job::Commit(commit)) {
            Err(Job::Commit(commit)) => Err(commit),
            _ => Ok(()),
        }
    }

    /// Lets the writer go on after the commit `n`, before the first of its own.
    pub(super) fn go_on_after(&self, n: u64) -> Result<(), StoreError> {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = desk.writer.as_mut().ok_or(StoreError::Closed)?;
        writer.go_on_after(n)
    }

    /// Asks the view; false if the session is closed.
    pub(super) fn ask(&self, ask: Ask) -> bool {
        if let Some(desk) = self.free_desk()
            && let Some(writer) = &desk.writer
        {
            writer.ask(ask);
            return true;
        }
        self.send(Job::Ask(ask)).is_ok()
    }

    /// Hands a job to the thread; gives it back if the session is closed.
    pub(super) fn send(&self, job: Job) -> Result<(), Job> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        if self.shut.load(Ordering::SeqCst) {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(job);
        }
        self.jobs.send(job).map_err(|refused| {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            refused.0
        })
    }

    /// The desk if nobody is at it and nobody waits for it.
    fn free_desk(&self) -> Option<MutexGuard<'_, Desk>> {
        let desk = match self.desk.try_lock() {
            Ok(desk) => desk,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (self.waiting.load(Ordering::SeqCst) == 0).then_some(desk)
    }

    /// Does it here and now if that is quick; gives it back if it is not.
    fn at_once(&self, commit: Commit) -> Option<Commit> {
        let Some(mut desk) = self.free_desk() else {
            return Some(commit);
        };
        let since = Instant::now();
        if desk.wary_until.is_some_and(|until| since < until) {
            return Some(commit);
        }
        let Some(writer) = &mut desk.writer else {
            return Some(commit);
        };
        let left = writer.commit_short(commit, SHORT);
        desk.wary_until = (since.elapsed() > SLOW).then(|| Instant::now() + WARY);
        left
    }
}

/// The thread's end.
struct Thread {
    desk: Arc<Mutex<Desk>>,
    waiting: Arc<AtomicUsize>,
    shut: Arc<AtomicBool>,
    inbox: Receiver<Job>,
}

impl Thread {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(self, lock: Lock) {
        let done = self.serve();
        let writer = self.desk().writer.take();
        if let Some(mut writer) = writer {
            writer.finish();
            // Whoever comes from now on finds the door shut; who was through it is on the list of those that
            // wait, and is answered.
            self.shut.store(true, Ordering::SeqCst);
            while self.waiting.load(Ordering::SeqCst) > 0 {
                // it is sent right after it is counted
                let Ok(job) = self.inbox.recv_timeout(Duration::from_secs(1)) else {
                    break;
                };
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                writer.refuse_late(job);
            }
        }
        drop(self.inbox);
        // the session may be opened again from here on
        drop(lock);
        if let Some(done) = done {
            done();
        }
    }

    fn serve(&self) -> Option<Box<dyn FnOnce() + Send>> {
        // the channel closes when the last handle is dropped
        while let Ok(job) = self.inbox.recv() {
            let mut desk = self.desk();
            if let Some(writer) = &mut desk.writer {
                match job {
                    Job::Close(done) => {
                        self.waiting.fetch_sub(1, Ordering::SeqCst);
                        return Some(done);
                    }
                    Job::Ask(ask) => writer.ask(ask),
                    Job::ReplaceView => writer.replace_view(),
                    Job::Commit(commit) => writer.commit(commit),
                }
            }
            // still at the desk: whoever comes next must not find a place before this one
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        None
    }
}
