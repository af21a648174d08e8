//! What others did to the conversation: the driver takes messages back and puts them back (undo, redo,
//! rewind), another process stores some that a read-only view follows. Nothing is written here.

use super::Turn;
use crate::agent::effect::Effect;
use crate::context::Conversation;
use crate::protocol::{MessageId, Millis, PartId, SessionInfo, Status};

impl Turn {
    /// Takes a message and everything after it off the branch (undo, rewind); the driver writes it.
    pub fn take_back(&mut self, from: MessageId) -> Vec<crate::context::Entry> {
        let taken = self.conversation.truncate_from(from);
        self.guard.forgive();
        self.measure();
        taken
    }

    /// Puts entries back that `take_back` took (redo).
    pub fn put_back(&mut self, entries: Vec<crate::context::Entry>) {
        for entry in entries {
            self.conversation.put_message(entry.message);
            for part in entry.parts {
                self.conversation.put_part(part);
            }
        }
        self.measure();
    }

    /// The whole conversation takes the place of its newest messages, which may have changed since.
    pub fn remember(&mut self, whole: Conversation) {
        let known = std::mem::replace(&mut self.conversation, whole);
        let folding = self.setup.context.prune_fold;
        self.conversation.set_folding(folding);
        self.conversation.set_pinned(&self.pins);
        self.put_back(known.entries().to_vec());
        self.guard = super::LoopGuard::default();
        self.remember_calls();
    }

    /// Takes over what another process stored of the session (a read-only view follows it).
    pub fn mirror_message(&mut self, message: crate::protocol::Message) {
        self.conversation.put_message(message);
    }

    /// See `mirror_message`.
    pub fn mirror_part(&mut self, part: crate::protocol::Part) {
        self.conversation.put_part(part);
    }

    /// See `mirror_message`: text was appended to a part.
    pub fn mirror_text(&mut self, message: MessageId, part: PartId, more: &str) {
        self.conversation.append(message, part, more);
    }

    /// See `mirror_message`: the session's facts.
    pub fn mirror_info(&mut self, info: SessionInfo) {
        self.setup.info = info;
    }

    /// See `mirror_message`: a value of the session. What follows from it is to be done.
    pub fn mirror_value(
        &mut self,
        now: Millis,
        name: &str,
        value: serde_json::Value,
    ) -> Vec<Effect> {
        if self.queue.mirror(name, value) {
            self.queue.unwritten();
            self.tell_queue(now);
        }
        std::mem::take(&mut self.effects)
    }

    /// The status after something was taken over.
    pub fn mirrored(&mut self) -> Status {
        self.measure();
        self.status()
    }
}
