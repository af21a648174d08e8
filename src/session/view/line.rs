//! What the view thread is asked, and the handle that asks it.
//!
//! Used by the store's handle and the writer. The thread behind a `Line` can be replaced when it hangs; what
//! is asked later goes to the new one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::super::commit::Announce;
use super::super::error::StoreError;
use super::super::frames::Frames;
use super::super::history::{History, Page};
use super::super::meta::SummaryPatch;
use super::super::place::Place;
use super::{View, move_aside};
use crate::protocol::{MessageId, Part, PartId};

/// How long anyone waits for an answer before the view counts as hanging.
pub(in crate::session) const PATIENCE: Duration = Duration::from_secs(10);

/// Where an answer goes.
pub(in crate::session) type Reply<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// What a session is opened with.
pub(in crate::session) struct Newest {
    pub(in crate::session) history: History,
    /// Number of the last commit that counts: the writer goes on after it.
    pub(in crate::session) n: u64,
    /// Sentences for the user.
    pub(in crate::session) notices: Vec<String>,
}

/// What the view is asked.
pub(in crate::session) enum Ask {
    /// The newest page with the session's facts and values.
    Newest(usize, Reply<Newest>),
    /// The page before a message.
    Page(Option<MessageId>, usize, Reply<Page>),
    /// Everything from a message on (everything if none).
    Since(Option<MessageId>, Reply<Page>),
    /// One part.
    Part(PartId, Reply<Option<Part>>),
    /// Facts for the listing.
    Summary(SummaryPatch),
    /// An answer for `frames`.
    Frames(Box<Frames>),
    /// A second has passed since something was written.
    Tick,
    /// End; answers when everything is let go of. True if something was written since it was opened.
    Close(bool, Reply<()>),
}

/// A question, and how far the journal was written when it was asked.
pub(super) struct Request {
    pub(super) to: u64,
    pub(super) ask: Ask,
}

/// Where questions for the view go. The thread behind it can be replaced when it hangs.
#[derive(Clone)]
pub(in crate::session) struct Line {
    place: Place,
    /// Who is told what was found and mended; none for a session that is only read.
    announce: Option<Arc<dyn Announce>>,
    sender: Arc<Mutex<Sender<Request>>>,
    /// Threads that hung.
    hung: Arc<AtomicU32>,
}

impl Line {
    /// Starts the thread. It touches no file until it is asked something.
    pub(in crate::session) fn start(
        place: Place,
        announce: Option<Arc<dyn Announce>>,
    ) -> Result<Self, StoreError> {
        let memory_only = announce.is_none();
        let sender = View::start(place.clone(), announce.clone(), memory_only, Vec::new())?;
        Ok(Self {
            place,
            announce,
            sender: Arc::new(Mutex::new(sender)),
            hung: Arc::default(),
        })
    }

    /// Asks; false if the thread is gone.
    pub(in crate::session) fn send(&self, to: u64, ask: Ask) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.send(Request { to, ask }).is_ok()
    }

    /// Leaves a hanging thread behind, and its files: a view made again answers from now on; if that
    /// hangs too, a session read into memory.
    pub(in crate::session) fn replace(&self) -> Result<(), StoreError> {
        let again = self.hung.fetch_add(1, Ordering::Relaxed) > 0;
        let owner = self.announce.is_some();
        // the thread may still hold the files open: under their new name they are in nobody's way
        let aside = owner && move_aside(&self.place).is_ok();
        let mut notices = Vec::new();
        if owner {
            notices.push(format!(
                "The index of this session did not answer within {} s and was set aside; {} \
                 Nothing is lost.",
                PATIENCE.as_secs(),
                if again || !aside {
                    "until the session is closed it is kept in memory and in its journal."
                } else {
                    "it was made again from the journal."
                }
            ));
        }
        let fresh = View::start(
            self.place.clone(),
            self.announce.clone(),
            !owner || again || !aside,
            notices,
        )?;
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}
