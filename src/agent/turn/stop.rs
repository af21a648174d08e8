//! Interrupt, failure, retry: the ways a step ends before its end. Each keeps what was streamed and
//! leaves a history in which every call has a result.

use super::calls::Stage;
use super::{State, Turn};
use crate::agent::effect::Effect;
use crate::agent::input::{SnapshotTag, StreamId, Timer};
use crate::agent::retry::{Decision, Patience, decide, given_up};
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::protocol::{
    Event, Fault, FaultKind, Finish, Millis, NoticeLevel, PartBody, PartId, Phase, ToolState,
    TurnEnd,
};
use crate::tools::Failure;

/// A wait between two attempts.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    failed: u32,
    limit: Option<u32>,
    next: Millis,
    error: Fault,
    /// Guards against timers of older waits.
    number: u64,
    /// What starts when it is over.
    then: Then,
}

/// What an attempt is for.
#[derive(Debug, Clone, PartialEq)]
enum Then {
    Step { grace: bool },
    Summary(super::compaction::Compacting),
}

impl Waiting {
    pub(super) fn phase(&self) -> Phase {
        Phase::Retrying {
            attempt: self.failed + 1,
            limit: self.limit,
            next: self.next,
            error: self.error.clone(),
        }
    }
}

impl Turn {
    /// The user interrupts: everything that runs is cut, the session is usable at once.
    pub(super) fn interrupt(&mut self, now: Millis) {
        if self.running.is_none() {
            return;
        }
        self.cut(now);
        if !self.queue.has_guidance() && !self.queue.is_empty() {
            self.queue.set_paused(true);
            self.write_queue(now);
        }
        self.end_turn(now, TurnEnd::Interrupted);
    }

    /// Stops what runs and closes the message that was being made.
    pub(super) fn cut(&mut self, now: Millis) {
        self.close_asks();
        match &self.state {
            State::Step(_) => self.cut_step(now, Finish::Interrupted, None),
            State::Compacting(compacting) => {
                let stream = compacting.stream();
                self.effects.push(Effect::CancelStream(stream));
                self.abandon_compaction(now);
            }
            State::Retrying(waiting) => {
                if let Then::Summary(compacting) = waiting.then.clone() {
                    self.state = State::Compacting(compacting);
                    self.abandon_compaction(now);
                }
            }
            State::Idle => {}
        }
        self.state = State::Idle;
    }

    /// Closes the running step: stream dropped, tools killed, parts ended, header written.
    fn cut_step(&mut self, now: Millis, finish: Finish, error: Option<Fault>) {
        let State::Step(step) = &self.state else {
            return;
        };
        let (message, stream) = (step.message, step.stream);
        let usage = step.usage;
        let running: Vec<PartId> = step
            .calls
            .iter()
            .filter(|c| c.stage == Stage::Running)
            .map(|c| c.part)
            .collect();
        if stream != 0 {
            self.effects.push(Effect::CancelStream(stream));
        }
        if !running.is_empty() {
            self.effects.push(Effect::CancelTools(running));
        }
        self.close_open_parts(now);
        let tokens = usage.tokens();
        let cost = self.setup.model.price.as_ref().map(|p| p.cost(&tokens));
        self.spent
            .step(&tokens, if tokens.total() == 0 { Some(0.0) } else { cost });
        self.write_spent(now);
        self.create_part(
            now,
            message,
            PartBody::StepFinish {
                reason: finish,
                snapshot: None,
                tokens,
                cost,
            },
            true,
        );
        self.update_message(message, |m| {
            m.finish = Some(finish);
            m.error = error;
            m.tokens = tokens;
            m.cost = cost;
            m.completed = Some(now);
        });
        self.sync_soon();
        if let State::Step(step) = std::mem::take(&mut self.state)
            && step.may_write
            && (step.wrote_unknown || !step.wrote.is_empty())
        {
            self.effects.push(Effect::Snapshot {
                tag: SnapshotTag::End(message),
                paths: step.wrote.clone(),
                unknown: step.wrote_unknown,
            });
            self.last_writes.push_back(step.into());
        }
        self.measure();
    }

