//! Events as lines to be printed one after the other: nothing is ever drawn over.
//!
//! `plain` prints what this gives. Pure. Every line is stripped of what could move a cursor; what is
//! to be approved shows hidden characters as words, as everywhere.

use std::collections::{HashMap, HashSet};

use crate::protocol::event::UndoFile;
use crate::protocol::{
    Destination, DiffReport, Event, FileDiff, Message, MessageId, NoticeLevel, Part, PartBody,
    PartId, Role, SessionSummary, ToolState, TurnEnd,
};
use crate::tui::command;
use crate::tui::overlay::undo::with_command;
use crate::tui::term::sanitise::Safe;

/// Lines of a failed command's end that are told.
const LAST: usize = 3;

/// Sessions that are listed.
const SESSIONS: usize = 20;

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The text that grows: its part and what of it is no whole line yet.
    growing: Option<(PartId, String)>,
    /// Bytes of each text that were taken.
    taken: HashMap<PartId, usize>,
    /// Tools that were told, with what was told of them.
    told: HashMap<PartId, &'static str>,
    /// Messages of the user: the terminal showed them when they were typed.
    own: HashSet<MessageId>,
}

impl Lines {
    /// The lines that an event adds.
    pub(super) fn event(&mut self, event: &Event) -> Vec<String> {
        let mut out = Vec::new();
        match event {
            Event::History {
                messages, parts, ..
            } => self.history(messages, parts, &mut out),
            Event::MessageCreated { message } if message.role == Role::User => {
                self.own.insert(message.id);
            }
            Event::PartUpdated { part } => self.part(part, &mut out),
            Event::PartDelta { part, delta, .. } if self.taken.contains_key(part) => {
                self.grow(*part, delta, &mut out);
            }
            Event::TurnFinished { reason } => {
                self.flush(&mut out);
                let end = match reason {
                    TurnEnd::Done => return out,
                    TurnEnd::Interrupted => "Interrupted.",
                    TurnEnd::Error => "The turn failed.",
                    _ => "The turn stopped.",
                };
                out.push(end.to_owned());
            }
            Event::Retry {
                attempt,
                delay_ms,
                error,
            } => {
                self.flush(&mut out);
                let wait = delay_ms.div_ceil(1_000);
                out.push(clean(&format!(
                    "Attempt {attempt} failed: {} Trying again in {wait} seconds.",
                    error.message
                )));
            }
            Event::Compacted {
                before_tokens,
                after_tokens,
                ..
            } => out.push(format!(
                "The conversation was summarised: {before_tokens} tokens became {after_tokens}."
            )),
            Event::Queued { position, .. } => out.push(format!("Queued, place {position}.")),
            Event::Notice { level, text } => out.push(clean(&match level {
                NoticeLevel::Info => text.clone(),
                NoticeLevel::Warning => format!("Warning: {text}"),
                NoticeLevel::Error => format!("Error: {text}"),
            })),
            Event::Error { error } => {
                self.flush(&mut out);
                out.push(clean(&format!("Error: {error}")));
            }
            _ => {}
        }
        out
    }

    fn history(&mut self, messages: &[Message], parts: &[Part], out: &mut Vec<String>) {
        for message in messages {
            for part in parts.iter().filter(|part| part.message == message.id) {
                match &part.body {
                    PartBody::Text {
                        text,
                        synthetic: false,
                        ..
                    } if message.role == Role::User => {
                        out.extend(text.lines().map(|line| clean(&format!("> {line}"))));
                        self.own.insert(message.id);
                    }
                    _ => self.part(part, out),
                }
            }
        }
        self.flush(out);
    }

    fn part(&mut self, part: &Part, out: &mut Vec<String>) {
        match &part.body {
            PartBody::Text { text, ignored, .. } if !self.own.contains(&part.message) => {
                if *ignored {
                    self.growing = None;
                    return;
                }
                let taken = *self.taken.entry(part.id).or_default();
                let rest = text.get(taken..).unwrap_or_default().to_owned();
                self.grow(part.id, &rest, out);
                if part.end.is_some() {
                    self.flush(out);
                }
            }
            PartBody::Tool(tool) => self.tool(part.id, &tool.tool, &tool.state, out),
            _ => {}
        }
    }

    fn grow(&mut self, part: PartId, more: &str, out: &mut Vec<String>) {
        if self.growing.as_ref().is_some_and(|(id, _)| *id != part) {
            self.flush(out);
        }
        *self.taken.entry(part).or_default() += more.len();
        let (_, text) = self.growing.get_or_insert_with(|| (part, String::new()));
        text.push_str(more);
        while let Some(at) = text.find('\n') {
            let line: String = text.drain(..=at).collect();
            out.push(clean(&line));
        }
    }

