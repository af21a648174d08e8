//! A long session that is only looked at: its newest page is in memory, older ones come from the store.
//!
//! A session of 100,000 parts is then open as soon as one of a hundred, and takes no more memory than what is
//! shown. It rests until something needs all of it (a prompt, an undo, the tree): `wake` reads it then.
//! A session whose newest messages are not one line, because it was branched there, never rests. Called by
//! `sessions` and before each order.

use super::branch::Parents;
use super::sessions::PAGE;
use super::{Agent, branch};
use crate::context::Conversation;
use crate::protocol::{Event, Message, MessageId, Op, Part};
use crate::session::{History, Page};

/// What is known of the messages that were sent.
#[derive(Debug)]
pub(super) struct Resting {
    /// The oldest of them.
    oldest: MessageId,
    /// What it follows, if it says so.
    parent: Option<MessageId>,
}

/// The newest page as a conversation, if older ones exist and the page is one line to the current end.
pub(super) fn newest_page(history: &History) -> Option<(Resting, Vec<Message>, Vec<Part>)> {
    if history.complete {
        return None;
    }
    let (messages, parts) = branch::current(
        history.messages.clone(),
        history.parts.clone(),
        &history.values,
    );
    let oldest = messages.first()?;
    let resting = Resting {
        oldest: oldest.id,
        parent: oldest.parent,
    };
    (messages.len() == history.messages.len()).then_some((resting, messages, parts))
}

impl Resting {
    /// Takes the page before what is known; false if it is not one line to it.
    fn goes_on(&mut self, page: &Page) -> bool {
        let (Some(first), Some(last)) = (page.messages.first(), page.messages.last()) else {
            return page.first;
        };
        let follows = self.parent.is_none() || self.parent == Some(last.id);
        let line = Parents::of(&page.messages).path(Some(last.id));
        if !follows || line.len() != page.messages.len() {
            return false;
        }
        (self.oldest, self.parent) = (first.id, first.parent);
        true
    }
}

/// True for what can be done without knowing all that was said.
const fn needs_little(op: &Op) -> bool {
    matches!(
        op,
        Op::LoadOlder { .. }
            | Op::Interrupt
            | Op::SetMode(_)
            | Op::SetEffort(_)
            | Op::Rename(_)
            | Op::ListSessions { .. }
            | Op::OpenSession(_)
            | Op::Preview(_)
            | Op::RenameSession { .. }
            | Op::ArchiveSession(_)
            | Op::DeleteSession(_)
            | Op::Search { .. }
            | Op::NewSession
            | Op::ListModels
            | Op::FindFiles { .. }
            | Op::ListPermissions
            | Op::RevokePermission { .. }
            | Op::Close
    )
}

impl Agent {
    /// Reads the whole session if this order needs it; false, and said, if it cannot be read.
    pub(super) async fn awake_for(&mut self, op: &Op) -> bool {
        needs_little(op) || self.wake().await
    }

    /// The whole session is in memory afterwards; false, and said, if it cannot be read.
    pub(super) async fn wake(&mut self) -> bool {
        if self.active.resting.is_none() {
            return true;
        }
        let Some((messages, parts)) = self.all_of_it().await else {
            return false;
        };
        let (messages, parts) = branch::current(messages, parts, &self.active.values);
        self.active.resting = None;
        let whole = Conversation::from_history(messages, parts);
        self.active.turn.remember(whole);
        true
    }

    async fn all_of_it(&self) -> Option<(Vec<Message>, Vec<Part>)> {
        match self.everything().await {
            Ok(all) => Some(all),
            Err(error) => {
                self.store_trouble(&error);
                None
            }
        }
    }

    /// The page before a message.
    pub(super) async fn load_older(&mut self, before: MessageId) {
        if let Some(resting) = &mut self.active.resting
            && resting.oldest == before
            && let Some(store) = &self.active.store
        {
            let page = store.page_async(Some(before), PAGE).await;
            if let Ok(page) = page
                && resting.goes_on(&page)
            {
                let event = Event::History {
                    messages: page.messages,
                    parts: page.parts,
                    first: page.first,
                };
                self.active.announce(&self.ports, vec![event]);
                return;
            }
        }
        if self.wake().await {
            self.send_page(Some(before));
        }
    }
}