    /// Texts end where they are; calls without a result read that they were interrupted.
    fn close_open_parts(&mut self, now: Millis) {
        let State::Step(step) = &self.state else {
            return;
        };
        let message = step.message;
        self.close_parts_of(now, message);
    }

    fn close_parts_of(&mut self, now: Millis, message: crate::protocol::MessageId) {
        let Some(entry) = self.conversation.entry(message) else {
            return;
        };
        let open: Vec<PartId> = entry
            .parts
            .iter()
            .filter(|p| p.end.is_none())
            .map(|p| p.id)
            .collect();
        for id in open {
            // What a command had put out on the screen is kept: it may be why it was stopped.
            let message = match self.call_mut(id).map(|call| std::mem::take(&mut call.tail)) {
                Some(tail) if !tail.trim().is_empty() => {
                    format!("{}\n\n{INTERRUPTED_OUTPUT}", tail.trim_end())
                }
                _ => INTERRUPTED_OUTPUT.to_owned(),
            };
            self.update_part(id, |part| {
                part.end = Some(now);
                let failure = Failure {
                    message,
                    ..Failure::default()
                };
                super::tool_state::set_failed(part, failure, now);
                if let PartBody::Tool(tool) = &mut part.body
                    && let ToolState::Error { interrupted, .. } = &mut tool.state
                {
                    *interrupted = true;
                }
            });
        }
    }

    /// A stream failed.
    pub(super) fn stream_failed(&mut self, now: Millis, stream: StreamId, fault: Fault) {
        match &self.state {
            State::Step(step) if step.stream == stream => {}
            State::Compacting(compacting) if compacting.stream() == stream => {
                self.summary_failed(now, fault);
                return;
            }
            _ => return,
        }
        let (failed, grace) = match (&self.state, &self.running) {
            (State::Step(step), Some(running)) => (step.failed + 1, running.grace),
            _ => return,
        };
        if fault.kind == FaultKind::ContextOverflow {
            self.overflow_error(now, fault);
            return;
        }
        if self.fall_back(now, failed, &fault, grace) {
            return;
        }
        match decide(&fault, failed, self.patience(), self.jitter(now)) {
            Decision::GiveUp => {
                let fault = given_up(fault, self.patience());
                self.cut_step(now, Finish::Error, Some(fault.clone()));
                self.announce_fault(fault);
                self.end_turn(now, TurnEnd::Error);
            }
            Decision::After(delay) => {
                self.break_attempt(now, failed, &fault, now + delay as Millis);
                self.wait(now, failed, fault, delay, Then::Step { grace });
            }
        }
    }

    /// What a broken attempt said is kept, marked ignored, and never sent again.
    pub(super) fn break_attempt(&mut self, now: Millis, failed: u32, fault: &Fault, next: Millis) {
        let State::Step(step) = &self.state else {
            return;
        };
        let message = step.message;
        self.cut_step(now, Finish::Error, Some(fault.clone()));
        self.ignore_texts(message);
        let body = PartBody::Retry {
            attempt: failed,
            error: fault.clone(),
            next,
        };
        self.create_part(now, message, body, true);
    }

    /// What a message says is kept, but never sent.
    pub(super) fn ignore_texts(&mut self, message: crate::protocol::MessageId) {
        let said: Vec<PartId> = self
            .conversation
            .entry(message)
            .map(|e| e.parts.iter().map(|p| p.id).collect())
            .unwrap_or_default();
        for id in said {
            let is_text = matches!(
                self.conversation.part(id).map(|p| &p.body),
                Some(PartBody::Text { .. } | PartBody::Reasoning { .. })
            );
            if is_text {
                self.update_part(id, |p| {
                    if let PartBody::Text { ignored, .. } | PartBody::Reasoning { ignored, .. } =
                        &mut p.body
                    {
                        *ignored = true;
                    }
                });
            }
        }
    }

