//! What the user says: prompts that start a turn, guidance and follow-ups that wait.

use super::{Running, State, Turn};
use crate::agent::effect::Effect;
use crate::agent::input::Timer;
use crate::agent::queue::{self, Tell};
use crate::context::tokens;
use crate::model::ModelInfo;
use crate::protocol::{
    Delivery, Event, Fault, FaultKind, Finish, Message, MessageId, Millis, NoticeLevel, PartBody,
    PromptInput, QueueEdit, QueueItem, QueueKind, Role, Tokens, ToolPart, ToolState, TurnEnd,
};

/// What a cut turn is continued with when the model had the last word.
const GO_ON: &str = "Continue where you were interrupted.";

impl Turn {
    pub(super) fn prompt(&mut self, now: Millis, input: PromptInput, delivery: Delivery) {
        if self.running.is_none() && !self.queue.has_guidance() {
            self.start_turn(now, &input);
            return;
        }
        let most = self.setup.turn.queue_limit;
        if self.running.is_some() && !self.queue.has_room(&input, most) {
            self.return_to_sender(input);
            return;
        }
        let kind = match delivery {
            Delivery::FollowUp => QueueKind::FollowUp,
            Delivery::Guidance | Delivery::Interrupt => QueueKind::Guidance,
        };
        let id = self.mint.queue(now);
        let position = self.queue.push(QueueItem {
            id,
            kind,
            input,
            created: now,
        });
        self.write_event(Event::Queued { id, position });
        self.write_queue(now);
        self.sync_soon();
        if self.running.is_none() {
            // Guidance that was left behind by a cut turn was typed before this: it goes along.
            self.start_turn_with_queue(now);
        } else if delivery == Delivery::Interrupt {
            self.interrupt(now);
        }
    }

    /// No more can wait: the message is not taken, and goes back to whoever sent it.
    fn return_to_sender(&mut self, input: PromptInput) {
        let fault = Fault::new(
            FaultKind::BadRequest,
            format!(
                "This message was not queued: {} messages or {} MiB of text may wait at most, and no more \
                 fits.",
                self.setup.turn.queue_limit,
                queue::MOST_BYTES >> 20
            ),
            "Send it again when some have been sent, drop some (/queue), or raise loop.queue_limit.",
        );
        self.announce(Event::Error { error: fault });
        self.announce(Event::Returned { input });
    }

    /// What is queued as guidance begins a turn, as one message.
    fn start_turn_with_queue(&mut self, now: Millis) {
        self.begin_running(now);
        let first = self.conversation.prompts().is_empty();
        self.inject_guidance(now);
        if first && let Some(said) = self.conversation.tip().map(crate::context::Entry::text) {
            self.name_after(&said);
        }
        self.prune_between(now);
        self.begin_step(now);
    }

    /// A prompt becomes a user message and the turn begins.
    pub(super) fn start_turn(&mut self, now: Millis, input: &PromptInput) {
        self.begin_running(now);
        let first = self.conversation.prompts().is_empty();
        self.user_message(now, input, false);
        self.sync_soon();
        if first {
            self.name_after(&input.text);
        }
        self.prune_between(now);
        self.begin_step(now);
    }

    pub(super) fn begin_running(&mut self, now: Millis) {
        self.running = Some(Running {
            started: now,
            ..Running::default()
        });
        self.write_event(Event::TurnStarted);
    }

    /// The first line of the prompt is the title until the small model has made a better one.
    fn name_after(&mut self, prompt: &str) {
        if self.subagent {
            return;
        }
        let line = prompt
            .lines()
            .find(|l| !l.trim().is_empty())
            .unwrap_or_default();
        self.setup.info.title = line.trim().chars().take(80).collect();
        self.write_info();
        if !prompt.trim().is_empty() {
            self.effects.push(Effect::MakeTitle {
                prompt: prompt.to_owned(),
            });
        }
    }

