//! Undo and redo of a turn: files and conversation. Only what this session's tool calls wrote is
//! touched; what someone else changed since is merged or left alone, and said.

use serde::{Deserialize, Serialize};

use super::Agent;
use super::branch::Tip;
use crate::context::Entry;
use crate::protocol::{Event, Message, MessageId, NoticeLevel, Part};
use crate::session::{Commit, Record};
use crate::snapshot::{FileWrite, SnapshotState};

/// An undo that can be taken back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Undone {
    messages: Vec<Message>,
    parts: Vec<Part>,
    writes: Vec<FileWrite>,
    /// The newest message when files alone were taken back (one hunk); else the messages say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tip: Option<MessageId>,
}

impl Agent {
    /// Keeps what a step wrote: the attribution that undo works by.
    pub(super) fn keep_writes(&mut self, message: MessageId, writes: &[FileWrite]) {
        let name = format!("writes/{message}");
        let Ok(value) = serde_json::to_value(writes) else {
            return;
        };
        self.active.values.insert(name.clone(), value.clone());
        if let Some(store) = self.active.writer() {
            store.commit(Commit::written(
                vec![Record::Value { name, value }],
                Vec::new(),
            ));
        }
    }

    /// All that was written from a message on, oldest first.
    fn writes_since(&self, from: MessageId) -> Vec<FileWrite> {
        let entries = self.active.turn.conversation().entries();
        entries
            .iter()
            .filter(|e| e.message.id >= from)
            .flat_map(|e| {
                super::active::stored::<Vec<FileWrite>>(
                    &self.active.values,
                    &format!("writes/{}", e.message.id),
                )
            })
            .collect()
    }

    /// `/undo`: a preview first; confirmed, the last turn is taken back.
    pub(super) async fn undo(&mut self, confirmed: bool) {
        if self.active.turn.is_running() {
            self.notice(
                NoticeLevel::Info,
                "A turn is running: press Esc to stop it, then undo.",
            );
            return;
        }
        let last = self.active.turn.conversation().prompts().last().copied();
        let Some(entry) = last.and_then(|at| self.active.turn.conversation().entries().get(at))
        else {
            self.notice(NoticeLevel::Info, "There is no turn to undo.");
            return;
        };
        let (from, prompt) = (entry.message.id, entry.text());
        self.go_back(from, prompt, confirmed, true).await;
    }

    /// Goes to before a message, with or without files.
    pub(super) async fn go_back(
        &mut self,
        from: MessageId,
        prompt: String,
        confirmed: bool,
        with_files: bool,
    ) {
        let writes = if with_files {
            self.writes_since(from)
        } else {
            Vec::new()
        };
        let off = matches!(self.ports.snapshots.state(), SnapshotState::Off(_));
        let restored = if writes.is_empty() || off {
            None
        } else {
            match self.ports.snapshots.restore(writes, !confirmed).await {
                Ok(restored) => Some(restored),
                Err(error) => {
                    let text =
                        format!("The files could not be restored, nothing was undone. {error}");
                    self.notice(NoticeLevel::Error, &text);
                    return;
                }
            }
        };
        let files = restored
            .as_ref()
            .map(|r| r.files.clone())
            .unwrap_or_default();
        if !confirmed {
            let prompt = prompt.lines().next().unwrap_or_default().to_owned();
            self.active
                .announce(&self.ports, vec![Event::UndoPreview { prompt, files }]);
            return;
        }
        let conflicts = files.iter().filter(|f| f.conflict).count();
        if conflicts > 0 {
            let text = format!(
                "{conflicts} files were changed since and were left as they are; see the preview."
            );
            self.notice(NoticeLevel::Warning, &text);
        }
        let undone = restored.map(|r| r.undone).unwrap_or_default();
        self.take_back(from, prompt, undone);
    }

