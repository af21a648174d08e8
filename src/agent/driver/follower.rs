//! Follows one subagent: its events become progress of its parent's call, its last words the answer.
//! Started by `children`; tells the parent's driver of questions, notices and the end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::Back;
use super::children::News;
use crate::agent::subagent::TASK;
use crate::protocol::link::{Inbox, OpSender};
use crate::protocol::{
    Event, Fault, Message, MessageId, Op, Part, PartBody, PartId, Role, SessionId, ToolState,
    TurnEnd,
};
use crate::tools::arguments::clipped;
use crate::tools::output::OutputStore;
use crate::tools::{Failure, Progress, ProgressUpdate, Success};

/// Lines of a subagent's doings that its call shows.
const LINES: usize = 8;

/// Characters of what it says before its first call.
const LINE_CHARS: usize = 500;

/// Follows one child.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) part: PartId,
    pub(super) session: SessionId,
    /// True while somebody watches the child.
    pub(super) watched: Arc<AtomicBool>,
    /// True once its beginning was passed on.
    pub(super) showing: bool,
    /// Session, agent, model.
    pub(super) facts: Value,
    pub(super) title: String,
    pub(super) output: Arc<OutputStore>,
    pub(super) back: mpsc::UnboundedSender<Back>,
    pub(super) progress: Progress,
    pub(super) seen: Seen,
}

/// What was seen of a child.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Its newest calls, one line each.
    lines: VecDeque<(PartId, String)>,
    calls: usize,
    steps: u32,
    tokens: u64,
    /// The message it is making, and the texts in it.
    message: Option<MessageId>,
    texts: BTreeMap<PartId, String>,
    fault: Option<Fault>,
    end: Option<TurnEnd>,
}

impl Follower {
    /// Runs until the child is closed.
    pub(super) async fn run(
        mut self,
        mut inbox: Inbox,
        ops: OpSender,
        mut reply: oneshot::Sender<Result<Success, Failure>>,
    ) {
        let mut closing = false;
        loop {
            let events = tokio::select! {
                biased;
                events = inbox.recv(256) => events,
                () = reply.closed(), if !closing => {
                    // The call was cut: so is the child.
                    closing = true;
                    drop(ops.send(Op::Close));
                    continue;
                }
            };
            let mut shows = false;
            for event in events {
                // What it begins is known before it is shown: see `Turn::subagent_began`.
                shows |= self.event(&event);
                self.show(&event);
                if matches!(event, Event::TurnFinished { .. }) && !closing {
                    closing = true;
                    drop(ops.send(Op::Close));
                }
                if event == Event::Closed {
                    if let Some(end @ (TurnEnd::Refused | TurnEnd::DoomLoop)) = self.seen.end {
                        self.tell(News::Stopped(end));
                    }
                    self.tell(News::Closed);
                    // The receiver is gone if the call was cut.
                    drop(reply.send(self.result()));
                    return;
                }
            }
            if shows {
                self.progress.send_replace(ProgressUpdate {
                    title: self.title.clone(),
                    metadata: self.metadata(),
                    tail: self.tail(),
                });
            }
        }
    }

    fn tell(&self, news: News) {
        // The parent may be closing.
        drop(self.back.send(Back::Child(self.part, news)));
    }

    /// Passes on what the child announces while it is watched, from its beginning.
    fn show(&mut self, event: &Event) {
        if !self.watched.load(Ordering::Relaxed) {
            self.showing = false;
            return;
        }
        self.showing |= matches!(event, Event::SessionStarted { .. });
        let own = !matches!(event, Event::Subagent { .. } | Event::Closed);
        if self.showing && own {
            self.tell(News::Says(self.session, Box::new(event.clone())));
        }
    }

    /// Takes an event; true if the call's progress changed.
    fn event(&mut self, event: &Event) -> bool {
        match event {
            Event::MessageCreated { message } => self.seen.message(message),
            Event::PartUpdated { part } => {
                if let PartBody::Subtask { child, .. } = &part.body {
                    self.tell(News::Began(*child));
                }
                return self.seen.part(part);
            }
            Event::Subagent { session, event } => {
                self.tell(News::Says(*session, event.clone()));
            }
            Event::PartDelta { part, delta, .. } => {
                if let Some(text) = self.seen.texts.get_mut(part) {
                    text.push_str(delta);
                    return self.seen.lines.is_empty();
                }
            }
            Event::StepFinished { tokens, .. } => {
                self.seen.steps += 1;
                self.seen.tokens += tokens.total();
                return true;
            }
            Event::Asked { ask } => self.tell(News::Asked(ask.clone())),
            Event::AskClosed { ask } => self.tell(News::AskClosed(*ask)),
            Event::Notice { level, text } => self.tell(News::Notice(*level, text.clone())),
            Event::Error { error } => self.seen.fault = Some(error.clone()),
            Event::TurnFinished { reason } => self.seen.end = Some(*reason),
            _ => {}
        }
        false
    }

