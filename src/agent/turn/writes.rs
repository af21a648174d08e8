//! The only place that writes messages and parts: record and event go out together, so nothing is
//! announced that is not written, and the conversation in memory is what the store holds.

use super::Turn;
use crate::agent::effect::{Durability, Effect};
use crate::protocol::{
    Event, Message, MessageId, Millis, Part, PartBody, PartId, SessionInfo, ToolState,
};
use crate::session::Record;

impl Turn {
    /// Adds to the commit under construction, or begins one.
    fn write(&mut self, record: Option<Record>, event: Option<Event>) {
        if !matches!(
            self.effects.last(),
            Some(Effect::Commit {
                sync: Durability::Written,
                ..
            })
        ) {
            self.effects.push(Effect::Commit {
                records: Vec::new(),
                announce: Vec::new(),
                sync: Durability::Written,
            });
        }
        if let Some(Effect::Commit {
            records, announce, ..
        }) = self.effects.last_mut()
        {
            records.extend(record);
            announce.extend(event);
        }
    }

    /// What was written last must be on the disk soon; nobody waits.
    pub(super) fn sync_soon(&mut self) {
        self.set_sync(Durability::Soon);
    }

    /// What was written last must be on the disk before `Input::Synced` with this part comes.
    pub(super) fn barrier(&mut self, part: PartId) {
        self.set_sync(Durability::Barrier(part));
    }

    fn set_sync(&mut self, durability: Durability) {
        if let Some(Effect::Commit { sync, .. }) = self.effects.last_mut() {
            *sync = durability;
        } else {
            self.effects.push(Effect::Commit {
                records: Vec::new(),
                announce: Vec::new(),
                sync: durability,
            });
        }
    }

    /// A new message.
    pub(super) fn create_message(&mut self, message: Message) {
        self.conversation.put_message(message.clone());
        self.write(
            Some(Record::Message(message.clone())),
            Some(Event::MessageCreated { message }),
        );
    }

    /// A changed header.
    pub(super) fn update_message(&mut self, id: MessageId, change: impl FnOnce(&mut Message)) {
        let Some(entry) = self.conversation.entry(id) else {
            return;
        };
        let mut message = entry.message.clone();
        change(&mut message);
        self.conversation.put_message(message.clone());
        self.write(
            Some(Record::Message(message.clone())),
            Some(Event::MessageUpdated { message }),
        );
    }

    /// A new part of a message; returns its id.
    pub(super) fn create_part(
        &mut self,
        now: Millis,
        message: MessageId,
        body: PartBody,
        complete: bool,
    ) -> PartId {
        let id = self.mint.part(now);
        let session = self.setup.info.id;
        self.put_part(Part {
            id,
            message,
            session,
            start: now,
            end: complete.then_some(now),
            body,
        });
        id
    }

    /// A new or changed part, whole.
    pub(super) fn put_part(&mut self, part: Part) {
        self.conversation.put_part(part.clone());
        self.write(
            Some(Record::Part(part.clone())),
            Some(Event::PartUpdated { part }),
        );
    }

    /// A changed part; nothing if it does not exist.
    pub(super) fn update_part(&mut self, id: PartId, change: impl FnOnce(&mut Part)) {
        let Some(part) = self.conversation.part(id) else {
            return;
        };
        let mut part = part.clone();
        change(&mut part);
        self.put_part(part);
    }

    /// A completed call's output is cleared from what the model sees (at this time), or back. Only the mark is
    /// written: the output itself may be large and stands in the store already.
    pub(super) fn put_compacted(&mut self, id: PartId, at: Option<Millis>) {
        let Some(part) = self.conversation.part(id) else {
            return;
        };
        let mut part = part.clone();
        let PartBody::Tool(tool) = &mut part.body else {
            return;
        };
        let ToolState::Completed { compacted_at, .. } = &mut tool.state else {
            return;
        };
        *compacted_at = at;
        self.conversation.put_part(part.clone());
        let record = Record::Compacted {
            message: part.message,
            part: id,
            at,
        };
        self.write(Some(record), Some(Event::PartUpdated { part }));
    }

    /// Text appended to a text or reasoning part.
    pub(super) fn append_text(&mut self, message: MessageId, part: PartId, text: String) {
        if text.is_empty() {
            return;
        }
        self.conversation.append(message, part, &text);
        self.write(
            Some(Record::Append {
                part,
                text: text.clone(),
            }),
            Some(Event::PartDelta {
                part,
                message,
                delta: text,
            }),
        );
    }

    /// A session value.
    pub(super) fn write_value<T: serde::Serialize>(&mut self, name: &str, value: &T) {
        // Values are our own plain types: they always serialise.
        if let Ok(value) = serde_json::to_value(value) {
            self.write(
                Some(Record::Value {
                    name: name.to_owned(),
                    value,
                }),
                None,
            );
        }
    }

    /// What was spent so far, the running turn's time included: a crash loses none of it.
    pub(super) fn write_spent(&mut self, now: Millis) {
        let mut spent = self.spent;
        spent.time_ms += self.running_ms(now);
        self.write_value("spent", &spent);
    }

    /// The session's facts.
    pub(super) fn write_info(&mut self) {
        let mut info: SessionInfo = self.setup.info.clone();
        // A model that stands in for the chosen one is for this turn only.
        if let Some(chosen) = &self.chosen {
            info.model = chosen.model.clone();
        }
        self.write(
            Some(Record::Info(info.clone())),
            Some(Event::SessionUpdated { session: info }),
        );
    }

    /// An event that must come after what was written before it.
    pub(super) fn write_event(&mut self, event: Event) {
        self.write(None, Some(event));
    }
}
