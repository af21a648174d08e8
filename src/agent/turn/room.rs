//! Making room: pruning, compaction, and what happens when neither helps.

use super::{State, Turn};
use crate::agent::effect::{Effect, Purpose};
use crate::agent::input::StreamId;
use crate::agent::retry::{Decision, decide};
use crate::context::compact::{self, Plan, Strategy, View};
use crate::context::{Entry, inspect, overflow, prune, tokens};
use crate::model::Delta;
use crate::protocol::{
    Event, Fault, FaultKind, Finish, MessageId, Millis, NoticeLevel, PartBody, PartId, Phase,
    PromptInput, Role, ToolState, TurnEnd,
};

/// What the model is told after a compaction in the middle of a turn.
const GO_ON: &str = "Continue with the next steps, if there are any; otherwise say what is done.";

/// A compaction under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compacting {
    stream: StreamId,
    /// The user message with the compaction part, and that part.
    request: MessageId,
    part: PartId,
    /// The assistant message with the summary, and its text part.
    summary: MessageId,
    text: Option<PartId>,
    plan: Plan,
    focus: String,
    /// Estimated tokens before.
    before: u64,
    streamed: u64,
    failed: u32,
    usage: crate::model::Usage,
    /// True if the turn was in the middle of its steps.
    mid_turn: bool,
}

impl Compacting {
    pub(super) const fn stream(&self) -> StreamId {
        self.stream
    }

    pub(super) const fn streamed(&self) -> u64 {
        self.streamed
    }

    pub(super) const fn failed(&self) -> u32 {
        self.failed
    }

    pub(super) const fn phase(&self) -> Phase {
        Phase::Compacting {
            messages: self.plan.messages,
            tokens: self.plan.tokens,
        }
    }
}

