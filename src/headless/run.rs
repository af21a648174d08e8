//! One run followed from its first event to its end: what is to be done, which orders are passed on, when
//! nothing is left to do, and with which code it ends.

use std::collections::BTreeSet;
use std::path::Path;

use super::answer::{Outcome, Wanted};
use super::{Talk, Task, code_of, exit, orders};
use crate::protocol::link::OpSender;
use crate::protocol::{
    Answer, AskId, Delivery, Event, Fault, FaultKind, Finish, Op, PromptInput, QueueId, ReadOnly,
    Role, SessionInfo, TurnEnd,
};

/// How far standard input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// Orders may come.
    Open,
    /// It has ended; what was ordered may not be begun yet.
    Ended,
    /// It has ended, and the agent has taken all orders.
    Taken,
}

pub(super) struct Run {
    pub(super) ops: OpSender,
    pub(super) task: Option<Task>,
    pub(super) code: u8,
    /// Messages that wait, and whether they go on by themselves.
    pub(super) waits: BTreeSet<QueueId>,
    pub(super) paused: bool,
    pub(super) running: bool,
    pub(super) interrupts: u8,
    /// The end of the last turn, printed when everything is written.
    pub(super) last: Option<Event>,
    /// Orders begin once the session is open.
    pub(super) open: bool,
    /// Where its files are.
    pub(super) worktree: String,
    pub(super) input: Input,
    pub(super) orders: bool,
    /// The turn failed because of the configuration: a provider, a model or a script that is not there.
    pub(super) misconfigured: bool,
    /// Questions that are open.
    pub(super) asks: Vec<AskId>,
    /// Nothing can be done: why is said once, then nothing but the end.
    pub(super) complaint: Option<Fault>,
    pub(super) refused: bool,
    /// What the answer must be.
    pub(super) wanted: Option<Wanted>,
}

impl Run {
    pub(super) const fn new(task: Task, talk: Talk, ops: OpSender) -> Self {
        Self {
            ops,
            code: if talk.orders { exit::DONE } else { exit::ERROR },
            task: Some(task),
            waits: BTreeSet::new(),
            paused: false,
            running: false,
            interrupts: 0,
            last: None,
            open: false,
            worktree: String::new(),
            input: if talk.orders {
                Input::Open
            } else {
                Input::Taken
            },
            orders: talk.orders,
            misconfigured: false,
            asks: Vec::new(),
            complaint: None,
            refused: false,
            wanted: None,
        }
    }

    /// Ends the run with a sentence.
    fn refuse(&mut self, code: u8, fault: Fault) -> bool {
        self.code = code;
        self.task = None;
        self.complaint = Some(fault);
        self.refused = true;
        true
    }

    pub(super) fn listens(&self) -> bool {
        self.open && self.input == Input::Open
    }

    /// Passes an order on; gives back what is wrong with it.
    pub(super) fn order(&mut self, order: Option<Result<Op, String>>) -> Option<Fault> {
        match order {
            Some(Ok(op)) => match orders::missing_file(&op, Path::new(&self.worktree)) {
                None => drop(self.ops.send(op)),
                Some(path) => {
                    let text = format!("The order was left out: there is no file {path}.");
                    let hint = "Paths of files are relative to the worktree's root, or absolute. The run goes on.";
                    return Some(Fault::new(FaultKind::BadRequest, text, hint));
                }
            },
            Some(Err(sentence)) => {
                let hint = "docs/exec-json.md lists the orders. The run goes on.";
                return Some(Fault::new(FaultKind::BadRequest, sentence, hint));
            }
            None => {
                self.input = Input::Ended;
                for ask in std::mem::take(&mut self.asks) {
                    self.answer_no(ask);
                }
                // Ops are taken in order: the answer to this one says that all before it are taken.
                drop(self.ops.send(Op::ListModels));
            }
        }
        None
    }

    /// Nobody is left who could answer: it is a no, as without `--json-input`.
    fn answer_no(&self, ask: AskId) {
        let message = String::new();
        drop(self.ops.send(Op::Answer {
            ask,
            answer: Answer::No { message },
        }));
    }

