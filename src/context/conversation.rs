//! The current branch of a session in memory: messages with their parts, oldest first.
//!
//! The turn changes it part by part as it writes the same parts to the store; assembly, pruning and
//! compaction read it. What a model is shown of it, what is folded and the messages of the last request
//! are kept and brought up to date by the change at hand, so that a step costs the same after a thousand
//! others. Entries before the last finished compaction may be missing: nothing that is sent needs them.

use std::sync::{Arc, OnceLock};

use super::fold::{self, Fold, Folds};
use super::tokens;
use crate::model::request::{Messages, RequestMessage};
use crate::protocol::{Finish, Message, MessageId, Millis, Part, PartBody, PartId, Role};

/// One message with its parts.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The header.
    pub message: Message,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// What it becomes in a request, kept while nothing in it changes.
    pub(super) rendered: Option<Rendered>,
}

/// What a model is shown.
#[derive(Debug, Clone)]
struct Shown {
    /// See `Conversation::last_compaction`.
    compaction: Option<usize>,
    /// See `Conversation::visible`.
    places: Vec<usize>,
}

/// The messages of the last request, as far as they are settled.
#[derive(Debug, Clone, Default)]
pub(super) struct Assembled {
    /// The messages of the first places of `visible`.
    pub(super) messages: Messages,
    /// How many messages there are after each of those places.
    pub(super) ends: Vec<usize>,
}

impl Assembled {
    /// Forgets what stands at this place and after it.
    fn cut(&mut self, place: usize) {
        if place < self.ends.len() {
            self.ends.truncate(place);
            self.messages
                .truncate(self.ends.last().copied().unwrap_or_default());
        }
    }
}

