//! Carrying a compaction out: the request message, the plan, the judgement of what came of it, and removal
//! where there is no summary. `summary` asks the model for one.
//!
//! `room` decides that one is due. Nothing is deleted here: messages before a finished compaction
//! are merely not shown to the model any more.

use std::collections::VecDeque;

use super::{State, Turn};
use crate::agent::input::StreamId;
use crate::context::compact::{self, Carry, Chunk, Plan, View};
use crate::context::{Entry, overflow, prune};
use crate::protocol::{
    Event, Fault, FaultKind, Finish, MessageId, Millis, NoticeLevel, PartBody, PartId, Phase,
    PromptInput, Role, TurnEnd,
};

/// What the model is told after a compaction in the middle of a turn.
const GO_ON: &str = "Continue with the next steps, if there are any; otherwise say what is done.";

/// A history that would take more requests than this is not summarised.
pub(super) const MOST_CHUNKS: usize = 40;

/// Why a compaction begins.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    auto: bool,
    focus: String,
    /// False for removal without a model.
    model: bool,
    /// Estimated tokens of a request that the provider refused as too large.
    refused: Option<u64>,
}

impl Wanted {
    pub(super) const fn by_user(focus: String) -> Self {
        Self {
            auto: false,
            focus,
            model: true,
            refused: None,
        }
    }

    pub(super) const fn automatic() -> Self {
        Self {
            auto: true,
            focus: String::new(),
            model: true,
            refused: None,
        }
    }

    pub(super) const fn forced(sent: u64, model: bool) -> Self {
        Self {
            auto: true,
            focus: String::new(),
            model,
            refused: Some(sent),
        }
    }
}

/// A compaction under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compacting {
    pub(super) stream: StreamId,
    /// The user message with the compaction part, and that part.
    pub(super) request: MessageId,
    pub(super) part: PartId,
    /// The assistant message with the summary, and its text part.
    pub(super) summary: MessageId,
    pub(super) text: Option<PartId>,
    pub(super) plan: Plan,
    /// The messages that the summary replaces.
    pub(super) head: Vec<MessageId>,
    pub(super) focus: String,
    /// Estimated tokens before, system prompt and tools included.
    pub(super) before: u64,
    /// Tokens before, as the provider counted them; none if it did not.
    pub(super) measured: Option<u64>,
    pub(super) streamed: u64,
    pub(super) failed: u32,
    pub(super) usage: crate::model::Usage,
    /// What is still to be summarised; the first is being asked for.
    pub(super) chunks: VecDeque<Chunk>,
    /// The notes of the chunks before, and those of this chunk so far.
    pub(super) notes: String,
    pub(super) draft: String,
    pub(super) shrinks: u32,
}

impl Compacting {
    pub(super) const fn stream(&self) -> StreamId {
        self.stream
    }

    /// The message with the summary.
    pub(super) const fn answer(&self) -> MessageId {
        self.summary
    }

