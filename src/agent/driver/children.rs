//! Subagents: a child agent per call of `task`, with its own session, run by its own driver loop.
//!
//! The child's events end here: a follower turns them into progress of the parent's call, brings its
//! questions into the parent's inbox and answers the call with its last words. What it spends is
//! told to its parent and counted in one purse, so that the whole tree stops at the budget.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;

use super::active::Active;
use super::follower::{Follower, Seen};
use super::recall::ToDriver;
use super::{Agent, Back, Ports};
use crate::agent::budget::Spent;
use crate::agent::input::{Input, Subagent};
use crate::agent::recall::Recall;
use crate::agent::subagent::{Spawn, Task, is_subagent};
use crate::config::agents::AgentDef;
use crate::config::used::{RuleAction, RuleLayer};
use crate::context::Conversation;
use crate::protocol::link::{self, Inbox, OpSender};
use crate::protocol::{
    Answer, Ask, AskBody, AskId, Delivery, Event, Mode, NoticeLevel, Op, PartId, PromptInput,
    SessionId, SessionInfo, TurnEnd,
};
use crate::tools::{Failure, Tool};

/// What a session and all its subagents have spent together.
#[derive(Debug, Default)]
pub(crate) struct Purse(Mutex<Spent>);

impl Purse {
    fn add(&self, spent: &Spent) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(spent);
    }

    fn total(&self) -> Spent {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What connects an agent to its tree.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// What all of the tree have spent.
    purse: Arc<Purse>,
    /// What of this session's spending is in the purse already.
    reported: Spent,
    /// The call it works for; none in the user's own session.
    parent: Option<(PartId, mpsc::UnboundedSender<Back>)>,
    /// How long the tree had worked when this agent began, in milliseconds.
    time_before: u64,
    /// Subagents at work, by the call they work for.
    pub(super) children: HashMap<PartId, Child>,
}

impl Family {
    /// The family of a user's session that has spent this much.
    pub(super) fn root(spent: &Spent) -> Self {
        let purse = Purse::default();
        purse.add(spent);
        Self {
            purse: Arc::new(purse),
            reported: *spent,
            ..Self::default()
        }
    }
}

/// A subagent at work.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) session: SessionId,
    pub(super) ops: OpSender,
    /// To its driver, past its front end's words.
    pub(super) back: mpsc::UnboundedSender<Back>,
    /// The mode that its agent is held to.
    held: Option<Mode>,
    asks: Vec<Ask>,
    /// True while somebody watches it; its follower looks at it.
    pub(super) watched: Arc<AtomicBool>,
    /// Subagents that it has started, and theirs.
    pub(super) descendants: HashSet<SessionId>,
}

/// What a follower tells the parent's driver.
#[derive(Debug)]
pub(crate) enum News {
    /// The child asks the user.
    Asked(Ask),
    /// A question of the child is closed.
    AskClosed(AskId),
    /// The child or a child of it has started a subagent.
    Began(SessionId),
    /// The child of this session, or one of its own, is watched and announced this.
    Says(SessionId, Box<Event>),
    /// Something the user should know.
    Notice(NoticeLevel, String),
    /// The child or a child of it has spent.
    Spent(Spent),
    /// It was stopped before its end.
    Stopped(TurnEnd),
    /// It is closed, all is written.
    Closed,
}

/// The tools of an agent: those of the process, and those that are its session's own.
pub(super) fn with_own_tools(mut ports: Ports, back: &mpsc::UnboundedSender<Back>) -> Ports {
    let depth = (ports.depth, ports.config.turn.subagent_depth);
    let task = Task::new(&ports.agents, depth, back.clone());
    let recall = Recall::new(Arc::new(ToDriver::new(back.clone())));
    let own: [Arc<dyn Tool>; 2] = [Arc::new(task), Arc::new(recall)];
    // A subagent begins with its parent's.
    ports
        .tools
        .retain(|t| own.iter().all(|own| own.name() != t.name()));
    ports.tools.extend(own);
    ports
}

