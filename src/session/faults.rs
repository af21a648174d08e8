//! Fault points: where a test lets the disk or the index of a session fail. The program sets none.
//!
//! `Project::with_faults` hands them to every session it opens; writer, sync thread and view thread
//! ask them before they do what can fail. What fails so looks like the real thing from there on.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::StoreError;

/// ENOSPC, as a full disk answers write.
const NO_SPACE: i32 = 28;
/// EIO, as a disk with a broken sector answers fdatasync.
const BROKEN_DISK: i32 = 5;

/// How the index fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewFault {
    /// It returns an error.
    Fails,
    /// It panics.
    Panics,
    /// It does not come back before `FaultPoints::release`.
    Hangs,
}

#[derive(Debug, Default)]
struct State {
    failing_syncs: u32,
    /// What the next tries to lock a session are answered with.
    locks: VecDeque<i32>,
    syncs: u64,
    /// Writes to journals so far, refused ones included, and which of them is refused.
    writes: u64,
    refused_write: Option<u64>,
    /// True while fdatasync does not come back.
    held_syncs: bool,
    /// How long the next writes to a journal take.
    slow_writes: VecDeque<Duration>,
    view: VecDeque<ViewFault>,
    released: bool,
    /// Steps of changes to more than one file so far, and at which of them everything ends.
    steps: u32,
    last_step: Option<u32>,
}

/// What somebody else does meanwhile.
struct Meanwhile(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

/// What is to go wrong, and what was tried.
#[derive(Debug)]
pub struct FaultPoints {
    state: Mutex<State>,
    sweep: Mutex<Option<Meanwhile>>,
    changed: Condvar,
    /// How long anyone waits for the index before it counts as hanging.
    pub(super) patience: Duration,
}

impl FaultPoints {
    /// Nothing goes wrong yet; the index counts as hanging after `patience`.
    pub fn new(patience: Duration) -> Self {
        Self {
            state: Mutex::default(),
            sweep: Mutex::default(),
            changed: Condvar::new(),
            patience,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next `count` calls of fdatasync fail with EIO.
    pub fn fail_syncs(&self, count: u32) {
        self.lock().failing_syncs = count;
    }

    /// The next tries to lock a session fail with these numbers of the operating system.
    pub fn fail_locks(&self, errors: impl IntoIterator<Item = i32>) {
        self.lock().locks.extend(errors);
    }

    /// The next writes to a journal take so long each, or until `release`.
    pub fn slow_writes(&self, times: impl IntoIterator<Item = Duration>) {
        self.lock().slow_writes.extend(times);
    }

    /// The so many-th write to a journal from now on, from 0, is refused as by a full disk. That one only.
    pub fn refuse_write(&self, number: u64) {
        let mut state = self.lock();
        state.refused_write = Some(state.writes + number);
    }

    /// True if there was no write yet that was to be refused.
    pub fn write_is_awaited(&self) -> bool {
        self.lock().refused_write.is_some()
    }

    /// Calls of fdatasync so far, failed ones included.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// From now on fdatasync does not come back, until it may again.
    pub fn hold_syncs(&self, held: bool) {
        self.lock().held_syncs = held;
        self.changed.notify_all();
    }

    /// Waits until fdatasync was called so many times in all; false if that takes longer than `patience`.
    pub fn until_syncs(&self, count: u64, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        while state.syncs < count {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The next uses of the index go wrong so, one after the other.
    pub fn fail_view(&self, how: impl IntoIterator<Item = ViewFault>) {
        self.lock().view.extend(how);
    }

    /// The program is to die at the so many-th step of what changes more than one file (it panics there, and
    /// whoever tests catches that: locks are let go of, nothing is tidied up).
    pub fn die_at(&self, step: u32) {
        let mut state = self.lock();
        (state.steps, state.last_step) = (0, Some(step));
    }

    /// Happens in the next clean-up, after the journals were read and before any image is removed.
    pub fn at_sweep(&self, what: impl FnOnce() + Send + 'static) {
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        *sweep = Some(Meanwhile(Box::new(what)));
    }

    pub(super) fn before_sweep(&self) {
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        let what = sweep.take();
        drop(sweep);
        if let Some(Meanwhile(what)) = what {
            what();
        }
    }

    /// Nothing dies any more.
    pub fn live(&self) {
        self.lock().last_step = None;
    }

    /// What hangs goes on.
    pub fn release(&self) {
        self.lock().released = true;
        self.changed.notify_all();
    }

    pub(super) fn locking(&self) -> io::Result<()> {
        let error = self.lock().locks.pop_front();
        error.map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
    }

    pub(super) fn step(&self) {
        let mut state = self.lock();
        state.steps += 1;
        if state.last_step == Some(state.steps) {
            drop(state);
            std::panic::resume_unwind(Box::new("a test lets it die"))
        }
    }

    pub(super) fn write(&self) -> io::Result<()> {
        let mut state = self.lock();
        let number = state.writes;
        state.writes += 1;
        if state.refused_write.take_if(|at| *at == number).is_some() {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        let Some(time) = state.slow_writes.pop_front() else {
            return Ok(());
        };
        let until = Instant::now() + time;
        while !state.released {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.syncs += 1;
        self.changed.notify_all();
        while state.held_syncs {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if state.failing_syncs == 0 {
            return Ok(());
        }
        state.failing_syncs -= 1;
        Err(io::Error::from_raw_os_error(BROKEN_DISK))
    }

    pub(super) fn view(&self) -> Result<(), StoreError> {
        let mut state = self.lock();
        match state.view.pop_front() {
            None => Ok(()),
            Some(ViewFault::Fails) => Err(StoreError::View("a test lets it fail".to_owned())),
            Some(ViewFault::Panics) => {
                drop(state);
                std::panic::resume_unwind(Box::new("a test lets it panic"))
            }
            Some(ViewFault::Hangs) => {
                while !state.released {
                    let waited = self.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
                Ok(())
            }
        }
    }
}
