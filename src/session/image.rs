//! A session read into memory from its journal: the view that needs nothing but the journal.
//!
//! Used where sled is not worth it or not possible: small sessions, sessions open elsewhere,
//! exports, imports, search, forks, and as the way out when sled fails. `db` gives the same answers
//! from disk.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use serde_json::Value;

use super::error::StoreError;
use super::facts::Facts;
use super::history::{History, PAGE_BYTES, Page};
use super::journal::{Found, Lines};
use super::record::{self, FORMAT, Line, Order, Record, Stored, Unreadable};
use super::repeats::Repeats;
use crate::protocol::{
    Message, MessageId, Part, PartBody, PartId, SessionId, SessionInfo, ToolState,
};

/// All records of a journal, folded.
#[derive(Debug, Clone, Default)]
pub(super) struct Image {
    /// Whose journal is read; none while a session is put together from something else.
    session: Option<SessionId>,
    /// Another session whose lines stand in the journal. They are left out.
    pub(super) stranger: Option<SessionId>,
    pub(super) info: Option<SessionInfo>,
    pub(super) messages: BTreeMap<MessageId, Message>,
    pub(super) parts: BTreeMap<(MessageId, PartId), Part>,
    pub(super) values: BTreeMap<String, Value>,
    pub(super) facts: Facts,
    owners: HashMap<PartId, MessageId>,
    /// Number of the last commit that counts.
    pub(super) n: u64,
    /// Offset after the last line read.
    pub(super) end: u64,
    /// Places that are damaged: lines and records that could not be used, lines that are missing.
    pub(super) damaged: u64,
    /// Unusable lines since the last commit.
    unusable: u64,
    repeats: Repeats,
}

impl Image {
    /// An image of a journal of which nothing was read yet.
    pub(super) fn of(session: SessionId) -> Self {
        Self {
            session: Some(session),
            ..Self::default()
        }
    }

    /// Reads a session's whole journal (up to `to`, or its end).
    pub(super) fn read(
        session: SessionId,
        path: &Path,
        to: Option<u64>,
    ) -> Result<Self, StoreError> {
        let mut image = Self::of(session);
        image.catch_up(path, to)?;
        Ok(image)
    }

    /// Reads what was written since. Returns how many lines were new.
    pub(super) fn catch_up(&mut self, path: &Path, to: Option<u64>) -> Result<u64, StoreError> {
        let lines = Lines::open(path, self.end, to)
            .map_err(|e| StoreError::io("read the journal", path, e))?;
        self.read_on(lines, path)
    }

    /// The same from lines that begin where this image ends; `path` is what errors name.
    pub(super) fn read_on(&mut self, mut lines: Lines, path: &Path) -> Result<u64, StoreError> {
        let io = |e: io::Error| StoreError::io("read the journal", path, e);
        let file = lines.file();
        let mut count = 0;
        while let Some(found) = lines.next().map_err(io)? {
            count += 1;
            match found {
                Found::Damaged { end } => {
                    self.damaged += 1;
                    self.unusable += 1;
                    self.end = end;
                }
                Found::Line { json, start, end } => {
                    match record::decode(json) {
                        Ok(line) => {
                            let order = Order::of(line.n, self.n, self.unusable);
                            let again = order == Order::Again
                                && self.repeats.has(&file, json, start).map_err(io)?;
                            if !again {
                                self.apply(&line, order);
                            }
                        }
                        Err(Unreadable::Newer(found)) => {
                            return Err(StoreError::Newer {
                                path: path.to_owned(),
                                found,
                                known: FORMAT,
                            });
                        }
                        Err(Unreadable::Malformed) => {
                            self.damaged += 1;
                            self.unusable += 1;
                        }
                    }
                    self.end = end;
                }
            }
        }
        Ok(count)
    }

    /// Folds one commit in.
    fn apply(&mut self, line: &Line<'_>, order: Order) {
        self.damaged += u64::from(order != Order::Next);
        if !order.counts() {
            self.unusable += u64::from(order == Order::Senseless);
            return;
        }
        (self.n, self.unusable) = (line.n, 0);
        let records: Vec<Option<Record>> = line.records.iter().map(Stored::owned).collect();
        let named = records.iter().flatten().filter_map(Record::session);
        let stranger = named
            .into_iter()
            .find(|id| self.session.is_some_and(|own| own != *id));
        if stranger.is_some() {
            self.damaged += 1;
            self.stranger = stranger;
            return;
        }
        for record in records {
            match record {
                Some(record) => self.record(record),
                None => self.damaged += 1,
            }
        }
    }

