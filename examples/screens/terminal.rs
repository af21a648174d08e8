//! The program in a pseudo-terminal, its screen kept by a vt100 parser.

#![expect(
    clippy::disallowed_methods,
    reason = "a terminal is watched from a plain thread; there is no runtime to block"
)]

use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Outcome;

/// How long a condition may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks at the screen.
const LOOK: Duration = Duration::from_millis(40);
/// The screen rests when nothing was written for so long.
const REST: Duration = Duration::from_millis(1_200);
/// Questions take no letters right after they appeared.
const GUARD: Duration = Duration::from_millis(600);

struct Shown {
    parser: vt100::Parser,
    written: Instant,
}

/// A program in a terminal; it ends with this.
pub(crate) struct Terminal {
    child: Child,
    pty: pty_process::blocking::Pty,
    shown: Arc<Mutex<Shown>>,
    /// Its data and settings, away from the user's.
    _home: tempfile::TempDir,
}

impl Terminal {
    /// Starts a program with nothing of the user's environment.
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        (rows, columns): (u16, u16),
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let home = tempfile::tempdir()?;
        let (pty, pts) = pty_process::blocking::open()?;
        pty.resize(pty_process::Size::new(rows, columns))?;
        let child = pty_process::blocking::Command::new(program)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .spawn(pts)?;
        let cells = |n: u16| NonZero::new(n).ok_or("a screen has rows and columns");
        let shown = Arc::new(Mutex::new(Shown {
            parser: vt100::Parser::new(cells(rows)?, cells(columns)?, 0),
            written: Instant::now(),
        }));
        let from = std::fs::File::from(pty.as_fd().try_clone_to_owned()?);
        let to = std::fs::File::from(pty.as_fd().try_clone_to_owned()?);
        read_along(from, to, Arc::clone(&shown));
        Ok(Self {
            child,
            pty,
            shown,
            _home: home,
        })
    }

    /// Types.
    pub(crate) fn send(&mut self, keys: &str) -> Outcome {
        self.pty.write_all(keys.as_bytes())?;
        Ok(())
    }

    /// Types the answer to a question that has just appeared.
    pub(crate) fn answer(&mut self, keys: &str) -> Outcome {
        std::thread::sleep(GUARD);
        self.send(keys)
    }

    /// Waits until the screen has this text.
    pub(crate) fn shows(&self, text: &str) -> Outcome {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until nothing is written for a while.
    pub(crate) fn rests(&self) -> Outcome {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if shown.written.elapsed() > REST {
                return Ok(());
            }
            drop(shown);
            std::thread::sleep(LOOK);
        }
        Err("the screen does not come to rest".into())
    }

    /// Waits until the screen satisfies a condition.
    pub(crate) fn until(&self, what: &str, satisfied: impl Fn(&str) -> bool) -> Outcome {
        let begun = Instant::now();
        loop {
            let screen = self.look(vt100::Screen::contents);
            if satisfied(&screen) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("waited in vain for {what}; the screen is:\n{screen}").into());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Looks at the screen.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        look(shown.parser.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Feeds the parser and answers what the program asks its terminal: a dark background.
fn read_along(mut from: std::fs::File, mut to: std::fs::File, shown: Arc<Mutex<Shown>>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        let mut answered = false;
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let bytes = buffer.get(..count).unwrap_or_default();
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.parser.process(bytes);
            shown.written = Instant::now();
            drop(shown);
            if !answered && bytes.windows(3).any(|w| w == b"\x1b[c") {
                answered = true;
                drop(to.write_all(b"\x1b]11;rgb:1616/1818/1c1c\x1b\\\x1b[?0u\x1b[?62;22c"));
            }
        }
    });
}
