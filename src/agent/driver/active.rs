//! The open session: its turn, its store, its running streams and tools.
//!
//! A new session has no store until something is said in it: opening dunlin writes nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{Back, Ports, Streamed};
use crate::agent::input::StreamId;
pub(crate) use crate::agent::turn::stored;
use crate::agent::turn::{Setup, Turn};
use crate::config::used::{ContextSettings, TurnSettings};
use crate::context::{Conversation, tokens};
use crate::model::{Model, ModelInfo, ToolSpec};
use crate::protocol::{Event, Fault, IdMint, Mode, ModelRef, PartId, SessionInfo};
use crate::session::{Announce, Commit, SessionStore, Sync};
use crate::tools::output::OutputStore;
use crate::tools::reads::ReadLedger;

/// The open session.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) turn: Turn,
    /// None until something is said.
    pub(crate) store: Option<SessionStore>,
    pub(crate) writable: bool,
    /// The model, opened when it is first asked.
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) specs: Arc<[ToolSpec]>,
    pub(crate) system_stable: Arc<str>,
    pub(crate) system_dynamic: Arc<str>,
    pub(crate) streams: HashMap<StreamId, AbortOnDropHandle<()>>,
    pub(crate) tapes: HashMap<StreamId, super::tapes::Taping>,
    /// Checksums of what was completed since the last answer that was recorded.
    pub(crate) checks: BTreeMap<PartId, u32>,
    pub(crate) tools: HashMap<PartId, CancellationToken>,
    pub(crate) reads: Arc<ReadLedger>,
    pub(crate) output: Arc<OutputStore>,
    /// Rules that the user granted for this session.
    pub(crate) grants: super::judge::SessionGrants,
    pub(crate) questions: HashMap<crate::protocol::AskId, super::asking::Waiting>,
    /// Calls that run since the last snapshot after a step, and when the last one ended (nanoseconds).
    pub(crate) calls: TaskTracker,
    pub(crate) ended: Arc<AtomicI64>,
    /// Command lines of calls that may write anything, until they run.
    pub(crate) commands: HashMap<PartId, String>,
    /// When the calls of steps had ended whose snapshot is there.
    pub(crate) ends: HashMap<crate::protocol::MessageId, Option<i64>>,
    /// Snapshots and differences under way.
    pub(crate) pending: usize,
    pub(crate) undone: Vec<super::undo::Undone>,
    /// The newest message on any branch when the session was opened or its branch changed.
    pub(crate) newest: Option<crate::protocol::MessageId>,
    /// What another process writes into the session, while it can only be read here.
    pub(crate) reading: Option<Box<super::reading::Reading>>,
    /// Files of which it was said that they are gone.
    pub(super) missing: std::collections::HashSet<String>,
    /// Only the newest page of the session is in memory.
    pub(super) resting: Option<super::resting::Resting>,
    /// A title is wanted for this prompt as soon as the first answer streams.
    pub(crate) wants_title: Option<String>,
    pub(crate) stream_sender: mpsc::Sender<Streamed>,
    pub(crate) back: mpsc::UnboundedSender<Back>,
    /// Its parent, its subagents, and what all of them have spent.
    pub(crate) family: super::children::Family,
    /// What requests had in common, and what the provider's cache missed.
    pub(crate) ledger: crate::context::cache::Ledger,
    /// Instructions of folders that were looked for.
    pub(crate) rules: super::rules::Found,
    /// Values of the session that are not the turn's: what steps wrote, by message.
    pub(crate) values: BTreeMap<String, serde_json::Value>,
}

/// Announces to the outbox; failures go back to the driver as inputs.
#[derive(Debug)]
struct ToFrontEnd {
    outbox: crate::protocol::link::Outbox,
    back: mpsc::UnboundedSender<Back>,
}

impl Announce for ToFrontEnd {
    fn announce(&self, events: Vec<Event>) {
        events.iter().for_each(super::logging::log);
        self.outbox.send(events);
    }

