//! Exports: a session as Markdown for people, as JSON or JSON lines for programs and for import.
//!
//! Read from the journal, so an open session can be exported too. Secrets are taken out of every
//! string (`redact`). docs/durability.md has the two machine formats.

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
use super::history::History;
use super::project::{Project, no_facts};
use super::redact::{Redactor, strings};
use crate::protocol::{BlobRef, Message, Part, PartBody, Role, SessionId, ToolPart, ToolState};

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
        let image = archive::image(&place)?;
        let history = image.into_history().ok_or_else(|| no_facts(&place))?;
        let written = match format {
            ExportFormat::Markdown => {
                let mut text = Vec::new();
                markdown(&history, redactor, &mut text).and_then(|()| {
                    // names and paths too, and what only became a secret by being put together
                    let text = String::from_utf8_lossy(&text);
                    out.write_all(redactor.text(&text).as_bytes())
                })
            }
            ExportFormat::Json => self.json(&history, redactor, out),
            ExportFormat::Jsonl => self.jsonl(&history, redactor, out),
        };
        written
            .and_then(|()| out.flush())
            .map_err(|e| StoreError::io("write the export of", &place.folder, e))
    }

    fn json(&self, history: &History, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
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
        let mut document = json!({
            EXPORT_FIELD: EXPORT_FORMAT,
            "session": history.info,
            "messages": messages,
            "values": history.values,
        });
        redactor.json(&mut document);
        let blobs = self.blobs_of(history, redactor)?;
        document["blobs"] = json!(blobs);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        out.write_all(b"\n")
    }

    fn jsonl(&self, history: &History, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
        let mut line = |mut value: Value, clean: bool| -> io::Result<()> {
            if clean {
                redactor.json(&mut value);
            }
            serde_json::to_writer(&mut *out, &value)?;
            out.write_all(b"\n")
        };
        line(json!({EXPORT_FIELD: EXPORT_FORMAT}), false)?;
        line(json!(Record::Info(history.info.clone())), true)?;
        let mut parts = history.parts.iter().peekable();
        for message in &history.messages {
            line(json!({"message": message}), true)?;
            while let Some(part) = parts.next_if(|part| part.message == message.id) {
                line(json!({"part": part}), true)?;
            }
        }
        for (name, value) in &history.values {
            line(json!({"value": {"name": name, "value": value}}), true)?;
        }
        for (name, base64) in self.blobs_of(history, redactor)? {
            line(json!({"blob": {"name": name, "base64": base64}}), false)?;
        }
        Ok(())
    }

    /// The bytes of all blobs that a history refers to. A blob that is gone is left out, and so is a
    /// document that holds a secret.
    fn blobs_of(
        &self,
        history: &History,
        redactor: &Redactor,
    ) -> io::Result<BTreeMap<String, String>> {
        let mut names = BTreeSet::new();
        for part in &history.parts {
            if matches!(part.body, PartBody::File(_) | PartBody::Tool(_)) {
                let value = serde_json::to_value(part)?;
                let found = strings(&value).filter(|s| s.starts_with("blob:"));
                names.extend(found.map(str::to_owned));
            }
        }
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

fn markdown(history: &History, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
    let title = if history.info.title.trim().is_empty() {
        "Session"
    } else {
        &history.info.title
    };
    writeln!(out, "# {}\n", one_line(&redactor.text(title)))?;
    writeln!(out, "- session: `{}`", history.info.id)?;
    writeln!(out, "- folder: {}", code(&history.info.worktree))?;
    writeln!(out, "- model: {}\n", history.info.model)?;
    let mut parts = history.parts.iter().peekable();
    for message in &history.messages {
        writeln!(out, "## {}\n", heading(message))?;
        while let Some(part) = parts.next_if(|part| part.message == message.id) {
            markdown_part(part, redactor, out)?;
        }
        if let Some(error) = &message.error {
            writeln!(out, "> {}\n", one_line(&redactor.text(&error.to_string())))?;
        }
    }
    Ok(())
}

fn heading(message: &Message) -> String {
    match message.role {
        Role::User => "User".to_owned(),
        Role::Assistant if message.summary => format!("Summary ({})", message.model),
        Role::Assistant => format!("Assistant ({})", message.model),
    }
}

fn markdown_part(part: &Part, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
    match &part.body {
        PartBody::Text { text, ignored, .. } => {
            if *ignored {
                writeln!(out, "*(from an attempt that broke off)*\n")?;
            }
            writeln!(out, "{}\n", closed(&redactor.text(text.trim_end())))
        }
        PartBody::Reasoning { text, .. } if text.trim().is_empty() => Ok(()),
        PartBody::Reasoning { text, .. } => writeln!(
            out,
            "<details><summary>Reasoning</summary>\n\n{}\n\n</details>\n",
            closed(&redactor.text(text.trim_end())).replace("</details>", "&lt;/details>")
        ),
        PartBody::Tool(tool) => markdown_tool(tool, redactor, out),
        PartBody::File(file) => writeln!(out, "Attached: {} ({})\n", code(&file.name), file.mime),
        PartBody::Patch { files, .. } => {
            for file in files {
                let path = code(&file.path);
                writeln!(out, "- {path} +{} −{}", file.added, file.removed)?;
            }
            writeln!(out)
        }
        PartBody::Compaction { strategy, .. } => {
            writeln!(
                out,
                "*The conversation so far was compacted ({strategy}).*\n"
            )
        }
        PartBody::Subtask {
            description, agent, ..
        } => {
            let task = one_line(&redactor.text(description));
            writeln!(out, "*Task for {agent}: {task}*\n")
        }
        PartBody::Retry { attempt, error, .. } => {
            writeln!(
                out,
                "> Attempt {attempt} failed: {}\n",
                one_line(&redactor.text(&error.message))
            )
        }
        PartBody::StepStart { .. } | PartBody::StepFinish { .. } => Ok(()),
    }
}

fn markdown_tool(tool: &ToolPart, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
    let (title, result) = match &tool.state {
        ToolState::Pending { .. } => ("", None),
        ToolState::Running { title, .. } => (title.as_str(), None),
        ToolState::Completed { title, output, .. } => (title.as_str(), Some(output)),
        ToolState::Error { title, error, .. } => (title.as_str(), Some(error)),
    };
    let title = redactor.text(title);
    let title = if title.trim().is_empty() {
        String::new()
    } else {
        format!(" {}", code(&title))
    };
    let name = one_line(&tool.tool);
    writeln!(out, "**{name}**{title} ({})\n", tool.state.name())?;
    if let Some(input) = tool.state.input().filter(|input| !input.is_null()) {
        let mut input = input.clone();
        redactor.json(&mut input);
        fenced("json", &serde_json::to_string_pretty(&input)?, out)?;
    }
    match result {
        Some(text) if !text.is_empty() => fenced("", &redactor.text(text), out),
        _ => Ok(()),
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Code within a line, whatever backticks it holds.
fn code(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{text}{room}{fence}")
}

/// A text whose own code blocks are all closed, so that what follows is no code.
fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let Some(mark) = start.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            continue;
        };
        let rest = start.trim_start_matches(mark);
        let count = start.len() - rest.len();
        if line.len() - start.len() > 3 || count < 3 {
            continue;
        }
        open = match open {
            None if mark == '`' && rest.contains('`') => None,
            None => Some((mark, count)),
            Some((m, n)) if m == mark && count >= n && rest.trim().is_empty() => None,
            still => still,
        };
    }
    match open {
        Some((mark, count)) => format!("{text}\n{}", mark.to_string().repeat(count)),
        None => text.to_owned(),
    }
}

/// A code block whose fence is longer than any run of backticks in the text.
fn fenced(language: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let fence = "`".repeat(3.max(longest_run(text) + 1));
    writeln!(out, "{fence}{language}\n{}\n{fence}\n", text.trim_end())
}
