//! The second front end: `dunlin exec`. Text on stdout, progress on stderr, or one JSON event a line.
//!
//! It speaks `Op` and `Event` like every front end. Nobody can be asked: what would be asked is
//! refused, and the exit code says so (docs/exec-json.md). With `--json-input` the one who started it
//! steers it by orders on standard input, and answers questions there.

mod answer;
mod json;
mod orders;
mod play;
mod run;
mod schema;
mod text;

use std::io::{self, IsTerminal, Write};

pub use self::answer::Wanted;
pub use self::run::{Ended, run};
pub use self::schema::Schema;
use crate::protocol::{Event, Fault, PromptInput, TurnEnd};

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
