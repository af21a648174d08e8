//! For tests only: where a run is cut. Every effect of every agent of a tree passes here first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::protocol::Op;
use crate::protocol::link::OpSender;

/// What happens at the cut.
#[derive(Debug)]
pub(crate) enum Blow {
    /// The user interrupts: it is the next that the agent hears of.
    Interrupt(OpSender),
    /// Nothing happens any more, as after `kill -9`.
    Crash,
}

/// Counts effects and strikes before one of them.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    seen: AtomicUsize,
    blow: Mutex<Option<(usize, Blow)>>,
    dead: AtomicBool,
    /// Told when it has struck.
    pub(crate) struck: Notify,
}

impl Cut {
    /// Strikes before the effect with this number, from 0.
    pub(crate) fn before(effect: usize, blow: Blow) -> Self {
        Self {
            blow: Mutex::new(Some((effect, blow))),
            ..Self::default()
        }
    }

    /// How many effects there were.
    pub(crate) fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    /// An effect is about to be performed; false if it must not be.
    pub(crate) fn lets_pass(&self) -> bool {
        let number = self.seen.fetch_add(1, Ordering::SeqCst);
        let mut blow = self.blow.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, blow)) = blow.take_if(|(at, _)| *at == number) {
            match blow {
                // The front end may be gone: then there is nobody to interrupt.
                Blow::Interrupt(ops) => drop(ops.send(Op::Interrupt)),
                Blow::Crash => self.dead.store(true, Ordering::SeqCst),
            }
            self.struck.notify_one();
        }
        !self.dead.load(Ordering::SeqCst)
    }
}