    fn metadata(&self) -> Value {
        let mut facts = self.facts.clone();
        if let Some(facts) = facts.as_object_mut() {
            facts.insert("steps".to_owned(), self.seen.steps.into());
            facts.insert("calls".to_owned(), self.seen.calls.into());
            facts.insert("tokens".to_owned(), self.seen.tokens.into());
        }
        facts
    }

    /// The newest calls; before the first one, what it says.
    fn tail(&self) -> String {
        if self.seen.lines.is_empty() {
            let text = self.seen.text();
            return clipped(text.lines().last().unwrap_or_default(), LINE_CHARS);
        }
        let lines: Vec<&str> = self.seen.lines.iter().map(|(_, l)| l.as_str()).collect();
        lines.join("\n")
    }

    fn result(&self) -> Result<Success, Failure> {
        let said = self.seen.text();
        let fault = self.seen.fault.as_ref().map(ToString::to_string);
        let problem = match self.seen.end {
            Some(TurnEnd::Done) if !said.trim().is_empty() => None,
            Some(TurnEnd::Done) => Some("The subagent ended without an answer.".to_owned()),
            Some(TurnEnd::Budget) if !said.trim().is_empty() => {
                let why = fault.unwrap_or_default();
                let text = format!("{said}\n\n[The subagent was stopped before its end. {why}]");
                return Ok(self.success(text));
            }
            Some(TurnEnd::Budget) => Some(format!(
                "The subagent was stopped before it had an answer. {}",
                fault.unwrap_or_default()
            )),
            Some(TurnEnd::Refused) => {
                Some("The subagent was stopped: a permission that it needs was refused.".to_owned())
            }
            Some(TurnEnd::DoomLoop) => {
                Some("The subagent was stopped: it made the same call again and again.".to_owned())
            }
            Some(TurnEnd::Interrupted) => Some("The user stopped the subagent.".to_owned()),
            Some(TurnEnd::Error) | None => Some(format!(
                "The subagent failed. {}",
                fault.unwrap_or_default()
            )),
        };
        match problem {
            None => Ok(self.success(said)),
            Some(mut message) => {
                if !said.trim().is_empty() {
                    message.push_str("\nIts last words were:\n");
                    message.push_str(&said);
                }
                Err(Failure {
                    message: self.output.fit(TASK, message).text,
                    title: self.title.clone(),
                    metadata: self.metadata(),
                    ..Failure::default()
                })
            }
        }
    }

    fn success(&self, text: String) -> Success {
        let fitted = self.output.fit(TASK, text);
        Success {
            output: fitted.text,
            title: self.title.clone(),
            metadata: self.metadata(),
            truncated: fitted.full,
            ..Success::default()
        }
    }
}

impl Seen {
    fn message(&mut self, message: &Message) {
        if message.role == Role::Assistant && !message.summary {
            self.message = Some(message.id);
            self.texts.clear();
        }
    }

    fn part(&mut self, part: &Part) -> bool {
        match &part.body {
            PartBody::Text { text, ignored, .. } if Some(part.message) == self.message => {
                if *ignored {
                    self.texts.remove(&part.id);
                } else {
                    self.texts.insert(part.id, text.clone());
                }
                self.lines.is_empty()
            }
            PartBody::Tool(tool) => {
                let (mark, title) = match &tool.state {
                    ToolState::Pending { .. } => return false,
                    ToolState::Running { title, .. } => ("", title),
                    ToolState::Completed { title, .. } => ("", title),
                    ToolState::Error { title, .. } => (" (failed)", title),
                };
                let line = format!("{} {title}{mark}", tool.tool);
                let line = line.trim_end().to_owned();
                match self.lines.iter_mut().find(|(id, _)| *id == part.id) {
                    Some((_, known)) if *known == line => return false,
                    Some((_, known)) => *known = line,
                    None => {
                        self.calls += 1;
                        self.lines.push_back((part.id, line));
                        if self.lines.len() > LINES {
                            self.lines.pop_front();
                        }
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// What its last message says.
    fn text(&self) -> String {
        let texts: Vec<&str> = self
            .texts
            .values()
            .map(|t| t.trim())
            .filter(|t| !t.is_empty())
            .collect();
        texts.join("\n\n")
    }
}