    fn wait(&mut self, now: Millis, failed: u32, fault: Fault, delay: u64, then: Then) {
        let patient = matches!(fault.kind, FaultKind::RateLimit | FaultKind::Overloaded);
        let number = self.next_stream;
        self.next_stream += 1;
        let next = now + delay as Millis;
        let limit = (!patient).then_some(self.setup.turn.retries + 1);
        self.write_event(Event::Retry {
            attempt: failed,
            delay_ms: delay,
            error: fault.clone(),
        });
        self.state = State::Retrying(Waiting {
            failed,
            limit,
            next,
            error: fault,
            number,
            then,
        });
        self.effects.push(Effect::Sleep {
            timer: Timer::Retry(number),
            until: next,
        });
        self.announce_status(now);
    }

    /// Waits, then asks for the summary again.
    pub(super) fn wait_for_summary(
        &mut self,
        now: Millis,
        compacting: super::compaction::Compacting,
        fault: Fault,
        delay: u64,
    ) {
        let failed = compacting.failed();
        self.wait(now, failed, fault, delay, Then::Summary(compacting));
    }

    pub(super) fn timer(&mut self, now: Millis, timer: &Timer) {
        match timer {
            Timer::Retry(number) => {
                if matches!(&self.state, State::Retrying(w) if w.number == *number) {
                    self.try_again(now);
                }
            }
            Timer::Queue => self.queue_timer(now),
        }
    }

    /// The user does not want to wait for the next attempt.
    pub(super) fn retry_now(&mut self, now: Millis) {
        if matches!(self.state, State::Retrying(_)) {
            self.try_again(now);
        } else {
            self.notice(
                NoticeLevel::Info,
                "There is nothing to try again: no attempt is being waited for.",
            );
        }
    }

    /// The wait is over, or the user does not want to wait.
    fn try_again(&mut self, now: Millis) {
        if let State::Retrying(waiting) = std::mem::take(&mut self.state) {
            match waiting.then {
                Then::Step { grace } => {
                    // What the user said meanwhile goes along.
                    self.inject_guidance(now);
                    if self.budget_reached(now) {
                        return;
                    }
                    self.start_attempt(now, waiting.failed, grace);
                }
                Then::Summary(compacting) => self.ask_for_summary(now, compacting),
            }
        }
    }

    /// Closes what a dead process left open; true if the last turn was cut. Tools are not run again.
    pub fn recover(&mut self, now: Millis) -> (bool, Vec<Effect>) {
        let open: Vec<crate::protocol::MessageId> = self
            .conversation
            .entries()
            .iter()
            .filter(|e| e.message.completed.is_none())
            .map(|e| e.message.id)
            .collect();
        let mut cut = !open.is_empty();
        for message in open {
            self.close_parts_of(now, message);
            self.update_message(message, |m| {
                m.finish = Some(Finish::Interrupted);
                m.completed = Some(now);
            });
        }
        // Results that were never answered, or a prompt: the next step never began.
        cut |= self.conversation.tip().is_some_and(|tip| {
            tip.message.finish == Some(Finish::ToolCalls)
                || super::prompts::was_crashed(tip)
                || tip.was_retried()
                || tip.message.role == crate::protocol::Role::User
        });
        if cut {
            self.sync_soon();
        }
        self.measure();
        (cut, std::mem::take(&mut self.effects))
    }

    /// How patient the loop is with a failing model.
    pub(super) fn patience(&self) -> Patience {
        let turn = &self.setup.turn;
        Patience {
            retries: turn.retries,
            overload_cap_ms: turn.overload_wait.as_millis() as u64,
            longest_ms: self
                .setup
                .headless
                .then_some(turn.longest_wait.as_millis() as u64),
        }
    }

    /// 0..1 from the id mint, so that two processes do not retry in step.
    pub(super) fn jitter(&mut self, now: Millis) -> f64 {
        (self.mint.raw(now) & 0xffff) as f64 / 65_536.0
    }
}
