//! Signals as messages: end, size, going on after a stop.

use std::io;

use rustix::process::{Signal as Unix, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// End with this exit code.
    End(u8),
    /// The terminal has another size.
    Resize,
    /// The program was stopped from outside and goes on.
    GoOn,
}

/// The signals we listen to.
#[derive(Debug)]
pub(super) struct Signals {
    term: Signal,
    hangup: Signal,
    interrupt: Signal,
    resize: Signal,
    go_on: Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            resize: signal(SignalKind::window_change())?,
            go_on: signal(SignalKind::from_raw(Unix::CONT.as_raw()))?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.term.recv() => Asked::End(143),
            _ = self.hangup.recv() => Asked::End(129),
            _ = self.interrupt.recv() => Asked::End(130),
            _ = self.resize.recv() => Asked::Resize,
            _ = self.go_on.recv() => Asked::GoOn,
        }
    }

    /// Stops the program as ctrl+z would have, and comes back when it is continued.
    pub(super) async fn stop(&mut self) -> io::Result<()> {
        kill_process(getpid(), Unix::STOP)?;
        self.go_on.recv().await;
        Ok(())
    }

    /// Forgets interrupts that were meant for a child which had the terminal.
    pub(super) fn forget_interrupts(&mut self) {
        use futures_util::FutureExt as _;
        while self.interrupt.recv().now_or_never().flatten().is_some() {}
    }
}
