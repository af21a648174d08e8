//! The calls of a step: judged, started together, recorded against their own parts.
//!
//! Read-only calls start as soon as they may. Calls that can write wait for the end of the stream,
//! for the snapshot before them, for earlier calls that write the same file, and for their own
//! `running` record to be on the disk.

use std::path::PathBuf;

use serde_json::Value;

use super::tool_state::set_running;
use super::{State, Turn};
use crate::agent::effect::Effect;
use crate::agent::input::{Judgement, SnapshotTag};
use crate::agent::loop_guard::Loop;
use crate::protocol::{AskBody, Fault, Millis, PartBody, PartId};
use crate::tools::Access;

/// A snapshot of the step's start that is so young need not be taken again before writing, in ms.
const SNAPSHOT_FRESH: Millis = 500;

/// Where a call of the running step stands.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) part: PartId,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) stage: Stage,
    pub(super) title: String,
    can_write: bool,
    writes: Vec<PathBuf>,
    /// True once the loop guard knows of it.
    counted: bool,
    /// The last lines it has put out so far: all there is of them if it is cut.
    pub(super) tail: String,
}

/// What becomes of a call that the loop guard lets pass.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// It may run.
    Run,
    /// The user is asked for permission.
    Ask(Box<AskBody>),
    /// It does not run: what the model reads.
    Fail(String),
}

/// Stages of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stage {
    /// Being judged.
    Judging,
    /// The user decides; kept is what follows a loop question that is answered with yes.
    Asking(Next),
    /// It may run as soon as nothing stands before it.
    Allowed,
    /// Its `running` record is on the way to the disk.
    Syncing,
    /// It runs.
    Running,
    /// It has a result.
    Done,
}

impl Turn {
    /// A call's arguments are complete.
    pub(super) fn call_complete(&mut self, part: PartId, tool: &str, input: Value) {
        self.add_call(part, tool, input.clone(), Stage::Judging);
        self.effects.push(Effect::Judge {
            part,
            tool: tool.to_owned(),
            input,
        });
    }

    /// A call's arguments cannot be read. It does not run, but a model that sends them again and
    /// again is in a loop like any other.
    pub(super) fn call_broken(&mut self, now: Millis, part: PartId, tool: &str, raw: &str) {
        self.add_call(part, tool, Value::String(raw.to_owned()), Stage::Judging);
        let sentence = super::stream::bad_arguments(raw);
        self.check_loop(now, part, Next::Fail(sentence));
    }

    fn add_call(&mut self, part: PartId, tool: &str, input: Value, stage: Stage) {
        if let State::Step(step) = &mut self.state {
            step.calls.push(Call {
                part,
                tool: tool.to_owned(),
                input,
                stage,
                title: String::new(),
                can_write: false,
                writes: Vec::new(),
                counted: false,
                tail: String::new(),
            });
        }
    }

    pub(super) fn call_mut(&mut self, part: PartId) -> Option<&mut Call> {
        match &mut self.state {
            State::Step(step) => step.calls.iter_mut().find(|c| c.part == part),
            _ => None,
        }
    }

    /// The permission judge has spoken.
    pub(super) fn judged(&mut self, now: Millis, part: PartId, judgement: Judgement) {
        let Some(call) = self.call_mut(part) else {
            return;
        };
        match call.stage {
            Stage::Judging => {}
            Stage::Asking(_) => return self.judged_again(now, part, judgement),
            _ => return,
        }
        let next = match judgement {
            Judgement::Invalid(sentence) => Next::Fail(sentence),
            Judgement::Deny { title, reason } => {
                call.title = title;
                Next::Fail(reason)
            }
            Judgement::Allow(access) => {
                take_access(call, access);
                Next::Run
            }
            Judgement::Ask { access, body } => {
                take_access(call, access);
                Next::Ask(Box::new(body))
            }
        };
        self.check_loop(now, part, next);
    }

