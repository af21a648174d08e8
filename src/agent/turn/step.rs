//! A step: one model call and all tool calls it asked for. Beginning, finishing, what comes next.

use std::path::PathBuf;

use super::calls::Call;
use super::stream::Blocks;
use super::{State, Turn};
use crate::agent::effect::{Effect, Purpose};
use crate::agent::input::{SnapshotTag, StreamId};
use crate::context::{Entry, overflow, tokens};
use crate::model;
use crate::protocol::{
    AskBody, Event, Fault, FaultKind, Finish, MessageId, Millis, NoticeLevel, PartBody, Phase,
    Role, SnapshotId, TurnEnd,
};

/// What the model is told in its last step.
const GRACE: &str = "You have reached the limit of steps for this turn. Do not call tools. Say in a few \
                     sentences what is done, what is left, and how to go on.";

/// The finish reason of a model that ran into the end of its window while it answered.
const WINDOW_FULL: &str = "model_context_window_exceeded";

/// What a finished step was like.
struct After {
    message: MessageId,
    finish: Finish,
    /// The model waits for results, or is to go on.
    again: bool,
    window_full: bool,
    /// The user's own command: no model had a word in it.
    is_shell: bool,
}

/// A step under way.
#[derive(Debug)]
pub(super) struct Step {
    /// Its assistant message.
    pub(super) message: MessageId,
    /// Its stream, 0 once it has ended.
    pub(super) stream: StreamId,
    /// Attempts of it that failed before this one.
    pub(super) failed: u32,
    pub(super) blocks: Blocks,
    pub(super) calls: Vec<Call>,
    pub(super) usage: model::Usage,
    /// Set when the stream has ended.
    pub(super) answered: Option<(Finish, String)>,
    /// Characters streamed, for the token estimate.
    pub(super) streamed: u64,
    /// The tree before anything was written, and when it was taken.
    pub(super) before: Option<(SnapshotId, Millis)>,
    /// True once a snapshot before writing was asked for.
    pub(super) snapshot_asked: bool,
    /// True once writing may begin (the snapshot is there, or cannot be had).
    pub(super) may_write: bool,
    pub(super) wrote: Vec<PathBuf>,
    /// A tool ran that can write but cannot say what it wrote.
    pub(super) wrote_unknown: bool,
}

impl Step {
    pub(super) fn new(message: MessageId, stream: StreamId) -> Self {
        Self {
            message,
            stream,
            failed: 0,
            blocks: Blocks::default(),
            calls: Vec::new(),
            usage: model::Usage::default(),
            answered: None,
            streamed: 0,
            before: None,
            snapshot_asked: false,
            may_write: false,
            wrote: Vec::new(),
            wrote_unknown: false,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match &self.answered {
            Some(_) => Phase::Tools,
            None if self.blocks.is_empty() => Phase::Waiting,
            None => Phase::Streaming,
        }
    }
}

impl Turn {
    /// Begins the next step, unless a limit, missing room or the user's queue comes first.
    pub(super) fn begin_step(&mut self, now: Millis) {
        self.say_rules(now);
        self.inject_guidance(now);
        if self.budget_reached(now) || self.make_room(now) {
            return;
        }
        let limit = self.setup.turn.max_steps;
        let Some(running) = &mut self.running else {
            return;
        };
        running.step += 1;
        running.overloaded = 0;
        running.grace = limit.is_some_and(|most| running.step >= most);
        let grace = running.grace;
        self.start_attempt(now, 0, grace);
    }

    /// One attempt of a step: a new assistant message, a snapshot, the request.
    pub(super) fn start_attempt(&mut self, now: Millis, failed: u32, grace: bool) {
        let message = self.new_message(now, Role::Assistant, false);
        self.create_part(now, message, PartBody::StepStart { snapshot: None }, true);
        let stream = self.next_stream;
        self.next_stream += 1;
        let mut step = Step::new(message, stream);
        step.failed = failed;
        self.state = State::Step(step);
        let instruction = if grace {
            GRACE.to_owned()
        } else {
            String::new()
        };
        self.effects.push(Effect::Ask {
            stream,
            purpose: Purpose::Step {
                tools: !grace,
                instruction,
            },
        });
        self.effects.push(Effect::Snapshot {
            tag: SnapshotTag::Start(message),
            paths: Vec::new(),
            unknown: false,
        });
        self.announce_status(now);
    }

    /// True if a budget ended or stopped the turn.
    pub(super) fn budget_reached(&mut self, now: Millis) -> bool {
        if self.running.is_none() {
            return true;
        }
        let Some(message) = self.over_budget(now) else {
            return false;
        };
        if self.setup.headless || self.subagent {
            let hint = "Raise the limit in [budget] and resume the session.";
            self.announce_fault(Fault::new(FaultKind::Budget, message, hint));
            self.end_turn(now, TurnEnd::Budget);
        } else {
            self.ask(now, None, AskBody::Budget { message });
        }
        true
    }

    /// Which budget is used up.
    pub(super) fn over_budget(&self, now: Millis) -> Option<String> {
        let mut all = self.spent;
        all.add(&self.elsewhere);
        let time = self.running_ms(now) + self.elsewhere.time_ms;
        all.exceeded(&self.setup.budget, self.granted, time)
    }

    pub(super) fn announce_fault(&mut self, fault: Fault) {
        self.write_event(Event::Error { error: fault });
    }

