//! The driver: takes `Op`s, feeds the turn, performs its effects, brings back what comes of them.
//!
//! One task per agent. Everything slow (model streams, tools, snapshots, the store) runs elsewhere
//! and comes back as an `Input`; nothing here waits while a turn runs. Text that streams is held for
//! a few milliseconds, so that a fast model costs one write per frame and not one per token.

mod active;
mod asking;
mod branch;
mod changes;
mod children;
#[cfg(test)]
pub(crate) mod cut;
mod facts;
mod files;
mod finding;
mod follower;
mod judge;
mod keeping;
mod logging;
mod media;
mod models;
mod ops;
mod outside;
mod perform;
mod ports;
mod reading;
mod recall;
mod resting;
mod restoring;
mod rules;
mod sessions;
mod settling;
mod spending;
mod tapes;
mod telling;
#[cfg(test)]
#[path = "told_tests.rs"]
mod told;
mod tools;
mod tree;
mod undo;
mod watching;

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub use branch::current as current_branch;
pub use ports::Ports;

use super::input::{Input, StreamId};
use crate::model::Delta;
use crate::protocol::link::OpReceiver;
use crate::protocol::{Event, Op};
use crate::session::AnswerEnd;
use active::Active;

/// How long streaming text is gathered before it is written and shown: a frame at 30 Hz, which is
/// what the screen draws while text streams. The first text after a silence does not wait.
const GATHER: Duration = Duration::from_millis(32);

/// The end waits at most so long for what runs: commands get 2 s between TERM and KILL.
const END_PATIENCE: Duration = Duration::from_secs(4);

/// What a model stream sends to the driver.
#[derive(Debug)]
pub(crate) enum Streamed {
    /// Pieces that came together.
    Deltas(StreamId, Vec<Delta>),
    /// The end, good or bad.
    End(StreamId, Result<(), crate::protocol::Fault>),
}

/// What comes back to the driver from its own tasks.
#[derive(Debug)]
pub(crate) enum Back {
    /// An input for the turn.
    Input(Input),
    /// Something to announce in order with the session's events.
    Event(Event),
    /// What a step wrote, to be kept for undo.
    Writes(crate::protocol::MessageId, Vec<crate::snapshot::FileWrite>),
    /// When the calls of a step had ended, as far as that is known.
    Until(crate::protocol::MessageId, Option<i64>),
    /// It is known and kept what a step wrote.
    Known(crate::protocol::MessageId),
    /// A snapshot or a difference has come back, all of it.
    Settled,
    /// The model asks the user something through a tool.
    Question(asking::Question),
    /// A call of `task` wants a subagent.
    Spawn(Box<super::subagent::Spawn>),
    /// What the subagent of a call has to tell.
    Child(crate::protocol::PartId, children::News),
    /// Somebody in the tree was permitted more.
    JudgeAgain,
    /// Somebody begins to watch this subagent.
    Show,
    /// The model searches its session, or goes on searching.
    Recall(Box<recall::Recalling>),
    /// Servers of tools have changed.
    Outside,
    /// A request that waited for them can be sent.
    Ask(StreamId, Box<super::effect::Purpose>),
}

/// Which session to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin {
    /// A new one.
    New,
    /// The newest of this project.
    Newest,
    /// This one.
    Open(crate::protocol::SessionId),
}

/// The agent: one open session at a time, and what it takes to run it.
#[derive(Debug)]
pub struct Agent {
    ports: Ports,
    active: Active,
    ops: OpReceiver,
    streamed: mpsc::Receiver<Streamed>,
    back: mpsc::UnboundedReceiver<Back>,
    /// Text that waits to be written.
    held: Option<(StreamId, Vec<Delta>)>,
    last_flush: Instant,
    finder: files::Finder,
    /// The search through all sessions, and the scope of the last listing.
    search: finding::Search,
    /// Calls and subagents that run; the end waits for them.
    tasks: TaskTracker,
    /// What was told of servers of tools.
    outside: outside::Seen,
}