    /// A user message with its parts.
    pub(super) fn user_message(
        &mut self,
        now: Millis,
        input: &PromptInput,
        synthetic: bool,
    ) -> MessageId {
        let id = self.new_message(now, Role::User, false);
        if !input.text.is_empty() {
            let text = input.text.clone();
            self.usage.added += tokens::of_text(&text);
            self.create_part(
                now,
                id,
                PartBody::Text {
                    text,
                    synthetic,
                    ignored: false,
                },
                true,
            );
        }
        for file in &input.files {
            self.usage.added += tokens::FILE_TOKENS;
            self.create_part(now, id, PartBody::File(file.clone()), true);
        }
        id
    }

    /// A message header; user messages are complete at once.
    pub(super) fn new_message(&mut self, now: Millis, role: Role, summary: bool) -> MessageId {
        let id = self.mint.message(now);
        let info = &self.setup.info;
        let message = Message {
            id,
            session: info.id,
            parent: self.conversation.tip().map(|e| e.message.id),
            role,
            agent: info.agent.clone(),
            model: info.model.clone(),
            summary,
            finish: None,
            error: None,
            tokens: Tokens::default(),
            cost: None,
            created: now,
            completed: (role == Role::User).then_some(now),
        };
        self.create_message(message);
        id
    }

    /// The user's own command: a prompt `!command` answered by a `bash` call instead of a model.
    pub(super) fn shell(&mut self, now: Millis, command: &str) {
        let typed = PromptInput {
            text: format!("!{command}"),
            files: Vec::new(),
        };
        if self.running.is_some() {
            self.prompt(now, typed, Delivery::FollowUp);
            return;
        }
        self.begin_running(now);
        if let Some(running) = &mut self.running {
            running.no_steps = true;
        }
        self.user_message(now, &typed, false);
        self.sync_soon();
        let message = self.new_message(now, Role::Assistant, false);
        let input = serde_json::json!({ "command": command });
        let body = PartBody::Tool(ToolPart {
            call: format!("call_{:032x}", message.raw()),
            tool: "bash".to_owned(),
            state: ToolState::Running {
                input: input.clone(),
                title: String::new(),
                metadata: serde_json::Value::Null,
                tail: String::new(),
                start: now,
            },
            provider: None,
        });
        let part = self.create_part(now, message, body, false);
        let mut step = super::step::Step::new(message, 0);
        step.answered = Some((Finish::ToolCalls, "shell".to_owned()));
        self.state = State::Step(step);
        self.call_complete(part, "bash", input);
        self.announce_status(now);
    }

    /// Queued guidance becomes one user message; true if there was any.
    pub(super) fn inject_guidance(&mut self, now: Millis) -> bool {
        let items = self.queue.take_guidance();
        if items.is_empty() {
            return false;
        }
        let input = queue::coalesce(&items);
        self.user_message(now, &input, false);
        self.write_event(Event::Dequeued {
            count: items.len(),
            ids: items.iter().map(|i| i.id).collect(),
            coalesced: items.len() > 1,
        });
        self.write_queue(now);
        self.sync_soon();
        true
    }

    /// After a turn: guidance that came too late starts the next one; so does the first follow-up,
    /// unless the turn ended by an interrupt or a failure.
    pub(super) fn after_turn(&mut self, now: Millis, reason: TurnEnd) {
        if let Some(focus) = self.compact_wanted.take()
            && reason == TurnEnd::Done
        {
            // It was asked for in the last step.
            self.want_compaction(now, focus);
            return;
        }
        let sends_guidance = matches!(reason, TurnEnd::Done | TurnEnd::Interrupted);
        if sends_guidance && self.queue.has_guidance() {
            self.start_turn_with_queue(now);
            return;
        }
        if self.queue.is_empty() {
            return;
        }
        if reason != TurnEnd::Done {
            self.queue.set_paused(true);
            self.write_queue(now);
            return;
        }
        self.next_follow_up(now);
    }

    fn next_follow_up(&mut self, now: Millis) {
        if self.queue.state().paused || self.running.is_some() {
            return;
        }
        let Some(item) = self.queue.take_follow_up() else {
            return;
        };
        self.write_event(Event::Dequeued {
            count: 1,
            ids: vec![item.id],
            coalesced: false,
        });
        self.write_queue(now);
        match item.input.text.strip_prefix('!') {
            Some(command) if item.input.files.is_empty() => {
                let command = command.to_owned();
                self.shell(now, &command);
            }
            _ => self.start_turn(now, &item.input),
        }
    }

