//! What other sessions are told of this one's tools: files before they are written, commands while they run.
//!
//! A thin layer between tools and the snapshots' write log; what the log is made of is none of its business.

use serde_json::Value;

use super::Agent;
use crate::agent::input::{Input, Judgement};
use crate::agent::subagent::TASK;
use crate::protocol::{MessageId, PartId};
use crate::snapshot::{Running, Snapshots};
use crate::tools::{Need, WriteSink};
use std::path::Path;

/// The write log, for the tools of one step.
#[derive(Debug)]
pub(super) struct Told {
    snapshots: Snapshots,
    step: String,
}

impl WriteSink for Told {
    fn about_to_write(
        &self,
        path: &Path,
        before: Option<(&[u8], u32)>,
        after: Option<&[u8]>,
    ) -> Option<u64> {
        self.snapshots
            .about_to_write(&self.step, path, before, after)
    }

    fn did_not_write(&self, write: u64) {
        self.snapshots.did_not_write(write);
    }

    fn goes_on(&self, command: &str) -> Box<dyn std::any::Any + Send + Sync> {
        Box::new(self.snapshots.command(&self.step, command, true))
    }
}

impl Agent {
    /// Where the tools of a call's step tell of their writes.
    pub(super) fn told(&self, part: PartId) -> Option<Told> {
        let message = self.active.turn.conversation().part(part)?.message;
        Some(Told {
            snapshots: self.ports.snapshots.clone(),
            step: step_name(message),
        })
    }

    /// Remembers of a call that it may write anything, should it run: then it is a command to others. What a
    /// subagent does is told by its own calls.
    pub(super) fn note_command(&mut self, part: PartId, tool: &str, input: &Value, judged: &Input) {
        let Input::Judged { judgement, .. } = judged else {
            return;
        };
        let (Judgement::Allow(access) | Judgement::Ask { access, .. }) = judgement else {
            return;
        };
        if !access.can_write || !access.writes.is_empty() || tool == TASK {
            return;
        }
        let line = access.needs.iter().find_map(|need| match need {
            Need::Command { command, .. } => Some(command.clone()),
            _ => None,
        });
        let line = line.unwrap_or_else(|| input.to_string());
        self.active.commands.insert(part, line);
    }

    /// Tells that a call runs, if it may write anything, until what is given back is dropped.
    pub(super) fn tell_command(&mut self, part: PartId) -> Option<Running> {
        let command = self.active.commands.remove(&part)?;
        let message = self.active.turn.conversation().part(part)?.message;
        let step = step_name(message);
        Some(self.ports.snapshots.command(&step, &command, false))
    }
}

/// How a step is called in the write log.
pub(super) fn step_name(message: MessageId) -> String {
    message.to_string()
}
