//! What the driver and front ends ask the machine, and what they tell it that is no input: settings, figures, the
//! status. Nothing here changes the conversation.

use super::{State, Turn};
use crate::agent::budget::Spent;
use crate::agent::input::StreamId;
use crate::agent::loop_guard::Limits;
use crate::config::used::ContextSettings;
use crate::context::overflow::{Usage, Window};
use crate::context::{Conversation, overflow};
use crate::model::ModelInfo;
use crate::protocol::{Ask, IdMint, MessageId, Millis, Phase, QueueState, SessionInfo, Status};

impl Turn {
    /// The conversation, for assembling requests. Mutable because renderings are kept in it.
    pub const fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// The conversation.
    pub const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The session's facts.
    pub const fn info(&self) -> &SessionInfo {
        &self.setup.info
    }

    /// The model of the next step.
    pub const fn model(&self) -> &ModelInfo {
        &self.setup.model
    }

    /// The stream that is being read, and the message that it becomes.
    pub const fn answering(&self) -> Option<(StreamId, MessageId)> {
        match &self.state {
            State::Step(step) => Some((step.stream, step.message)),
            State::Compacting(compacting) => Some((compacting.stream(), compacting.answer())),
            State::Idle | State::Retrying(_) => None,
        }
    }

    /// True while a turn runs.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// What is queued.
    pub const fn queue(&self) -> &QueueState {
        self.queue.state()
    }

    /// Open questions, oldest first.
    pub fn asks(&self) -> &[Ask] {
        &self.asks
    }

    /// What the session has spent.
    pub const fn spent(&self) -> &Spent {
        &self.spent
    }

    /// How many times the user granted the budget again.
    pub const fn granted(&self) -> u32 {
        self.granted
    }

    /// Makes this the turn machine of a subagent: it stops where its parent would ask.
    pub const fn become_subagent(&mut self, granted: u32) {
        self.subagent = true;
        self.granted = granted;
    }

    /// Tells what the rest of the tree has spent; counts towards the budget.
    pub const fn set_elsewhere(&mut self, spent: Spent) {
        self.elsewhere = spent;
    }

    /// How long the turn that runs has run, in milliseconds.
    pub fn running_ms(&self, now: Millis) -> u64 {
        self.running
            .as_ref()
            .map_or(0, |r| (now - r.started).max(0).cast_unsigned())
    }

    /// Models to go on with when the chosen one stays overloaded, in order.
    pub fn set_fallbacks(&mut self, models: Vec<ModelInfo>) {
        self.fallbacks = models;
    }

    /// Tokens now.
    pub const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Room in the window.
    pub fn window(&self) -> Window {
        let model = &self.setup.model;
        Window {
            size: model.context,
            usable: model.usable(self.setup.context.output_reserve),
        }
    }

    /// `[context]`
    pub const fn context_settings(&self) -> &ContextSettings {
        &self.setup.context
    }

    /// Ids come after this one, which may be on another branch.
    pub fn ids_after(&mut self, newest: u128) {
        self.mint.go_after(newest);
    }

    /// The next fresh message id, for the driver's own writes (undo, fork).
    pub fn mint(&mut self) -> &mut IdMint {
        &mut self.mint
    }

    /// What the model has read so far and whether it changed since; said again after a compaction.
    pub fn set_files_read(&mut self, files: Vec<(String, bool)>) {
        self.files_read = files;
    }

    /// The model that writes summaries; none for the session's own.
    pub fn set_summarizer(&mut self, model: Option<ModelInfo>) {
        self.summarizer = model;
    }

    /// The compaction strategy of the agent at work.
    pub fn set_strategy(&mut self, name: &str) {
        name.clone_into(&mut self.setup.context.strategy);
    }

    /// Tells the estimated tokens of system prompt and tool schemas.
    pub const fn set_overhead(&mut self, overhead: u64) {
        self.setup.overhead = overhead;
    }

    /// Usage from what is stored.
    pub(super) fn measure(&mut self) {
        self.usage = overflow::measure(&self.conversation, self.setup.overhead);
        self.pruned = overflow::pruned(&self.conversation);
    }

    pub(super) const fn limits(&self) -> Limits {
        Limits {
            repeats: self.setup.turn.loop_repeats,
            repeats_polling: self.setup.turn.loop_repeats_polling,
            always: self.setup.turn.loop_always_limit,
        }
    }

    /// The status as a front end shows it.
    pub fn status(&self) -> Status {
        let info = &self.setup.info;
        Status {
            phase: self.phase(),
            turn_started: self.running.as_ref().map(|r| r.started),
            turn_output: self.running.as_ref().map_or(0, |r| r.output) + self.streamed_tokens(),
            context: overflow::gauge(&self.usage, self.pruned, self.window()),
            cost: self.spent.cost(),
            mode: info.mode,
            agent: info.agent.clone(),
            model: info.model.clone(),
            model_label: self.model_label(),
            sandbox: self.setup.sandbox.clone(),
        }
    }

    /// `sonnet-5 high`: the model and the effort that was chosen for it.
    fn model_label(&self) -> String {
        let label = &self.setup.model.label;
        match self.setup.effort {
            Some(effort) => format!("{label} {}", effort.name()),
            None => label.clone(),
        }
    }

    fn phase(&self) -> Phase {
        if !self.asks.is_empty() {
            return Phase::Asking;
        }
        match &self.state {
            State::Idle => Phase::Idle,
            State::Step(step) => step.phase(),
            State::Retrying(waiting) => waiting.phase(),
            State::Compacting(compacting) => compacting.phase(),
        }
    }
}
