//! A subagent that the user looks at: its transcript, while it works and afterwards; its end.
//!
//! One that works is asked to show itself: its driver announces its session and all that it has said
//! so far, and its follower passes that on with everything that comes later. One that has ended is
//! read from its journal.

use std::sync::atomic::Ordering;

use super::children::Child;
use super::{Agent, Back};
use crate::context::Conversation;
use crate::protocol::{Event, NoticeLevel, Op, SessionId};
use crate::session::{History, StoreError};

impl Agent {
    /// Begins or ends to show a subagent.
    pub(super) fn watch(&mut self, session: SessionId, on: bool) {
        if let Some(child) = self.child_of(session) {
            child.watched.store(on, Ordering::Relaxed);
            if on {
                // It may have ended meanwhile: then its last words are on their way.
                drop(child.back.send(Back::Show));
            }
        } else if let Some(child) = self.child_above(session) {
            let op = if on {
                Op::Watch(session)
            } else {
                Op::Unwatch(session)
            };
            drop(child.ops.send(op));
        } else if on {
            self.show_stored(session);
        }
    }

    /// Stops a subagent; its parent goes on.
    pub(super) fn stop_subagent(&mut self, session: SessionId) {
        if let Some(child) = self.child_of(session) {
            drop(child.ops.send(Op::Interrupt));
        } else if let Some(child) = self.child_above(session) {
            drop(child.ops.send(Op::StopSubagent(session)));
        } else {
            self.notice(NoticeLevel::Info, "That subagent has ended already.");
        }
    }

    /// Announces the session and all that was said in it; somebody begins to watch.
    pub(super) fn show_all(&mut self) {
        self.flush();
        self.announce_session(false, false);
        let entries = self.active.turn.conversation().entries();
        let history = Event::History {
            messages: entries.iter().map(|e| e.message.clone()).collect(),
            parts: entries.iter().flat_map(|e| e.parts.clone()).collect(),
            first: true,
        };
        self.active.announce(&self.ports, vec![history]);
    }

    /// A subagent that has ended, from its journal.
    fn show_stored(&self, session: SessionId) {
        let project = self.ports.project.clone();
        let back = self.active.back.clone();
        self.ports.beside(move || {
            for event in stored(session, project.open_session_all(session)) {
                drop(back.send(Back::Event(event)));
            }
        });
    }

    fn child_of(&self, session: SessionId) -> Option<&Child> {
        let mut children = self.active.family.children.values();
        children.find(|c| c.session == session)
    }

    /// The subagent at work that this one hangs under.
    fn child_above(&self, session: SessionId) -> Option<&Child> {
        let mut children = self.active.family.children.values();
        children.find(|c| c.descendants.contains(&session))
    }

    /// A permission was given: what subagents ask may be settled by it.
    pub(super) fn tell_children_granted(&self) {
        for child in self.active.family.children.values() {
            // It may have ended meanwhile.
            drop(child.back.send(Back::JudgeAgain));
        }
    }

    /// True if this session is a subagent's that is at work.
    pub(super) fn is_at_work(&self, session: SessionId) -> bool {
        self.child_of(session).is_some() || self.child_above(session).is_some()
    }
}

/// What a stored session has to show.
fn stored(session: SessionId, history: Result<History, StoreError>) -> Vec<Event> {
    let history = match history {
        Ok(history) => history,
        Err(error) => {
            return vec![Event::Error {
                error: error.fault(),
            }];
        }
    };
    let (messages, parts) =
        super::branch::current(history.messages, history.parts, &history.values);
    let conversation = Conversation::from_history(messages, parts);
    let entries = conversation.entries();
    let events = [
        Event::SessionStarted {
            session: history.info,
            writable: false,
            read_only: None,
            cut: false,
        },
        Event::History {
            messages: entries.iter().map(|e| e.message.clone()).collect(),
            parts: entries.iter().flat_map(|e| e.parts.clone()).collect(),
            first: true,
        },
    ];
    let shown = |event| Event::Subagent {
        session,
        event: Box::new(event),
    };
    events.map(shown).into()
}
