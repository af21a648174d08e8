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
        None => match arguments.prompt.as_deref().and_then(mistyped) {
            Some(command) => fail(
                format_args!(
                    "There is no command `{}`. Did you mean `dunlin {command}`? A prompt of one word goes \
                     into the screen: run `dunlin` and write it there.",
                    arguments.prompt.unwrap_or_default()
                ),
                exit::USAGE,
            ),
            None => interactive::run(&arguments.options, arguments.prompt, false),
        },
        Some(Command::Exec(task)) => exec::run(&arguments.options, task),
        Some(Command::Demo(demo)) => demo::run(&arguments.options, &demo),
        Some(Command::Debug { what }) => debug::run(what),
        Some(other) => manage::run(&arguments.options, other),
    }
}

/// The command that a single word is probably meant to be. More words are a prompt.
fn mistyped(prompt: &str) -> Option<&'static str> {
    const COMMANDS: [&str; 14] = [
        "exec",
        "demo",
        "models",
        "auth",
        "sessions",
        "search",
        "replay",
        "inspect",
        "permissions",
        "config",
        "trust",
        "doctor",
        "completions",
        "help",
    ];
    if prompt.len() < 4 || prompt.contains(char::is_whitespace) {
        return None;
    }
    // Closer than a key of the configuration has to be: `test` is a prompt and not `trust`.
    similar::get_close_matches(prompt, &COMMANDS, 1, 0.8)
        .first()
        .copied()
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

/// Prints a line on stdout, as it is for a pipe or a file, cleaned for a terminal: titles, paths and
/// findings hold what models and files said. A reader that has seen enough (`| head`) ends the program
/// quietly; output that cannot be written ends it with a failure, for what was asked for is not there.
#[expect(
    clippy::disallowed_methods,
    reason = "no screen is up where this is called, so there is no terminal to restore"
)]
pub(crate) fn print(text: impl std::fmt::Display) {
    use std::io::{ErrorKind, IsTerminal, Write};
    let mut out = std::io::stdout();
    let written = if out.is_terminal() {
        writeln!(out, "{}", for_terminal(&text.to_string()))
    } else {
        writeln!(out, "{text}")
    };
    let Err(error) = written.and_then(|()| out.flush()) else {
        return;
    };
    std::process::exit(i32::from(match error.kind() {
        ErrorKind::BrokenPipe => exit::DONE,
        _ => fail(
            format_args!("Standard output cannot be written: {error}."),
            exit::ERROR,
        ),
    }));
}
