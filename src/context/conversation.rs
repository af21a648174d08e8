//! The current branch of a session in memory: messages with their parts, oldest first.
//!
//! The turn changes it part by part as it writes the same parts to the store; assembly, pruning and
//! compaction read it. Entries before the last finished compaction may be missing: nothing that is
//! sent needs them.

use std::sync::Arc;

use crate::model::request::RequestMessage;
use crate::protocol::{Finish, Message, MessageId, Part, PartBody, PartId, Role};

/// One message with its parts.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The header.
    pub message: Message,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// What it becomes in a request, kept while nothing in it changes.
    pub(super) rendered: Option<Vec<Arc<RequestMessage>>>,
}

impl Entry {
    /// An entry without parts yet.
    pub const fn new(message: Message) -> Self {
        Self {
            message,
            parts: Vec::new(),
            rendered: None,
        }
    }

    /// The compaction part, if this is a compaction request.
    pub fn compaction(&self) -> Option<&PartBody> {
        self.parts
            .iter()
            .map(|p| &p.body)
            .find(|b| matches!(b, PartBody::Compaction { .. }))
    }

    /// True for a user message that the user wrote (not a compaction request, not synthetic).
    pub fn is_prompt(&self) -> bool {
        self.message.role == Role::User
            && self.parts.iter().any(|p| match &p.body {
                PartBody::Text {
                    synthetic, ignored, ..
                } => !synthetic && !ignored,
                PartBody::File(_) => true,
                _ => false,
            })
    }

    /// True if its last part says that another attempt followed: it is kept but never sent.
    pub fn was_retried(&self) -> bool {
        matches!(
            self.parts.last().map(|p| &p.body),
            Some(PartBody::Retry { .. })
        )
    }

    /// All text of it that a model would see, joined.
    pub fn text(&self) -> String {
        let mut all = String::new();
        for part in &self.parts {
            if let PartBody::Text {
                text,
                ignored: false,
                ..
            } = &part.body
            {
                all.push_str(text);
            }
        }
        all
    }
}

/// The current branch.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    entries: Vec<Entry>,
}

impl Conversation {
    /// From stored messages and parts, both in order. Parts of unknown messages are left out.
    pub fn from_history(messages: Vec<Message>, parts: Vec<Part>) -> Self {
        let mut entries: Vec<Entry> = messages.into_iter().map(Entry::new).collect();
        entries.sort_by_key(|e| e.message.id);
        for part in parts {
            if let Ok(at) = entries.binary_search_by_key(&part.message, |e| e.message.id) {
                entries[at].parts.push(part);
            }
        }
        for entry in &mut entries {
            entry.parts.sort_by_key(|p| p.id);
        }
        Self { entries }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries for a change that keeps their order; what is kept of their rendering is dropped
    /// only for entries touched through `put_part` and `put_message`.
    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// The newest message.
    pub fn tip(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Adds or replaces a header.
    pub fn put_message(&mut self, message: Message) {
        match self
            .entries
            .binary_search_by_key(&message.id, |e| e.message.id)
        {
            Ok(at) => {
                self.entries[at].message = message;
                self.entries[at].rendered = None;
            }
            Err(at) => self.entries.insert(at, Entry::new(message)),
        }
    }

    /// Adds or replaces a part; a part of an unknown message is ignored.
    pub fn put_part(&mut self, part: Part) {
        if let Some(entry) = self.entry_mut(part.message) {
            entry.rendered = None;
            match entry.parts.binary_search_by_key(&part.id, |p| p.id) {
                Ok(at) => entry.parts[at] = part,
                Err(at) => entry.parts.insert(at, part),
            }
        }
    }

    /// Appends to a text or reasoning part.
    pub fn append(&mut self, message: MessageId, part: PartId, more: &str) {
        if let Some(entry) = self.entry_mut(message) {
            entry.rendered = None;
            // Streaming appends to the newest part: look from the end.
            if let Some(Part {
                body: PartBody::Text { text, .. } | PartBody::Reasoning { text, .. },
                ..
            }) = entry.parts.iter_mut().rev().find(|p| p.id == part)
            {
                text.push_str(more);
            }
        }
    }

    /// A message with its parts.
    pub fn entry(&self, id: MessageId) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by_key(&id, |e| e.message.id)
            .ok()?;
        self.entries.get(at)
    }

    fn entry_mut(&mut self, id: MessageId) -> Option<&mut Entry> {
        let at = self
            .entries
            .binary_search_by_key(&id, |e| e.message.id)
            .ok()?;
        self.entries.get_mut(at)
    }

    /// A part by id.
    pub fn part(&self, id: PartId) -> Option<&Part> {
        // Parts are asked for soon after they were made: newest first.
        self.entries
            .iter()
            .rev()
            .find_map(|e| e.parts.iter().find(|p| p.id == id))
    }

    /// Takes out the message `from` and everything after it; returns what was taken, oldest first.
    pub fn truncate_from(&mut self, from: MessageId) -> Vec<Entry> {
        let at = self.entries.partition_point(|e| e.message.id < from);
        self.entries.split_off(at)
    }

    /// Index of the last finished compaction: its request; the summary is the entry after it.
    pub fn last_compaction(&self) -> Option<usize> {
        (0..self.entries.len().saturating_sub(1)).rev().find(|&at| {
            let (request, answer) = (&self.entries[at], &self.entries[at + 1]);
            request.compaction().is_some()
                && answer.message.summary
                && answer.message.completed.is_some()
                && answer.message.error.is_none()
                // A summary that a crash or an interrupt cut is none.
                && !matches!(
                    answer.message.finish,
                    Some(Finish::Interrupted | Finish::Error)
                )
        })
    }

    /// The indices of what a model is shown, in order: after a compaction the request, its summary,
    /// the kept tail, and all that came later.
    pub fn visible(&self) -> Vec<usize> {
        let Some(request) = self.last_compaction() else {
            return (0..self.entries.len())
                .filter(|&i| self.is_shown(i))
                .collect();
        };
        let tail = match self.entries[request].compaction() {
            Some(PartBody::Compaction {
                tail: Some(first), ..
            }) => self.entries.partition_point(|e| e.message.id < *first),
            _ => request,
        };
        let kept = tail..request;
        [request, request + 1]
            .into_iter()
            .chain(kept.filter(|&i| self.is_shown(i)))
            .chain((request + 2..self.entries.len()).filter(|&i| self.is_shown(i)))
            .collect()
    }

    /// False for retried attempts and for compactions that did not finish, or were made earlier.
    fn is_shown(&self, at: usize) -> bool {
        let entry = &self.entries[at];
        !entry.was_retried() && entry.compaction().is_none() && !entry.message.summary
    }

    /// Indices of the prompts that begin turns, oldest first.
    pub fn prompts(&self) -> Vec<usize> {
        (0..self.entries.len())
            .filter(|&i| self.entries[i].is_prompt())
            .collect()
    }
}
