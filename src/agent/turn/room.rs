//! Making room: when to prune, when to compact, and what happens when neither helps.
//!
//! Called between two steps (`make_room`), before a user turn (`prune_between`) and when a provider
//! says that a request is too large (`overflow_error`). How a compaction is carried out is in
//! `compaction`.

use super::calls::Stage;
use super::compaction::Wanted;
use super::{State, Turn};
use crate::agent::input::{Input, Judgement};
use crate::context::compact::{self, Strategy, View};
use crate::context::{inspect, overflow, prune, tokens};
use crate::protocol::{
    Answer, AskBody, Event, Fault, FaultKind, Millis, NoticeLevel, PartBody, PartId, ToolState,
    TurnEnd,
};

/// The answer that sends a request although it is too large.
const SEND_ANYWAY: &str = "Send it anyway";

impl Turn {
    pub(super) fn strategy(&self) -> &'static dyn Strategy {
        let name = &self.setup.context.strategy;
        compact::by_name(name).unwrap_or_else(compact::default)
    }

    /// True if a compaction may begin with this input: then `set_files_read` is worth its price, a look at
    /// the disk for each file. Once in a step at most, however many calls it has.
    pub fn may_compact_at(&self, input: &Input) -> bool {
        let usable = self.window().usable;
        let filled = usable > 0 && self.usage.next() * 2 >= usable;
        let waits_for = |last: Option<PartId>| match &self.state {
            State::Step(step) => step
                .calls
                .iter()
                .all(|call| call.stage == Stage::Done || Some(call.part) == last),
            _ => true,
        };
        match input {
            // The provider may say that the request was too large, whatever we think of it.
            Input::StreamFailed { .. } => true,
            Input::Prompt { .. } | Input::Continue | Input::Answer { .. } | Input::Timer(_) => {
                filled
            }
            Input::StreamEnded { .. } => filled && waits_for(None),
            Input::ToolEnded { part, .. }
            | Input::Judged {
                part,
                judgement: Judgement::Invalid(_) | Judgement::Deny { .. },
            } => filled && waits_for(Some(*part)),
            _ => false,
        }
    }

    pub(super) fn view(&self) -> View<'_> {
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

    pub(super) fn mark_pruned(&mut self, now: Millis, plan: &prune::Plan) {
        let before = overflow::estimate(&self.conversation);
        // Each pruning has an instant of its own: what an earlier one cleared is folded by this one.
        let newest = self.conversation.folds().newest();
        let at = newest.map_or(now, |newest| now.max(newest + 1));
        for part in &plan.parts {
            self.put_compacted(*part, Some(at));
        }
        self.pruned += plan.saved;
        let after = overflow::estimate(&self.conversation);
        self.usage.less(before.saturating_sub(after));
        self.write_event(Event::Pruned {
            count: plan.parts.len(),
            tokens_saved: plan.saved,
        });
        self.sync_soon();
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
        let before = overflow::estimate(&self.conversation);
        for (part, size) in &pruned {
            self.put_compacted(*part, None);
            self.pruned = self.pruned.saturating_sub(*size);
        }
        let after = overflow::estimate(&self.conversation);
        self.usage.added += after.saturating_sub(before);
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
        self.conversation.set_pinned(&pins);
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
        if matches!(self.state, State::Compacting(_)) {
            self.notice(NoticeLevel::Info, "A compaction is running already.");
            return;
        }
        self.stuck_at = None;
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
        if !self.budget_reached(now) {
            self.compact_now(now);
        }
    }

    /// The compaction that was asked for; the turn ends with it.
    pub(super) fn compact_now(&mut self, now: Millis) {
        if !self.make_room(now) {
            self.end_turn(now, TurnEnd::Done);
        }
    }

    /// The model ran into the end of its window while it answered: what it said stays, room is made, and
    /// it goes on. False where that is no help: it happened in the step before too, or nothing can be left
    /// out.
    pub(super) fn window_full(&mut self, now: Millis) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        if std::mem::replace(&mut running.window_full, true) || !self.setup.context.compact {
            return false;
        }
        let sent = self.usage.next();
        self.start_compaction(now, Wanted::forced(sent, true))
    }

    /// A compaction did not help, and the conversation has not grown by a tenth since: another one
    /// would not help either.
    fn is_stuck(&self) -> bool {
        self.stuck_at
            .is_some_and(|floor| self.usage.next() < floor + floor / 10)
    }

    /// Makes room before the next request; true if the step must wait or the turn has ended.
    pub(super) fn make_room(&mut self, now: Millis) -> bool {
        if let Some(focus) = self.compact_wanted.take() {
            return self.start_compaction(now, Wanted::by_user(focus));
        }
        let step = self.running.as_ref().map_or(0, |r| r.step);
        let compacts = self.setup.context.compact;
        let due = compacts && self.strategy().is_due(&self.view());
        // A compaction would break the provider's cache anyway: what pruning frees is cheaper.
        if due || overflow::is_overflow(&self.usage, self.window()) {
            // Before a user turn the last two turns are left alone, here as in `prune_between`.
            let moment = match step {
                0 => prune::Moment::Between,
                _ => prune::Moment::Overflow,
            };
            if let Some(plan) = prune::plan(&self.conversation, &self.setup.context, moment) {
                self.mark_pruned(now, &plan);
            }
            if !compacts && step > 0 {
                self.prune_unseen(now);
            }
        }
        if !compacts || !self.strategy().is_due(&self.view()) {
            return false;
        }
        if self.is_too_small() {
            return self.no_room(now);
        }
        if !self.is_stuck() && self.start_compaction(now, Wanted::automatic()) {
            return true;
        }
        self.prune_unseen(now);
        self.no_room(now)
    }

    /// Nothing else made room: results that no model has seen yet leave the next request too.
    fn prune_unseen(&mut self, now: Millis) {
        if !overflow::is_overflow(&self.usage, self.window()) {
            return;
        }
        let settings = crate::config::used::ContextSettings {
            prune_minimum: 1,
            ..self.setup.context.clone()
        };
        let moment = prune::Moment::LastResort;
        if let Some(plan) = prune::plan(&self.conversation, &settings, moment) {
            self.mark_pruned(now, &plan);
        }
    }

    /// The window does not even hold what stands before the conversation: no compaction helps.
    fn is_too_small(&self) -> bool {
        let usable = self.window().usable;
        usable > 0 && self.setup.overhead >= usable
    }

    /// Judged by its result: what did not help is not repeated. What fills the window is shown and
    /// the user is asked; headless the turn ends. False if there is room after all.
    fn no_room(&mut self, now: Millis) -> bool {
        let window = self.window();
        let anyway = self.running.as_ref().is_none_or(|r| r.anyway);
        if anyway || !overflow::is_overflow(&self.usage, window) {
            return false;
        }
        let message = if self.is_too_small() {
            format!(
                "The window of {} is too small for dunlin: system prompt, tools and instructions take {} \
                 tokens, and it has room for {}.",
                self.setup.model.model,
                inspect::short(self.setup.overhead),
                inspect::short(window.usable),
            )
        } else {
            format!(
                "The conversation does not fit the model's window even after a compaction: {} tokens of {}, \
                 of which {} are system prompt, tools and instructions.",
                inspect::short(self.usage.next()),
                inspect::short(window.usable),
                inspect::short(self.setup.overhead),
            )
        };
        let hint = "Choose a model with a larger window with /model, shorten AGENTS.md, or start anew with /new.";
        if self.setup.headless {
            self.announce_fault(Fault::new(FaultKind::ContextOverflow, message, hint));
            self.end_turn(now, TurnEnd::Error);
        } else {
            let question = format!("{message} {hint}");
            let options = vec![SEND_ANYWAY.to_owned(), "Stop here".to_owned()];
            self.ask(now, None, AskBody::Question { question, options });
        }
        true
    }

    /// The user decided what to do without room.
    pub(super) fn room_answered(&mut self, now: Millis, answer: &Answer) {
        let send = match answer {
            Answer::Once | Answer::Always { .. } => true,
            Answer::Text { text } => text.trim() == SEND_ANYWAY,
            Answer::No { .. } => false,
        };
        if !send {
            self.end_turn(now, TurnEnd::Error);
            return;
        }
        if let Some(running) = &mut self.running {
            running.anyway = true;
        }
        self.begin_step(now);
    }

    /// The provider says that the request is too large: compact and try once more; a second time in
    /// the same step, leave messages out instead; a third time there is nothing left to do.
    pub(super) fn overflow_error(&mut self, now: Millis, fault: Fault) {
        let Some(running) = &mut self.running else {
            return;
        };
        running.overflowed += 1;
        let times = running.overflowed;
        let sent = overflow::estimate(&self.conversation) + self.setup.overhead;
        self.break_attempt(now, 1, &fault, now);
        let forced = Wanted::forced(sent, times == 1);
        // Where nearly all of it is our own prompt a compaction frees nothing.
        let ours = self.is_too_small() || sent - sent / 10 < self.setup.overhead;
        let helps = times <= 2 && self.setup.context.compact && !ours;
        if !(helps && self.start_compaction(now, forced)) {
            let fault = if ours {
                self.too_small(fault)
            } else {
                self.with_floor(fault)
            };
            self.announce_fault(fault);
            self.end_turn(now, TurnEnd::Error);
        }
    }

    /// The refusal of a request after everything that could be left out was: what still fills it.
    fn with_floor(&self, mut fault: Fault) -> Fault {
        fault.message = format!(
            "{} The next request would hold about {} tokens, of which {} are system prompt, tools and \
             instructions; nothing more can be left out.",
            fault.message,
            inspect::short(self.usage.next()),
            inspect::short(self.setup.overhead),
        );
        "Choose a model with a larger window with /model, shorten AGENTS.md, or start anew with /new."
            .clone_into(&mut fault.hint);
        fault
    }

    /// The refusal of a request that holds little but our own prompt.
    fn too_small(&self, mut fault: Fault) -> Fault {
        fault.message = format!(
            "The request is too large for {}, and nearly all of it is system prompt, tools and \
             instructions: {} tokens. {}",
            self.setup.model.model,
            inspect::short(self.setup.overhead),
            fault.message,
        );
        "Choose a model with a larger window with /model, or shorten AGENTS.md."
            .clone_into(&mut fault.hint);
        fault
    }
}