impl Agent {
    /// Tells the turn what the rest of the tree has spent. Before every input.
    pub(super) fn count_others(&mut self) {
        let family = &self.active.family;
        let mut elsewhere = family.purse.total().since(&family.reported);
        elsewhere.time_ms = family.time_before;
        self.active.turn.set_elsewhere(elsewhere);
    }

    /// Puts what was spent since into the purse and tells the parent. After every input.
    pub(super) fn settle(&mut self) {
        let spent = *self.active.turn.spent();
        let family = &mut self.active.family;
        let new = spent.since(&family.reported);
        if new.is_nothing() {
            return;
        }
        family.purse.add(&new);
        family.reported = spent;
        family.tell(News::Spent(new));
    }

    /// Starts a subagent for a call.
    pub(super) fn spawn_child(&mut self, spawn: Spawn) {
        let Spawn {
            part,
            input,
            progress,
            reply,
        } = spawn;
        let named = self.ports.agents.iter().find(|a| a.name == input.agent);
        let Some(def) = named.filter(|a| is_subagent(a)).cloned() else {
            let sentence = format!("There is no subagent {}.", input.agent);
            // The call may have been cut meanwhile.
            drop(reply.send(Err(Failure::new(sentence))));
            return;
        };
        if reply.is_closed() {
            return;
        }
        let (child, ops, inbox) = self.child(part, &input.description, &def);
        let info = child.active.turn.info();
        let (session, model) = (info.id, info.model.clone());
        let watched = Arc::new(AtomicBool::new(false));
        self.active.family.children.insert(
            part,
            Child {
                session,
                ops: ops.clone(),
                back: child.active.back.clone(),
                held: def.mode,
                asks: Vec::new(),
                watched: Arc::clone(&watched),
                descendants: HashSet::new(),
            },
        );
        self.input(Input::Subagent(Box::new(Subagent {
            part,
            child: session,
            prompt: input.prompt.clone(),
            description: input.description.clone(),
            agent: def.name.clone(),
            model: model.clone(),
        })));
        let said = ops.send(Op::Prompt {
            input: PromptInput {
                text: input.prompt,
                files: Vec::new(),
            },
            delivery: Delivery::Guidance,
        });
        debug_assert!(said.is_ok(), "the child is there");
        let follower = Follower {
            part,
            session,
            watched,
            showing: false,
            facts: json!({"session": session, "agent": def.name, "model": model}),
            title: input.description,
            output: Arc::clone(&self.active.output),
            back: self.active.back.clone(),
            progress,
            seen: Seen::default(),
        };
        self.tasks.spawn(follower.run(inbox, ops, reply));
        self.tasks.spawn(child.run_boxed());
    }

    /// A child agent over a new session.
    fn child(&mut self, part: PartId, title: &str, def: &AgentDef) -> (Self, OpSender, Inbox) {
        let now = self.ports.now();
        let (outbox, inbox) = link::events();
        let (ops, receiver) = mpsc::unbounded_channel();
        let (stream_sender, streamed) = mpsc::channel(64);
        let (back_sender, back) = mpsc::unbounded_channel();
        let ports = with_own_tools(self.child_ports(def, outbox), &back_sender);
        let parent = self.active.turn.info().clone();
        let info = SessionInfo {
            id: self.active.turn.mint().session(now),
            parent: Some(parent.id),
            title: title.to_owned(),
            worktree: parent.worktree,
            model: def.model.clone().unwrap_or(parent.model),
            agent: def.name.clone(),
            mode: held(parent.mode, def.mode),
            created: now,
        };
        let senders = (stream_sender, back_sender);
        let values = BTreeMap::new();
        let mut active = Active::build(&ports, info, Conversation::default(), values, senders);
        active.grants = self.active.grants.clone();
        active.turn.become_subagent(self.active.turn.granted());
        let family = &self.active.family;
        let turn = &self.active.turn;
        active.family = Family {
            purse: Arc::clone(&family.purse),
            reported: Spent::default(),
            parent: Some((part, self.active.back.clone())),
            time_before: family.time_before + turn.spent().time_ms + turn.running_ms(now),
            children: HashMap::new(),
        };
        let child = Self::new(ports, active, receiver, (streamed, back));
        (child, ops, inbox)
    }

