//! Undo, redo, rewind and switching branches: files and conversation. Only what this session's tool
//! calls wrote is touched; what someone else changed since is merged or left alone, and said.
//!
//! All of them are one journey from the end of the current branch to another message: the writes
//! after the fork are taken back, those of the way there are done again. What is about to happen is
//! stored before a file is touched, so that a journey cut by a crash is told and can be gone again.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Agent;
use super::branch::{self, Parents, Tip};
use super::restoring::first_line;
use crate::agent::turn::unsettled_of;
use crate::context::{Conversation, Entry};
use crate::protocol::{Destination, Event, Message, MessageId, NoticeLevel, Part};
use crate::session::{Commit, Record, Sync};
use crate::snapshot::FileWrite;

/// Undos that can be taken back one after the other.
const UNDONE: usize = 50;
/// Session value: the journey that is going on.
const JOURNEY: &str = "journey";

/// A journey that can be taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Undone {
    /// Where it began: redo leads there.
    from: Option<MessageId>,
    /// Where it ended: redo begins only there.
    to: Option<MessageId>,
    /// What it did to files; none if that is not known, because a crash cut it.
    writes: Option<Vec<FileWrite>>,
}

/// A way to go.
struct Journey {
    destination: Destination,
    /// The end of the branch after it.
    to: Option<MessageId>,
    /// What is said of it in the preview, and offered in the composer if it is a prompt taken back.
    prompt: String,
    offered: bool,
    files: bool,
    confirmed: bool,
}

/// What stands between two ends of branches.
#[derive(Default)]
pub(super) struct Way {
    /// The first message that leaves the branch.
    leaves: Option<MessageId>,
    /// What comes onto the branch.
    pub(super) comes: (Vec<Message>, Vec<Part>),
    /// What takes the files there, as writes to be taken back, oldest first.
    writes: Vec<FileWrite>,
}