    /// A wider permission was given while the user was asked about this call: it may settle the
    /// question. What still has to be asked stays open as it is.
    fn judged_again(&mut self, now: Millis, part: PartId, judgement: Judgement) {
        match judgement {
            Judgement::Ask { .. } => {}
            Judgement::Allow(_) => {
                self.close_permission_ask(part);
                self.set_stage(part, Stage::Allowed);
                self.start_calls(now);
            }
            Judgement::Invalid(sentence)
            | Judgement::Deny {
                reason: sentence, ..
            } => {
                self.close_permission_ask(part);
                self.fail_call(now, part, sentence);
            }
        }
    }

    /// The loop guard comes before the permission question, and before a refusal: calls that never
    /// run can be a loop too.
    fn check_loop(&mut self, now: Millis, part: PartId, next: Next) {
        let limits = self.limits();
        let Some(call) = self.call_mut(part) else {
            return;
        };
        if std::mem::replace(&mut call.counted, true) {
            return self.go_on_with(now, part, next);
        }
        let (tool, input) = (call.tool.clone(), call.input.clone());
        let found = self.guard.check(&tool, &input, limits);
        let question = found.map(|found| self.loop_question(now, part, &found));
        self.guard.record(part.raw(), &tool, &input);
        match question {
            Some(body) => {
                self.set_stage(part, Stage::Asking(next));
                self.ask(now, Some(part), body);
            }
            None => self.go_on_with(now, part, next),
        }
    }

    /// A call that is in no loop, or may go on although it is.
    pub(super) fn go_on_with(&mut self, now: Millis, part: PartId, next: Next) {
        match next {
            Next::Run => {
                self.set_stage(part, Stage::Allowed);
                self.start_calls(now);
            }
            Next::Ask(body) => {
                self.set_stage(part, Stage::Asking(Next::Run));
                self.ask(now, Some(part), *body);
            }
            Next::Fail(sentence) => self.fail_call(now, part, sentence),
        }
    }

    fn loop_question(&self, now: Millis, part: PartId, found: &Loop) -> AskBody {
        let (tool, subject, input) = match &self.state {
            State::Step(step) => step
                .calls
                .iter()
                .find(|c| c.part == part)
                .map(|c| (c.tool.clone(), c.title.clone(), c.input.clone()))
                .unwrap_or_default(),
            _ => Default::default(),
        };
        // A call that was refused before it was understood has no title.
        let subject = if subject.is_empty() {
            tool.clone()
        } else {
            subject
        };
        let limits = self.limits();
        let before = found.repeats - 1;
        let call = if found.cycle == 1 {
            format!("{} times in a row, identical arguments", found.repeats)
        } else {
            format!("a cycle of {} calls, {before} times in a row", found.cycle)
        };
        let pairs = before.saturating_sub(1).max(1) * found.cycle;
        let result = if found.same_results >= pairs {
            // Identical results end alike, so the first one's exit code is that of all.
            let exit = self.exit_of(found.first).filter(|_| found.cycle == 1);
            let exit = exit.map_or_else(String::new, |code| format!("exit {code}, "));
            format!("{before} of {before}: {exit}identical output")
        } else {
            format!(
                "{} of {pairs} repeats had identical output",
                found.same_results
            )
        };
        AskBody::DoomLoop {
            tool,
            subject,
            input,
            repeats: found.repeats,
            cycle: found.cycle,
            again: limits.repeats,
            limit: limits.always,
            facts: vec![
                ("same call".to_owned(), call),
                ("same result".to_owned(), result),
                ("since then".to_owned(), self.since(now, found.first)),
            ],
        }
    }

    /// The exit code of a command that ran, by the part that records it.
    fn exit_of(&self, part: u128) -> Option<i64> {
        let part = self.conversation.part(PartId::from_raw(part))?;
        let PartBody::Tool(tool) = &part.body else {
            return None;
        };
        tool.state.metadata()?.get("exit")?.as_i64()
    }