    fn failed(&self, fault: Fault) {
        // The driver may be gone already: then nobody is left to tell.
        drop(
            self.back
                .send(Back::Input(crate::agent::Input::StoreFailed(fault))),
        );
    }
}

/// A model that stands for none: no key is set. Asking it is refused with what to do.
pub(crate) fn no_model() -> ModelRef {
    ModelRef {
        provider: "none".to_owned(),
        model: "none".to_owned(),
    }
}

/// A seed for ids that differs between processes and sessions.
fn seed() -> u64 {
    let bytes = uuid::Uuid::now_v7().into_bytes();
    bytes
        .iter()
        .rev()
        .take(8)
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

impl Active {
    /// A new, empty session that is not stored yet.
    pub(crate) fn fresh(
        ports: &Ports,
        stream_sender: mpsc::Sender<Streamed>,
        back: mpsc::UnboundedSender<Back>,
    ) -> Self {
        let now = ports.now();
        let agent = match ports.config.agent.as_str() {
            "" => "build",
            named => named,
        };
        let mode = ports
            .agent(agent)
            .and_then(|a| a.mode)
            .unwrap_or(ports.config.mode);
        let info = SessionInfo {
            id: IdMint::new(seed(), 0).session(now),
            parent: None,
            title: String::new(),
            worktree: ports.worktree.to_string_lossy().into_owned(),
            model: ports.model.clone().unwrap_or_else(no_model),
            agent: agent.to_owned(),
            mode,
            created: now,
        };
        Self::build(
            ports,
            info,
            Conversation::default(),
            BTreeMap::new(),
            (stream_sender, back),
        )
    }

    /// A session over what the store holds.
    pub(crate) fn build(
        ports: &Ports,
        info: SessionInfo,
        conversation: Conversation,
        values: BTreeMap<String, serde_json::Value>,
        (stream_sender, back): (mpsc::Sender<Streamed>, mpsc::UnboundedSender<Back>),
    ) -> Self {
        let specs = ports.tool_specs(&info.agent, &info.model);
        let system_stable: Arc<str> = ports.system_stable(&info.agent).into();
        let system_dynamic: Arc<str> = ports.system_dynamic().into();
        let overhead = overhead(&system_stable, &system_dynamic, &specs);
        let out = std::env::temp_dir().join("dunlin-out");
        let output = Arc::new(OutputStore::new(ports.config.output.clone(), out));
        let grants = super::judge::SessionGrants::new(stored(&values, "grants"));
        let reads = Arc::new(ReadLedger::restore(stored(&values, "reads")));
        let setup = Setup {
            model: model_info(ports, &info.model),
            turn: turn_settings(ports, &info.agent),
            context: ContextSettings {
                strategy: ports.strategy(&info.agent).to_owned(),
                ..ports.config.context.clone()
            },
            info,
            budget: ports.config.budget.clone(),
            headless: ports.headless,
            overhead,
            effort: ports.config.effort,
            sandbox: ports.sandbox.clone(),
            seed: seed(),
        };
        let mut turn = Turn::new(setup, conversation, &values);
        turn.set_fallbacks(fallbacks(ports));
        turn.set_summarizer(ports.summarizer().map(|model| model_info(ports, model)));
        let family = super::children::Family::root(turn.spent());
        Self {
            turn,
            family,
            store: None,
            writable: true,
            model: None,
            specs,
            system_stable,
            system_dynamic,
            streams: HashMap::new(),
            tapes: HashMap::new(),
            checks: BTreeMap::new(),
            tools: HashMap::new(),
            reads,
            output,
            grants,
            questions: HashMap::new(),
            calls: TaskTracker::new(),
            ended: Arc::default(),
            commands: HashMap::new(),
            ends: HashMap::new(),
            pending: 0,
            undone: stored(&values, "undone"),
            newest: None,
            reading: None,
            missing: std::collections::HashSet::new(),
            resting: None,
            wants_title: None,
            stream_sender,
            back,
            ledger: crate::context::cache::Ledger::default(),
            rules: super::rules::Found::default(),
            values,
        }
    }

    /// The store is there: full outputs go into the session's folder.
    pub(crate) fn attach(&mut self, ports: &Ports, store: SessionStore) {
        self.output = Arc::new(OutputStore::new(
            ports.config.output.clone(),
            store.out_dir(),
        ));
        self.store = Some(store);
    }

    /// Where the store tells of what it kept.
    pub(crate) fn announcer(&self, ports: &Ports) -> Arc<dyn Announce> {
        Arc::new(ToFrontEnd {
            outbox: ports.outbox.clone(),
            back: self.back.clone(),
        })
    }

    /// The store to write to: none while the session is not stored yet or can only be read.
    pub(crate) fn writer(&self) -> Option<&SessionStore> {
        self.store.as_ref().filter(|_| self.writable)
    }

    /// Creates the session's folder, if there is none yet.
    pub(crate) fn ensure_store(&mut self, ports: &Ports) -> Result<(), Fault> {
        if self.store.is_some() {
            return Ok(());
        }
        let announcer = self.announcer(ports);
        let store = ports
            .project
            .create(self.turn.info(), announcer)
            .map_err(|e| e.fault())?;
        self.attach(ports, store);
        Ok(())
    }

    /// Announces in order with what is being written. A session that another process has open takes
    /// no commits: nothing is written then that events could overtake.
    pub(crate) fn announce(&self, ports: &Ports, events: Vec<Event>) {
        if self.writer().is_none() {
            events.iter().for_each(super::logging::log);
        }
        match self.writer() {
            Some(store) => {
                store.commit(Commit {
                    records: Vec::new(),
                    announce: events,
                    sync: Sync::Written,
                });
            }
            None => ports.outbox.send(events),
        }
    }

    /// An agent or a mode may have changed what the model is offered.
    pub(crate) fn refresh_agent(&mut self, ports: &Ports) {
        let agent = self.turn.info().agent.clone();
        self.specs = ports.tool_specs(&agent, &self.turn.info().model);
        self.system_stable = ports.system_stable(&agent).into();
        self.turn.set_strategy(ports.strategy(&agent));
        self.turn.set_overhead(overhead(
            &self.system_stable,
            &self.system_dynamic,
            &self.specs,
        ));
    }

    /// Kills what runs.
    pub(crate) fn cancel_tools(&mut self) {
        for (_, token) in self.tools.drain() {
            token.cancel();
        }
    }

    /// Stops everything and waits until the store has written all.
    pub(crate) async fn close(&mut self) {
        self.cancel_tools();
        self.streams.clear();
        if let Some(store) = self.store.take() {
            store.close().await;
        }
    }
}

/// The models that may stand in for an overloaded one.
fn fallbacks(ports: &Ports) -> Vec<ModelInfo> {
    let named = ports.config.fallback_models.iter();
    named.map(|model| model_info(ports, model)).collect()
}

/// `[loop]` as it holds for an agent: its own limit of steps counts too.
fn turn_settings(ports: &Ports, agent: &str) -> TurnSettings {
    let mut turn = ports.config.turn.clone();
    let own = ports.agent(agent).and_then(|a| a.max_steps);
    turn.max_steps = match (turn.max_steps, own) {
        (Some(all), Some(own)) => Some(all.min(own)),
        (all, own) => all.or(own),
    };
    turn
}

/// Limits of a model; safe ones if the registry does not know it.
pub(crate) fn model_info(ports: &Ports, model: &ModelRef) -> ModelInfo {
    ports.models.info(model)
}

fn overhead(stable: &str, dynamic: &str, specs: &[ToolSpec]) -> u64 {
    let tools: u64 = specs
        .iter()
        .map(|s| tokens::of_text(&s.description) + tokens::of_json(&s.schema) + 8)
        .sum();
    tokens::of_text(stable) + tokens::of_text(dynamic) + tools
}

/// The mode that a new session of this agent begins in.
pub(crate) fn mode_of(ports: &Ports, agent: &str, current: Mode) -> Mode {
    ports.agent(agent).and_then(|a| a.mode).unwrap_or(current)
}
