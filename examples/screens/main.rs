//! Draws the pictures of the README: plays `dunlin demo` in a pseudo-terminal, answers its questions
//! and writes what the terminal shows as SVG:
//! `cargo build --release && cargo run --release --example screens -- docs/images`.
//!
//! The program is the real one, its screen comes from its own bytes; no other tool is needed.

mod svg;
mod terminal;

use std::path::{Path, PathBuf};

use terminal::Terminal;

/// Rows and columns of a picture.
const SIZE: (u16, u16) = (34, 108);

/// What goes wrong is said as it is: this is a tool of the house.
type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "docs/images".to_owned()));
    std::fs::create_dir_all(&folder)?;
    // Examples stand in a folder beside the program.
    let own = std::env::current_exe()?;
    let program = own
        .parent()
        .and_then(Path::parent)
        .ok_or("no folder holds the program")?
        .join("dunlin");
    let mut terminal = Terminal::start(&program, &["demo"], SIZE)?;
    play(&mut terminal, &folder)
}

/// The demo from its first question to the end, with a picture at each stop.
fn play(terminal: &mut Terminal, folder: &Path) -> Outcome {
    terminal.shows("Run this command")?;
    picture(terminal, folder, "permission")?;
    terminal.answer("y")?;
    terminal.until("the question about the edit", |screen| {
        screen.contains("y  Once") && screen.contains("-ge 5000")
    })?;
    terminal.answer("y")?;
    terminal.until("the second run", |screen| {
        screen.contains("And the tests again") && screen.contains("y  Once")
    })?;
    terminal.answer("y")?;
    terminal.until("the end", |screen| {
        screen.contains("twice leaves") && !screen.contains("interrupt")
    })?;
    // The colours of the code come a moment after its text.
    terminal.rests()?;
    picture(terminal, folder, "answer")?;
    terminal.send("\x1b[5;2~")?;
    terminal.send("/diff\r")?;
    terminal.shows("undo hunk")?;
    terminal.rests()?;
    picture(terminal, folder, "changes")?;
    terminal.send("q")?;
    terminal.until("the conversation again", |screen| {
        !screen.contains("undo hunk")
    })?;
    terminal.send("/context\r")?;
    terminal.shows("Tokens per request")?;
    picture(terminal, folder, "context")
}

fn picture(terminal: &Terminal, folder: &Path, name: &str) -> Outcome {
    let text = terminal.look(svg::of);
    std::fs::write(folder.join(format!("{name}.svg")), text)?;
    Ok(())
}