impl Agent {
    /// Opens the first session and announces it. Front ends see `SessionStarted` first.
    pub async fn start(ports: Ports, ops: OpReceiver, begin: Begin) -> Self {
        // Bounded: a model that is faster than the disk waits in its own socket.
        let (stream_sender, streamed) = mpsc::channel(64);
        let (back_sender, back) = mpsc::unbounded_channel();
        let ports = children::with_own_tools(ports, &back_sender);
        let active = Active::fresh(&ports, stream_sender, back_sender);
        let mut agent = Self::new(ports, active, ops, (streamed, back));
        agent.announce_place();
        agent.begin_outside();
        match begin {
            Begin::New => agent.announce_session(true, false),
            Begin::Newest => agent.open_newest().await,
            Begin::Open(id) => agent.open_session(id).await,
        }
        agent.announce_onboarding();
        agent.tell_snapshots_off();
        agent.collect_snapshots();
        agent
    }

    fn new(
        ports: Ports,
        active: Active,
        ops: OpReceiver,
        (streamed, back): (mpsc::Receiver<Streamed>, mpsc::UnboundedReceiver<Back>),
    ) -> Self {
        let finder = files::Finder::new(ports.worktree.clone());
        Self {
            ports,
            active,
            ops,
            streamed,
            back,
            held: None,
            last_flush: Instant::now(),
            finder,
            search: finding::Search::default(),
            tasks: TaskTracker::new(),
            outside: outside::Seen::default(),
        }
    }

    /// Runs until `Op::Close` or until the front end is gone. Everything is written before it
    /// returns.
    pub async fn run(mut self) {
        loop {
            let flush_at = self.last_flush + GATHER;
            tokio::select! {
                biased;
                op = self.ops.recv() => match op {
                    None | Some(Op::Close) => break,
                    Some(op) => self.op(op).await,
                },
                Some(back) = self.back.recv() => self.came_back(back),
                Some(streamed) = self.streamed.recv() => self.stream_came(streamed),
                () = tokio::time::sleep_until(flush_at), if self.held.is_some() => self.flush(),
                () = reading::changed(&mut self.active.reading), if self.active.reading.is_some() =>
                    self.other_wrote().await,
            }
        }
        self.flush();
        self.input(Input::Interrupt);
        self.end_tasks().await;
        self.wait_for_patches("Ctrl-C ends without that.").await;
        self.active.close().await;
        self.tell_last_refusal();
        if !self.active.family.is_child() {
            self.ports.snapshots.close();
            self.close_tools().await;
        }
        self.ports.outbox.send([Event::Closed]);
    }

    /// What could not be kept at the very end is told as well.
    fn tell_last_refusal(&mut self) {
        while let Ok(back) = self.back.try_recv() {
            if let Back::Input(refused @ Input::StoreFailed(_)) = back {
                self.input(refused);
            }
        }
    }

    /// Waits until nothing that was started is left: processes are killed and subagents have written
    /// what they said. What they still have to tell is heard.
    async fn end_tasks(&mut self) {
        self.active.cancel_tools();
        self.tasks.close();
        if tokio::time::timeout(END_PATIENCE, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("a tool did not end in time");
        }
        while let Ok(back) = self.back.try_recv() {
            self.came_back(back);
        }
    }

    /// Nothing that a tool has started outlives the program.
    async fn close_tools(&self) {
        let closing = self.ports.tools.iter().map(|tool| tool.close());
        let outside = self.ports.outside.iter().map(|outside| outside.close());
        let all = futures_util::future::join_all(closing.chain(outside));
        if tokio::time::timeout(END_PATIENCE, all).await.is_err() {
            tracing::warn!("what a tool started did not end in time");
        }
    }

