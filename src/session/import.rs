//! Import: a session, with those of its subagents, from an export of dunlin (`json` or `jsonl`).
//!
//! Everything is read and checked in memory first; a failure leaves nothing behind but blobs, which the
//! clean-up takes. All sessions get new ids, and what names a session by its old id names the new one.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::commit::Record;
use super::error::StoreError;
use super::export::{EXPORT_FIELD, EXPORT_FORMAT};
use super::image::Image;
use super::project::Project;
use crate::protocol::{Message, Millis, Mode, Part, PartBody, SessionId, SessionInfo, ToolState};

/// Values that an import keeps. The others are answers of another user (`grants`), name files and snapshots
/// that are not here (`writes/…`, `undone`, `reads`), would begin work (`queue`) or use up a budget (`spent`).
const KEPT: [&str; 4] = ["todo", "pins", "context", "tip"];

impl Project {
    /// Makes a session from an export of dunlin (`json` or `jsonl`). It gets the id `id` and
    /// belongs to `worktree`, whatever the export says; so do those of its subagents.
    pub fn import(
        &self,
        export: &[u8],
        id: SessionId,
        worktree: &Path,
        now: Millis,
    ) -> Result<SessionInfo, StoreError> {
        let (mut images, blobs) = read_export(export)?;
        let mut names = HashMap::new();
        for (n, image) in (0..).zip(&mut images) {
            let info = image.info.as_mut();
            let info = info.ok_or_else(|| bad("it does not say which session it is"))?;
            // later ones are younger, as they were
            let own = SessionId::from_raw(id.raw() + n);
            if names.insert(info.id, own).is_some() {
                return Err(bad(format!("it holds the session {} twice", info.id)));
            }
            info.id = own;
            info.parent = match (n, info.parent) {
                (0, _) => None,
                (_, old) => Some(old.and_then(|old| names.get(&old)).copied().unwrap_or(id)),
            };
            info.worktree = worktree.to_string_lossy().into_owned();
            // what the user permitted there is not permitted here
            info.mode = Mode::Ask;
            image.values.retain(|name, _| KEPT.contains(&&**name));
        }
        for (name, bytes) in blobs {
            let kept = self.blobs().put(&bytes)?;
            if kept.0 != name {
                return Err(bad(format!("the content of `{name}` is damaged")));
            }
        }
        let mut made = Vec::new();
        for (n, image) in (0..).zip(images) {
            let own = SessionId::from_raw(id.raw() + n);
            let adapt = |part: &mut Part| {
                forget_output(part);
                rename(part, &names);
            };
            match self.write_new(own, image, now, |part, _| adapt(part)) {
                Ok(info) => made.push(info),
                Err(error) => {
                    // the rest of a tree is of no use
                    let left: Vec<_> = made.iter().map(|info| self.delete(info.id)).collect();
                    drop(left);
                    return Err(error);
                }
            }
        }
        made.into_iter().next().ok_or_else(|| bad("it is empty"))
    }
}

/// Calls name the sessions of their subagents.
fn rename(part: &mut Part, names: &HashMap<SessionId, SessionId>) {
    match &mut part.body {
        PartBody::Subtask { child, .. } => {
            if let Some(new) = names.get(child) {
                *child = *new;
            }
        }
        PartBody::Tool(tool) => {
            let (ToolState::Running { metadata, .. }
            | ToolState::Completed { metadata, .. }
            | ToolState::Error { metadata, .. }) = &mut tool.state
            else {
                return;
            };
            let old = metadata.get("session").and_then(Value::as_str);
            let old = old.and_then(|id| id.parse::<SessionId>().ok());
            if let Some(new) = old.and_then(|old| names.get(&old)) {
                metadata["session"] = json!(new);
            }
        }
        _ => {}
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
    Value {
        name: String,
        value: Value,
    },
    Info(SessionInfo),
    Blob {
        name: String,
        base64: String,
    },
    /// A subagent's session begins.
    Child(SessionInfo),
}

type NamedBlobs = Vec<(String, Vec<u8>)>;

/// What an export holds: the session first, then those of its subagents, each after its parent.
type Exported = (Vec<Image>, NamedBlobs);

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

fn read_export(export: &[u8]) -> Result<Exported, StoreError> {
    // a document of JSON lines is not one JSON value
    match serde_json::from_slice::<Value>(export) {
        Ok(document) if document["session"].is_object() => read_document(document),
        Ok(document) => {
            check_version(&document)?;
            Err(bad("it is empty"))
        }
        Err(error) if error.is_syntax() && export.contains(&b'\n') => read_lines(export),
        Err(error) => Err(bad(error)),
    }
}

fn read_document(mut document: Value) -> Result<Exported, StoreError> {
    check_version(&document)?;
    let mut blobs = Vec::new();
    if let Value::Object(named) = document["blobs"].take() {
        for (name, base64) in named {
            blobs.push(unpack_blob(name, base64.as_str().unwrap_or_default())?);
        }
    }
    let mut images = Vec::new();
    let mut waiting = vec![document];
    while let Some(mut document) = waiting.pop() {
        if let Value::Array(children) = document["children"].take() {
            waiting.extend(children.into_iter().rev());
        }
        images.push(read_session(document)?);
    }
    Ok((images, blobs))
}

/// One session of a document.
fn read_session(mut document: Value) -> Result<Image, StoreError> {
    let mut image = Image::default();
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
    Ok(image)
}

fn read_lines(export: &[u8]) -> Result<Exported, StoreError> {
    let mut blobs = Vec::new();
    let mut images = Vec::new();
    let mut image = Image::default();
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
            ImportLine::Child(info) => {
                images.push(std::mem::take(&mut image));
                image.record(Record::Info(info));
            }
            ImportLine::Blob { name, base64 } => blobs.push(unpack_blob(name, &base64)?),
        }
    }
    images.push(image);
    Ok((images, blobs))
}
