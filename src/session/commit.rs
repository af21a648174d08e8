//! What the agent hands to the store, and what it gets back: commits and announcements.

use std::fmt;
use std::marker;

use tokio::sync::oneshot;

pub use super::record::Record;
use crate::protocol::{Event, Fault};

/// Records that are kept together or not at all, and the events that tell of them.
#[derive(Debug)]
pub struct Commit {
    /// What to keep, in order. May be empty: then only the events are announced, in order.
    pub records: Vec<Record>,
    /// Announced as soon as the records are written. If they could not be, only what ends something is
    /// announced (`Event::unkept`).
    pub announce: Vec<Event>,
    /// How soon it must be safe from a power cut.
    pub sync: Sync,
}

/// How soon a commit is synced (fdatasync) after it was written (write(2)).
#[derive(Debug)]
pub enum Sync {
    /// Within a second.
    Written,
    /// At once, but nobody waits for it.
    Soon,
    /// At once, and the sender hears of it. The error is the sentence to show.
    Now(oneshot::Sender<Result<(), Fault>>),
}

impl Commit {
    /// A commit that is synced within a second.
    pub fn written(records: Vec<Record>, announce: Vec<Event>) -> Self {
        Self {
            records,
            announce,
            sync: Sync::Written,
        }
    }

    /// A commit that is synced at once while nobody waits.
    pub fn soon(records: Vec<Record>, announce: Vec<Event>) -> Self {
        Self {
            records,
            announce,
            sync: Sync::Soon,
        }
    }

    /// A commit, and what tells when it is safe from a power cut.
    pub fn now(
        records: Vec<Record>,
        announce: Vec<Event>,
    ) -> (Self, oneshot::Receiver<Result<(), Fault>>) {
        let (sender, receiver) = oneshot::channel();
        let commit = Self {
            records,
            announce,
            sync: Sync::Now(sender),
        };
        (commit, receiver)
    }
}

/// Who hears of what was kept. Called on the store's threads, so it must not block.
pub trait Announce: Send + marker::Sync {
    /// These events' records are written. Calls come in the order of the commits.
    fn announce(&self, events: Vec<Event>);

    /// A commit could not be written, or what was written could not be synced.
    fn failed(&self, fault: Fault);
}

impl fmt::Debug for dyn Announce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Announce")
    }
}
