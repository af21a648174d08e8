//! The second front end: `dunlin exec`. Text on stdout, progress on stderr, or one JSON event a line.
//!
//! It speaks `Op` and `Event` like every front end. Nobody can be asked: what would be asked is
//! refused, and the exit code says so (docs/exec-json.md).

mod json;
mod text;

use std::io::{self, Write};

use crate::protocol::link::{Inbox, OpSender};
use crate::protocol::{Delivery, Event, Fault, Op, PromptInput, TurnEnd};

/// How the events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The answer on stdout, progress on stderr.
    Text,
    /// One JSON object a line on stdout.
    Json,
}

/// What a run is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Say this.
    Prompt(PromptInput),
    /// Go on with the turn that was cut.
    Continue,
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

/// Runs one task and everything queued behind it; returns the exit code.
pub async fn run(task: Task, format: Format, ops: OpSender, mut events: Inbox) -> u8 {
    let mut printer: Box<dyn Printer + Send> = match format {
        Format::Text => Box::new(text::TextPrinter::new(io::stdout(), io::stderr())),
        Format::Json => Box::new(json::JsonPrinter::new(io::stdout())),
    };
    let mut run = Run {
        ops,
        task: Some(task),
        code: exit::ERROR,
        queued: 0,
        interrupts: 0,
        last: None,
    };
    loop {
        let batch = tokio::select! {
            batch = events.recv(256) => batch,
            result = tokio::signal::ctrl_c() => {
                if result.is_err() || !run.interrupt() {
                    return exit::INTERRUPTED;
                }
                continue;
            }
        };
        for event in batch {
            let is_last = run.follow(&event);
            if is_last {
                drop(run.ops.send(Op::Close));
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
                return run.code;
            }
            // A reader that went away (`| head`) is a wish to stop.
            if printer.event(&event).is_err() {
                drop(run.ops.send(Op::Close));
                return exit::ERROR;
            }
        }
    }
}

struct Run {
    ops: OpSender,
    task: Option<Task>,
    code: u8,
    queued: usize,
    interrupts: u8,
    /// The end of the last turn, printed when everything is written.
    last: Option<Event>,
}

impl Run {
    /// Follows the session; true when there is nothing left to do.
    fn follow(&mut self, event: &Event) -> bool {
        match event {
            Event::SessionStarted { writable, .. } => match self.task.take() {
                Some(_) if !writable => true,
                Some(Task::Prompt(input)) => self
                    .ops
                    .send(Op::Prompt {
                        input,
                        delivery: Delivery::Guidance,
                    })
                    .is_err(),
                Some(Task::Continue) => self.ops.send(Op::Continue).is_err(),
                None => false,
            },
            Event::QueueChanged { queue } => {
                self.queued = queue.guidance.len() + queue.follow_ups.len();
                false
            }
            Event::TurnFinished { reason } => {
                self.code = code_of(*reason);
                self.queued == 0 || *reason != TurnEnd::Done
            }
            Event::Onboarding { .. } => {
                self.code = exit::ERROR;
                false
            }
            // Before the first turn an error means that it cannot begin.
            Event::Error { .. } if self.task.is_some() => {
                self.task = None;
                true
            }
            _ => false,
        }
    }

    /// The first Ctrl-C interrupts the turn; false after the second.
    fn interrupt(&mut self) -> bool {
        self.interrupts += 1;
        self.code = exit::INTERRUPTED;
        self.interrupts == 1 && self.ops.send(Op::Interrupt).is_ok()
    }
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
pub fn print_fault(format: Format, fault: &Fault) {
    // Nobody is left to tell when even this cannot be printed.
    drop(match format {
        Format::Text => writeln!(io::stderr(), "dunlin: {fault}"),
        Format::Json => json::JsonPrinter::new(io::stdout()).event(&Event::Error {
            error: fault.clone(),
        }),
    });
}