/// What an entry becomes in a request.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    pub(super) messages: Vec<Arc<RequestMessage>>,
    /// What was folded of it when it was rendered.
    pub(super) fold: Option<Fold>,
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

    /// True if a part of it says that another attempt followed: it is kept but never sent.
    pub fn was_retried(&self) -> bool {
        let newest_first = self.parts.iter().rev();
        newest_first.map(|p| &p.body).any(is_retry)
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
    /// True if cleared calls are folded (`context.prune_fold`).
    folding: bool,
    /// Parts that the user pinned: pruning leaves them alone.
    pinned: Vec<PartId>,
    /// What is folded, once somebody has asked.
    folds: OnceLock<Arc<Folds>>,
    /// What is shown, once somebody has asked.
    shown: OnceLock<Shown>,
    /// What requests are made of, kept by `assemble`.
    pub(super) assembled: Assembled,
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
        Self {
            entries,
            ..Self::default()
        }
    }

    /// Says which parts the user pinned.
    pub fn set_pinned(&mut self, parts: &[PartId]) {
        self.pinned = parts.to_vec();
    }

    /// True if the user pinned this part.
    pub fn is_pinned(&self, part: PartId) -> bool {
        self.pinned.contains(&part)
    }

    /// Says whether cleared calls are folded.
    pub fn set_folding(&mut self, on: bool) {
        self.folding = on;
        self.folds = OnceLock::new();
        self.assembled = Assembled::default();
    }

    /// True if cleared calls are folded.
    pub const fn is_folding(&self) -> bool {
        self.folding
    }

    /// What is folded of what is shown.
    pub fn folds(&self) -> Arc<Folds> {
        Arc::clone(self.folds.get_or_init(|| Arc::new(Folds::of(self))))
    }

    /// Estimated tokens of an entry as it is sent.
    pub fn tokens_at(&self, at: usize) -> u64 {
        let Some(entry) = self.entries.get(at) else {
            return 0;
        };
        let all: u64 = entry.parts.iter().map(tokens::of_part).sum();
        all.saturating_sub(self.folds().saved(at, entry))
    }

    /// What is folded follows from cleared parts, summaries and what was there at the newest pruning.
    fn touched(&mut self, created: Millis, decides: bool) {
        let newest = self.folds.get().and_then(|folds| folds.newest());
        if decides || newest.is_some_and(|at| created <= at) {
            self.folds = OnceLock::new();
            self.assembled = Assembled::default();
        }
    }

    /// An entry changed; `shows` says that it may now be shown, or no longer, or that others may.
    fn changed(&mut self, at: usize, shows: bool) {
        if shows {
            self.shown = OnceLock::new();
            self.assembled = Assembled::default();
            return;
        }
        // Nearly always it is the newest: looked for from the end.
        let place = self
            .shown
            .get()
            .and_then(|shown| shown.places.iter().rposition(|&shown| shown == at));
        if let Some(place) = place {
            self.assembled.cut(place);
        }
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
        self.touched(message.created, message.summary);
        match self
            .entries
            .binary_search_by_key(&message.id, |e| e.message.id)
        {
            Ok(at) => {
                let entry = &mut self.entries[at];
                let shows = entry.message.summary || message.summary;
                entry.message = message;
                entry.rendered = None;
                self.changed(at, shows);
            }
            Err(at) if at == self.entries.len() && !message.summary => {
                self.entries.push(Entry::new(message));
                if let Some(shown) = self.shown.get_mut() {
                    shown.places.push(at);
                }
            }
            Err(at) => {
                self.entries.insert(at, Entry::new(message));
                self.folds = OnceLock::new();
                self.changed(at, true);
            }
        }
    }

    /// Adds or replaces a part; a part of an unknown message is ignored.
    pub fn put_part(&mut self, part: Part) {
        let Some(index) = self.index(part.message) else {
            return;
        };
        let entry = &mut self.entries[index];
        let mut cleared = fold::cleared_at(&part).is_some();
        let mut shows = decides_showing(&part.body);
        entry.rendered = None;
        match entry.parts.binary_search_by_key(&part.id, |p| p.id) {
            Ok(at) => {
                let old = &entry.parts[at];
                cleared |= fold::cleared_at(old).is_some();
                shows |= decides_showing(&old.body);
                entry.parts[at] = part;
            }
            Err(at) => entry.parts.insert(at, part),
        }
        let created = entry.message.created;
        self.touched(created, cleared);
        self.changed(index, shows);
    }

    /// Appends to a text or reasoning part.
    pub fn append(&mut self, message: MessageId, part: PartId, more: &str) {
        if let Some(at) = self.index(message) {
            self.changed(at, false);
            let entry = &mut self.entries[at];
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
        self.entries.get(self.index(id)?)
    }

    fn index(&self, id: MessageId) -> Option<usize> {
        self.entries
            .binary_search_by_key(&id, |e| e.message.id)
            .ok()
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
        self.folds = OnceLock::new();
        self.shown = OnceLock::new();
        self.assembled = Assembled::default();
        self.entries.split_off(at)
    }

    /// Index of the last finished compaction: its request; the summary is the entry after it.
    pub fn last_compaction(&self) -> Option<usize> {
        self.shown().compaction
    }

    /// The indices of what a model is shown, in order: after a compaction the request, its summary,
    /// the kept tail, and all that came later.
    pub fn visible(&self) -> &[usize] {
        &self.shown().places
    }

    fn shown(&self) -> &Shown {
        self.shown.get_or_init(|| {
            let compaction = self.find_compaction();
            Shown {
                compaction,
                places: self.find_visible(compaction),
            }
        })
    }

    fn find_compaction(&self) -> Option<usize> {
        (0..self.entries.len().saturating_sub(1)).rev().find(|&at| {
            let (request, answer) = (&self.entries[at], &self.entries[at + 1]);
            answer.message.summary
                && request.compaction().is_some()
                && answer.message.completed.is_some()
                && answer.message.error.is_none()
                // A summary that a crash or an interrupt cut is none.
                && !matches!(
                    answer.message.finish,
                    Some(Finish::Interrupted | Finish::Error)
                )
        })
    }

    fn find_visible(&self, compaction: Option<usize>) -> Vec<usize> {
        let all = 0..self.entries.len();
        let Some(request) = compaction else {
            return all.filter(|&i| self.is_shown(i)).collect();
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
            .chain((request + 2..all.end).filter(|&i| self.is_shown(i)))
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

/// True if a part of this kind says whether its message, or others, are shown.
const fn decides_showing(body: &PartBody) -> bool {
    is_retry(body) || matches!(body, PartBody::Compaction { .. })
}

const fn is_retry(body: &PartBody) -> bool {
    matches!(body, PartBody::Retry { .. })
}