    /// What is no whole line becomes one.
    fn flush(&mut self, out: &mut Vec<String>) {
        if let Some((_, text)) = self.growing.take()
            && !text.is_empty()
        {
            out.push(clean(&text));
        }
    }

    fn tool(&mut self, id: PartId, name: &str, state: &ToolState, out: &mut Vec<String>) {
        let (stage, line) = match state {
            ToolState::Pending { .. } => return,
            ToolState::Running { title, .. } if name == "bash" && !title.is_empty() => {
                ("running", format!("Running: {title}"))
            }
            ToolState::Running { .. } => return,
            ToolState::Completed {
                title, metadata, ..
            } => {
                let exit = metadata.get("exit").and_then(serde_json::Value::as_i64);
                let verdict = match exit {
                    Some(code) if code != 0 => format!(" (exit code {code})"),
                    _ => String::new(),
                };
                ("done", format!("Done: {name} {title}{verdict}"))
            }
            ToolState::Error {
                title, metadata, ..
            } if metadata.get("refused").is_some() => {
                ("failed", format!("Refused: {name} {title}"))
            }
            ToolState::Error { title, error, .. } => {
                let first = error.lines().next().unwrap_or_default();
                ("failed", format!("Failed: {name} {title}: {first}"))
            }
        };
        if self.told.insert(id, stage) == Some(stage) {
            return;
        }
        self.flush(out);
        out.push(clean(&line));
        if let ToolState::Completed {
            output, metadata, ..
        } = state
            && metadata.get("exit").and_then(serde_json::Value::as_i64) != Some(0)
            && name == "bash"
        {
            let lines: Vec<&str> = output.lines().collect();
            let from = lines.len().saturating_sub(LAST);
            out.extend(
                lines
                    .iter()
                    .skip(from)
                    .map(|line| clean(&format!("  {line}"))),
            );
        }
    }
}

/// One line without anything that a terminal would act on.
pub(super) fn clean(line: &str) -> String {
    Safe::strip(line.trim_end_matches(['\n', '\r']))
        .as_str()
        .to_owned()
}

/// One line to be approved: hidden characters are written out.
pub(super) fn revealed(line: &str) -> String {
    let pieces = Safe::reveal(line);
    pieces.iter().map(|(piece, _)| piece.as_str()).collect()
}

/// The files of a report, a line each.
pub(super) fn diff(report: &DiffReport) -> Vec<String> {
    if report.files.is_empty() {
        return vec!["Nothing changed.".to_owned()];
    }
    let of = |file: &FileDiff| {
        let (path, added, removed) = (&file.path, file.added, file.removed);
        format!("{path}: {added} added, {removed} removed")
    };
    report.files.iter().map(of).collect()
}

/// The sessions used last, with the command that opens one.
pub(super) fn sessions(listed: &[SessionSummary]) -> Vec<String> {
    if listed.is_empty() {
        return vec!["There is no other session here yet.".to_owned()];
    }
    let rows = listed.iter().take(SESSIONS).enumerate();
    let rows = rows.map(|(at, one)| format!("{:>3}  {}  {}", at + 1, one.info.title, one.info.id));
    let last = "/sessions NUMBER opens one; so does: dunlin --plain -r ID".to_owned();
    rows.chain(std::iter::once(last)).collect()
}

/// What an undo, a redo or a rewind would do.
pub(super) fn preview(to: Destination, prompt: &str, files: &[UndoFile]) -> Vec<String> {
    let what = match to {
        Destination::LastTurn => "Take back the turn of",
        Destination::Redo => "Bring back",
        Destination::Before { .. } => "Go back to before",
        Destination::Branch { .. } => "Switch to the branch that ends with",
    };
    let files = files.iter().map(|f| {
        let action = with_command(f.action.clone(), f.during.as_deref());
        format!("  {}: {action}", f.path)
    });
    std::iter::once(format!("{what}: {prompt}"))
        .chain(files)
        .collect()
}

/// The commands that a line printer has.
pub(super) fn help() -> Vec<String> {
    let first = "A line is a prompt. !LINE runs a command, ctrl+c stops a turn, and these:";
    let names = [
        "new",
        "sessions",
        "search",
        "fork",
        "rename",
        "undo",
        "redo",
        "rewind",
        "diff",
        "compact",
        "model",
        "effort",
        "mode",
        "agent",
        "permissions",
        "cost",
        "pin",
        "status",
        "export",
        "continue",
        "demo",
        "quit",
    ];
    let rows = names.into_iter().filter_map(command::row_of);
    let rows = rows.map(|row| format!("  /{} {}  {}", row.name, row.takes, row.says));
    std::iter::once(first.to_owned()).chain(rows).collect()
}
