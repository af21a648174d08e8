//! The turn: a pure machine. `apply` takes an input and the time, and returns what is to be done.
//!
//! All state of a session's conversation is here; the driver holds only handles. Each concern has
//! its own file: `prompts` (what the user says, the queue), `step` (begin and finish a step), `trees` (snapshots),
//! `facts` (what others ask it),
//! `stream` (deltas → parts), `calls` and `results` (tool calls), `asks` (questions), `stop` (interrupt, failure,
//! retry), `fallback` (other models), `subagents` (what their calls keep), `mirror` (what others
//! did to the conversation), `room`, `compaction` and `summary` (pruning and compaction), `writes` (the only place that writes parts).

mod asks;
mod calls;
mod compaction;
mod facts;
mod fallback;
mod mirror;
mod prompts;
mod results;
mod room;
mod rules;
mod step;
mod stop;
mod stream;
mod subagents;
mod summary;
mod tool_state;
mod trees;
mod writes;

pub use rules::FolderRules;
pub use trees::{UNSETTLED, Unsettled, unsettled_of};

use std::collections::{BTreeMap, VecDeque};

use super::budget::Spent;
use super::effect::Effect;
use super::input::{Input, StreamId};
use super::loop_guard::LoopGuard;
use super::queue::Queue;
use crate::config::used::{Budget, ContextSettings, TurnSettings};
use crate::context::Conversation;
use crate::context::overflow::Usage;
use crate::model::ModelInfo;
use crate::protocol::{Ask, Effort, Event, IdMint, Millis, PartId, SessionInfo, TurnEnd};

/// What a turn is told once.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The session.
    pub info: SessionInfo,
    /// The model of the next step.
    pub model: ModelInfo,
    /// `[loop]`
    pub turn: TurnSettings,
    /// `[context]`
    pub context: ContextSettings,
    /// `[budget]`
    pub budget: Budget,
    /// True if nobody can be asked.
    pub headless: bool,
    /// Estimated tokens of system prompt and tool schemas.
    pub overhead: u64,
    /// The reasoning effort that was chosen; none for the model's own.
    pub effort: Option<Effort>,
    /// Sentence about the sandbox for the status line.
    pub sandbox: String,
    /// Seed of the ids.
    pub seed: u64,
}

/// What a turn is doing.
#[derive(Debug, Default)]
enum State {
    /// Nothing.
    #[default]
    Idle,
    /// A step: streaming, then tools.
    Step(step::Step),
    /// A wait between two attempts.
    Retrying(stop::Waiting),
    /// A compaction.
    Compacting(compaction::Compacting),
}

/// A running turn.
#[derive(Debug, Clone, Default)]
struct Running {
    started: Millis,
    /// Steps begun, from 1.
    step: u32,
    output: u64,
    /// A plain no: the turn ends with the step.
    refused: bool,
    /// The loop guard stopped it and nobody can be asked.
    looped: bool,
    /// The last step was the grace step.
    grace: bool,
    /// How often a provider's overflow error has forced a compaction in this step.
    overflowed: u32,
    /// The last step ran into the end of the window and room was made for it.
    window_full: bool,
    /// The user wants requests sent although they do not fit.
    anyway: bool,
    /// `/compact` or a bare command: no model step follows.
    no_steps: bool,
    /// Attempts of this step in a row that failed because the model is overloaded.
    overloaded: u32,
    /// Fallback models taken so far.
    fallen: usize,
}

/// The machine.
#[derive(Debug)]
pub struct Turn {
    setup: Setup,
    conversation: Conversation,
    queue: Queue,
    guard: LoopGuard,
    mint: IdMint,
    state: State,
    running: Option<Running>,
    asks: Vec<Ask>,
    next_stream: StreamId,
    usage: Usage,
    pruned: u64,
    spent: Spent,
    /// What the rest of the tree has spent: a subagent's parent and siblings.
    elsewhere: Spent,
    /// True in a subagent: its parent asks the user about the budget.
    subagent: bool,
    /// Models to go on with when the chosen one stays overloaded.
    fallbacks: Vec<ModelInfo>,
    /// The model that the user chose, while another one stands in for it.
    chosen: Option<Box<ModelInfo>>,
    /// How many times the user granted the budget again.
    granted: u32,
    pins: Vec<PartId>,
    /// The plan as the `todo` tool left it.
    todo: String,
    /// A compaction that the user asked for, with its focus.
    compact_wanted: Option<String>,
    /// How the last turn of this process ended.
    ended: Option<TurnEnd>,
    /// Tokens after a compaction that did not help: no other before the conversation has grown.
    stuck_at: Option<u64>,
    /// The model that writes summaries, if it is not the session's.
    summarizer: Option<ModelInfo>,
    /// A follow-up with a note for the read-files list, set by the driver before a compaction.
    files_read: Vec<(String, bool)>,
    /// Instructions of folders that are said before the next step.
    rules_waiting: Vec<FolderRules>,
    /// Steps whose end snapshot is not there yet.
    last_writes: VecDeque<trees::StepWrites>,
    effects: Vec<Effect>,
    last_status: Millis,
    /// When it was said last that the store refused something.
    refused: Option<Millis>,
}

