//! Exports: a session as Markdown for people, as JSON or JSON lines for programs and for import.
//!
//! Read from the journal, so an open session can be exported too. The sessions of its subagents go with
//! it, and theirs. Secrets are taken out of every string (`redact`). docs/durability.md has the two machine
//! formats, `import` reads them again.

mod markdown;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::archive;
use super::commit::Record;
use super::error::StoreError;
use super::family::Families;
use super::found::no_facts;
use super::history::History;
use super::project::Project;
use super::redact::{Redactor, strings};
use crate::protocol::{BlobRef, Part, PartBody, SessionId};

/// What `StoreError::Io` says was tried when an export could not be written where it goes.
pub const WRITING_EXPORT: &str = "write the export of";
/// Version of the JSON and JSON lines exports.
pub(super) const EXPORT_FORMAT: u64 = 1;
/// The field that says so.
pub(super) const EXPORT_FIELD: &str = "dunlin_export";

/// How a session is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Markdown, for people.
    Markdown,
    /// One JSON document.
    Json,
    /// One JSON object per line, in order.
    Jsonl,
}

impl FromStr for ExportFormat {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "md" | "markdown" => Ok(Self::Markdown),
            "json" => Ok(Self::Json),
            "jsonl" => Ok(Self::Jsonl),
            _ => Err(format!(
                "`{text}` is not an export format: use md, json or jsonl"
            )),
        }
    }
}

impl Project {
    /// Writes a session to `out`, without secrets. Images and documents go with the JSON formats.
    pub fn export(
        &self,
        id: SessionId,
        format: ExportFormat,
        redactor: &Redactor,
        out: &mut dyn Write,
    ) -> Result<(), StoreError> {
        let place = self.existing(id)?;
        let tree = self.tree((id, None), &self.families())?;
        let written = match format {
            ExportFormat::Markdown => {
                let mut text = Vec::new();
                markdown::markdown(&tree, redactor, &mut text).and_then(|()| {
                    // names and paths too, and what only became a secret by being put together
                    let text = String::from_utf8_lossy(&text);
                    out.write_all(redactor.text(&text).as_bytes())
                })
            }
            ExportFormat::Json => self.json(&tree, redactor, out),
            ExportFormat::Jsonl => self.jsonl(&tree, redactor, out),
        };
        written
            .and_then(|()| out.flush())
            .map_err(|e| StoreError::io(WRITING_EXPORT, &place.folder, e))
    }

    /// A session with those of its subagents. One of them that cannot be read is left out.
    fn tree(
        &self,
        (id, works_for): (SessionId, Option<SessionId>),
        families: &Families,
    ) -> Result<Tree, StoreError> {
        let place = self.existing(id)?;
        let history = archive::image(&place)?.into_history();
        let mut children = Vec::new();
        for child in families.of(id) {
            match self.tree((*child, Some(id)), families) {
                Ok(child) => children.push(child),
                Err(error) => tracing::warn!(%error, "a subagent's session was not exported"),
            }
        }
        Ok(Tree {
            history: history.ok_or_else(|| no_facts(&place))?,
            works_for,
            children,
        })
    }

    fn json(&self, tree: &Tree, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
        let mut document = document(tree)?;
        document[EXPORT_FIELD] = json!(EXPORT_FORMAT);
        redactor.json(&mut document);
        let blobs = self.blobs_of(tree, redactor)?;
        document["blobs"] = json!(blobs);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        out.write_all(b"\n")
    }

    fn jsonl(&self, tree: &Tree, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
        let mut line = |mut value: Value, clean: bool| -> io::Result<()> {
            if clean {
                redactor.json(&mut value);
            }
            serde_json::to_writer(&mut *out, &value)?;
            out.write_all(b"\n")
        };
        line(json!({EXPORT_FIELD: EXPORT_FORMAT}), false)?;
        lines(tree, &mut |value| line(value, true))?;
        for (name, base64) in self.blobs_of(tree, redactor)? {
            line(json!({"blob": {"name": name, "base64": base64}}), false)?;
        }
        Ok(())
    }

    /// The bytes of all blobs that the sessions refer to. A blob that is gone is left out, and so is a
    /// document that holds a secret.
    fn blobs_of(&self, tree: &Tree, redactor: &Redactor) -> io::Result<BTreeMap<String, String>> {
        let mut names = BTreeSet::new();
        blob_names(tree, &mut names)?;
        let blobs = self.blobs();
        Ok(names
            .into_iter()
            .filter_map(|name| {
                let bytes = blobs.get(&BlobRef(name.clone())).ok()?;
                let text = std::str::from_utf8(&bytes).unwrap_or_default();
                if matches!(redactor.text(text), Cow::Owned(_)) {
                    return None;
                }
                Some((name, STANDARD.encode(bytes)))
            })
            .collect())
    }
}

/// A session and those of its subagents.
struct Tree {
    history: History,
    /// The session whose call started this one; none for the session that is exported.
    works_for: Option<SessionId>,
    children: Vec<Tree>,
}

fn document(tree: &Tree) -> io::Result<Value> {
    let history = &tree.history;
    let mut parts: BTreeMap<_, Vec<&Part>> = BTreeMap::new();
    for part in &history.parts {
        parts.entry(part.message).or_default().push(part);
    }
    let mut messages = Vec::new();
    for message in &history.messages {
        let mut value = serde_json::to_value(message)?;
        value["parts"] = serde_json::to_value(parts.remove(&message.id).unwrap_or_default())?;
        messages.push(value);
    }
    let children: Vec<Value> = tree
        .children
        .iter()
        .map(document)
        .collect::<Result<_, _>>()?;
    let mut document = json!({
        "session": history.info,
        "messages": messages,
        "values": history.values,
    });
    if !children.is_empty() {
        document["children"] = json!(children);
    }
    Ok(document)
}

/// One record after the other; a subagent's session begins with a line `child`, and all up to the next
/// such line belongs to it.
fn lines(tree: &Tree, line: &mut dyn FnMut(Value) -> io::Result<()>) -> io::Result<()> {
    let history = &tree.history;
    line(match tree.works_for {
        None => json!(Record::Info(history.info.clone())),
        Some(_) => json!({"child": history.info}),
    })?;
    let mut parts = history.parts.iter().peekable();
    for message in &history.messages {
        line(json!({"message": message}))?;
        while let Some(part) = parts.next_if(|part| part.message == message.id) {
            line(json!({"part": part}))?;
        }
    }
    for (name, value) in &history.values {
        line(json!({"value": {"name": name, "value": value}}))?;
    }
    tree.children
        .iter()
        .try_for_each(|child| lines(child, line))
}

fn blob_names(tree: &Tree, names: &mut BTreeSet<String>) -> io::Result<()> {
    for part in &tree.history.parts {
        if matches!(part.body, PartBody::File(_) | PartBody::Tool(_)) {
            let value = serde_json::to_value(part)?;
            let found = strings(&value).filter(|s| s.starts_with("blob:"));
            names.extend(found.map(str::to_owned));
        }
    }
    tree.children
        .iter()
        .try_for_each(|child| blob_names(child, names))
}