impl Agent {
    /// Keeps what a step wrote, beside what is known of it: the attribution that undo works by.
    pub(super) fn keep_writes(&mut self, message: MessageId, writes: &[FileWrite]) {
        if writes.is_empty() {
            return;
        }
        let name = writes_of(message);
        let mut all = writes_in(&self.active.values, message);
        all.extend_from_slice(writes);
        let Ok(value) = serde_json::to_value(all) else {
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

    /// It is known and kept what a step wrote.
    pub(super) fn forget_unsettled(&mut self, message: MessageId) {
        let name = unsettled_of(message);
        if self.active.values.remove(&name).is_none() {
            return;
        }
        if let Some(store) = self.active.writer() {
            let value = Value::Null;
            store.commit(Commit::written(
                vec![Record::Value { name, value }],
                Vec::new(),
            ));
        }
    }

    /// `/undo`: a preview first; confirmed, the last turn is taken back.
    pub(super) async fn undo(&mut self, confirmed: bool) {
        let last = self.active.turn.conversation().prompts().last().copied();
        let entry = last.and_then(|at| self.active.turn.conversation().entries().get(at));
        let Some(to) = entry.map(|e| e.message.id) else {
            self.notice(NoticeLevel::Info, "There is no turn to undo.");
            return;
        };
        self.go_before(to, Destination::LastTurn, (true, confirmed))
            .await;
    }

    /// Goes to before a prompt of the current branch.
    pub(super) async fn rewind(&mut self, to: MessageId, files: bool, confirmed: bool) {
        let destination = Destination::Before { message: to };
        self.go_before(to, destination, (files, confirmed)).await;
    }

    async fn go_before(
        &mut self,
        message: MessageId,
        destination: Destination,
        (files, confirmed): (bool, bool),
    ) {
        let conversation = self.active.turn.conversation();
        let Some(entry) = conversation.entry(message) else {
            let text = "That message is not on the current branch. /rewind shows all branches.";
            self.notice(NoticeLevel::Error, text);
            return;
        };
        let at = conversation
            .entries()
            .partition_point(|e| e.message.id < message);
        let before = at
            .checked_sub(1)
            .and_then(|i| conversation.entries().get(i));
        let journey = Journey {
            destination,
            to: before.map(|e| e.message.id),
            prompt: entry.text(),
            offered: true,
            files,
            confirmed,
        };
        self.travel(journey).await;
    }

    /// Goes to the end of another branch.
    pub(super) async fn switch_branch(&mut self, tip: MessageId, files: bool, confirmed: bool) {
        let prompt = match self.everything().await {
            Ok((messages, parts)) if messages.iter().any(|m| m.id == tip) => {
                let path = Parents::of(&messages).path(Some(tip));
                let (messages, parts) = branch::only(messages, parts, &path);
                let there = Conversation::from_history(messages, parts);
                let last = there.prompts().last().copied();
                last.and_then(|at| there.entries().get(at))
                    .map(Entry::text)
                    .unwrap_or_default()
            }
            Ok(_) => {
                self.notice(NoticeLevel::Error, "This session has no such branch.");
                return;
            }
            Err(error) => return self.store_trouble(&error),
        };
        let journey = Journey {
            destination: Destination::Branch { tip },
            to: Some(tip),
            prompt,
            offered: false,
            files,
            confirmed,
        };
        self.travel(journey).await;
    }

    /// True, and said, if nothing may be moved now.
    fn must_stay(&self) -> bool {
        let runs = self.active.turn.is_running();
        if runs {
            let text = "A turn is running: press Esc to stop it first.";
            self.notice(NoticeLevel::Info, text);
        }
        runs
    }

    async fn travel(&mut self, journey: Journey) {
        if self.must_stay() {
            return;
        }
        self.wait_for_patches("").await;
        let Some(way) = self.way(journey.to).await else {
            return;
        };
        let writes = if journey.files {
            way.writes.clone()
        } else {
            Vec::new()
        };
        let known: HashSet<String> = writes.iter().map(|w| w.path.clone()).collect();
        let from = self.tip();
        let again = journey.confirmed && self.set_out(from, journey.to, &writes).await;
        let restored = match self.restore(writes, !journey.confirmed).await {
            Ok(restored) => restored,
            Err(text) => {
                self.arrive(&mut Vec::new());
                let text = format!("The files could not be restored, nothing was undone. {text}");
                self.notice(NoticeLevel::Error, &text);
                return;
            }
        };
        if !journey.confirmed {
            let prompt = first_line(&journey.prompt);
            let note = if journey.files {
                self.left_alone(way.leaves, &known).await
            } else {
                None
            };
            let mut files = restored.files;
            self.mark_commands(way.leaves, &mut files);
            let preview = Event::UndoPreview {
                note,
                to: journey.destination,
                prompt,
                files,
            };
            self.active.announce(&self.ports, vec![preview]);
            return;
        }
        self.tell_conflicts(&restored);
        self.keep_undone(Undone {
            from,
            to: journey.to,
            writes: (!again).then_some(restored.undone),
        });
        let prompt = if journey.offered {
            journey.prompt
        } else {
            String::new()
        };
        self.change_branch(way, prompt);
    }

    /// Keeps what a hunk's undo did, so that a redo brings it back.
    pub(super) fn keep_undone_files(&mut self, writes: Vec<FileWrite>) {
        let here = self.tip();
        self.keep_undone(Undone {
            from: here,
            to: here,
            writes: Some(writes),
        });
        self.change_branch(Way::default(), String::new());
    }

    fn keep_undone(&mut self, undone: Undone) {
        self.active.undone.push(undone);
        let more = self.active.undone.len().saturating_sub(UNDONE);
        self.active.undone.drain(..more);
    }

    /// `/redo`: a preview first; confirmed, what the last undo took comes back, if nothing was said since.
    pub(super) async fn redo(&mut self, confirmed: bool) {
        let here = self.tip();
        let fits = self.active.undone.last().is_some_and(|u| u.to == here);
        if !fits {
            self.notice(NoticeLevel::Info, "There is nothing to redo.");
            return;
        }
        if self.must_stay() {
            return;
        }
        let Some(undone) = self.active.undone.pop() else {
            return;
        };
        let Some(way) = self.way(undone.from).await else {
            self.active.undone.push(undone);
            return;
        };
        let writes = undone.writes.clone().unwrap_or_else(|| way.writes.clone());
        if !confirmed {
            self.active.undone.push(undone);
            return self.preview_redo(&way, writes).await;
        }
        self.set_out(here, undone.from, &writes).await;
        match self.restore(writes, false).await {
            Ok(restored) => {
                self.tell_conflicts(&restored);
                self.change_branch(way, String::new());
                if undone.from == undone.to {
                    self.notice(NoticeLevel::Info, "The change is back.");
                }
            }
            Err(text) => {
                self.active.undone.push(undone);
                self.arrive(&mut Vec::new());
                let text = format!("The files could not be brought back. {text}");
                self.notice(NoticeLevel::Error, &text);
            }
        }
    }

    /// The last message of the current branch.
    fn tip(&self) -> Option<MessageId> {
        self.active.turn.conversation().tip().map(|e| e.message.id)
    }

    /// What stands between here and there; said and none if it cannot be read.
    async fn way(&self, to: Option<MessageId>) -> Option<Way> {
        let entries = self.active.turn.conversation().entries();
        let here: Vec<MessageId> = entries.iter().map(|e| e.message.id).collect();
        let on_branch = to.is_none_or(|to| here.contains(&to));
        let (there, mut comes) = if on_branch {
            let end = to.map_or(0, |to| here.partition_point(|id| *id <= to));
            (here[..end].to_vec(), Default::default())
        } else {
            match self.everything().await {
                Ok((messages, parts)) => {
                    let path = Parents::of(&messages).path(to);
                    (path, (messages, parts))
                }
                Err(error) => {
                    self.store_trouble(&error);
                    return None;
                }
            }
        };
        let shared = branch::shared(&here, &there);
        let new = there.get(shared..).unwrap_or_default();
        comes = branch::only(comes.0, comes.1, new);
        let values = &self.active.values;
        let forward = new.iter().rev().flat_map(|id| {
            let writes = writes_in(values, *id);
            writes.into_iter().rev().map(FileWrite::inverse)
        });
        let old = here.get(shared..).unwrap_or_default();
        let back = old.iter().flat_map(|id| writes_in(values, *id));
        Some(Way {
            leaves: old.first().copied(),
            comes,
            writes: forward.chain(back).collect(),
        })
    }

    /// All messages and parts of the session, whatever branch they are on.
    pub(super) async fn everything(
        &self,
    ) -> Result<(Vec<Message>, Vec<Part>), crate::session::StoreError> {
        match &self.active.store {
            Some(store) => {
                let all = store.since_async(None).await?;
                Ok((all.messages, all.parts))
            }
            None => Ok((Vec::new(), Vec::new())),
        }
    }

    /// Stores what is about to happen to files, and waits until it is on the disk. True if the same
    /// was begun before and cut.
    async fn set_out(
        &mut self,
        from: Option<MessageId>,
        to: Option<MessageId>,
        writes: &[FileWrite],
    ) -> bool {
        let plan = serde_json::json!({"from": from, "to": to});
        let again = self.active.values.get(JOURNEY) == Some(&plan);
        if writes.is_empty() || again {
            return again;
        }
        self.active.values.insert(JOURNEY.to_owned(), plan.clone());
        if let Some(store) = self.active.writer() {
            let (done, synced) = tokio::sync::oneshot::channel();
            store.commit(Commit {
                records: vec![Record::Value {
                    name: JOURNEY.to_owned(),
                    value: plan,
                }],
                announce: Vec::new(),
                sync: Sync::Now(done),
            });
            // A store that cannot be written says so itself; the files can still be taken back.
            drop(synced.await);
        }
        false
    }

    /// The journey is over, well or not; the record goes with `records` or by itself.
    fn arrive(&mut self, records: &mut Vec<Record>) {
        if self.active.values.remove(JOURNEY).is_none() {
            return;
        }
        let record = Record::Value {
            name: JOURNEY.to_owned(),
            value: Value::Null,
        };
        if !records.is_empty() {
            records.push(record);
        } else if let Some(store) = self.active.writer() {
            store.commit(Commit::soon(vec![record], Vec::new()));
        }
    }

    /// Says that a crash cut a journey, after the session was opened.
    pub(super) fn tell_cut_journey(&self) {
        if self.active.writable && self.active.values.contains_key(JOURNEY) {
            self.notice(
                NoticeLevel::Warning,
                "dunlin was killed while it restored files, so some may be restored and others not. \
                 Do the same again (/undo, /redo or /rewind): it goes on where it was cut.",
            );
        }
    }

    /// The conversation goes the way; the branch's new end is written and announced.
    fn change_branch(&mut self, way: Way, prompt: String) {
        let newest = self.active.newest.max(self.tip());
        self.active.newest = newest;
        if let Some(leaves) = way.leaves {
            self.active.turn.take_back(leaves);
        }
        let fork = self.tip();
        let (messages, parts) = way.comes;
        let mut events = Vec::new();
        if way.leaves.is_some() || !messages.is_empty() {
            events.push(Event::BranchChanged { tip: fork, prompt });
        }
        if !messages.is_empty() {
            let there = Conversation::from_history(messages.clone(), parts.clone());
            self.active.turn.put_back(there.entries().to_vec());
            events.push(Event::History {
                messages,
                parts,
                first: fork.is_none(),
            });
        }
        events.push(Event::Status(self.active.turn.status()));
        let tip = Tip {
            tip: self.tip(),
            newest,
        };
        self.write_branch(tip, events);
    }

    fn write_branch(&mut self, tip: Tip, events: Vec<Event>) {
        let values = [
            ("tip", serde_json::to_value(tip)),
            ("undone", serde_json::to_value(&self.active.undone)),
        ];
        let mut records: Vec<Record> = values
            .into_iter()
            .filter_map(|(name, value)| {
                Some(Record::Value {
                    name: name.to_owned(),
                    value: value.ok()?,
                })
            })
            .collect();
        self.arrive(&mut records);
        match self.active.writer() {
            Some(store) => store.commit(Commit::soon(records, events)),
            None => self.ports.outbox.send(events),
        }
    }

    pub(super) fn notice(&self, level: NoticeLevel, text: &str) {
        let notice = Event::Notice {
            level,
            text: text.to_owned(),
        };
        self.active.announce(&self.ports, vec![notice]);
    }
}

/// Name of the session value that keeps what a message's step wrote.
fn writes_of(message: MessageId) -> String {
    format!("writes/{message}")
}

pub(super) fn writes_in(values: &BTreeMap<String, Value>, message: MessageId) -> Vec<FileWrite> {
    super::active::stored(values, &writes_of(message))
}
