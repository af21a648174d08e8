//! Records → keys: how one record of the journal changes the view. Called by `Db::catch_up`; everything
//! goes into the batch being gathered.

use serde::Deserialize;

use super::super::error::StoreError;
use super::super::keys::{INFO, header_rest, message_key, part_key, piece, split_key, value_key};
use super::super::record::{self, Stored};
use super::{APPENDED, CHUNK, Db, failed};
use crate::protocol::{Message, MessageId, Millis, Part, PartId};

impl Db {
    /// Puts a new message into the chain of messages.
    fn link(&mut self, id: MessageId, newest: Option<MessageId>) -> Result<(), StoreError> {
        if newest.is_none_or(|newest| newest < id) {
            return self.change(id, |check| check.link(newest));
        }
        // it comes late: it takes the place before its successor, which knows the one before
        let mut next = newest;
        while let Some(after) = next {
            let before = self.check(after)?.and_then(|check| check.before());
            if before.is_none_or(|before| before < id) {
                self.change(id, |check| check.link(before))?;
                return self.change(after, |check| check.link(Some(id)));
            }
            next = before;
        }
        Err(failed("the chain of messages is broken"))
    }

    pub(super) fn apply(&mut self, record: &Stored<'_>) -> Result<(), StoreError> {
        match record {
            Stored::Message(raw) => match serde_json::from_str::<Message>(raw.get()) {
                Ok(message) => self.message(&message, raw.get().as_bytes())?,
                Err(_) => self.mark.damaged += 1,
            },
            Stored::Part(raw) => self.part(raw.get())?,
            Stored::Append { part, text } => self.append(*part, text)?,
            Stored::Compacted { message, part, at } => self.compacted(*message, *part, *at)?,
            Stored::Value { name, value } => {
                let prefix = value_key(name);
                self.put_pieces(&prefix, value.get().as_bytes(), false)?;
            }
            Stored::Info(raw) => self.put_pieces(&[INFO], raw.get().as_bytes(), false)?,
        }
        Ok(())
    }

    fn message(&mut self, message: &Message, json: &[u8]) -> Result<(), StoreError> {
        let old = self.read_message(message.id)?;
        if old.is_none() {
            self.link(message.id, self.mark.facts.last_message)?;
        }
        self.mark.facts.message(old.as_ref(), message);
        let first = json.len().min(CHUNK);
        let key = message_key(message.id);
        self.put(key, Some(&json[..first]), old.is_none())?;
        let rest = header_rest(message.id);
        if json.len() >= CHUNK {
            self.put_pieces(&rest, &json[first..], false)?;
        } else if old.is_some() {
            self.remove_pieces(&rest, 0)?;
        }
        Ok(())
    }

    fn part(&mut self, json: &str) -> Result<(), StoreError> {
        #[derive(Deserialize)]
        struct Ids {
            id: PartId,
            message: MessageId,
        }
        let Ok(Ids { id, message }) = serde_json::from_str(json) else {
            self.mark.damaged += 1;
            return Ok(());
        };
        if self.mark.facts.wants_prompt(message)
            && let Ok(part) = serde_json::from_str(json)
        {
            self.mark.facts.prompt(&part);
        }
        let prefix = part_key(message, id);
        let fresh = self.get(&piece(&prefix, 0))?.is_none();
        if fresh {
            self.mark.facts.new_part(id);
        }
        self.put_pieces(&prefix, json.as_bytes(), fresh)?;
        if self.owners.len() > 1_024 {
            self.owners.clear();
        }
        self.owners.insert(id, message);
        Ok(())
    }

    fn compacted(
        &mut self,
        message: MessageId,
        id: PartId,
        at: Option<Millis>,
    ) -> Result<(), StoreError> {
        let prefix = part_key(message, id);
        let json = self.read_pieces(&prefix)?;
        // a completed call was written whole, so nothing was appended to it since
        if let Ok(mut part) = serde_json::from_slice::<Part>(&json)
            && record::compact(&mut part, at)
        {
            let json = serde_json::to_vec(&part).map_err(failed)?;
            return self.put_pieces(&prefix, &json, false);
        }
        self.mark.damaged += 1;
        Ok(())
    }

    fn append(&mut self, id: PartId, text: &str) -> Result<(), StoreError> {
        let owner = match self.owners.get(&id) {
            Some(owner) => Some(*owner),
            None => self.owner(id)?,
        };
        let Some(message) = owner else {
            self.mark.damaged += 1;
            return Ok(());
        };
        self.owners.insert(id, message);
        let prefix = part_key(message, id);
        let (mut n, mut bytes) = self.last_appended(&prefix)?;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if bytes.len() >= CHUNK {
                n += 1;
                bytes.clear();
            }
            let (now, later) = rest.split_at(rest.len().min(CHUNK - bytes.len()));
            bytes.extend_from_slice(now);
            self.put(piece(&prefix, n), Some(&bytes), false)?;
            rest = later;
        }
        Ok(())
    }

    /// Number and bytes of the last piece of appended text.
    fn last_appended(&self, prefix: &[u8]) -> Result<(u32, Vec<u8>), StoreError> {
        let span = piece(prefix, APPENDED)..=piece(prefix, u32::MAX);
        let gathered = self.overlay.range(span.clone()).rev();
        let mut last = None;
        for (key, value) in gathered {
            if let Some(value) = value {
                last = Some((key.clone(), value.clone()));
                break;
            }
        }
        for item in self.tree.range(span).rev() {
            let (key, value) = item.map_err(failed)?;
            if !self.overlay.contains_key(key.as_ref()) {
                if last
                    .as_ref()
                    .is_none_or(|(newest, _)| newest.as_slice() < key.as_ref())
                {
                    last = Some((key.to_vec(), value.to_vec()));
                }
                break;
            }
        }
        Ok(match last.as_ref().and_then(|(key, _)| split_key(key)) {
            Some((_, Some((_, n)))) => (n, last.map(|(_, value)| value).unwrap_or_default()),
            _ => (APPENDED, Vec::new()),
        })
    }
}