    /// Follows the session; true when there is nothing left to do.
    pub(super) fn follow(&mut self, event: &Event) -> bool {
        if let Some(wanted) = &mut self.wanted {
            wanted.follow(event);
        }
        match event {
            Event::SessionStarted {
                session,
                read_only,
                cut,
                ..
            } => {
                self.open = true;
                self.worktree.clone_from(&session.worktree);
                match self.task.take() {
                    Some(Task::Prompt(_) | Task::Continue) if read_only.is_some() => {
                        let why = read_only.unwrap_or(ReadOnly::NotWritable);
                        return self.refuse(exit::ERROR, not_sent(why, session));
                    }
                    // Whether there is something to go on with, its history tells.
                    Some(Task::Continue) if !cut => {
                        self.task = Some(Task::Continue);
                        // A session without any has said all when this is answered.
                        return self.ops.send(Op::ListModels).is_err();
                    }
                    Some(Task::Prompt(input)) => {
                        self.running = true;
                        let delivery = Delivery::Guidance;
                        return self.ops.send(Op::Prompt { input, delivery }).is_err();
                    }
                    Some(Task::Continue) => {
                        self.running = true;
                        return self.ops.send(Op::Continue).is_err();
                    }
                    Some(Task::Wait) | None => {}
                }
            }
            Event::History { messages, .. } if self.task == Some(Task::Continue) => {
                let waits = !self.waits.is_empty();
                let last = messages.last();
                let done = last.is_none_or(|m| {
                    m.role == Role::Assistant && m.error.is_none() && m.finish == Some(Finish::Stop)
                });
                if done && !waits {
                    return self.refuse(exit::USAGE, nothing_to_do());
                }
                self.task = None;
                self.running = true;
                return self.ops.send(Op::Continue).is_err();
            }
            Event::Models { .. } if self.task == Some(Task::Continue) => {
                return self.refuse(exit::USAGE, nothing_to_do());
            }
            Event::QueueChanged { queue } => {
                let all = queue.guidance.iter().chain(&queue.follow_ups);
                self.waits = all.map(|item| item.id).collect();
                self.paused = queue.paused;
            }
            // the lists may be told a moment later
            Event::Queued { id, .. } => {
                self.waits.insert(*id);
                return false;
            }
            Event::Dequeued { ids, .. } => {
                for id in ids {
                    self.waits.remove(id);
                }
                return false;
            }
            Event::TurnStarted => {
                self.running = true;
                self.misconfigured = false;
            }
            Event::Error { error } if self.running => {
                self.misconfigured = error.kind == FaultKind::Config;
                return false;
            }
            Event::Asked { ask } if self.orders => {
                if self.input == Input::Open {
                    self.asks.push(ask.id);
                } else {
                    self.answer_no(ask.id);
                }
                return false;
            }
            Event::AskClosed { ask } => {
                self.asks.retain(|open| open != ask);
                return false;
            }
            Event::TurnFinished { reason } => {
                self.code = match reason {
                    TurnEnd::Error if self.misconfigured => exit::USAGE,
                    reason => code_of(*reason),
                };
                self.running = false;
                if self.interrupts > 0 {
                    self.code = exit::INTERRUPTED;
                    return true;
                }
                if *reason == TurnEnd::Done && self.asks_again() {
                    return false;
                }
                if !self.orders {
                    return self.is_over(*reason);
                }
            }
            Event::Models { .. } if self.input == Input::Ended => {
                self.input = Input::Taken;
                return self.is_over(TurnEnd::Done);
            }
            Event::Onboarding { .. } => {
                self.code = exit::ERROR;
                return false;
            }
            // What the turn wrote last was refused after its end was told, or is about to be.
            Event::Error { error } if self.ended_well(error.kind) => {
                self.code = exit::ERROR;
                self.last = self.last.take().and_then(Event::unkept);
                return false;
            }
            // Before the first turn an error means that it cannot begin.
            Event::Error { error } if self.task.is_some() => {
                self.task = None;
                self.code = match error.kind {
                    FaultKind::Config => exit::USAGE,
                    _ => exit::ERROR,
                };
                return true;
            }
            _ => return false,
        }
        if self.orders && self.is_over(TurnEnd::Done) {
            // The next turn may be about to begin: it is over if it still is when this is answered.
            self.input = Input::Ended;
            drop(self.ops.send(Op::ListModels));
        }
        false
    }

    /// True if this is the store's and the last turn is taken for done.
    fn ended_well(&self, kind: FaultKind) -> bool {
        kind == FaultKind::Storage && self.task.is_none() && self.code == exit::DONE
    }

    /// The turn is done: an answer that is not what was wanted is asked for once more.
    fn asks_again(&mut self) -> bool {
        match self.wanted.as_mut().map(Wanted::judge) {
            None | Some(Outcome::Fits) => false,
            Some(Outcome::Again(text)) => {
                let input = PromptInput {
                    text,
                    files: Vec::new(),
                };
                let delivery = Delivery::Guidance;
                self.running = self.ops.send(Op::Prompt { input, delivery }).is_ok();
                self.running
            }
            Some(Outcome::Wrong(fault)) => {
                self.code = exit::ERROR;
                self.complaint = Some(fault);
                false
            }
        }
    }

    /// Nothing runs, nothing is about to, and no order can come.
    fn is_over(&self, reason: TurnEnd) -> bool {
        if self.running || self.input != Input::Taken {
            return false;
        }
        self.waits.is_empty() || self.paused || (!self.orders && reason != TurnEnd::Done)
    }

    /// The first Ctrl-C interrupts the turn; false after the second.
    pub(super) fn interrupt(&mut self) -> bool {
        self.interrupts += 1;
        self.input = Input::Taken;
        if !self.running {
            return false;
        }
        self.interrupts == 1 && self.ops.send(Op::Interrupt).is_ok()
    }
}

fn nothing_to_do() -> Fault {
    Fault::new(
        FaultKind::BadRequest,
        "There is nothing to go on with: the last turn of this session has ended.",
        "Say what to do next after `exec`.",
    )
}

/// Why a prompt could not be sent to a session that is only read.
fn not_sent(why: ReadOnly, session: &SessionInfo) -> Fault {
    let (text, hint) = match why {
        ReadOnly::OtherWindow => (
            "Nothing was sent: this session is open in another dunlin.".to_owned(),
            "Wait until it ends there, or start a new session without -r and -c.".to_owned(),
        ),
        ReadOnly::OtherFolder => (
            format!(
                "Nothing was sent: this session belongs to {}.",
                session.worktree
            ),
            format!("Go on with it there: add -C {}.", session.worktree),
        ),
        ReadOnly::NotWritable => (
            "Nothing was sent: the files of this session cannot be written.".to_owned(),
            "Give yourself the right to write them, or set DUNLIN_DATA_DIR.".to_owned(),
        ),
    };
    Fault::new(FaultKind::Storage, text, hint)
}
