//! Effects → handles. Each arm hands something to whoever does it; nothing here waits.

use tokio::sync::oneshot;

use super::telling::step_name;
use super::{Agent, Back};
use crate::agent::effect::{Durability, Effect};
use crate::agent::input::{Input, SnapshotTag};
use crate::protocol::{Event, Fault, PartBody, PartId};
use crate::session::{AnswerEnd, Commit, Record, SummaryPatch, Sync};
use crate::snapshot::Hints;

impl Agent {
    /// Performs an effect; what is known at once comes back as an input.
    pub(super) fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Commit {
                records,
                announce,
                sync,
            } => self.commit(records, announce, sync),
            Effect::Announce(events) => {
                self.active.announce(&self.ports, events);
                None
            }
            Effect::Ask { stream, purpose } => self.ask_model(stream, &purpose),
            Effect::CancelStream(stream) => {
                self.active.streams.remove(&stream);
                self.held.take_if(|(held, _)| *held == stream);
                self.end_tape(stream, AnswerEnd::Cut);
                None
            }
            Effect::Judge { part, tool, input } => {
                let judged = self.judge(part, &tool, &input);
                self.note_command(part, &tool, &input, &judged);
                Some(judged)
            }
            Effect::Run { part, tool, input } => self.run_tool(part, &tool, input),
            Effect::CancelTools(parts) => {
                for part in parts {
                    if let Some(token) = self.active.tools.remove(&part) {
                        token.cancel();
                    }
                }
                None
            }
            Effect::Snapshot {
                tag,
                paths,
                unknown,
            } => self.take_snapshot(
                tag,
                Hints {
                    paths,
                    unknown,
                    full: false,
                    before: matches!(tag, SnapshotTag::BeforeWrite(_)),
                    until: None,
                    step: match tag {
                        SnapshotTag::End(message) => step_name(message),
                        _ => String::new(),
                    },
                },
            ),
            Effect::Difference {
                message,
                from,
                to,
                wrote,
            } => {
                self.find_difference(message, from, to, wrote);
                None
            }
            Effect::Sleep { timer, until } => {
                let wait = (until - self.ports.now()).max(0).cast_unsigned();
                let back = self.active.back.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
                    drop(back.send(Back::Input(Input::Timer(timer))));
                });
                None
            }
            Effect::Grant {
                scope,
                tool,
                pattern,
            } => {
                self.grant(scope, &tool, &pattern);
                None
            }
            Effect::MakeTitle { prompt } => {
                if !self.active.family.is_child() {
                    self.active.wants_title = Some(prompt);
                }
                None
            }
        }
    }

    fn commit(
        &mut self,
        records: Vec<Record>,
        announce: Vec<Event>,
        sync: Durability,
    ) -> Option<Input> {
        let fault = if records.is_empty() || self.active.store.is_some() {
            None
        } else if self.active.turn.is_running() {
            self.active.ensure_store(&self.ports).err()
        } else {
            // Nothing was said yet: facts such as the mode go along when the session is created.
            self.ports.outbox.send(announce);
            return None;
        };
        if let Some(fault) = fault {
            return Some(Input::StoreFailed(fault));
        }
        for event in &announce {
            if let Event::StepFinished { tokens, .. } = event {
                let price = self.active.turn.model().price.as_ref();
                let extra = price.map(|p| (p.input - p.cache_read) / 1_000_000.0);
                self.active.ledger.answered(tokens, extra);
            }
        }
        self.note_complete(&records);
        self.note_unsettled(&records);
        let Some(store) = self.active.writer() else {
            self.ports.outbox.send(announce);
            return None;
        };
        let sync = match sync {
            Durability::Written => Sync::Written,
            Durability::Soon => Sync::Soon,
            Durability::Barrier(part) => self.barrier(part),
        };
        let ended = announce
            .iter()
            .any(|e| matches!(e, Event::TurnFinished { .. }));
        store.commit(Commit {
            records,
            announce,
            sync,
        });
        if ended {
            self.turn_ended();
        }
        None
    }

    /// What the session's steps have changed, for listings. Told again when the last step's changes are
    /// known: they are counted beside the turn.
    pub(super) fn count_changes(&self) {
        let Some(store) = self.active.writer() else {
            return;
        };
        let (mut added, mut removed) = (0, 0);
        for part in self
            .active
            .turn
            .conversation()
            .entries()
            .iter()
            .flat_map(|e| &e.parts)
        {
            if let PartBody::Patch { files, .. } = &part.body {
                added += files.iter().map(|f| f.added).sum::<u32>();
                removed += files.iter().map(|f| f.removed).sum::<u32>();
            }
        }
        store.set_summary(SummaryPatch {
            added: Some(added),
            removed: Some(removed),
            ..SummaryPatch::default()
        });
    }

    /// What listings and `dunlin inspect` show of the session, and what it has read, are kept at the
    /// end of a turn.
    fn turn_ended(&mut self) {
        self.refresh_outside();
        self.keep_overhead();
        let Some(store) = self.active.writer() else {
            return;
        };
        let turn = &self.active.turn;
        let (used, window) = (turn.usage().next(), turn.window().size);
        let percent = (used * 100).checked_div(window).unwrap_or(0).min(100);
        store.set_summary(SummaryPatch {
            cost: Some(turn.spent().cost()),
            context_percent: Some(percent as u8),
            branch: Some(self.ports.place.branch.clone()),
            ..SummaryPatch::default()
        });
        self.count_changes();
        if let Ok(value) = serde_json::to_value(self.active.reads.state()) {
            let record = Record::Value {
                name: "reads".to_owned(),
                value,
            };
            store.commit(Commit::written(vec![record], Vec::new()));
        }
    }

    /// `Input::Synced` follows when the commit is on the disk.
    fn barrier(&self, part: PartId) -> Sync {
        let (done, synced) = oneshot::channel();
        let back = self.active.back.clone();
        tokio::spawn(async move {
            let result = synced.await.unwrap_or_else(|_closed| {
                Err(Fault::new(
                    crate::protocol::FaultKind::Storage,
                    "The session was closed before its record was on the disk.",
                    "",
                ))
            });
            drop(back.send(Back::Input(Input::Synced { part, result })));
        });
        Sync::Now(done)
    }
}