    fn take_back(&mut self, from: MessageId, prompt: String, writes: Vec<FileWrite>) {
        let newest = self.newest_message();
        let taken = self.active.turn.take_back(from);
        let tip = self.active.turn.conversation().tip().map(|e| e.message.id);
        self.active.undone.push(Undone {
            messages: taken.iter().map(|e| e.message.clone()).collect(),
            parts: taken.into_iter().flat_map(|e| e.parts).collect(),
            writes,
            tip: None,
        });
        let event = Event::BranchChanged { tip, prompt };
        self.write_branch(Tip { tip, newest }, vec![event]);
    }

    /// Keeps what a hunk's undo did, so that a redo brings it back.
    pub(super) fn keep_undone_files(&mut self, writes: Vec<FileWrite>) {
        let newest = self.newest_message();
        let tip = self.active.turn.conversation().tip().map(|e| e.message.id);
        self.active.undone.push(Undone {
            messages: Vec::new(),
            parts: Vec::new(),
            writes,
            tip,
        });
        self.write_branch(Tip { tip, newest }, Vec::new());
    }

    /// The newest message of the session, on whichever branch.
    fn newest_message(&self) -> Option<MessageId> {
        let on_branch = self.active.turn.conversation().tip().map(|e| e.message.id);
        let undone = self
            .active
            .undone
            .iter()
            .flat_map(|u| &u.messages)
            .map(|m| m.id)
            .max();
        on_branch.max(undone)
    }

    fn write_branch(&self, tip: Tip, mut events: Vec<Event>) {
        events.push(Event::Status(self.active.turn.status()));
        let values = [
            ("tip", serde_json::to_value(tip)),
            ("undone", serde_json::to_value(&self.active.undone)),
        ];
        let records = values
            .into_iter()
            .filter_map(|(name, value)| {
                Some(Record::Value {
                    name: name.to_owned(),
                    value: value.ok()?,
                })
            })
            .collect();
        match self.active.writer() {
            Some(store) => store.commit(Commit::soon(records, events)),
            None => self.ports.outbox.send(events),
        }
    }

    /// `/redo`: brings back what the last undo took, if nothing was said since.
    pub(super) async fn redo(&mut self) {
        let tip = self.active.turn.conversation().tip().map(|e| e.message.id);
        let fits = self
            .active
            .undone
            .last()
            .is_some_and(|undone| match undone.messages.first() {
                Some(first) => first.parent == tip,
                None => undone.tip == tip,
            });
        if !fits || self.active.turn.is_running() {
            self.notice(NoticeLevel::Info, "There is nothing to redo.");
            return;
        }
        let Some(undone) = self.active.undone.pop() else {
            return;
        };
        if !undone.writes.is_empty() {
            match self
                .ports
                .snapshots
                .restore(undone.writes.clone(), false)
                .await
            {
                Ok(restored) => {
                    for file in restored.files.iter().filter(|f| f.conflict) {
                        let text = format!("{}: {}", file.path, file.action);
                        self.notice(NoticeLevel::Warning, &text);
                    }
                }
                Err(error) => {
                    self.active.undone.push(undone);
                    let text = format!("The files could not be brought back. {error}");
                    self.notice(NoticeLevel::Error, &text);
                    return;
                }
            }
        }
        if undone.messages.is_empty() {
            let tip = Tip {
                tip,
                newest: self.newest_message(),
            };
            self.write_branch(tip, Vec::new());
            self.notice(NoticeLevel::Info, "The change is back.");
            return;
        }
        let conversation = crate::context::Conversation::from_history(
            undone.messages.clone(),
            undone.parts.clone(),
        );
        let entries: Vec<Entry> = conversation.entries().to_vec();
        self.active.turn.put_back(entries);
        let newest = self.newest_message();
        let tip = self.active.turn.conversation().tip().map(|e| e.message.id);
        let events = vec![Event::History {
            messages: undone.messages,
            parts: undone.parts,
            first: false,
        }];
        self.write_branch(Tip { tip, newest }, events);
    }

    pub(super) fn notice(&self, level: NoticeLevel, text: &str) {
        let notice = Event::Notice {
            level,
            text: text.to_owned(),
        };
        self.active.announce(&self.ports, vec![notice]);
    }
}
