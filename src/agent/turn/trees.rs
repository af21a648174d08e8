//! The worktree before and after a step: snapshots as they come, and what is remembered until it is known what a
//! step changed.
//!
//! Called by `apply` and by `calls`, before the first one that can write. What changed is found out by the driver.

use std::path::PathBuf;

use super::step::Step;
use super::{State, Turn};
use crate::agent::effect::Effect;
use crate::agent::input::SnapshotTag;
use crate::protocol::{MessageId, Millis, PartBody, PatchFile, SnapshotId};

impl Turn {
    /// A snapshot came.
    pub(super) fn snapshot_taken(
        &mut self,
        now: Millis,
        tag: SnapshotTag,
        tree: Option<SnapshotId>,
    ) {
        match tag {
            SnapshotTag::Start(message) => {
                if let State::Step(step) = &mut self.state
                    && step.message == message
                    && step.before.is_none()
                {
                    step.before = tree.clone().map(|t| (t, now));
                }
                self.note_start(message, tree);
            }
            SnapshotTag::BeforeWrite(message) => {
                let State::Step(step) = &mut self.state else {
                    return;
                };
                if step.message != message {
                    return;
                }
                if let Some(tree) = tree {
                    step.before = Some((tree, now));
                }
                step.may_write = true;
                self.start_calls(now);
            }
            SnapshotTag::End(message) => self.step_end_known(message, tree),
        }
    }

    fn note_start(&mut self, message: MessageId, tree: Option<SnapshotId>) {
        let start = self.conversation.entry(message).and_then(|entry| {
            entry
                .parts
                .iter()
                .find(|p| matches!(p.body, PartBody::StepStart { .. }))
                .map(|p| p.id)
        });
        if let (Some(part), Some(tree)) = (start, tree) {
            self.update_part(part, |p| {
                p.body = PartBody::StepStart {
                    snapshot: Some(tree),
                }
            });
        }
    }

    /// A tool that can write begins: where the step's writes are counted from is kept until they are known,
    /// so that they can be found out after a crash too.
    pub(super) fn note_unsettled(&mut self) {
        let State::Step(step) = &self.state else {
            return;
        };
        if let Some((from, _)) = &step.before {
            let unsettled = Unsettled {
                from: from.clone(),
                wrote: step.wrote.clone(),
                unknown: step.wrote_unknown,
            };
            let name = unsettled_of(step.message);
            self.write_value(&name, &unsettled);
        }
    }

    /// The tree after a step is known: kept with the step's end, and the difference is asked for.
    fn step_end_known(&mut self, message: MessageId, tree: Option<SnapshotId>) {
        let Some(at) = self.last_writes.iter().position(|w| w.message == message) else {
            return;
        };
        let Some(writes) = self.last_writes.remove(at) else {
            return;
        };
        let (Some(from), Some(to)) = (writes.before, tree) else {
            return;
        };
        let end = self.conversation.entry(message).and_then(|entry| {
            entry
                .parts
                .iter()
                .find(|p| matches!(p.body, PartBody::StepFinish { .. }))
                .map(|p| p.id)
        });
        if let Some(part) = end {
            self.update_part(part, |p| {
                if let PartBody::StepFinish { snapshot, .. } = &mut p.body {
                    *snapshot = Some(to.clone());
                }
            });
        }
        if from != to {
            let wrote = (!writes.unknown).then_some(writes.wrote);
            self.effects.push(Effect::Difference {
                message,
                from,
                to,
                wrote,
            });
        } else {
            self.write_value(&unsettled_of(message), &serde_json::Value::Null);
        }
    }

    /// What a step changed is known.
    pub(super) fn patch_known(
        &mut self,
        now: Millis,
        message: MessageId,
        from: SnapshotId,
        to: SnapshotId,
        files: Vec<PatchFile>,
    ) {
        if !files.is_empty() && self.conversation.entry(message).is_some() {
            self.create_part(now, message, PartBody::Patch { from, to, files }, true);
        }
    }
}

/// Begins the names of the session values that say of which steps it is not known yet what they wrote.
pub const UNSETTLED: &str = "unsettled/";

/// Name of such a value.
pub fn unsettled_of(message: MessageId) -> String {
    format!("{UNSETTLED}{message}")
}

/// A step of which it is not known yet what it wrote.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unsettled {
    /// The tree before anything was written.
    pub from: SnapshotId,
    /// The files that tools named.
    #[serde(default)]
    pub wrote: Vec<PathBuf>,
    /// True if a tool ran that cannot say what it writes (`bash`).
    pub unknown: bool,
}

/// What is remembered of a finished step until the snapshot after it is there.
#[derive(Debug)]
pub(super) struct StepWrites {
    pub(super) message: MessageId,
    before: Option<SnapshotId>,
    wrote: Vec<PathBuf>,
    unknown: bool,
}

impl From<Step> for StepWrites {
    fn from(step: Step) -> Self {
        Self {
            message: step.message,
            before: step.before.map(|(tree, _)| tree),
            wrote: step.wrote,
            unknown: step.wrote_unknown,
        }
    }
}
