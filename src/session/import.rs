//! Import: a session, with those of its subagents, from an export of dunlin (`json` or `jsonl`).
//!
//! Everything is read and checked in memory first, written in a folder of its own (`staging`) and put among the
//! sessions when it is whole; a failure, or the end of the process, leaves nothing behind but blobs, which the
//! clean-up takes. All sessions get new ids, and what names a session by its old id names the new one. The file
//! may be a stranger's: nothing in it may open a file of this machine or speak for this user.

use std::collections::HashMap;
use std::path::{Component, Path};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::branch::write_new;
use super::commit::Record;
use super::error::StoreError;
use super::export::{EXPORT_FIELD, EXPORT_FORMAT};
use super::image::Image;
use super::project::Project;
use crate::protocol::{
    BlobRef, FilePart, FileSource, Message, Millis, Mode, Part, PartBody, SessionId, SessionInfo,
    ToolState,
};

/// Values that an import keeps. The others are answers of another user (`grants`, `granted`), name files and
/// snapshots that are not here (`writes/…`, `unsettled/…`, `journey`, `undone`, `reads`), would begin work
/// (`queue`, `queue/…`) or use up a budget (`spent`).
const KEPT: [&str; 4] = ["todo", "pins", "context", "tip"];
/// What a file that is not here is called: no content has this name.
const NOT_HERE: &str = "blob:0000000000000000000000000000000000000000000000000000000000000000";
/// Milliseconds that an id can hold. After one that says so no other could come.
const END_OF_TIME: Millis = 0xffff_ffff_ffff;

/// What becomes of an imported session.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Its new id; those of its subagents follow.
    pub id: SessionId,
    /// The folder that it belongs to from now on, whatever the export says.
    pub worktree: &'a Path,
    /// The time now.
    pub now: Millis,
    /// True for files that may hold a secret: an imported session attaches none of them.
    pub is_secret: fn(&Path) -> bool,
}

impl Project {
    /// Makes a session from an export of dunlin (`json` or `jsonl`), with those of its subagents. All of them
    /// are there when this returns, or none.
    pub fn import(&self, export: &[u8], arrival: &Arrival<'_>) -> Result<SessionInfo, StoreError> {
        let id = arrival.id;
        let (mut images, blobs) = read_export(export)?;
        self.clear_left_over();
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
            info.worktree = arrival.worktree.to_string_lossy().into_owned();
            // what the user permitted there is not permitted here
            info.mode = Mode::Ask;
            image.values.retain(|name, _| KEPT.contains(&&**name));
            check_ids(image)?;
        }
        for (name, bytes) in blobs {
            let kept = self.blobs().put(&bytes)?;
            if kept.0 != name {
                return Err(bad(format!("the content of `{name}` is damaged")));
            }
        }
        let mut staging = self.stage(id)?;
        let mut first = None;
        for (n, image) in (0..).zip(images) {
            let adapt = |part: &mut Part| {
                forget_files(part, arrival);
                rename(part, &names);
            };
            let place = staging.place(SessionId::from_raw(id.raw() + n));
            match place.and_then(|place| write_new(&place, image, arrival.now, adapt)) {
                Ok(info) => first = first.or(Some(info)),
                Err(error) => {
                    staging.abandon();
                    return Err(error);
                }
            }
        }
        staging.publish()?;
        first.ok_or_else(|| bad("it is empty"))
    }
}

/// Whatever is said next gets an id after all of these.
fn check_ids(image: &Image) -> Result<(), StoreError> {
    let mut parts = image.parts.values();
    let last = parts.find(|part| part.id.created() >= END_OF_TIME);
    let last = last.map(|part| part.id.to_string());
    let mut messages = image.messages.keys();
    let message = messages.find(|id| id.created() >= END_OF_TIME);
    match last.or_else(|| message.map(ToString::to_string)) {
        Some(id) => Err(bad(format!(
            "nothing could be said after {id}, an id at the end of time"
        ))),
        None => Ok(()),
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

/// A path of another machine means nothing here, and must not be opened: full outputs are forgotten, and of
/// attached files only those stay that the worktree may well hold as its own.
fn forget_files(part: &mut Part, arrival: &Arrival<'_>) {
    let files = match &mut part.body {
        PartBody::File(file) => std::slice::from_mut(file),
        PartBody::Tool(tool) => match &mut tool.state {
            ToolState::Completed {
                truncated,
                attachments,
                ..
            } => {
                *truncated = None;
                attachments.as_mut_slice()
            }
            _ => return,
        },
        _ => return,
    };
    for FilePart { source, .. } in files {
        if let FileSource::Path(path) = source
            && !is_own(Path::new(path), arrival)
        {
            *source = FileSource::Blob(BlobRef(NOT_HERE.to_owned()));
        }
    }
}

/// True for an ordinary file of the worktree: by its name alone, through no link, and no secret.
fn is_own(path: &Path, arrival: &Arrival<'_>) -> bool {
    let mut at = arrival.worktree.to_owned();
    let mut named = false;
    for component in path.components() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir => continue,
            _ => return false,
        };
        at.push(name);
        named = true;
        let is_link = at.symlink_metadata().is_ok_and(|facts| facts.is_symlink());
        if is_link || name.as_encoded_bytes().starts_with(b".") {
            return false;
        }
    }
    named && !(arrival.is_secret)(&at)
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
    for (name, base64) in fields(&mut document, "blobs")? {
        blobs.push(unpack_blob(name, base64.as_str().unwrap_or_default())?);
    }
    let mut images = Vec::new();
    let mut waiting = vec![document];
    while let Some(mut document) = waiting.pop() {
        let children = list(&mut document, "children")?;
        waiting.extend(children.into_iter().rev());
        images.push(read_session(document)?);
    }
    Ok((images, blobs))
}

/// Takes a field out; what is no object has none.
fn take(document: &mut Value, name: &str) -> Value {
    let fields = document.as_object_mut();
    fields.and_then(|f| f.remove(name)).unwrap_or_default()
}

/// A field that is a list; empty where there is none.
fn list(document: &mut Value, name: &str) -> Result<Vec<Value>, StoreError> {
    match take(document, name) {
        Value::Array(all) => Ok(all),
        Value::Null => Ok(Vec::new()),
        _ => Err(bad(format!("`{name}` is not a list"))),
    }
}

/// A field that is an object; empty where there is none.
fn fields(document: &mut Value, name: &str) -> Result<Map<String, Value>, StoreError> {
    match take(document, name) {
        Value::Object(all) => Ok(all),
        Value::Null => Ok(Map::new()),
        _ => Err(bad(format!("`{name}` is not an object"))),
    }
}

/// One session of a document.
fn read_session(mut document: Value) -> Result<Image, StoreError> {
    let mut image = Image::default();
    let info = serde_json::from_value(take(&mut document, "session"));
    image.record(Record::Info(
        info.map_err(|e| bad(format!("session: {e}")))?,
    ));
    for (n, mut message) in list(&mut document, "messages")?.into_iter().enumerate() {
        let place = |e| bad(format!("messages[{n}]: {e}"));
        let parts = take(&mut message, "parts");
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
    for (name, value) in fields(&mut document, "values")? {
        image.record(Record::Value { name, value });
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
