//! Files on a journey (`undo`): putting them back, or only saying what would be done, and what a preview must
//! not keep to itself.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use super::Agent;
use super::undo::{Way, writes_in};
use crate::agent::subagent::TASK;
use crate::agent::turn::unsettled_of;
use crate::context::{Conversation, Entry};
use crate::protocol::event::UndoFile;
use crate::protocol::{
    Destination, Event, MessageId, NoticeLevel, Part, PartBody, SnapshotId, ToolState,
};
use crate::snapshot::{FileWrite, Hints, Restored, SnapshotState};

/// Files named where more are meant.
const NAMED: usize = 5;
/// Reasons that are named when files are left alone.
const REASONS: usize = 4;
/// Characters of a command that stands for what it did.
const COMMAND: usize = 60;
/// Restoring that takes longer is told.
const TELL_AFTER: Duration = Duration::from_millis(700);

impl Agent {
    pub(super) async fn restore(
        &self,
        writes: Vec<FileWrite>,
        dry_run: bool,
    ) -> Result<Restored, String> {
        if writes.is_empty() {
            return Ok(Restored::default());
        }
        if let SnapshotState::Off(reason) = self.ports.snapshots.state() {
            if !dry_run {
                let text = format!("Only the conversation goes back, files stay. {reason}");
                self.notice(NoticeLevel::Warning, &text);
            }
            return Ok(Restored::default());
        }
        let files = writes.len();
        let restoring = self.ports.snapshots.restore(writes, dry_run);
        tokio::pin!(restoring);
        // nobody looks at a still screen and wonders
        let restored = tokio::select! {
            restored = &mut restoring => restored,
            () = tokio::time::sleep(TELL_AFTER) => {
                let what = if dry_run { "looked at" } else { "restored" };
                let text = format!("{files} changed files are being {what}; this takes a moment.");
                self.notice(NoticeLevel::Info, &text);
                restoring.await
            }
        };
        restored.map_err(|error| error.to_string())
    }

    /// The files that are left alone, by reason.
    pub(super) fn tell_conflicts(&self, restored: &Restored) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for file in restored.files.iter().filter(|file| file.conflict) {
            match reasons
                .iter_mut()
                .find(|(reason, _)| *reason == file.action)
            {
                Some((_, paths)) => paths.push(&file.path),
                None => reasons.push((&file.action, vec![&file.path])),
            }
        }
        let groups = reasons.iter().take(REASONS);
        let groups =
            groups.filter_map(|(reason, paths)| Some(format!("{} ({reason})", named(paths)?)));
        let mut told = groups.collect::<Vec<_>>().join("; ");
        let more: usize = reasons
            .iter()
            .skip(REASONS)
            .map(|(_, paths)| paths.len())
            .sum();
        if more > 0 {
            told = format!("{told}; and {more} more");
        }
        if !told.is_empty() {
            let text = format!("Left as they are: {told}.");
            self.notice(NoticeLevel::Warning, &text);
        }
    }

    /// Marks the files that changed while a command ran: somebody else may have worked on them then, and only
    /// the user can know.
    pub(super) fn mark_commands(&self, from: Option<MessageId>, files: &mut [UndoFile]) {
        let Some(from) = from else { return };
        let entries = self.active.turn.conversation().entries();
        for entry in entries.iter().filter(|e| e.message.id >= from) {
            let Some(command) = command_of(entry) else {
                continue;
            };
            let told: HashSet<&str> = entry.parts.iter().flat_map(written_paths).collect();
            let writes = writes_in(&self.active.values, entry.message.id);
            let changed: HashSet<&str> = writes.iter().map(|w| w.path.as_str()).collect();
            let acts = |file: &&mut UndoFile| !file.conflict && file.action != "already there";
            for file in files.iter_mut().filter(acts) {
                if changed.contains(&*file.path) && !told.contains(&*file.path) {
                    file.during = Some(command.clone());
                }
            }
        }
    }

    pub(super) async fn preview_redo(&self, way: &Way, writes: Vec<FileWrite>) {
        let (messages, parts) = way.comes.clone();
        let comes = Conversation::from_history(messages, parts);
        let prompts = comes.prompts();
        let first = prompts.first().and_then(|at| comes.entries().get(*at));
        let prompt = first
            .map(|entry| first_line(&entry.text()))
            .unwrap_or_default();
        match self.restore(writes, true).await {
            Ok(restored) => {
                let preview = Event::UndoPreview {
                    note: self.left_alone(None, &HashSet::new()).await,
                    to: Destination::Redo,
                    prompt,
                    files: restored.files,
                };
                self.active.announce(&self.ports, vec![preview]);
            }
            Err(text) => {
                let text = format!("The files could not be brought back. {text}");
                self.notice(NoticeLevel::Error, &text);
            }
        }
    }

    /// What a preview must not keep to itself: tools wrote files, from this message on, of which no snapshot
    /// knows what they were (too large ones), or there are no snapshots at all.
    pub(super) async fn left_alone(
        &self,
        from: Option<MessageId>,
        known: &HashSet<String>,
    ) -> Option<String> {
        if let SnapshotState::Off(reason) = self.ports.snapshots.state() {
            return Some(format!("Files stay as they are. {reason}"));
        }
        let from = from?;
        let notes = [
            self.changed_meanwhile(from, known).await,
            self.not_found_out(from),
            self.not_kept(from, known),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join(" "))
    }

    /// What changed after a step that left a command running: whose changes they are cannot be told.
    async fn changed_meanwhile(&self, from: MessageId, known: &HashSet<String>) -> Option<String> {
        let entries = self.active.turn.conversation().entries();
        let (job, since) = entries
            .iter()
            .filter(|e| e.message.id >= from)
            .find_map(|e| Some((e.parts.iter().find_map(job_of)?, end_of(e)?)))?;
        let hints = Hints::unknown();
        let now = self.ports.snapshots.take(hints).await.ok()?;
        let changed = self.ports.snapshots.counts(&since, &now.tree).await.ok()?;
        let others = changed.iter().map(|file| file.path.as_str());
        let others: Vec<&str> = others.filter(|path| !known.contains(*path)).collect();
        let named = named(&others)?;
        Some(format!(
            "Changed since {job} was started in the background, by it or by somebody else, so left as they \
             are: {named}."
        ))
    }

    /// A step of which it could not be found out what it wrote.
    fn not_found_out(&self, from: MessageId) -> Option<String> {
        let entries = self.active.turn.conversation().entries();
        let mut steps = entries.iter().filter(|e| e.message.id >= from);
        let missing = |e: &Entry| self.active.values.contains_key(&unsettled_of(e.message.id));
        steps.any(missing).then(|| {
            "What a command of this turn changed could not be found out, so it is left as it is; /diff \
             shows what differs."
                .to_owned()
        })
    }

    /// Files that tools wrote and no snapshot holds.
    fn not_kept(&self, from: MessageId, known: &HashSet<String>) -> Option<String> {
        let entries = self.active.turn.conversation().entries();
        let mut paths: Vec<&str> = entries
            .iter()
            .filter(|e| e.message.id >= from)
            .flat_map(|e| &e.parts)
            .flat_map(written_paths)
            .filter(|path| !path.starts_with('/') && !known.contains(*path))
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let named = named(&paths)?;
        Some(format!(
            "Not in snapshots (too large, or dunlin was killed before it kept them), so left as they are: \
             {named}."
        ))
    }
}