    /// Tokens before and after, in the provider's count where there is one: then the estimate after it is
    /// taken in the same proportion.
    fn as_measured(&self, after: u64) -> (u64, u64) {
        match self.measured {
            Some(measured) if measured > 0 && self.before > 0 => {
                let scaled = u128::from(after) * u128::from(measured) / u128::from(self.before);
                (measured, u64::try_from(scaled).unwrap_or(u64::MAX))
            }
            _ => (self.before, after),
        }
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
    /// Begins a compaction; false if there is nothing to gain.
    pub(super) fn start_compaction(&mut self, now: Millis, wanted: Wanted) -> bool {
        let before = overflow::estimate(&self.conversation) + self.setup.overhead;
        let Some(plan) = self.compaction_plan(now, &wanted) else {
            if !wanted.auto {
                self.notice(NoticeLevel::Info, "There is nothing to compact yet.");
            }
            return false;
        };
        let chunks = if plan.summarise {
            self.chunks(0..plan.head, plan.tokens, wanted.refused)
        } else {
            VecDeque::new()
        };
        let entries = self.conversation.entries();
        let shown = self.conversation.visible().iter().take(plan.head);
        let head = shown.map(|&at| entries[at].message.id).collect();
        let request = self.new_message(now, Role::User, false);
        let body = PartBody::Compaction {
            auto: wanted.auto,
            strategy: self.strategy().name().to_owned(),
            before: self.usage.next(),
            after: 0,
            focus: wanted.focus.clone(),
            tail: plan.tail,
        };
        let part = self.create_part(now, request, body, false);
        let kept = self.carried(&plan);
        let rules = compact::rules_said(&self.conversation, 0..plan.head);
        self.say_synthetic(now, request, kept);
        // The user's rules are never summarised.
        for text in rules {
            self.say_synthetic(now, request, text);
        }
        let summary = self.new_message(now, Role::Assistant, true);
        let compacting = Compacting {
            stream: 0,
            request,
            part,
            summary,
            text: None,
            plan,
            head,
            focus: wanted.focus,
            before,
            measured: self.usage.actual.map(|_| self.usage.next()),
            streamed: 0,
            failed: 0,
            usage: crate::model::Usage::default(),
            chunks,
            notes: String::new(),
            draft: String::new(),
            shrinks: 0,
        };
        if compacting.chunks.is_empty() {
            self.remove_instead(now, compacting);
        } else {
            self.ask_for_summary(now, compacting);
        }
        true
    }

    /// The strategy's plan. A head that is too large to be summarised at once is pruned harder first.
    fn compaction_plan(&mut self, now: Millis, wanted: &Wanted) -> Option<Plan> {
        let mut plan = self.plan_for(wanted)?;
        plan.summarise &= wanted.model;
        let limit = self.summary_limit(wanted.refused);
        if plan.summarise && plan.tokens + compact::request_tokens(&wanted.focus) > limit {
            let harder = crate::config::used::ContextSettings {
                // What fits is left for the summary to be made of.
                prune_protect: self.setup.context.prune_protect.min(limit / 4 * 3),
                prune_minimum: 1,
                ..self.setup.context.clone()
            };
            let moment = prune::Moment::Overflow;
            if let Some(pruning) = prune::plan(&self.conversation, &harder, moment) {
                self.mark_pruned(now, &pruning);
                plan = self.plan_for(wanted)?;
                plan.summarise &= wanted.model;
            }
        }
        Some(plan)
    }

    fn plan_for(&self, wanted: &Wanted) -> Option<Plan> {
        let mut view: View<'_> = self.view();
        if let Some(refused) = wanted.refused {
            // The provider's window is smaller than we thought.
            view.window.usable = view.window.usable.min(refused);
        }
        self.strategy().plan(&view)
    }

    /// Tokens that a request for a summary may hold.
    pub(super) fn summary_limit(&self, refused: Option<u64>) -> u64 {
        let reserve = self.setup.context.output_reserve;
        let known = |usable: u64| if usable == 0 { u64::MAX } else { usable };
        let own = known(self.window().usable);
        let other = self
            .summarizer
            .as_ref()
            .map_or(own, |m| known(m.usable(reserve)));
        other.min(refused.unwrap_or(u64::MAX))
    }

    /// One chunk if it fits, else several with room for the notes of those before; none if it would
    /// take too many.
    fn chunks(
        &self,
        places: std::ops::Range<usize>,
        tokens: u64,
        refused: Option<u64>,
    ) -> VecDeque<Chunk> {
        let limit = self.summary_limit(refused);
        let room = limit.saturating_sub(compact::request_tokens("") + 64);
        if tokens <= room {
            return VecDeque::from([Chunk { places, clip: None }]);
        }
        let budget = (room - room / 4).max(500);
        let chunks = compact::chunks(&self.conversation, places, budget);
        if chunks.len() > MOST_CHUNKS {
            return VecDeque::new();
        }
        chunks.into()
    }

    /// What is said again verbatim after the compaction.
    fn carried(&self, plan: &Plan) -> String {
        let steps_follow = self.running.as_ref().is_some_and(|r| !r.no_steps);
        let newest = self.conversation.entries().iter().rfind(|e| e.is_prompt());
        let hidden = newest.filter(|e| plan.tail.is_none_or(|tail| e.message.id < tail));
        let prompt = hidden.filter(|_| steps_follow).map(Entry::text);
        let usable = self.window().usable;
        let carry = Carry {
            pins: &self.pins,
            todo: &self.todo,
            files: &self.files_read,
            prompt: prompt.as_deref(),
            budget: if usable == 0 { 4_000 } else { usable / 16 },
        };
        compact::carry_over(&self.conversation, &carry)
    }

    /// Removal: says what is left out, without a model.
    pub(super) fn remove_instead(&mut self, now: Millis, compacting: Compacting) {
        if let Some(part) = compacting.text {
            self.update_part(part, |p| {
                if let PartBody::Text { ignored, .. } = &mut p.body {
                    *ignored = true;
                }
            });
        }
        let usable = self.window().usable;
        let left_out: Vec<&Entry> = compacting
            .head
            .iter()
            .filter_map(|id| self.conversation.entry(*id))
            .collect();
        let budget = if usable == 0 { 6_000 } else { usable / 16 };
        let text = compact::removal_summary(&left_out, budget);
        let body = PartBody::Text {
            text,
            synthetic: true,
            ignored: false,
        };
        self.create_part(now, compacting.summary, body, true);
        self.complete(now, compacting, false);
    }

    /// The summary is there: judged, recorded, and the turn goes on.
    pub(super) fn complete(&mut self, now: Millis, compacting: Compacting, by_model: bool) {
        if let Some(part) = compacting.text {
            self.update_part(part, |p| p.end = Some(now));
        }
        self.update_message(compacting.summary, |m| {
            m.completed = Some(now);
            m.finish = Some(Finish::Stop);
        });
        let after = overflow::estimate(&self.conversation) + self.setup.overhead;
        if by_model && !self.strategy().validate(compacting.before, after) {
            self.notice(
                NoticeLevel::Warning,
                "The summary was not shorter than what it replaces; older messages were left out.",
            );
            self.remove_instead(now, compacting);
            return;
        }
        if after >= compacting.before {
            self.notice(
                NoticeLevel::Warning,
                "Nothing could be gained: what is left of the conversation is as large as it was before.",
            );
        }
        self.usage = overflow::Usage {
            actual: None,
            added: 0,
            estimate: after,
        };
        self.pruned = 0;
        self.record_compaction(now, &compacting, after);
        let mid_turn = self.running.as_ref().is_some_and(|r| r.step > 0);
        let moment = if mid_turn {
            prune::Moment::Overflow
        } else {
            prune::Moment::Between
        };
        // The cache is cold now anyway.
        if let Some(plan) = prune::plan(&self.conversation, &self.setup.context, moment) {
            self.mark_pruned(now, &plan);
        }
        let after = self.usage.next();
        let overflows = overflow::is_overflow(&self.usage, self.window());
        // A threshold below what is left always asks for the next one: that would not help either.
        let due_again = self.strategy().is_due(&self.view());
        let helped = compact::is_worth(compacting.before, after) && !overflows && !due_again;
        self.stuck_at = (!helped).then_some(after);
        self.state = State::Idle;
        if self.running.as_ref().is_none_or(|r| r.no_steps) {
            self.end_turn(now, TurnEnd::Done);
            return;
        }
        self.say_go_on(now, compacting.plan.tail.is_none());
        self.begin_step(now);
    }

    fn record_compaction(&mut self, now: Millis, compacting: &Compacting, after_tokens: u64) {
        let (before_tokens, after_tokens) = compacting.as_measured(after_tokens);
        self.update_part(compacting.part, |p| {
            p.end = Some(now);
            if let PartBody::Compaction { before, after, .. } = &mut p.body {
                *before = before_tokens;
                *after = after_tokens;
            }
        });
        self.write_event(Event::Compacted {
            strategy: self.strategy().name().to_owned(),
            before_tokens,
            after_tokens,
        });
        self.sync_soon();
    }

    /// The model must have something to answer: the user's guidance, the kept prompt, or this.
    fn say_go_on(&mut self, now: Millis, no_tail: bool) {
        let entries = self.conversation.entries();
        let newest = self.conversation.visible().last().map(|&at| &entries[at]);
        let answered = newest.is_none_or(|e| e.message.role == Role::Assistant);
        if !self.queue.has_guidance() && (answered || no_tail) {
            let input = PromptInput {
                text: GO_ON.to_owned(),
                files: Vec::new(),
            };
            self.user_message(now, &input, true);
        }
    }

    /// An interrupted compaction changes nothing: its messages stay, unfinished, and are not sent.
    pub(super) fn abandon_compaction(&mut self, now: Millis) {
        let State::Compacting(compacting) = std::mem::take(&mut self.state) else {
            return;
        };
        self.count_summary(now, &compacting);
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
