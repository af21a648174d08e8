//! What one does to sessions as a whole: fork, preview, name, pack away, delete.
//!
//! The session picker asks for all of it. A session that is open in another process is left alone;
//! the store says by whom it is held.

use std::collections::HashSet;
use std::time::Duration;

use super::{Agent, Back};
use crate::agent::Input;
use crate::context::Conversation;
use crate::protocol::{
    Event, Message, MessageId, NoticeLevel, Part, PartBody, SessionId, ToolState,
};
use crate::session::{Fork, Project, SessionStore, SnapshotsInUse, StoreError};
use crate::snapshot::{Needed, SnapshotError};

/// How often the snapshot store is cleaned, and how long after the start.
const COLLECT_EVERY: Duration = Duration::from_hours(24);
const COLLECT_AFTER: Duration = Duration::from_mins(2);
/// Turns and parts that a preview shows.
const PREVIEW_TURNS: usize = 2;
const PREVIEW_PARTS: usize = 60;
/// Characters of a text in a preview.
const PREVIEW_CHARS: usize = 400;
/// Values that go along with a fork; what steps wrote goes along too.
const FORKED: [&str; 5] = ["grants", "reads", "todo", "pins", "spent"];

impl Agent {
    /// A copy of this session up to a message, opened in place of it.
    pub(super) async fn fork(&mut self, at: Option<MessageId>) {
        let Some(source) = self.active.store.as_ref().map(SessionStore::id) else {
            self.notice(NoticeLevel::Info, "There is nothing to fork yet.");
            return;
        };
        let tip = self.active.turn.conversation().tip().map(|e| e.message.id);
        let values = self.active.values.keys().cloned().collect();
        self.fork_of(source, at.or(tip), values).await;
    }

    /// A copy of any session's current branch, opened in place of this one.
    pub(super) async fn fork_session(&mut self, id: SessionId) {
        if self.active.store.as_ref().is_some_and(|s| s.id() == id) {
            return self.fork(None).await;
        }
        match self.ports.project.open_session_all(id) {
            Ok(history) => {
                let values = history.values.keys().cloned().collect();
                let (messages, _) =
                    super::branch::current(history.messages, history.parts, &history.values);
                let tip = messages.last().map(|m| m.id);
                self.fork_of(id, tip, values).await;
            }
            Err(StoreError::NotFound(_)) => self.notice(
                NoticeLevel::Error,
                "That session belongs to another folder: start dunlin there to fork it.",
            ),
            Err(error) => self.store_trouble(&error),
        }
    }

    async fn fork_of(&mut self, source: SessionId, at: Option<MessageId>, values: HashSet<String>) {
        if self.ports.project.open_session_all(source).is_err()
            && self.active.turn.info().id == source
        {
            let text = self.why_read_only();
            self.notice(NoticeLevel::Error, &text);
            return;
        }
        let now = self.ports.now();
        let id = self.active.turn.mint().session(now);
        let values = values
            .into_iter()
            .filter(|n| FORKED.contains(&n.as_str()) || n.starts_with("writes/"))
            .collect();
        let fork = Fork {
            source,
            at,
            id,
            now,
            values,
        };
        match self.ports.project.fork(&fork) {
            Ok(info) => {
                self.open_session(info.id).await;
                self.notice(
                    NoticeLevel::Info,
                    "This is a copy; the original is as it was.",
                );
            }
            Err(error) => self.store_trouble(&error),
        }
    }