    /// Feeds the turn and performs what it wants done, until nothing is left to do at once.
    pub(crate) fn input(&mut self, input: Input) {
        let mut waiting = vec![input];
        while let Some(input) = waiting.pop() {
            // A compaction says which files were read; to know whether they changed costs a look at
            // the disk each.
            if self.active.turn.may_compact_at(&input) {
                self.tell_files_read();
            }
            let now = self.ports.now();
            self.count_others();
            let effects = self.active.turn.apply(now, input);
            self.settle();
            for effect in effects {
                #[cfg(test)]
                if !self.ports.cut.lets_pass() {
                    return;
                }
                if let Some(answer) = self.perform(effect) {
                    let failed = matches!(answer, Input::StoreFailed(_));
                    waiting.insert(0, answer);
                    // What builds on what could not be stored is not done, and said once.
                    if failed {
                        break;
                    }
                }
            }
        }
    }

    fn came_back(&mut self, back: Back) {
        match back {
            Back::Input(input) => {
                // What streamed before it came before it.
                self.flush();
                if let Input::ToolEnded { part, .. } = &input {
                    self.active.tools.remove(part);
                    self.look_for_rules(*part);
                }
                self.input(input);
            }
            Back::Event(event) => self.active.announce(&self.ports, vec![event]),
            Back::Writes(message, writes) => self.keep_writes(message, &writes),
            Back::Until(message, until) => drop(self.active.ends.insert(message, until)),
            Back::Known(message) => self.forget_unsettled(message),
            Back::Settled => {
                self.active.pending = self.active.pending.saturating_sub(1);
                self.count_changes();
            }
            Back::Question(question) => self.asked_by_tool(question),
            Back::Spawn(spawn) => {
                self.flush();
                self.spawn_child(*spawn);
            }
            Back::Child(part, news) => self.child_news(part, news),
            Back::Show => self.show_all(),
            Back::JudgeAgain => {
                self.flush();
                self.judge_again();
            }
            Back::Recall(recalling) => self.recall(recalling),
            Back::Outside => self.outside_changed(),
            Back::Ask(stream, purpose) => self.ask_at_last(stream, &purpose),
        }
    }

    /// Gathers text; anything else is passed on at once, with what was gathered before it.
    fn stream_came(&mut self, streamed: Streamed) {
        match streamed {
            Streamed::Deltas(stream, deltas) => {
                self.start_title();
                self.hold(stream, deltas);
                while let Ok(more) = self.streamed.try_recv() {
                    match more {
                        Streamed::Deltas(stream, deltas) => self.hold(stream, deltas),
                        end @ Streamed::End(..) => {
                            self.flush();
                            self.stream_came(end);
                            return;
                        }
                    }
                }
                let urgent = self.held.iter().flat_map(|(_, d)| d).any(|d| !is_text(d));
                if urgent || self.last_flush.elapsed() >= GATHER {
                    self.flush();
                }
            }
            Streamed::End(stream, result) => {
                self.flush();
                // what was refused of the answer must be known before it is called whole
                while let Ok(back) = self.back.try_recv() {
                    self.came_back(back);
                }
                self.active.streams.remove(&stream);
                let end = match &result {
                    Ok(()) => AnswerEnd::Ended,
                    Err(fault) => AnswerEnd::Failed(fault.clone()),
                };
                self.end_tape(stream, end);
                self.input(match result {
                    Ok(()) => Input::StreamEnded { stream },
                    Err(fault) => Input::StreamFailed { stream, fault },
                });
            }
        }
    }

    fn hold(&mut self, stream: StreamId, deltas: Vec<Delta>) {
        self.count_batch(stream);
        match &mut self.held {
            Some((held, all)) if *held == stream => all.extend(deltas),
            _ => {
                self.flush();
                self.held = Some((stream, deltas));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((stream, deltas)) = self.held.take() {
            self.last_flush = Instant::now();
            self.input(Input::Deltas { stream, deltas });
        }
    }
}

const fn is_text(delta: &Delta) -> bool {
    matches!(
        delta,
        Delta::Text { .. } | Delta::Reasoning { .. } | Delta::CallArguments { .. }
    )
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "cut_tests.rs"]
mod cut_tests;
#[cfg(test)]
#[path = "limits_tests.rs"]
mod limits_tests;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "refused_tests.rs"]
mod refused_tests;