impl Turn {
    /// A turn machine over what a session holds. `values` are the session's stored values.
    pub fn new(
        setup: Setup,
        conversation: Conversation,
        values: &BTreeMap<String, serde_json::Value>,
    ) -> Self {
        let newest = conversation.entries().last().map_or(0, |entry| {
            entry
                .parts
                .iter()
                .map(|p| p.id.raw())
                .max()
                .unwrap_or(0)
                .max(entry.message.id.raw())
        });
        let mint = IdMint::new(setup.seed, newest.max(setup.info.id.raw()));
        let mut turn = Self {
            setup,
            conversation,
            queue: Queue::restore(values),
            guard: LoopGuard::default(),
            mint,
            state: State::Idle,
            running: None,
            asks: Vec::new(),
            next_stream: 1,
            usage: Usage::default(),
            pruned: 0,
            spent: stored(values, "spent"),
            elsewhere: Spent::default(),
            subagent: false,
            fallbacks: Vec::new(),
            chosen: None,
            granted: stored(values, "granted"),
            pins: stored(values, "pins"),
            todo: stored(values, "todo"),
            compact_wanted: None,
            ended: None,
            stuck_at: None,
            summarizer: None,
            files_read: Vec::new(),
            rules_waiting: Vec::new(),
            last_writes: VecDeque::new(),
            effects: Vec::new(),
            last_status: 0,
            refused: None,
        };
        let folding = turn.setup.context.prune_fold;
        turn.conversation.set_folding(folding);
        let pins = turn.pins.clone();
        turn.conversation.set_pinned(&pins);
        turn.remember_calls();
        turn.measure();
        turn
    }

    /// Takes an input; returns what is to be done, in order.
    pub fn apply(&mut self, now: Millis, input: Input) -> Vec<Effect> {
        match input {
            Input::Prompt { input, delivery } => self.prompt(now, input, delivery),
            Input::Shell { command } => self.shell(now, &command),
            Input::Interrupt => self.interrupt(now),
            Input::Continue => self.go_on(now),
            Input::Answer { ask, answer } => self.answered(now, ask, answer),
            Input::Queue(edit) => self.edit_queue(now, edit),
            Input::RetryNow => self.retry_now(now),
            Input::Compact { focus } => self.want_compaction(now, focus),
            Input::Prune => self.prune_now(now),
            Input::Restore { parts } => self.restore(now, &parts),
            Input::Pin { part, on } => self.pin(part, on),
            Input::SetMode(mode) => {
                self.setup.info.mode = mode;
                self.write_info();
                self.announce_status(now);
            }
            Input::SetModel(info) => self.set_model(now, *info),
            Input::SetEffort(effort) => {
                self.setup.effort = effort;
                self.announce_status(now);
            }
            Input::SetAgent(agent) => {
                self.setup.info.agent = agent;
                self.write_info();
                self.announce_status(now);
            }
            Input::Titled(title) => {
                self.setup.info.title = title;
                self.write_info();
            }
            Input::Deltas { stream, deltas } => self.deltas(now, stream, deltas),
            Input::StreamEnded { stream } => self.stream_ended(now, stream),
            Input::StreamFailed { stream, fault } => self.stream_failed(now, stream, fault),
            Input::Judged { part, judgement } => self.judged(now, part, judgement),
            Input::JudgeAgain => self.judge_waiting_again(),
            Input::Progress { part, update } => self.progress(part, &update),
            Input::ToolEnded { part, result } => self.tool_ended(now, part, result),
            Input::Snapshot { tag, tree } => self.snapshot_taken(now, tag, tree),
            Input::Patch {
                message,
                from,
                to,
                files,
            } => {
                self.patch_known(now, message, from, to, files);
            }
            Input::Synced { part, result } => self.synced(now, part, result),
            Input::Timer(timer) => self.timer(now, &timer),
            Input::StoreFailed(fault) => self.store_failed(now, fault),
            Input::Spent(spent) => {
                self.spent.add(&spent);
                self.write_spent(now);
                self.announce_status(now);
            }
            Input::Subagent(subagent) => self.subagent_began(now, *subagent),
            Input::Rules(found) => self.rules_found(found),
            Input::SubagentStopped { part, reason } => self.subagent_stopped(part, reason),
        }
        std::mem::take(&mut self.effects)
    }

    /// Begins a step over the conversation as it is, whatever the limits say: for replays.
    pub fn begin_again(&mut self, now: Millis) -> Vec<Effect> {
        self.begin_running(now);
        self.start_attempt(now, 0, false);
        std::mem::take(&mut self.effects)
    }

    fn announce(&mut self, event: Event) {
        match self.effects.last_mut() {
            Some(Effect::Announce(events)) => events.push(event),
            _ => self.effects.push(Effect::Announce(vec![event])),
        }
    }

    fn announce_status(&mut self, now: Millis) {
        self.last_status = now;
        let status = self.status();
        self.announce(Event::Status(status));
    }

    /// Ends the turn; what is queued goes on if it may.
    fn end_turn(&mut self, now: Millis, reason: TurnEnd) {
        self.state = State::Idle;
        self.spent.time_ms += self.running_ms(now);
        self.running = None;
        self.ended = Some(reason);
        self.write_spent(now);
        self.use_chosen_model();
        self.write_event(Event::TurnFinished { reason });
        self.sync_soon();
        self.announce_status(now);
        self.after_turn(now, reason);
    }
}

/// A stored value, or its default if it is missing or of another shape.
pub fn stored<T: serde::de::DeserializeOwned + Default>(
    values: &BTreeMap<String, serde_json::Value>,
    name: &str,
) -> T {
    values
        .get(name)
        .and_then(|v| serde_json::from_value(v.clone()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "../turn_tests.rs"]
mod tests;
