//! The second front end: `dunlin exec`. Text on stdout, progress on stderr, or one JSON event a line.
//!
//! It speaks `Op` and `Event` like every front end. Nobody can be asked: what would be asked is
//! refused, and the exit code says so (docs/exec-json.md). With `--json-input` the one who started it
//! steers it by orders on standard input, and answers questions there.

mod answer;
mod json;
mod orders;
mod run;
mod schema;
mod text;

use std::io::{self, IsTerminal, Write};

use tokio::signal::unix::{Signal, SignalKind, signal};

pub use self::answer::Wanted;
use self::run::Run;
pub use self::schema::Schema;
use crate::protocol::link::{Inbox, OpSender};
use crate::protocol::{Event, Fault, Op, PromptInput, TurnEnd};

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
                let last = run.last.take().map_or(Ok(()), |last| printer.event(&last));
                let lost = last
                    .and_then(|()| printer.end())
                    .is_err_and(|e| is_lost(&e));
                return Ended::calmly(if lost { exit::ERROR } else { run.code });
            }
            if let Err(error) = printer.event(&event) {
                drop(run.ops.send(Op::Close));
                is_lost(&error);
                return Ended::calmly(exit::ERROR);
            }
        }
    }
}

/// True, and told, if output could not be written. A reader that went away (`| head`) is a wish to stop.
fn is_lost(error: &io::Error) -> bool {
    let lost = error.kind() != io::ErrorKind::BrokenPipe;
    if lost {
        drop(writeln!(
            io::stderr(),
            "dunlin: Standard output cannot be written: {error}. Send it elsewhere; what was done is in the session."
        ));
    }
    lost
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
