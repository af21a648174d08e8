//! The second front end: `dunlin exec`. Text on stdout, progress on stderr, or one JSON event a line.
//!
//! It speaks `Op` and `Event` like every front end. Nobody can be asked: what would be asked is
//! refused, and the exit code says so (docs/exec-json.md). With `--json-input` the one who started it
//! steers it by orders on standard input, and answers questions there.

mod answer;
mod json;
mod orders;
mod schema;
mod text;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use tokio::signal::unix::{Signal, SignalKind, signal};

use self::answer::Outcome;
pub use self::answer::Wanted;
pub use self::schema::Schema;
use crate::protocol::link::{Inbox, OpSender};
use crate::protocol::{
    Answer, AskId, Delivery, Event, Fault, FaultKind, Finish, Op, PromptInput, QueueState,
    ReadOnly, Role, SessionInfo, TurnEnd,
};

/// How the events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The answer on stdout, progress on stderr.
    Text,
    /// One JSON object a line on stdout.
    Json,
}

/// Takes out of a text what a terminal would obey or hide, line by line.
pub type Clean = fn(&str) -> String;

/// What a run is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Say this.
    Prompt(PromptInput),
    /// Go on with the turn that was cut.
    Continue,
    /// Nothing: what is to be done comes as orders.
    Wait,
}

/// How a run talks to the one who started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Talk {
    /// How events are printed.
    pub format: Format,
    /// True if orders are read from standard input, one JSON object a line.
    pub orders: bool,
}

/// Exit codes (SPEC §9).
pub mod exit {
    /// Done.
    pub const DONE: u8 = 0;
    /// It failed.
    pub const ERROR: u8 = 1;
    /// The command line or the configuration is wrong.
    pub const USAGE: u8 = 2;
    /// A permission would have to be asked for.
    pub const REFUSED: u8 = 3;
    /// The doom loop guard stopped it.
    pub const DOOM_LOOP: u8 = 4;
    /// A budget or the step limit was reached.
    pub const BUDGET: u8 = 5;
    /// Ctrl-C.
    pub const INTERRUPTED: u8 = 130;
}

/// Prints events as they come.
trait Printer {
    fn event(&mut self, event: &Event) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The exit code.
    pub code: u8,
    /// The user does not want to wait until everything is closed.
    pub hurried: bool,
}

impl Ended {
    const fn calmly(code: u8) -> Self {
        let hurried = false;
        Self { code, hurried }
    }

    const fn hurried(code: u8) -> Self {
        let hurried = true;
        Self { code, hurried }
    }
}

/// Runs one task and everything queued behind it. With orders it runs until
/// standard input has ended and nothing is left to do. `clean` is what text goes through on its way to
/// a terminal; `wanted` is what the answer must be, if that matters.
pub async fn run(
    task: Task,
    talk: Talk,
    (ops, mut events): (OpSender, Inbox),
    clean: Clean,
    wanted: Option<Wanted>,
) -> Ended {
    let mut printer = printer(talk.format, clean, wanted.is_some());
    let mut orders = talk.orders.then(|| orders::listen(io::stdin()));
    let mut run = Run::new(task, talk, ops);
    run.wanted = wanted;
    let Ok(mut stops) = Stops::new() else {
        return Ended::calmly(exit::ERROR);
    };
    loop {
        let batch = tokio::select! {
            batch = events.recv(256) => batch,
            order = next(&mut orders), if run.listens() => {
                if let Some(complaint) = run.order(order)
                    && printer.event(&Event::Error { error: complaint }).is_err()
                {
                    drop(run.ops.send(Op::Close));
                    return Ended::calmly(exit::ERROR);
                }
                continue;
            }
            () = stops.next() => {
                if run.interrupt() {
                    continue;
                }
                // A turn that is over is told of, even if nobody waits for the rest.
                let Some(last) = run.last.take() else {
                    return Ended::hurried(exit::INTERRUPTED);
                };
                drop(printer.event(&last));
                drop(printer.end());
                return Ended::hurried(run.code);
            }
        };
        for event in batch {
            let is_last = run.follow(&event);
            if is_last {
                drop(run.ops.send(Op::Close));
            }
            if let Some(error) = run.complaint.take() {
                drop(printer.event(&Event::Error { error }));
            }
            // What another process does in that session is not the answer to what was asked here.
            if run.refused && event != Event::Closed {
                continue;
            }
            // What the last step changed may become known after its turn: the end is printed last.
            if is_last && matches!(event, Event::TurnFinished { .. }) {
                run.last = Some(event);
                continue;
            }
            if event == Event::Closed {
                if let Some(last) = run.last.take() {
                    drop(printer.event(&last));
                }
                drop(printer.end());
                return Ended::calmly(run.code);
            }
            // A reader that went away (`| head`) is a wish to stop.
            if printer.event(&event).is_err() {
                drop(run.ops.send(Op::Close));
                return Ended::calmly(exit::ERROR);
            }
        }
    }
}

