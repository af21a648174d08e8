//! The real binary in a real pseudo-terminal: what only a terminal can show. Screens are covered by
//! `tui`, turns by `cli`; here is that both meet, that the terminal is given back whatever happens,
//! and that nothing but our own escapes ever reaches it. Waits are for conditions.

mod branches;
mod changes;
mod idle;
mod leave;
mod long;
mod outside;
mod plain;
mod screen;
mod sessions;
mod storms;
mod turn;

use serde_json::{Value, json};

use crate::support::pty::Terminal;
use crate::support::world::World;

/// The agent is there: its status is in the footer.
const READY: &str = "/200k";

const SIZE: (u16, u16) = (24, 80);

/// dunlin with the world's script, at 80×24.
fn dunlin(world: &World, args: &[&str]) -> Terminal {
    sized(world, args, SIZE)
}

/// dunlin with the world's script, at this size (rows, columns), with its start screen shown.
fn sized(world: &World, args: &[&str], size: (u16, u16)) -> Terminal {
    let model = world.model();
    let mut all = vec!["--model", model.as_str()];
    all.extend(args);
    Terminal::start(world, &all, size)
}

/// A step of one bash call.
fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "input": {"command": command}}]})
}

/// A command that runs until the file `go` is in the worktree.
fn waits() -> Value {
    bash("while [ ! -e go ]; do sleep 0.02; done; echo went on")
}

/// A command that nothing but a signal ends, and its own unmistakable words.
fn sleeps() -> (Value, String) {
    let unique = format!(
        "sleep 300.{:09}",
        std::process::id() as usize * 1_000 + line()
    );
    (bash(&unique), unique)
}

/// A number of its own for each call.
fn line() -> usize {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// True if nothing is written in the composer.
fn is_empty(screen: &str) -> bool {
    let empty = |line: &str| matches!(line.trim(), "❯" | "❯ Ask, or describe a change");
    screen.lines().any(empty)
}

/// How often `what` is in the bytes.
fn count(bytes: &[u8], what: &str) -> usize {
    bytes
        .windows(what.len())
        .filter(|w| *w == what.as_bytes())
        .count()
}

/// Ends it as a user does: ctrl+c twice on an empty composer.
#[track_caller]
fn quit(terminal: &mut Terminal) {
    terminal.shows_no("esc interrupt");
    terminal.send("\x03");
    terminal.shows("Once more to quit.");
    terminal.send("\x03");
    assert_eq!(terminal.ends(), 0);
}

/// Everything that was switched on is off, and the terminal is as the shell left it.
#[track_caller]
fn assert_given_back(terminal: &Terminal) {
    assert!(terminal.is_restored(), "the terminal is still raw");
    let screen = terminal.look(Clone::clone);
    assert!(!screen.alternate_screen(), "the alternate screen is left");
    assert!(!screen.hide_cursor(), "the cursor is visible");
    assert!(!screen.bracketed_paste(), "bracketed paste is off");
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    let raw = terminal.raw();
    for (on, off) in [
        ("\x1b[?1049h", "\x1b[?1049l"),
        ("\x1b[>1u", "\x1b[<1u"),
        ("\x1b[>4;1m", "\x1b[>4;0m"),
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1004h", "\x1b[?1004l"),
        ("\x1b[?1002h", "\x1b[?1002l"),
        ("\x1b[?1006h", "\x1b[?1006l"),
        ("\x1b[?7l", "\x1b[?7h"),
        ("\x1b[?2026h", "\x1b[?2026l"),
    ] {
        assert!(count(&raw, on) > 0, "{on:?} was never switched on");
        let last = |what: &str| raw.windows(what.len()).rposition(|w| w == what.as_bytes());
        assert!(last(off) > last(on), "{on:?} is not switched off");
    }
    // Each screen has its own stack of keyboard flags: what was pushed is popped, once.
    assert_eq!(
        count(&raw, "\x1b[>1u"),
        count(&raw, "\x1b[<1u"),
        "keyboard flags"
    );
    // Nothing is drawn after the screen was given back.
    let left = raw.windows(8).rposition(|w| w == b"\x1b[?1049l");
    let left = left.unwrap_or_default();
    assert_eq!(
        count(&raw[left..], "\x1b[?2026h"),
        0,
        "a frame after the end"
    );
}