    /// All calls have results and the stream has ended: the step is finished.
    pub(super) fn finish_step(&mut self, now: Millis) {
        let State::Step(step) = std::mem::take(&mut self.state) else {
            return;
        };
        let Some((finish, raw)) = step.answered.clone() else {
            return;
        };
        let message = step.message;
        let is_shell = raw == "shell";
        let counted = step.usage.tokens();
        let cost = self.setup.model.price.as_ref().map(|p| p.cost(&counted));
        if !is_shell {
            self.write_step_finish(now, &step, finish, cost);
        } else {
            self.update_message(message, |m| {
                m.finish = Some(Finish::Stop);
                m.completed = Some(now);
            });
            self.sync_soon();
        }
        let results: u64 = step.calls.iter().map(|call| self.result_tokens(call)).sum();
        if counted.total() > 0 {
            self.usage = overflow::Usage {
                actual: Some(counted),
                added: results,
                estimate: 0,
            };
        } else if !is_shell {
            let estimate = overflow::estimate(&self.conversation) + self.setup.overhead;
            self.usage = overflow::Usage {
                actual: None,
                added: 0,
                estimate,
            };
        } else {
            self.usage.added += results;
        }
        if step.may_write && (step.wrote_unknown || !step.wrote.is_empty()) {
            self.effects.push(Effect::Snapshot {
                tag: SnapshotTag::End(message),
                paths: step.wrote.clone(),
                unknown: step.wrote_unknown,
            });
        }
        let again = !step.calls.is_empty() || raw == "pause_turn";
        if step.may_write {
            self.last_writes.push_back(step.into());
        }
        let after = After {
            message,
            finish,
            again: again && !is_shell,
            window_full: raw == WINDOW_FULL,
            is_shell,
        };
        self.after_step(now, &after);
    }

    fn write_step_finish(&mut self, now: Millis, step: &Step, finish: Finish, cost: Option<f64>) {
        let tokens = step.usage.tokens();
        let message = step.message;
        let snapshot = step.before.as_ref().map(|(tree, _)| tree.clone());
        self.spent.step(&tokens, cost);
        self.write_spent(now);
        if let Some(running) = &mut self.running {
            running.output += tokens.output + tokens.reasoning;
        }
        let number = self.running.as_ref().map_or(0, |r| r.step);
        self.create_part(
            now,
            message,
            PartBody::StepFinish {
                reason: finish,
                snapshot,
                tokens,
                cost,
            },
            true,
        );
        self.update_message(message, |m| {
            m.finish = Some(finish);
            m.tokens = tokens;
            m.cost = cost;
            m.completed = Some(now);
        });
        self.write_event(Event::StepFinished {
            message,
            step: number,
            tokens,
            cost,
        });
        self.sync_soon();
    }

    fn result_tokens(&self, call: &Call) -> u64 {
        match self.conversation.part(call.part).map(|p| &p.body) {
            Some(PartBody::Tool(tool)) => tokens::of_result(&tool.state),
            _ => 0,
        }
    }

    /// What comes after a step.
    fn after_step(&mut self, now: Millis, after: &After) {
        let Some(running) = &mut self.running else {
            return;
        };
        running.overflowed = 0;
        running.window_full &= after.window_full;
        let finish = after.finish;
        let (refused, looped, grace) = (running.refused, running.looped, running.grace);
        if refused {
            self.end_turn(now, TurnEnd::Refused);
        } else if looped {
            let fault = Fault::new(
                FaultKind::DoomLoop,
                "The turn was stopped because the model made the same calls again and again, and nobody can \
                 be asked.",
                "Resume the session with other words, or raise loop.loop_repeats.",
            );
            self.announce_fault(fault);
            self.end_turn(now, TurnEnd::DoomLoop);
        } else if grace {
            let fault = Fault::new(
                FaultKind::Budget,
                "The turn reached its limit of steps.",
                "Say `continue` to go on, or raise loop.max_steps.",
            );
            self.announce_fault(fault);
            self.end_turn(now, TurnEnd::Budget);
        } else if finish == Finish::ContentFilter {
            let fault = Fault::new(
                FaultKind::ContentFilter,
                "The provider withheld the rest of the answer.",
                "Say it differently, or choose another model with /model.",
            );
            self.announce_fault(fault);
            self.end_turn(now, TurnEnd::Error);
        } else if after.again {
            self.begin_step(now);
        } else if !(after.window_full && self.window_full(now)) {
            self.say_what_is_odd(after);
            self.end_turn(now, TurnEnd::Done);
        }
    }

    /// An answer that is no whole one is not taken for one without a word.
    fn say_what_is_odd(&mut self, after: &After) {
        let said = self.conversation.entry(after.message).map(Entry::text);
        let text = if after.finish == Finish::Length && after.window_full {
            "The answer reached the end of the model's window and is cut. Use /compact, or choose a model \
             with a larger window with /model."
        } else if after.finish == Finish::Length {
            "The answer reached the model's output limit and may be cut. Say `continue` to go on."
        } else if !after.is_shell && said.is_none_or(|text| text.trim().is_empty()) {
            "The model ended its turn without saying anything. Say `continue`, or choose another model with \
             /model."
        } else {
            return;
        };
        self.write_event(Event::Notice {
            level: NoticeLevel::Warning,
            text: text.to_owned(),
        });
    }

    pub(super) fn streamed_tokens(&self) -> u64 {
        match &self.state {
            State::Step(step) => step.streamed.div_ceil(4),
            State::Compacting(compacting) => compacting.streamed().div_ceil(4),
            _ => 0,
        }
    }
}
