//! Keys → pages: reads the view backwards and verifies whatever it returns, because sled can lose or
//! turn back single pages without an error.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::check::{Chain, sum};
use super::super::error::StoreError;
use super::super::history::{PAGE_BYTES, Page};
use super::super::keys::{
    INFO, MESSAGE, VALUE, header_rest, message_key, split_key, value_key, value_name,
};
use super::super::record;
use super::{APPENDED, CHUNK, Db, failed, guarded};
use crate::protocol::{Message, MessageId, Part, PartId, SessionInfo};

/// A message while it is being read backwards.
#[derive(Default)]
struct Gathered {
    message: Option<MessageId>,
    sum: u32,
    parts: Vec<Part>,
    /// Of the part being read.
    pieces: Vec<(u32, sled::IVec)>,
}

impl Gathered {
    fn of(message: MessageId) -> Self {
        Self {
            message: Some(message),
            ..Self::default()
        }
    }
}

impl Db {
    /// One part by id. Everything gathered must have been written.
    pub(in crate::session) fn find(&self, id: PartId) -> Result<Option<Part>, StoreError> {
        guarded(|| {
            let Some(message) = self.owner(id)? else {
                return Ok(None);
            };
            let whole = self.tree.scan_prefix(message_key(message));
            let (page, _) = self.gather(whole.rev(), usize::MAX, usize::MAX, Chain::Unknown)?;
            Ok(page.parts.into_iter().find(|part| part.id == id))
        })
    }

    /// The messages before `before` (the newest if none), about `most_parts` of parts.
    pub(in crate::session) fn page(
        &self,
        before: Option<MessageId>,
        most: usize,
    ) -> Result<Page, StoreError> {
        let end = before.map_or_else(|| vec![MESSAGE + 1], message_key);
        let range = self.tree.range(vec![MESSAGE]..end);
        guarded(|| {
            let chain = match before {
                None => Chain::Next(self.mark.facts.last_message),
                Some(id) => match self.check(id)? {
                    Some(check) => Chain::Next(check.before()),
                    None => Chain::Unknown,
                },
            };
            let (page, rest) = self.gather(range.rev(), most, PAGE_BYTES, chain)?;
            if page.first && matches!(rest, Chain::Next(Some(_))) {
                return Err(failed("its beginning is missing"));
            }
            Ok(page)
        })
    }

    /// The messages from `from` (the first if none) on.
    pub(in crate::session) fn since(&self, from: Option<MessageId>) -> Result<Page, StoreError> {
        let start = from.map_or_else(|| vec![MESSAGE], message_key);
        let range = self.tree.range(start.clone()..vec![MESSAGE + 1]);
        guarded(|| {
            let chain = Chain::Next(self.mark.facts.last_message);
            let (mut page, rest) = self.gather(range.rev(), usize::MAX, usize::MAX, chain)?;
            if let Chain::Next(Some(next)) = rest
                && from.is_none_or(|from| next >= from)
            {
                return Err(failed(format!("{next} is missing")));
            }
            let older = self.tree.range(vec![MESSAGE]..start).next_back();
            page.first = older.is_none();
            Ok(page)
        })
    }

    /// Reads backwards, so pieces, parts and messages come last first. What it returns is verified:
    /// each message by its sum, the sequence of messages by the chain, whose rest comes along.
    fn gather(
        &self,
        items: impl Iterator<Item = sled::Result<(sled::IVec, sled::IVec)>>,
        most_parts: usize,
        most_bytes: usize,
        mut chain: Chain,
    ) -> Result<(Page, Chain), StoreError> {
        let mut page = Page {
            first: true,
            ..Page::default()
        };
        let mut bytes = 0;
        let mut open = Gathered::default(); // the message whose header comes next
        for item in items {
            let (key, value) = item.map_err(failed)?;
            bytes += value.len();
            let (message, part) = split_key(&key).ok_or_else(|| failed("a key is malformed"))?;
            if open.message != Some(message) {
                // parts without a header: it was in a damaged line of the journal
                open = Gathered::of(message);
            }
            open.sum ^= sum(&key, &value);
            if let Some((_, n)) = part {
                open.pieces.push((n, value));
                if n == 0 {
                    open.pieces.reverse();
                    open.parts.push(join(&open.pieces)?);
                    open.pieces.clear();
                }
                continue;
            }
            if page.parts.len() >= most_parts || bytes >= most_bytes && !page.messages.is_empty() {
                page.first = false;
                break;
            }
            let (header, rest) = self.whole_header(message, value.to_vec())?;
            let check = self.check(message)?.unwrap_or_default();
            if check.sum != open.sum ^ rest || !chain.fits(message) {
                return Err(failed(format!("{message} is not as it was written")));
            }
            chain = Chain::Next(check.before());
            page.messages.push(header);
            page.parts.append(&mut open.parts);
        }
        page.messages.reverse();
        page.parts.reverse();
        Ok((page, chain))
    }

    /// A message from the first piece of its header, and the sum of the other pieces.
    fn whole_header(&self, id: MessageId, first: Vec<u8>) -> Result<(Message, u32), StoreError> {
        let mut others = 0;
        if first.len() == CHUNK {
            for item in self.tree.scan_prefix(header_rest(id)) {
                let (key, value) = item.map_err(failed)?;
                others ^= sum(&key, &value);
            }
        }
        Ok((self.parse_message(id, first)?, others))
    }

    /// True if a named value is set.
    pub(in crate::session) fn has_value(&self, name: &str) -> Result<bool, StoreError> {
        let json = guarded(|| self.read_pieces(&value_key(name)))?;
        Ok(!json.is_empty() && json != b"null")
    }

    /// The session's facts; none if the journal did not have them.
    pub(in crate::session) fn info(&self) -> Result<Option<SessionInfo>, StoreError> {
        guarded(|| {
            let json = self.read_pieces(&[INFO])?;
            if json.is_empty() {
                return Ok(None);
            }
            serde_json::from_slice(&json).map(Some).map_err(failed)
        })
    }

    /// All named values.
    pub(in crate::session) fn values(&self) -> Result<BTreeMap<String, Value>, StoreError> {
        guarded(|| {
            let mut raw: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            let mut found = 0;
            for item in self.tree.range([VALUE].as_slice()..[INFO + 1].as_slice()) {
                let (key, value) = item.map_err(failed)?;
                found ^= sum(&key, &value);
                if key.first() == Some(&INFO) {
                    continue;
                }
                let name = value_name(&key).ok_or_else(|| failed("a key is malformed"))?;
                raw.entry(name).or_default().extend_from_slice(&value);
            }
            if found != self.mark.values {
                return Err(failed("the named values are not as they were written"));
            }
            let mut values = BTreeMap::new();
            for (name, json) in raw {
                let value: Value = serde_json::from_slice(&json).map_err(failed)?;
                if value != Value::Null {
                    values.insert(name, value);
                }
            }
            Ok(values)
        })
    }
}

/// A part from its pieces in order.
fn join(pieces: &[(u32, sled::IVec)]) -> Result<Part, StoreError> {
    let (mut json, mut text) = (Vec::new(), Vec::new());
    for (n, bytes) in pieces {
        if *n < APPENDED {
            json.extend_from_slice(bytes);
        } else {
            text.extend_from_slice(bytes);
        }
    }
    let mut part: Part = serde_json::from_slice(&json).map_err(failed)?;
    if !text.is_empty() {
        let text = String::from_utf8(text).map_err(failed)?;
        record::append(&mut part, &text);
    }
    Ok(part)
}
