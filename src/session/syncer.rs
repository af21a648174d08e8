//! The sync thread of one session: fdatasync of the journal, off everybody's path.
//!
//! The writer notes how far it wrote; this thread makes that safe: at once where a commit asks for
//! it (all that wait share one fdatasync), else within a second, and then tells the view to catch
//! up. With nothing written it sleeps without a timer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::commit::Announce;
use super::error::StoreError;
use super::journal::{Found, Lines};
use super::place::{Place, sync_folder};
use super::view::{Ask, Line};
use crate::protocol::Fault;

/// Name of the thread.
pub(super) const THREAD: &str = "dunlin-sync";

/// Whatever was written is synced and in the view after so long.
const TICK: Duration = Duration::from_secs(1);

type Waiter = oneshot::Sender<Result<(), Fault>>;

#[derive(Debug, Default)]
struct State {
    /// Offset up to which the journal is written.
    written: u64,
    /// True if somebody wants it synced at once.
    urgent: bool,
    waiters: Vec<Waiter>,
    /// When the second is over; none if nothing was written since the last tick.
    tick: Option<Instant>,
    closing: bool,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writer's hold on the thread.
#[derive(Debug)]
pub(super) struct Syncer {
    shared: Arc<Shared>,
}

/// What the thread works on.
pub(super) struct Job {
    pub(super) place: Place,
    pub(super) journal: Arc<File>,
    /// Offset up to which the journal was found on opening.
    pub(super) end: u64,
    /// True for a session just made, whose folder's name must be synced too.
    pub(super) new: bool,
    pub(super) view: Line,
    pub(super) announce: Arc<dyn Announce>,
}

impl Syncer {
    /// Starts the thread.
    pub(super) fn start(job: Job) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::default());
        shared.lock().written = job.end;
        let theirs = Arc::clone(&shared);
        let folder = job.place.folder.clone();
        std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || Thread::new(job, theirs).run())
            .map_err(|e| StoreError::io("start a thread for", &folder, e))?;
        Ok(Self { shared })
    }

    /// The journal is written up to `end`. Wakes the thread only if it must do something sooner
    /// than it plans to.
    pub(super) fn written(&self, end: u64, urgent: bool, waiter: Option<Waiter>) {
        let mut state = self.shared.lock();
        state.written = end;
        let mut wake = false;
        if state.tick.is_none() {
            state.tick = Some(Instant::now() + TICK);
            wake = true;
        }
        if urgent || waiter.is_some() {
            wake = true;
            state.urgent = true;
            state.waiters.extend(waiter);
        }
        drop(state);
        if wake {
            self.shared.wake.notify_all();
        }
    }

    /// Syncs what is left and ends the thread; returns when it has, or after `patience`.
    pub(super) fn close(&self, patience: Duration) {
        let mut state = self.shared.lock();
        state.closing = true;
        self.shared.wake.notify_all();
        let until = Instant::now() + patience;
        while !state.closed {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            let waited = self.shared.wake.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

struct Thread {
    job: Job,
    shared: Arc<Shared>,
    synced: u64,
    /// True after an fdatasync failed: the kernel may then count pages as clean that never reached
    /// the disk, so they are written again before the next try.
    suspect: bool,
}

struct Round {
    target: u64,
    waiters: Vec<Waiter>,
    tick: bool,
    closing: bool,
}

impl Thread {
    fn new(job: Job, shared: Arc<Shared>) -> Self {
        Self {
            synced: if job.new { 0 } else { job.end },
            job,
            shared,
            suspect: false,
        }
    }

    fn run(mut self) {
        loop {
            let round = self.wait();
            let closing = round.closing;
            let worked = catch_unwind(AssertUnwindSafe(|| self.work(round)));
            if worked.is_err() {
                tracing::error!("the sync thread panicked");
            }
            if closing {
                break;
            }
        }
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
    }

    fn wait(&self) -> Round {
        let mut state = self.shared.lock();
        loop {
            let now = Instant::now();
            let due = state.tick.is_some_and(|at| at <= now);
            if due || state.urgent || state.closing {
                if due {
                    state.tick = None;
                }
                state.urgent = false;
                return Round {
                    target: state.written,
                    waiters: std::mem::take(&mut state.waiters),
                    tick: due,
                    closing: state.closing,
                };
            }
            let wake = &self.shared.wake;
            state = match state.tick {
                None => wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let waited = wake.wait_timeout(state, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn work(&mut self, round: Round) {
        let result = self.sync(round.target);
        match result {
            Ok(()) => self.suspect = false,
            Err(ref fault) => {
                // said once per failure; whoever waits hears of every one
                if !self.suspect {
                    self.job.announce.failed(fault.clone());
                }
                self.suspect = true;
                if !round.closing {
                    self.shared
                        .lock()
                        .tick
                        .get_or_insert(Instant::now() + 5 * TICK);
                }
            }
        }
        for waiter in round.waiters {
            // whoever asked may have stopped waiting
            drop(waiter.send(result.clone()));
        }
        if round.tick {
            self.job.view.send(round.target, Ask::Tick);
        }
    }

    fn sync(&mut self, target: u64) -> Result<(), Fault> {
        if target <= self.synced && !self.suspect {
            return Ok(());
        }
        let path = self.job.place.journal();
        let done = if self.suspect {
            self.write_again(target)
        } else {
            Ok(())
        };
        let faults = self.job.place.faults.clone();
        done.and_then(|()| faults.map_or(Ok(()), |faults| faults.sync()))
            .and_then(|()| self.job.journal.sync_data())
            .and_then(|()| self.sync_names())
            .map_err(|e| StoreError::io("sync the journal", &path, e).fault())?;
        self.synced = target;
        Ok(())
    }

    /// Without this a power cut could take the whole folder of a new session.
    fn sync_names(&mut self) -> io::Result<()> {
        if self.job.new {
            sync_folder(&self.job.place.folder)?;
            if let Some(sessions) = self.job.place.folder.parent() {
                sync_folder(sessions)?;
            }
            self.job.new = false;
        }
        Ok(())
    }

    /// Writes what is not synced once more, so that the kernel counts it as not written. It comes from
    /// the kernel's own memory, which may have let go of it: every line is checked first, and what
    /// cannot be had any more is never called synced.
    fn write_again(&self, target: u64) -> io::Result<()> {
        self.is_still_there(target)?;
        let mut place = self.synced;
        let mut bytes = vec![0; 1 << 20];
        while place < target {
            let piece = bytes.len().min((target - place) as usize);
            self.job.journal.read_exact_at(&mut bytes[..piece], place)?;
            self.job.journal.write_all_at(&bytes[..piece], place)?;
            place += piece as u64;
        }
        Ok(())
    }

    fn is_still_there(&self, target: u64) -> io::Result<()> {
        let mut lines = Lines::open(&self.job.place.journal(), self.synced, Some(target))?;
        let mut end = self.synced;
        while let Some(Found::Line { end: next, .. }) = lines.next()? {
            end = next;
        }
        if end == target {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the disk failed and lost up to {} bytes that were not synced yet; close the session and \
             open it again to see what is left",
            target - end
        )))
    }
}
