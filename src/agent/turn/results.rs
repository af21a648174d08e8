//! What comes of calls: live reports, results, refusals, and the end of the step with the last of them.

use std::path::PathBuf;

use serde_json::Value;

use super::calls::Stage;
use super::tool_state::{set_completed, set_failed};
use super::{State, Turn};
use crate::protocol::{Event, Fault, FaultKind, Millis, PartBody, PartId, ToolState, TurnEnd};
use crate::tools::{Failure, ProgressUpdate, Success};

/// What the store refuses after the turn is over, because it refused what came before, is not said, in ms.
const SAID_LATELY: Millis = 5_000;

impl Turn {
    /// A running call reports: shown, never stored.
    pub(super) fn progress(&mut self, part: PartId, update: &ProgressUpdate) {
        let Some(call) = self.call_mut(part).filter(|c| c.stage == Stage::Running) else {
            return;
        };
        call.tail.clone_from(&update.tail);
        let Some(mut part) = self.conversation.part(part).cloned() else {
            return;
        };
        if let PartBody::Tool(tool) = &mut part.body
            && let ToolState::Running {
                title,
                metadata,
                tail,
                ..
            } = &mut tool.state
        {
            if !update.title.is_empty() {
                title.clone_from(&update.title);
            }
            if !update.metadata.is_null() {
                metadata.clone_from(&update.metadata);
            }
            tail.clone_from(&update.tail);
            self.announce(Event::PartUpdated { part });
        }
    }

    /// A call has a result.
    pub(super) fn tool_ended(
        &mut self,
        now: Millis,
        part: PartId,
        result: Result<Success, Failure>,
    ) {
        let Some(call) = self.call_mut(part) else {
            return;
        };
        if call.stage != Stage::Running {
            return;
        }
        call.stage = Stage::Done;
        let tool = call.tool.clone();
        match result {
            Ok(success) => {
                self.guard.result(part.raw(), &success.output);
                if tool == "todo" {
                    self.todo.clone_from(&success.output);
                    let todo = self.todo.clone();
                    self.write_value("todo", &todo);
                }
                self.note_writes(success.wrote.clone());
                self.update_part(part, |p| set_completed(p, success, now));
            }
            Err(failure) => {
                self.guard.result(part.raw(), &failure.message);
                self.note_writes(failure.wrote.clone());
                self.update_part(part, |p| set_failed(p, failure, now));
            }
        }
        self.sync_soon();
        self.start_calls(now);
        self.finish_if_done(now);
    }

    fn note_writes(&mut self, wrote: Vec<PathBuf>) {
        if let State::Step(step) = &mut self.state {
            for path in wrote {
                if !step.wrote.contains(&path) {
                    step.wrote.push(path);
                }
            }
        }
    }

    /// A call that does not run has this sentence as its result.
    pub(super) fn fail_call(&mut self, now: Millis, part: PartId, sentence: String) {
        self.refuse_call(now, part, sentence, Value::Null);
    }

    /// The same with facts about why, for front ends; null for none.
    pub(super) fn refuse_call(
        &mut self,
        now: Millis,
        part: PartId,
        sentence: String,
        facts: Value,
    ) {
        let Some(call) = self.call_mut(part) else {
            return;
        };
        call.stage = Stage::Done;
        let title = call.title.clone();
        self.guard.result(part.raw(), &sentence);
        let failure = Failure {
            message: sentence,
            title,
            metadata: facts,
            ..Failure::default()
        };
        self.update_part(part, |p| set_failed(p, failure, now));
        self.start_calls(now);
        self.finish_if_done(now);
    }

    /// Finishes the step once the stream has ended and every call has its result.
    pub(super) fn finish_if_done(&mut self, now: Millis) {
        let done = match &self.state {
            State::Step(step) => {
                step.stream == 0
                    && step.answered.is_some()
                    && step.calls.iter().all(|c| c.stage == Stage::Done)
            }
            _ => false,
        };
        if done {
            self.finish_step(now);
        }
    }

    /// The store could not accept something: calls that can write must not run on. What a full disk refuses
    /// comes in heaps; it is said once.
    pub(super) fn store_failed(&mut self, now: Millis, fault: Fault) {
        debug_assert_eq!(fault.kind, FaultKind::Storage);
        let runs = self.running.is_some();
        let again = self.refused.is_some_and(|at| now - at < SAID_LATELY);
        if runs || !again {
            self.refused = Some(now);
            self.announce(Event::Error { error: fault });
        }
        if runs {
            self.cut(now);
            self.end_turn(now, TurnEnd::Error);
        }
    }
}
