//! Sessions made from others: fork (a copy up to a message) and import (from an export).
//!
//! Both read records into memory, give them the new session's id and write a new journal. The new
//! session is complete on disk before anybody can open it; on a failure its folder is removed.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::archive;
use super::commit::Record;
use super::error::StoreError;
use super::export::{EXPORT_FIELD, EXPORT_FORMAT};
use super::image::Image;
use super::meta::{FORK_VALUE, Meta, SummaryPatch};
use super::place::{Place, make_folder, sync_folder};
use super::project::{Project, no_facts};
use crate::protocol::{
    Message, MessageId, Millis, Part, PartBody, SessionId, SessionInfo, ToolState,
};

/// A fork to be made.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The session to copy.
    pub source: SessionId,
    /// The last message of the copy (its branch goes with it); none for everything.
    pub at: Option<MessageId>,
    /// Id of the new session.
    pub id: SessionId,
    /// When it is made.
    pub now: Millis,
    /// Names of the session values to copy. Values that name messages (a branch's tip) or that
    /// must not happen twice (a queue) are better left out.
    pub values: Vec<String>,
}

impl Project {
    /// Copies a session up to a message into a new one, whose `parent` is the source. The source
    /// may be open here or elsewhere; what is written of it is copied.
    pub fn fork(&self, fork: &Fork) -> Result<SessionInfo, StoreError> {
        let source = self.existing(fork.source)?;
        let mut image = archive::image(&source)?;
        let mut info = image.info.take().ok_or_else(|| no_facts(&source))?;
        if let Some(at) = fork.at {
            if !image.messages.contains_key(&at) {
                return Err(StoreError::Damaged {
                    path: source.journal(),
                    detail: format!("it has no message {at}, so it cannot be forked there"),
                });
            }
            let branch = branch(&image, at);
            image.messages.retain(|id, _| branch.contains(id));
            image
                .parts
                .retain(|(message, _), _| branch.contains(message));
        }
        image.values.retain(|name, _| fork.values.contains(name));
        let origin = json!({"session": fork.source, "at": fork.at});
        image.values.insert(FORK_VALUE.to_owned(), origin);
        info.id = fork.id;
        info.parent = Some(fork.source);
        info.created = fork.now;
        image.info = Some(info);
        self.write_new(fork.id, image, fork.now, |part, place| {
            share_output(part, &source, place);
        })
    }

    /// Makes a session from an export of dunlin (`json` or `jsonl`). It gets the id `id` and
    /// belongs to `worktree`, whatever the export says.
    pub fn import(
        &self,
        export: &[u8],
        id: SessionId,
        worktree: &Path,
        now: Millis,
    ) -> Result<SessionInfo, StoreError> {
        let mut image = Image::default();
        let blobs = read_export(export, &mut image)?;
        let Some(info) = &mut image.info else {
            return Err(StoreError::Import(
                "it does not say which session it is".to_owned(),
            ));
        };
        info.id = id;
        info.parent = None;
        info.worktree = worktree.to_string_lossy().into_owned();
        for (name, bytes) in blobs {
            let kept = self.blobs().put(&bytes)?;
            if kept.0 != name {
                return Err(StoreError::Import(format!(
                    "the content of `{name}` is damaged"
                )));
            }
        }
        self.write_new(id, image, now, |part, _| forget_output(part))
    }

    /// Writes what is in memory as a new session.
    fn write_new(
        &self,
        id: SessionId,
        image: Image,
        now: Millis,
        adapt: impl Fn(&mut Part, &Place),
    ) -> Result<SessionInfo, StoreError> {
        let (place, _lock, mut journal) = self.make(id)?;
        let write = || -> Result<SessionInfo, StoreError> {
            let info = image.info.clone().ok_or_else(|| no_facts(&place))?;
            journal.append(&[Record::Info(info.clone())])?;
            let mut parts = image.parts.into_values().peekable();
            for (_, mut message) in image.messages {
                let mut records = vec![];
                // a part without its message has no place in the new session
                while parts.next_if(|part| part.message < message.id).is_some() {}
                while let Some(mut part) = parts.next_if(|part| part.message == message.id) {
                    part.session = id;
                    adapt(&mut part, &place);
                    records.push(Record::Part(part));
                }
                message.session = id;
                records.insert(0, Record::Message(message));
                journal.append(&records)?;
            }
            let values = image.values.into_iter();
            let values: Vec<_> = values
                .map(|(name, value)| Record::Value { name, value })
                .collect();
            if !values.is_empty() {
                journal.append(&values)?;
            }
            let synced = journal.file().sync_data();
            synced
                .and_then(|()| sync_folder(&place.folder))
                .and_then(|()| sync_folder(&self.sessions_dir()))
                .map_err(|e| StoreError::io("sync", &place.folder, e))?;
            Ok(info)
        };
        match write() {
            Ok(info) => {
                let image = Image::read(&place.journal(), None)?;
                if let Some(meta) = Meta::of_image(&image, &SummaryPatch::default(), now) {
                    meta.write(&place)?;
                }
                Ok(info)
            }
            Err(error) => {
                drop(fs::remove_dir_all(&place.folder));
                Err(error)
            }
        }
    }
}