    pub(super) fn set_stage(&mut self, part: PartId, stage: Stage) {
        if let Some(call) = self.call_mut(part) {
            call.stage = stage;
        }
    }

    /// Starts every call that nothing stands before.
    pub(super) fn start_calls(&mut self, now: Millis) {
        let limit = self.setup.turn.parallel_tools;
        let State::Step(step) = &mut self.state else {
            return;
        };
        let ended = step.answered.is_some() && step.stream == 0;
        let active = |c: &&Call| matches!(c.stage, Stage::Running | Stage::Syncing);
        let mut free = limit.saturating_sub(step.calls.iter().filter(active).count());
        let mut start = Vec::new();
        let mut wants_snapshot = false;
        for at in 0..step.calls.len() {
            if step.calls[at].stage != Stage::Allowed || free == 0 {
                continue;
            }
            let call = &step.calls[at];
            if call.can_write {
                let blocked = step.calls[..at].iter().any(|before| {
                    before.stage != Stage::Done
                        && before.writes.iter().any(|path| call.writes.contains(path))
                });
                if !ended || blocked {
                    continue;
                }
                if !step.may_write {
                    wants_snapshot = true;
                    continue;
                }
            }
            free -= 1;
            start.push((call.part, call.can_write));
        }
        for (part, can_write) in start {
            self.start_call(now, part, can_write);
        }
        if wants_snapshot {
            self.snapshot_before_writing(now);
        }
    }

    /// A snapshot before the first call that can write, with the paths that calls say they will
    /// write. A young one of the step's start will do if nobody names a path.
    fn snapshot_before_writing(&mut self, now: Millis) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        if step.snapshot_asked {
            return;
        }
        step.snapshot_asked = true;
        let paths: Vec<PathBuf> = step.calls.iter().flat_map(|c| c.writes.clone()).collect();
        let fresh = step
            .before
            .as_ref()
            .is_some_and(|(_, taken)| now - taken < SNAPSHOT_FRESH);
        if fresh && paths.is_empty() {
            step.may_write = true;
            self.start_calls(now);
            return;
        }
        let tag = SnapshotTag::BeforeWrite(step.message);
        self.effects.push(Effect::Snapshot {
            tag,
            paths,
            unknown: false,
        });
    }

    fn start_call(&mut self, now: Millis, part: PartId, can_write: bool) {
        let Some(call) = self.call_mut(part) else {
            return;
        };
        let (tool, input, title) = (call.tool.clone(), call.input.clone(), call.title.clone());
        let writes = call.writes.clone();
        if let State::Step(step) = &mut self.state
            && can_write
        {
            step.wrote_unknown |= writes.is_empty();
            step.wrote.extend(writes);
        }
        self.update_part(part, |p| {
            set_running(p, &title, now);
        });
        if can_write {
            self.note_unsettled();
            self.set_stage(part, Stage::Syncing);
            self.barrier(part);
        } else {
            self.set_stage(part, Stage::Running);
            self.effects.push(Effect::Run { part, tool, input });
        }
    }

    /// The `running` record of a call that can write is on the disk: it may run.
    pub(super) fn synced(&mut self, now: Millis, part: PartId, result: Result<(), Fault>) {
        let Some(call) = self.call_mut(part) else {
            return;
        };
        if call.stage != Stage::Syncing {
            return;
        }
        match result {
            Ok(()) => {
                call.stage = Stage::Running;
                let (tool, input) = (call.tool.clone(), call.input.clone());
                self.effects.push(Effect::Run { part, tool, input });
            }
            Err(fault) => {
                self.fail_call(
                    now,
                    part,
                    format!("The call was not run: the session could not be saved. {fault}"),
                );
            }
        }
    }
}

fn take_access(call: &mut Call, access: Access) {
    call.title = access.title;
    call.can_write = access.can_write;
    call.writes = access.writes;
}