/// The first names of a list and how many more there are; none of an empty one.
fn named(paths: &[&str]) -> Option<String> {
    let shown = paths.get(..NAMED.min(paths.len()))?.join(", ");
    match paths.len().saturating_sub(NAMED) {
        _ if paths.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

/// The job that a command goes on as, or what it left running.
fn job_of(part: &Part) -> Option<String> {
    let PartBody::Tool(tool) = &part.body else {
        return None;
    };
    let job = tool.state.metadata()?.get("job")?.as_str()?;
    (tool.tool == "bash").then(|| job.to_owned())
}

/// The first line of the command that a step ran; of the first one, if it ran several.
fn command_of(entry: &Entry) -> Option<String> {
    let mut commands = entry.parts.iter().filter_map(|part| match &part.body {
        PartBody::Tool(tool) if tool.tool == "bash" => {
            let input = tool.state.input()?;
            Some(input.get("command")?.as_str()?.to_owned())
        }
        PartBody::Tool(tool) if tool.tool == TASK || tool.tool.contains("__") => {
            Some(tool.tool.clone())
        }
        _ => None,
    });
    let first = commands.next()?;
    let line = first_line(first.trim());
    let cut: String = line.chars().take(COMMAND).collect();
    let whole = cut.len() == first.trim().len() && commands.next().is_none();
    Some(if whole { cut } else { format!("{cut} …") })
}

/// The worktree at the end of a step.
fn end_of(entry: &Entry) -> Option<SnapshotId> {
    entry.parts.iter().find_map(|part| match &part.body {
        PartBody::StepFinish { snapshot, .. } => snapshot.clone(),
        _ => None,
    })
}

/// The files that a call has written.
fn written_paths(part: &Part) -> Vec<&str> {
    let PartBody::Tool(tool) = &part.body else {
        return Vec::new();
    };
    let done = matches!(tool.state, ToolState::Completed { .. });
    let Some(metadata) = tool.state.metadata().filter(|_| done) else {
        return Vec::new();
    };
    match tool.tool.as_str() {
        "edit" | "write" => path_of(metadata).into_iter().collect(),
        "apply_patch" => {
            let files = metadata.get("files").and_then(Value::as_array);
            files.into_iter().flatten().filter_map(path_of).collect()
        }
        _ => Vec::new(),
    }
}

fn path_of(facts: &Value) -> Option<&str> {
    facts.get("path")?.as_str()
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