/// The message and all before it on its branch.
fn branch(image: &Image, at: MessageId) -> HashSet<MessageId> {
    // a session whose messages name no parents is one line
    if image.messages.values().all(|m| m.parent.is_none()) {
        return image.messages.range(..=at).map(|(id, _)| *id).collect();
    }
    let mut branch = HashSet::new();
    let mut next = Some(at);
    while let Some(id) = next {
        // parents that form a ring would never end
        if !branch.insert(id) {
            break;
        }
        next = image.messages.get(&id).and_then(|message| message.parent);
    }
    branch
}

/// Gives the copy its own name of a full output, so that deleting the source takes nothing from it.
fn share_output(part: &mut Part, source: &Place, place: &Place) {
    let PartBody::Tool(tool) = &mut part.body else {
        return;
    };
    let ToolState::Completed {
        truncated: Some(output),
        ..
    } = &mut tool.state
    else {
        return;
    };
    let old = Path::new(&output.path);
    let Ok(inside) = old.strip_prefix(source.out()) else {
        return;
    };
    let new = place.out().join(inside);
    let linked = new
        .parent()
        .is_some_and(|folder| make_folder(folder).is_ok())
        && (fs::hard_link(old, &new).is_ok() || fs::copy(old, &new).is_ok());
    if linked {
        output.path = new.to_string_lossy().into_owned();
    }
}

/// A path of another machine means nothing here, and must not be opened.
fn forget_output(part: &mut Part) {
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Completed { truncated, .. } = &mut tool.state
    {
        *truncated = None;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ImportLine {
    Message(Message),
    Part(Part),
    Value { name: String, value: Value },
    Info(SessionInfo),
    Blob { name: String, base64: String },
}

type NamedBlobs = Vec<(String, Vec<u8>)>;

fn bad(detail: impl std::fmt::Display) -> StoreError {
    StoreError::Import(detail.to_string())
}

fn check_version(value: &Value) -> Result<(), StoreError> {
    match value[EXPORT_FIELD].as_u64() {
        Some(EXPORT_FORMAT) => Ok(()),
        Some(newer) => Err(bad(format!(
            "it is of export format {newer}, and this dunlin knows format {EXPORT_FORMAT}"
        ))),
        None => Err(bad(format!("the field `{EXPORT_FIELD}` is missing"))),
    }
}

fn unpack_blob(name: String, base64: &str) -> Result<(String, Vec<u8>), StoreError> {
    let bytes = STANDARD
        .decode(base64)
        .map_err(|e| bad(format!("`{name}` is not base64 ({e})")))?;
    Ok((name, bytes))
}

fn read_export(export: &[u8], image: &mut Image) -> Result<NamedBlobs, StoreError> {
    // a document of JSON lines is not one JSON value
    match serde_json::from_slice::<Value>(export) {
        Ok(document) if document["session"].is_object() => read_document(document, image),
        Ok(document) => {
            check_version(&document)?;
            Err(bad("it is empty"))
        }
        Err(error) if error.is_syntax() && export.contains(&b'\n') => read_lines(export, image),
        Err(error) => Err(bad(error)),
    }
}

fn read_document(mut document: Value, image: &mut Image) -> Result<NamedBlobs, StoreError> {
    check_version(&document)?;
    let info = serde_json::from_value(document["session"].take());
    image.record(Record::Info(
        info.map_err(|e| bad(format!("session: {e}")))?,
    ));
    if let Value::Array(messages) = document["messages"].take() {
        for (n, mut message) in messages.into_iter().enumerate() {
            let place = |e| bad(format!("messages[{n}]: {e}"));
            let parts = message["parts"].take();
            if let Some(fields) = message.as_object_mut() {
                fields.remove("parts");
            }
            image.record(Record::Message(
                serde_json::from_value(message).map_err(place)?,
            ));
            if !parts.is_null() {
                let parts: Vec<Part> = serde_json::from_value(parts).map_err(place)?;
                for part in parts {
                    image.record(Record::Part(part));
                }
            }
        }
    }
    if let Value::Object(values) = document["values"].take() {
        for (name, value) in values {
            image.record(Record::Value { name, value });
        }
    }
    let mut blobs = Vec::new();
    if let Value::Object(named) = document["blobs"].take() {
        for (name, base64) in named {
            blobs.push(unpack_blob(name, base64.as_str().unwrap_or_default())?);
        }
    }
    Ok(blobs)
}

fn read_lines(export: &[u8], image: &mut Image) -> Result<NamedBlobs, StoreError> {
    let mut blobs = Vec::new();
    let lines = export.split(|byte| *byte == b'\n');
    for (n, line) in lines.enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = |e: serde_json::Error| bad(format!("line {}: {e}", n + 1));
        if n == 0 {
            check_version(&serde_json::from_slice(line).map_err(place)?)?;
            continue;
        }
        match serde_json::from_slice(line).map_err(place)? {
            ImportLine::Message(message) => image.record(Record::Message(message)),
            ImportLine::Part(part) => image.record(Record::Part(part)),
            ImportLine::Value { name, value } => image.record(Record::Value { name, value }),
            ImportLine::Info(info) => image.record(Record::Info(info)),
            ImportLine::Blob { name, base64 } => blobs.push(unpack_blob(name, &base64)?),
        }
    }
    Ok(blobs)
}