fn printer(format: Format, clean: Clean, bare: bool) -> Box<dyn Printer + Send> {
    match format {
        Format::Text => {
            let (out, err) = (io::stdout(), io::stderr());
            let terminal = out.is_terminal();
            let mut printer = text::TextPrinter::new(out, err, clean, terminal);
            printer.bare = bare;
            Box::new(printer)
        }
        Format::Json => Box::new(json::JsonPrinter::new(io::stdout())),
    }
}

/// The signals that end a run: Ctrl-C, a plain `kill`, a terminal that is closed, Ctrl-\. They are heard
/// from the beginning to the end, so that none is missed between two events.
struct Stops([Signal; 4]);

impl Stops {
    fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

type Orders = tokio::sync::mpsc::UnboundedReceiver<Result<Op, String>>;

/// The next order; none at the end of the input.
async fn next(orders: &mut Option<Orders>) -> Option<Result<Op, String>> {
    match orders {
        Some(orders) => orders.recv().await,
        None => None,
    }
}

/// How far standard input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// Orders may come.
    Open,
    /// It has ended; what was ordered may not be begun yet.
    Ended,
    /// It has ended, and the agent has taken all orders.
    Taken,
}

struct Run {
    ops: OpSender,
    task: Option<Task>,
    code: u8,
    queue: QueueState,
    running: bool,
    interrupts: u8,
    /// The end of the last turn, printed when everything is written.
    last: Option<Event>,
    /// Orders begin once the session is open.
    open: bool,
    /// Where its files are.
    worktree: String,
    input: Input,
    orders: bool,
    /// The turn failed because of the configuration: a provider, a model or a script that is not there.
    misconfigured: bool,
    /// Questions that are open.
    asks: Vec<AskId>,
    /// Nothing can be done: why is said once, then nothing but the end.
    complaint: Option<Fault>,
    refused: bool,
    /// What the answer must be.
    wanted: Option<Wanted>,
}

impl Run {
    const fn new(task: Task, talk: Talk, ops: OpSender) -> Self {
        Self {
            ops,
            code: if talk.orders { exit::DONE } else { exit::ERROR },
            task: Some(task),
            queue: QueueState {
                guidance: Vec::new(),
                follow_ups: Vec::new(),
                paused: false,
            },
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

    fn listens(&self) -> bool {
        self.open && self.input == Input::Open
    }

    /// Passes an order on; gives back what is wrong with it.
    fn order(&mut self, order: Option<Result<Op, String>>) -> Option<Fault> {
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
    fn follow(&mut self, event: &Event) -> bool {
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
                let waits = !self.queue.guidance.is_empty() || !self.queue.follow_ups.is_empty();
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
            Event::QueueChanged { queue } => self.queue = queue.clone(),
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
        let empty = self.queue.guidance.is_empty() && self.queue.follow_ups.is_empty();
        empty || self.queue.paused || (!self.orders && reason != TurnEnd::Done)
    }

    /// The first Ctrl-C interrupts the turn; false after the second.
    fn interrupt(&mut self) -> bool {
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

/// The exit code of a turn's end.
pub const fn code_of(reason: TurnEnd) -> u8 {
    match reason {
        TurnEnd::Done => exit::DONE,
        TurnEnd::Error => exit::ERROR,
        TurnEnd::Refused => exit::REFUSED,
        TurnEnd::DoomLoop => exit::DOOM_LOOP,
        TurnEnd::Budget => exit::BUDGET,
        TurnEnd::Interrupted => exit::INTERRUPTED,
    }
}

/// A failure before there was an agent, in the form that was asked for.
pub fn print_fault(format: Format, fault: &Fault, clean: Clean) {
    // Nobody is left to tell when even this cannot be printed.
    drop(match format {
        Format::Text => writeln!(io::stderr(), "dunlin: {}", clean(&fault.to_string())),
        Format::Json => json::JsonPrinter::new(io::stdout()).event(&Event::Error {
            error: fault.clone(),
        }),
    });
}
