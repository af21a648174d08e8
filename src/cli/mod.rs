//! Arguments and subcommands. `main` parses and hands over to one file per subcommand.

mod arguments;
mod debug;
mod demo;
mod exec;
mod hint_uses;
mod interactive;
mod manage;
mod prompt_history;
mod which;

use clap::Parser;

use crate::headless::exit;
use crate::tui::term::sanitise::Safe;
use arguments::{Arguments, Command};

/// Runs the program with the process's own arguments; returns its exit code.
pub fn main() -> u8 {
    // Applies a sandbox to itself and becomes the command: before anything else is set up.
    if let Some(code) = crate::sandbox::launcher_main(std::env::args_os()) {
        return u8::try_from(code).unwrap_or(exit::ERROR);
    }
    // Watches over the commands of another dunlin.
    if let Some(code) = crate::tools::bash::guard_main(std::env::args_os()) {
        return u8::try_from(code).unwrap_or(exit::ERROR);
    }
    quiet_contained_panics();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not errors; clap says which and prints both.
            drop(error.print());
            return if error.use_stderr() {
                exit::USAGE
            } else {
                exit::DONE
            };
        }
    };
    run(arguments)
}

/// sled panics on damaged files; the store catches that and mends it, so it is nobody's business.
fn quiet_contained_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !crate::session::panic_is_contained(std::thread::current().name()) {
            usual(panic);
        }
    }));
}

fn run(mut arguments: Arguments) -> u8 {
    match arguments.command.take() {
        None => interactive::run(&arguments.options, arguments.prompt, false),
        Some(Command::Exec(task)) => exec::run(&arguments.options, task),
        Some(Command::Demo(demo)) => demo::run(&arguments.options, &demo),
        Some(Command::Debug { what }) => debug::run(what),
        Some(other) => manage::run(&arguments.options, other),
    }
}

/// A text, line by line, without what a terminal would obey or hide.
pub(crate) fn for_terminal(text: &str) -> String {
    let lines = Safe::lines(text);
    let lines: Vec<&str> = lines.iter().map(Safe::as_str).collect();
    lines.join("\n")
}

/// Prints a failure on stderr; returns the code it ends with.
pub(crate) fn fail(sentence: impl std::fmt::Display, code: u8) -> u8 {
    use std::io::Write;
    let sentence = for_terminal(&sentence.to_string());
    // Nobody is left to tell when stderr is gone.
    drop(writeln!(std::io::stderr(), "dunlin: {sentence}"));
    code
}

/// Prints on stdout, as it is for a pipe or a file, cleaned for a terminal: titles, paths and findings
/// hold what models and files said. False if the reader is gone.
pub(crate) fn print(text: impl std::fmt::Display) -> bool {
    use std::io::{IsTerminal, Write};
    let mut out = std::io::stdout();
    if out.is_terminal() {
        return writeln!(out, "{}", for_terminal(&text.to_string())).is_ok();
    }
    writeln!(out, "{text}").is_ok()
}