    /// The end of a session, for the picker. Reading it runs beside.
    pub(super) fn preview(&self, id: SessionId) {
        let data_dir = self.ports.paths.data_dir.clone();
        let own = self.ports.project.clone();
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let history = holder(&own, &data_dir, id).and_then(|p| p.open_session_all(id));
            // What cannot be read has no preview; opening it says why.
            let (messages, parts) = history.map_or_else(
                |_unreadable| Default::default(),
                |h| super::branch::current(h.messages, h.parts, &h.values),
            );
            let (messages, parts) = last_turns(messages, parts);
            let event = Event::Preview {
                session: id,
                messages,
                parts,
            };
            drop(back.send(Back::Event(event)));
        });
    }

    /// Names a session.
    pub(super) fn rename_session(&mut self, id: SessionId, title: &str) {
        let title = title.trim().to_owned();
        if title.is_empty() {
            return self.kept(NoticeLevel::Error, "A session's name cannot be empty.");
        }
        if self.active.turn.info().id == id {
            if self.active.writable {
                self.input(Input::Titled(title));
                self.list_sessions(self.search.listed_all);
            } else {
                let text = self.why_read_only();
                self.kept(NoticeLevel::Warning, &text);
            }
            return;
        }
        self.keep(id, move |project| {
            project.rename(id, &title)?;
            Ok(format!("It is called “{title}” now."))
        });
    }

    /// Packs a session away.
    pub(super) fn archive_session(&mut self, id: SessionId) {
        self.keep(id, move |project| {
            let freed = project.archive(id)?;
            Ok(format!(
                "Packed away, {} KiB are free. Opening it brings it back.",
                freed / 1_024
            ))
        });
    }

    /// Deletes a session for ever.
    pub(super) fn delete_session(&mut self, id: SessionId) {
        if self.active.turn.info().id == id {
            let text = "This session is open here. Start a new one (/new), then delete it.";
            return self.kept(NoticeLevel::Error, text);
        }
        self.keep(id, move |project| {
            project.delete(id)?;
            Ok("Deleted.".to_owned())
        });
    }

    /// Snapshots that are off are told once, when that is known: nobody should find out by an undo that
    /// leaves the files alone. Who turned them off knows.
    pub(super) fn tell_snapshots_off(&self) {
        if !self.ports.config.snapshot.enabled || self.active.family.is_child() {
            return;
        }
        let snapshots = self.ports.snapshots.clone();
        let back = self.active.back.clone();
        tokio::spawn(async move {
            // answered when the first snapshot is made, or refused with the reason
            if let Err(SnapshotError::Off(text)) = snapshots.head().await {
                let level = NoticeLevel::Warning;
                drop(back.send(Back::Event(Event::Notice { level, text })));
            }
        });
    }

    /// Once a day per project: what no session needs goes from the snapshot store. Some time after the
    /// start, so that nobody waits for it.
    pub(super) fn collect_snapshots(&self) {
        if self.ports.headless {
            return;
        }
        let lock = self.ports.project.snapshot_dir().join("gc.lock");
        let age = std::fs::metadata(&lock).and_then(|m| m.modified()).ok();
        let age = age.and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age < COLLECT_EVERY) {
            return;
        }
        let project = self.ports.project.clone();
        let snapshots = self.ports.snapshots.clone();
        let settings = self.ports.config.snapshot.clone();
        let blocking = self.ports.blocking.clone();
        let back = self.active.back.clone();
        tokio::spawn(async move {
            tokio::time::sleep(COLLECT_AFTER).await;
            let used = match blocking.run(move || project.snapshots_in_use()).await {
                Ok(Ok(used)) => used,
                Ok(Err(error)) => return tracing::warn!(%error, "snapshots were not collected"),
                Err(error) => return tracing::warn!(?error, "snapshots were not collected"),
            };
            if let Some(text) = unsure(&used) {
                tracing::warn!("{text}");
                let level = NoticeLevel::Warning;
                drop(back.send(Back::Event(Event::Notice { level, text })));
            }
            let needed = Needed {
                snapshots: &used.snapshots,
                complete: used.unsure.is_empty(),
            };
            match snapshots.gc(needed, settings).await {
                Ok(report) => tracing::info!(freed = report.freed, "snapshots were collected"),
                Err(error) => tracing::warn!(%error, "snapshots were not collected"),
            }
        });
    }

    fn kept(&self, level: NoticeLevel, text: &str) {
        let kept = Event::Kept {
            level,
            text: text.to_owned(),
        };
        self.active.announce(&self.ports, vec![kept]);
    }

    /// Does something to a session beside the driver, says what came of it, and lists anew.
    fn keep(
        &self,
        id: SessionId,
        work: impl FnOnce(&Project) -> Result<String, StoreError> + Send + 'static,
    ) {
        let data_dir = self.ports.paths.data_dir.clone();
        let own = self.ports.project.clone();
        let all = self.search.listed_all;
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let done = holder(&own, &data_dir, id).and_then(|project| work(&project));
            let (level, text) = match done {
                Ok(text) => (NoticeLevel::Info, text),
                Err(error) => (NoticeLevel::Error, error.to_string()),
            };
            drop(back.send(Back::Event(Event::Kept { level, text })));
            let listed = if all {
                Project::list_all(&data_dir)
            } else {
                own.list()
            };
            if let Ok(sessions) = listed {
                drop(back.send(Back::Event(Event::Sessions { sessions })));
            }
        });
    }
}

/// What the user should know of sessions for whose sake snapshots stay longer.
fn unsure(used: &SnapshotsInUse) -> Option<String> {
    let first = used.unsure.first()?;
    let more = match used.unsure.len() {
        1 => String::new(),
        n => format!(" ({} more like it)", n - 1),
    };
    Some(format!(
        "Snapshots that no session names stay for `snapshot.keep_days`, because of a session that cannot be \
         read whole: {first}{more}"
    ))
}

/// The project that holds a session, this one first.
fn holder(own: &Project, data_dir: &std::path::Path, id: SessionId) -> Result<Project, StoreError> {
    if own.holds(id) {
        return Ok(own.clone());
    }
    Project::holding(data_dir, id)?.ok_or(StoreError::NotFound(id))
}

/// The last turns with what they did; outputs and long texts are left out.
fn last_turns(messages: Vec<Message>, parts: Vec<Part>) -> (Vec<Message>, Vec<Part>) {
    let conversation = Conversation::from_history(messages, parts);
    let prompts = conversation.prompts();
    let from = prompts
        .len()
        .checked_sub(PREVIEW_TURNS)
        .and_then(|n| prompts.get(n))
        .or_else(|| prompts.first());
    let entries = conversation
        .entries()
        .get(from.copied().unwrap_or_default()..)
        .unwrap_or_default();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let shown = |part: &&Part| matches!(part.body, PartBody::Text { .. } | PartBody::Tool(_));
    let mut parts: Vec<Part> = entries
        .iter()
        .flat_map(|e| &e.parts)
        .filter(shown)
        .cloned()
        .map(shortened)
        .collect();
    let prompt = |part: &Part| {
        let entry = entries.iter().find(|e| e.message.id == part.message);
        entry.is_some_and(crate::context::Entry::is_prompt)
    };
    let mut over = parts.len().saturating_sub(PREVIEW_PARTS);
    parts.retain(|part| {
        let drop = over > 0 && !prompt(part);
        over -= usize::from(drop);
        !drop
    });
    (messages, parts)
}

fn shortened(mut part: Part) -> Part {
    match &mut part.body {
        PartBody::Text { text, .. } => {
            if let Some((at, _)) = text.char_indices().nth(PREVIEW_CHARS) {
                text.truncate(at);
            }
        }
        PartBody::Tool(tool) => {
            if let ToolState::Completed { output, .. } = &mut tool.state {
                output.clear();
            }
        }
        _ => {}
    }
    part
}