    fn child_ports(&self, def: &AgentDef, outbox: link::Outbox) -> Ports {
        let mut ports = self.ports.clone();
        ports.outbox = outbox;
        ports.depth += 1;
        ports.chosen_model = None;
        ports.chosen_mode = None;
        ports.config.effort = def.effort.or(ports.config.effort);
        // What the parent's agent may not do, it may not have done by another.
        if let Some(parent) = self.ports.agent(&self.active.turn.info().agent) {
            let denied: Vec<_> = parent
                .permission
                .iter()
                .filter(|r| r.action == RuleAction::Deny && r.tool != "question")
                .cloned()
                .collect();
            if !denied.is_empty() {
                ports.config.permission.push(RuleLayer {
                    owner: format!("agent {}", parent.name),
                    rules: denied,
                });
            }
        }
        ports
    }

    /// Runs a child; boxed, because a child may have children.
    fn run_boxed(self) -> BoxFuture<'static, ()> {
        Box::pin(self.run())
    }

    /// What a follower has to tell.
    pub(super) fn child_news(&mut self, part: PartId, news: News) {
        let Some(child) = self.active.family.children.get_mut(&part) else {
            return;
        };
        match news {
            News::Asked(ask) => {
                child.asks.push(ask.clone());
                self.active
                    .announce(&self.ports, vec![Event::Asked { ask }]);
            }
            News::AskClosed(ask) => {
                child.asks.retain(|a| a.id != ask);
                self.active
                    .announce(&self.ports, vec![Event::AskClosed { ask }]);
            }
            News::Began(session) => {
                child.descendants.insert(session);
                self.active.family.tell(News::Began(session));
            }
            News::Says(session, event) => {
                let event = Event::Subagent { session, event };
                self.active.announce(&self.ports, vec![event]);
            }
            News::Notice(level, text) => {
                let text = format!("Subagent: {text}");
                self.active
                    .announce(&self.ports, vec![Event::Notice { level, text }]);
            }
            News::Spent(spent) => {
                // It is in the purse already.
                self.active.family.reported.add(&spent);
                self.active.family.tell(News::Spent(spent));
                self.input(Input::Spent(spent));
            }
            News::Stopped(reason) => self.input(Input::SubagentStopped { part, reason }),
            News::Closed => {
                self.active.family.children.remove(&part);
            }
        }
    }

    /// True if the answer was for a subagent's question.
    pub(super) fn answer_child(&mut self, ask: AskId, answer: &Answer) -> bool {
        let children = &self.active.family.children;
        let found = children.values().find_map(|child| {
            let asked = child.asks.iter().find(|a| a.id == ask)?;
            Some((child.ops.clone(), asked.body.clone()))
        });
        let Some((ops, body)) = found else {
            return false;
        };
        // What is allowed to a subagent for the session is allowed to the session.
        if let (AskBody::Permission { tool, .. }, Answer::Always { scope, pattern }) =
            (&body, answer)
        {
            self.grant(*scope, tool, pattern);
            self.input(Input::JudgeAgain);
        }
        // It may have ended meanwhile.
        drop(ops.send(Op::Answer {
            ask,
            answer: answer.clone(),
        }));
        true
    }

    /// The user changed the mode: subagents follow, as far as they may.
    pub(super) fn tell_children_mode(&self, mode: Mode) {
        for child in self.active.family.children.values() {
            drop(child.ops.send(Op::SetMode(held(mode, child.held))));
        }
    }
}

impl Family {
    /// True in a subagent.
    pub(super) const fn is_child(&self) -> bool {
        self.parent.is_some()
    }

    fn tell(&self, news: News) {
        if let Some((part, parent)) = &self.parent {
            // The parent may be closing.
            drop(parent.send(Back::Child(*part, news)));
        }
    }
}

/// The stricter of the session's mode and the one an agent is held to.
fn held(session: Mode, agent: Option<Mode>) -> Mode {
    let freedom = |mode: Mode| match mode {
        Mode::Plan => 0,
        Mode::Ask => 1,
        Mode::AutoEdit => 2,
        Mode::Auto => 3,
    };
    match agent {
        Some(agent) if freedom(agent) < freedom(session) => agent,
        _ => session,
    }
}