    /// Folds one record in.
    pub(super) fn record(&mut self, record: Record) {
        match record {
            Record::Message(message) => self.message(message),
            Record::Part(part) => self.part(part),
            Record::Info(info) => self.info = Some(info),
            Record::Value { name, value } => {
                if value == Value::Null {
                    self.values.remove(&name);
                } else {
                    self.values.insert(name, value);
                }
            }
            Record::Append { part, text } => {
                if !self.append(part, &text) {
                    self.damaged += 1;
                }
            }
            Record::Compacted { message, part, at } => {
                let known = self.parts.get_mut(&(message, part));
                if !known.is_some_and(|part| record::compact(part, at)) {
                    self.damaged += 1;
                }
            }
        }
    }

    fn message(&mut self, message: Message) {
        self.facts.message(self.messages.get(&message.id), &message);
        self.messages.insert(message.id, message);
    }

    fn part(&mut self, part: Part) {
        self.facts.prompt(&part);
        if can_grow(&part) {
            self.owners.insert(part.id, part.message);
        } else {
            self.owners.remove(&part.id);
        }
        let id = part.id;
        if self.parts.insert((part.message, id), part).is_none() {
            self.facts.new_part(id);
        }
    }

    fn append(&mut self, id: PartId, text: &str) -> bool {
        let Some(&message) = self.owners.get(&id) else {
            return false;
        };
        self.parts
            .get_mut(&(message, id))
            .is_some_and(|part| record::append(part, text))
    }

    /// One part by id.
    pub(super) fn find(&self, id: PartId) -> Option<Part> {
        let mut all = self.parts.iter().rev();
        all.find(|((_, part), _)| *part == id)
            .map(|(_, part)| part.clone())
    }

    /// The messages before `before` (the newest if none), about `most_parts` of parts.
    pub(super) fn page(&self, before: Option<MessageId>, most_parts: usize) -> Page {
        let mut page = Page::default();
        let (mut count, mut bytes) = (0, 0);
        let older = self
            .messages
            .range(..before.unwrap_or(MessageId::from_raw(u128::MAX)));
        let mut older = older.rev();
        for (&id, message) in older.by_ref() {
            page.messages.push(message.clone());
            let range = (id, PartId::from_raw(0))..=(id, PartId::from_raw(u128::MAX));
            for (_, part) in self.parts.range(range).rev() {
                count += 1;
                bytes += weight(part);
                page.parts.push(part.clone());
            }
            if count >= most_parts || bytes >= PAGE_BYTES {
                break;
            }
        }
        page.first = older.next().is_none();
        page.messages.reverse();
        page.parts.reverse();
        page
    }

    /// The messages from `from` on, with their parts.
    pub(super) fn since(&self, from: MessageId) -> Page {
        let page_parts = self.parts.range((from, PartId::from_raw(0))..);
        Page {
            messages: self
                .messages
                .range(from..)
                .map(|(_, m)| m.clone())
                .collect(),
            parts: page_parts.map(|(_, p)| p.clone()).collect(),
            first: self
                .messages
                .keys()
                .next()
                .is_none_or(|first| *first >= from),
        }
    }

    /// A history of `page`, or none if the session's facts are not in the journal.
    pub(super) fn history(&self, page: Page) -> Option<History> {
        Some(History {
            info: self.info.clone()?,
            messages: page.messages,
            parts: page.parts,
            values: self.values.clone(),
            complete: page.first,
            last_id: self.facts.last_id(),
        })
    }

    /// The whole session, or none if the session's facts are not in the journal.
    pub(super) fn into_history(self) -> Option<History> {
        Some(History {
            info: self.info?,
            last_id: self.facts.last_id(),
            messages: self.messages.into_values().collect(),
            parts: self.parts.into_values().collect(),
            values: self.values,
            complete: true,
        })
    }
}

/// True for parts that `Record::Append` may follow.
fn can_grow(part: &Part) -> bool {
    match &part.body {
        PartBody::Text { .. } | PartBody::Reasoning { .. } => true,
        PartBody::Tool(tool) => matches!(tool.state, ToolState::Pending { .. }),
        _ => false,
    }
}

/// About how much memory a part takes.
fn weight(part: &Part) -> usize {
    200 + match &part.body {
        PartBody::Text { text, .. } | PartBody::Reasoning { text, .. } => text.len(),
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed { output, .. } => output.len(),
            ToolState::Pending { raw } => raw.len(),
            _ => 0,
        },
        _ => 0,
    }
}