    pub(super) fn edit_queue(&mut self, now: Millis, change: QueueEdit) {
        let resume = change == QueueEdit::Resume;
        if !self.queue.edit(change) {
            self.announce(Event::Notice {
                level: NoticeLevel::Info,
                text: "That message was already sent.".to_owned(),
            });
            return;
        }
        self.write_queue(now);
        self.sync_soon();
        if resume && self.running.is_none() {
            if self.queue.has_guidance() {
                self.after_turn(now, TurnEnd::Done);
            } else {
                self.next_follow_up(now);
            }
        }
    }

    /// Writes what changed, item by item; the lists are announced now or in a moment.
    pub(super) fn write_queue(&mut self, now: Millis) {
        for (name, value) in self.queue.unwritten() {
            self.write_value(&name, &value);
        }
        self.tell_queue(now);
    }

    pub(super) fn tell_queue(&mut self, now: Millis) {
        match self.queue.tell(now) {
            Tell::Now => self.announce_queue(),
            // before the rest, so that it does not part what belongs into one commit
            Tell::At(until) => self.effects.insert(
                0,
                Effect::Sleep {
                    timer: Timer::Queue,
                    until,
                },
            ),
            Tell::Later => {}
        }
    }

    /// The moment is over.
    pub(super) fn queue_timer(&mut self, now: Millis) {
        if self.queue.timer_ended(now) {
            self.announce_queue();
        }
    }

    fn announce_queue(&mut self) {
        let queue = self.queue.state().clone();
        self.write_event(Event::QueueChanged { queue });
    }

    pub(super) fn set_model(&mut self, now: Millis, info: ModelInfo) {
        self.setup.info.model = info.model.clone();
        self.setup.model = info;
        self.chosen = None;
        self.stuck_at = None;
        self.write_info();
        self.announce_status(now);
    }

    /// Goes on from a turn that was cut: tools are not run again, their cut results are what they are.
    pub(super) fn go_on(&mut self, now: Millis) {
        if self.running.is_some() {
            self.notice(
                NoticeLevel::Info,
                "There is nothing to continue: a turn is running.",
            );
            return;
        }
        let Some(tip) = self.conversation.tip() else {
            self.begin_running(now);
            self.announce_fault(Fault::new(
                FaultKind::BadRequest,
                "There is nothing to continue: nothing was said yet.",
                "Say what is to be done.",
            ));
            self.end_turn(now, TurnEnd::Error);
            return;
        };
        let has_results = tip
            .parts
            .iter()
            .any(|p| matches!(p.body, PartBody::Tool(_)));
        let whole = tip.message.role == Role::Assistant
            && tip.message.error.is_none()
            && tip.message.finish == Some(Finish::Stop);
        let stopped = self.ended.is_some_and(|end| end != TurnEnd::Done);
        let waits = !self.queue.is_empty();
        if whole && !stopped && !waits {
            self.begin_running(now);
            self.notice(
                NoticeLevel::Info,
                "There is nothing to continue: the last turn has ended. Say what to do next.",
            );
            self.end_turn(now, TurnEnd::Done);
            return;
        }
        let last_word = tip.message.role == Role::Assistant && !has_results && !tip.was_retried();
        let (id, crashed) = (tip.message.id, was_crashed(tip));
        self.begin_running(now);
        if last_word && crashed {
            // Half an answer: the step is made again, what it said is kept like a broken attempt.
            self.ignore_texts(id);
        } else if last_word {
            let input = PromptInput {
                text: GO_ON.to_owned(),
                files: Vec::new(),
            };
            self.user_message(now, &input, true);
        }
        self.begin_step(now);
    }
}

/// True if the program died while this message was made: an interrupt would have finished its step.
pub(super) fn was_crashed(entry: &crate::context::Entry) -> bool {
    let finished = |p: &crate::protocol::Part| matches!(p.body, PartBody::StepFinish { .. });
    entry.message.finish == Some(Finish::Interrupted) && !entry.parts.iter().any(finished)
}