impl Turn {
    fn strategy(&self) -> &'static dyn Strategy {
        let name = &self.setup.context.strategy;
        compact::by_name(name).unwrap_or_else(compact::default)
    }

    fn view(&self) -> View<'_> {
        View {
            conversation: &self.conversation,
            usage: self.usage,
            window: self.window(),
            settings: &self.setup.context,
        }
    }

    /// Before a user turn: prune what is old enough.
    pub(super) fn prune_between(&mut self, now: Millis) {
        if let Some(plan) = prune::plan(
            &self.conversation,
            &self.setup.context,
            prune::Moment::Between,
        ) {
            self.mark_pruned(now, &plan);
        }
    }

    /// The user wants to prune now.
    pub(super) fn prune_now(&mut self, now: Millis) {
        let settings = crate::config::used::ContextSettings {
            prune_minimum: 1,
            ..self.setup.context.clone()
        };
        match prune::plan(&self.conversation, &settings, prune::Moment::Between) {
            Some(plan) => self.mark_pruned(now, &plan),
            None => self.notice(
                NoticeLevel::Info,
                "Nothing to prune: the outputs of the last two turns and the newest ones stay.",
            ),
        }
        self.announce_status(now);
    }

    fn mark_pruned(&mut self, now: Millis, plan: &prune::Plan) {
        for part in &plan.parts {
            self.set_compacted(*part, Some(now));
        }
        self.pruned += plan.saved;
        self.usage_less(plan.saved);
        self.write_event(Event::Pruned {
            count: plan.parts.len(),
            tokens_saved: plan.saved,
        });
        self.sync_soon();
    }

    fn set_compacted(&mut self, part: PartId, at: Option<Millis>) {
        self.update_part(part, |p| {
            if let PartBody::Tool(tool) = &mut p.body
                && let ToolState::Completed { compacted_at, .. } = &mut tool.state
            {
                *compacted_at = at;
            }
        });
    }

    fn usage_less(&mut self, saved: u64) {
        if let Some(actual) = &mut self.usage.actual {
            // The counts of the last step no longer hold; what was freed comes off the cached part.
            let from_cache = saved.min(actual.cache.read);
            actual.cache.read -= from_cache;
            actual.input = actual.input.saturating_sub(saved - from_cache);
        }
        self.usage.estimate = self.usage.estimate.saturating_sub(saved);
    }

    /// The user brings pruned outputs back.
    pub(super) fn restore(&mut self, now: Millis, parts: &[PartId]) {
        let pruned: Vec<(PartId, u64)> = self
            .conversation
            .entries()
            .iter()
            .flat_map(|e| &e.parts)
            .filter(|p| parts.is_empty() || parts.contains(&p.id))
            .filter_map(|p| match &p.body {
                PartBody::Tool(tool) => match &tool.state {
                    ToolState::Completed {
                        output,
                        compacted_at: Some(_),
                        ..
                    } => Some((p.id, tokens::of_text(output))),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        for (part, size) in &pruned {
            self.set_compacted(*part, None);
            self.usage.added += size;
            self.pruned = self.pruned.saturating_sub(*size);
        }
        self.sync_soon();
        let text = format!("{} outputs are back in the context.", pruned.len());
        self.notice(NoticeLevel::Info, &text);
        self.announce_status(now);
    }

    pub(super) fn pin(&mut self, part: PartId, on: bool) {
        self.pins.retain(|p| *p != part);
        if on {
            self.pins.push(part);
        }
        let pins = self.pins.clone();
        self.write_value("pins", &pins);
        self.sync_soon();
    }

    pub(super) fn notice(&mut self, level: NoticeLevel, text: &str) {
        self.announce(Event::Notice {
            level,
            text: text.to_owned(),
        });
    }

    /// `/compact`: now, or between two steps.
    pub(super) fn want_compaction(&mut self, now: Millis, focus: String) {
        self.compact_wanted = Some(focus);
        if self.running.is_some() {
            self.notice(
                NoticeLevel::Info,
                "The conversation is compacted after this step.",
            );
            return;
        }
        self.begin_running(now);
        if let Some(running) = &mut self.running {
            running.no_steps = true;
        }
        if !self.make_room(now) {
            self.end_turn(now, TurnEnd::Done);
        }
    }

    /// Makes room before the next request; true if the step must wait or the turn has ended.
    pub(super) fn make_room(&mut self, now: Millis) -> bool {
        if let Some(focus) = self.compact_wanted.take() {
            return self.start_compaction(now, false, focus, true);
        }
        let strategy = self.strategy();
        if !self.setup.context.compact && strategy.name() != "manual" {
            return false;
        }
        if !strategy.is_due(&self.view()) {
            return false;
        }
        if let Some(plan) = prune::plan(
            &self.conversation,
            &self.setup.context,
            prune::Moment::Overflow,
        ) {
            self.mark_pruned(now, &plan);
            if !strategy.is_due(&self.view()) {
                return false;
            }
        }
        if self.stuck {
            // Judged by its result: a compaction that did not help is not repeated.
            let overflows = overflow::is_overflow(&self.usage, self.window());
            return overflows && self.no_room(now);
        }
        self.start_compaction(now, true, String::new(), true) || self.no_room(now)
    }

    /// Nothing helps: the turn ends with a sentence that says what fills the window.
    fn no_room(&mut self, now: Millis) -> bool {
        let window = self.window();
        let message = format!(
            "The conversation does not fit the model's window even after a compaction: {} tokens of {}, of \
             which {} are system prompt, tools and instructions.",
            inspect::short(self.usage.next()),
            inspect::short(window.usable),
            inspect::short(self.setup.overhead),
        );
        let hint = "Choose a model with a larger window with /model, shorten AGENTS.md, or start anew with /new.";
        self.announce_fault(Fault::new(FaultKind::ContextOverflow, message, hint));
        self.end_turn(now, TurnEnd::Error);
        true
    }

    /// The provider says that the request is too large: compact and try once more; a second time in
    /// the same step, leave messages out instead; a third time there is nothing left to do.
    pub(super) fn overflow_error(&mut self, now: Millis, fault: Fault) {
        let Some(running) = &mut self.running else {
            return;
        };
        let again = running.overflowed;
        running.overflowed = true;
        let next = now;
        self.break_attempt(now, 1, &fault, next);
        if again && self.stuck {
            self.announce_fault(fault);
            self.end_turn(now, TurnEnd::Error);
            return;
        }
        if again {
            self.stuck = true;
        }
        if !self.start_compaction(now, true, String::new(), !again) {
            self.announce_fault(fault);
            self.end_turn(now, TurnEnd::Error);
        }
    }

    /// Begins a compaction; false if there is nothing to gain.
    fn start_compaction(&mut self, now: Millis, auto: bool, focus: String, model: bool) -> bool {
        let strategy = self.strategy();
        let Some(mut plan) = strategy.plan(&self.view()) else {
            if !auto {
                self.notice(NoticeLevel::Info, "There is nothing to compact yet.");
            }
            return false;
        };
        // A head that does not fit the window itself cannot be summarised in one request.
        let window = self.window();
        let fits =
            window.usable == 0 || plan.tokens + compact::request_tokens(&focus) <= window.usable;
        plan.summarise = plan.summarise && model && fits;
        let mid_turn = self
            .running
            .as_ref()
            .is_some_and(|r| r.step > 0 && !r.no_steps);
        let before = overflow::estimate(&self.conversation);
        let request = self.new_message(now, Role::User, false);
        let body = PartBody::Compaction {
            auto,
            strategy: strategy.name().to_owned(),
            before: self.usage.next(),
            after: 0,
            focus: focus.clone(),
            tail: plan.tail,
        };
        let part = self.create_part(now, request, body, false);
        let kept =
            compact::carry_over(&self.conversation, &self.pins, &self.todo, &self.files_read);
        if !kept.is_empty() {
            let body = PartBody::Text {
                text: kept,
                synthetic: true,
                ignored: false,
            };
            self.create_part(now, request, body, true);
        }
        let summary = self.new_message(now, Role::Assistant, true);
        let compacting = Compacting {
            stream: 0,
            request,
            part,
            summary,
            text: None,
            plan,
            focus,
            before,
            streamed: 0,
            failed: 0,
            usage: crate::model::Usage::default(),
            mid_turn,
        };
        if compacting.plan.summarise {
            self.ask_for_summary(now, compacting);
        } else {
            self.remove_instead(now, compacting);
        }
        true
    }

    pub(super) fn ask_for_summary(&mut self, now: Millis, mut compacting: Compacting) {
        compacting.stream = self.next_stream;
        self.next_stream += 1;
        let purpose = Purpose::Summary {
            tail: compacting.plan.tail,
            focus: compacting.focus.clone(),
        };
        self.effects.push(Effect::Ask {
            stream: compacting.stream,
            purpose,
        });
        self.state = State::Compacting(compacting);
        self.announce_status(now);
    }

    pub(super) fn summary_deltas(&mut self, now: Millis, deltas: Vec<Delta>) {
        for delta in deltas {
            let State::Compacting(compacting) = &mut self.state else {
                return;
            };
            match delta {
                Delta::Text { text, .. } => {
                    compacting.streamed += text.len() as u64;
                    let (summary, part) = (compacting.summary, compacting.text);
                    if let Some(part) = part {
                        self.append_text(summary, part, text);
                    } else {
                        let body = PartBody::Text {
                            text,
                            synthetic: false,
                            ignored: false,
                        };
                        let made = self.create_part(now, summary, body, false);
                        if let State::Compacting(compacting) = &mut self.state {
                            compacting.text = Some(made);
                        }
                    }
                }
                Delta::Usage(usage) => compacting.usage = usage,
                // Reasoning about a summary is nobody's; calls are not on offer.
                _ => {}
            }
        }
    }

    pub(super) fn summary_ended(&mut self, now: Millis) {
        let State::Compacting(compacting) = std::mem::take(&mut self.state) else {
            return;
        };
        let tokens = compacting.usage.tokens();
        let cost = self.setup.model.price.as_ref().map(|p| p.cost(&tokens));
        self.spent
            .step(&tokens, if tokens.total() == 0 { Some(0.0) } else { cost });
        self.update_message(compacting.summary, |m| {
            m.tokens = tokens;
            m.cost = cost;
        });
        let text = self
            .conversation
            .entry(compacting.summary)
            .map(Entry::text)
            .unwrap_or_default();
        if text.trim().is_empty() {
            self.notice(
                NoticeLevel::Warning,
                "The model gave no summary; older messages were left out.",
            );
            self.remove_instead(now, compacting);
            return;
        }
        self.complete(now, compacting, true);
    }

    pub(super) fn summary_failed(&mut self, now: Millis, fault: Fault) {
        let State::Compacting(mut compacting) = std::mem::take(&mut self.state) else {
            return;
        };
        compacting.failed += 1;
        if let Some(part) = compacting.text.take() {
            self.update_part(part, |p| {
                if let PartBody::Text { ignored, .. } = &mut p.body {
                    *ignored = true;
                }
            });
        }
        let decision = decide(
            &fault,
            compacting.failed,
            self.setup.turn.retries,
            self.jitter(now),
        );
        match decision {
            Decision::After(delay) if fault.kind != FaultKind::ContextOverflow => {
                self.wait_for_summary(now, compacting, fault, delay);
            }
            _ => {
                let text = format!(
                    "No summary could be had: {fault} Older messages were left out instead."
                );
                self.notice(NoticeLevel::Warning, &text);
                self.remove_instead(now, compacting);
            }
        }
    }

    /// Removal: says what is left out, without a model.
    fn remove_instead(&mut self, now: Millis, compacting: Compacting) {
        if let Some(part) = compacting.text {
            self.update_part(part, |p| {
                if let PartBody::Text { ignored, .. } = &mut p.body {
                    *ignored = true;
                }
            });
        }
        let tail = compacting.plan.tail;
        let entries = self.conversation.entries();
        let left_out: Vec<&Entry> = self
            .conversation
            .visible()
            .into_iter()
            .map(|at| &entries[at])
            .filter(|e| tail.is_none_or(|first| e.message.id < first))
            .filter(|e| e.message.id < compacting.request)
            .collect();
        let text = compact::removal_summary(&left_out);
        let body = PartBody::Text {
            text,
            synthetic: true,
            ignored: false,
        };
        self.create_part(now, compacting.summary, body, true);
        self.complete(now, compacting, false);
    }

    /// The summary is there: judged, recorded, and the turn goes on.
    fn complete(&mut self, now: Millis, compacting: Compacting, by_model: bool) {
        if let Some(part) = compacting.text {
            self.update_part(part, |p| p.end = Some(now));
        }
        self.update_message(compacting.summary, |m| {
            m.completed = Some(now);
            m.finish = Some(Finish::Stop);
        });
        let after = overflow::estimate(&self.conversation);
        let worth = self.strategy().validate(compacting.before, after);
        if !worth && by_model {
            self.notice(
                NoticeLevel::Warning,
                "The summary was hardly shorter than what it replaces; older messages were left out.",
            );
            self.remove_instead(now, compacting);
            return;
        }
        self.stuck = self.stuck || !worth;
        let overhead = self.setup.overhead;
        let strategy = self.strategy().name().to_owned();
        let before_tokens = compacting.before + overhead;
        let after_tokens = after + overhead;
        self.update_part(compacting.part, |p| {
            p.end = Some(now);
            if let PartBody::Compaction { before, after, .. } = &mut p.body {
                *before = before_tokens;
                *after = after_tokens;
            }
        });
        self.usage = overflow::Usage {
            actual: None,
            added: 0,
            estimate: after_tokens,
        };
        self.pruned = 0;
        self.write_event(Event::Compacted {
            strategy,
            before_tokens,
            after_tokens,
        });
        self.sync_soon();
        self.state = State::Idle;
        let no_steps = self.running.as_ref().is_none_or(|r| r.no_steps);
        if no_steps {
            self.end_turn(now, TurnEnd::Done);
            return;
        }
        if compacting.mid_turn || compacting.plan.tail.is_none() {
            let input = PromptInput {
                text: GO_ON.to_owned(),
                files: Vec::new(),
            };
            self.user_message(now, &input, true);
        }
        if overflow::is_overflow(&self.usage, self.window()) {
            self.stuck = true;
        }
        self.begin_step(now);
    }

    /// An interrupted compaction changes nothing: its messages stay, unfinished, and are not sent.
    pub(super) fn abandon_compaction(&mut self, now: Millis) {
        let State::Compacting(compacting) = std::mem::take(&mut self.state) else {
            return;
        };
        let fault = Fault::new(
            FaultKind::Interrupted,
            "The compaction was interrupted.",
            "",
        );
        self.update_message(compacting.summary, |m| {
            m.finish = Some(Finish::Interrupted);
            m.error = Some(fault);
            m.completed = Some(now);
        });
    }
}
