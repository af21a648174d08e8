//! Carries a command's output into a `Spill` and waits for its end, a time limit or a cancel.
//!
//! One loop for foreground commands and background jobs. The end of a command is the end of its main
//! process: whatever it left running may hold the pipe open for ever.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::process::{GRACE, Group};
use crate::tools::blocking::Blocking;
use crate::tools::output::Spill;

/// How long the pipe is read after the main process has ended.
const AFTERWARDS: Duration = Duration::from_millis(100);

/// Time between two live updates.
const UPDATE: Duration = Duration::from_millis(100);

/// Bytes taken from the pipe before they are passed on.
const PIECE: usize = 1 << 20;

/// How a command came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself.
    Exited,
    /// By its time limit.
    TimedOut,
    /// Because somebody asked for it (kill).
    Stopped,
    /// By the user's interrupt; its processes are being killed.
    Cancelled,
}

/// The end of a command.
#[derive(Debug)]
pub(super) struct End {
    pub how: Ended,
    /// None if it was cancelled before it ended.
    pub status: Option<ExitStatus>,
    /// True if something still holds its output open.
    pub left: bool,
}

/// What ends a command early.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub deadline: Option<Instant>,
    /// At once, with whatever there is.
    pub cancel: CancellationToken,
    /// In order: TERM, then KILL.
    pub stop: CancellationToken,
}

/// A running command.
#[derive(Debug)]
pub(super) struct Running {
    pub group: Group,
    pub pipe: pipe::Receiver,
    pub spill: Arc<Mutex<Spill>>,
    pub blocking: Blocking,
    /// While it is held, others know that the command goes on in the background.
    pub told: Option<Box<dyn std::any::Any + Send + Sync>>,
}

/// Locks a spill; a panic while it was written leaves at worst a shorter output.
pub(super) fn locked(spill: &Mutex<Spill>) -> MutexGuard<'_, Spill> {
    spill.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    /// Runs until the end. `update` is called when there is new output, at most ten times a second.
    pub(super) async fn until_end(
        &mut self,
        limits: &Limits,
        update: &(dyn Fn(&Spill) + Send + Sync),
    ) -> End {
        let mut how = Ended::Exited;
        let mut status: Option<Option<ExitStatus>> = None;
        let mut open = true;
        let far = Instant::now() + Duration::from_hours(24 * 365);
        let mut deadline = limits.deadline.unwrap_or(far);
        let mut kill_at = far;
        let mut close_at = far;
        let mut next_update = Instant::now();
        let mut news = false;
        while open || status.is_none() {
            tokio::select! {
                biased;
                () = limits.cancel.cancelled() => {
                    self.take(&mut open).await;
                    return End { how: Ended::Cancelled, status: status.flatten(), left: open };
                }
                () = limits.stop.cancelled(), if how == Ended::Exited && status.is_none() => {
                    how = Ended::Stopped;
                    self.group.signal(Signal::TERM);
                    (deadline, kill_at) = (far, Instant::now() + GRACE);
                }
                () = sleep_until(deadline), if status.is_none() => {
                    how = Ended::TimedOut;
                    self.group.signal(Signal::TERM);
                    (deadline, kill_at) = (far, Instant::now() + GRACE);
                }
                () = sleep_until(kill_at), if status.is_none() => {
                    self.group.signal(Signal::KILL);
                    kill_at = far;
                }
                ended = self.group.wait(), if status.is_none() => {
                    // an error means that it cannot be waited for: gone, with an unknown status
                    status = Some(ended.ok());
                    close_at = Instant::now() + AFTERWARDS;
                }
                () = sleep_until(close_at), if open && status.is_some() => {
                    self.take(&mut open).await;
                    return End { how, status: status.flatten(), left: open };
                }
                () = sleep_until(next_update), if news => {
                    update(&locked(&self.spill));
                    (news, next_update) = (false, Instant::now() + UPDATE);
                }
                ready = self.pipe.readable(), if open => {
                    if ready.is_err() {
                        open = false;
                    } else {
                        news |= self.take(&mut open).await;
                    }
                }
            }
        }
        End {
            how,
            status: status.flatten(),
            left: false,
        }
    }

    /// Waits for more output and takes it; false at its end.
    pub(super) async fn drain(&mut self) -> bool {
        let mut open = self.pipe.readable().await.is_ok();
        self.take(&mut open).await;
        open
    }

    /// Takes what is in the pipe, up to one piece. True if there was anything.
    async fn take(&mut self, open: &mut bool) -> bool {
        // small outputs get a small buffer; spare capacity is read into without being zeroed first
        let mut bytes: Vec<u8> = Vec::with_capacity(16 * 1024);
        while *open && bytes.len() < PIECE {
            if bytes.len() == bytes.capacity() {
                bytes.reserve_exact(PIECE - bytes.len());
            }
            match self.pipe.try_read_buf(&mut bytes) {
                Ok(0) => *open = false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_broken) => *open = false,
            }
        }
        if bytes.is_empty() {
            return false;
        }
        let to_disk = {
            let mut spill = locked(&self.spill);
            let small = bytes.len() < 16 * 1024;
            if !spill.writes_to_disk() || small {
                spill.push(&bytes);
                None
            } else {
                Some(bytes)
            }
        };
        if let Some(bytes) = to_disk {
            let spill = Arc::clone(&self.spill);
            // an error is a panic in there: the output is shorter then, the command goes on
            drop(self.blocking.run(move || locked(&spill).push(&bytes)).await);
        }
        true
    }
}
