//! The real binary in a real pseudo-terminal, its screen kept by a vt100 parser. Waits are for
//! conditions, never for times.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use super::world::World;

/// How long a condition may take on a loaded machine before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

struct Shown {
    parser: vt100::Parser,
    raw: Vec<u8>,
    ended: bool,
}

/// A program in a terminal.
pub struct Terminal {
    child: Child,
    pty: pty_process::blocking::Pty,
    shown: Arc<(Mutex<Shown>, Condvar)>,
}

impl Terminal {
    /// Starts dunlin with these arguments in a terminal of this size.
    pub fn start(world: &World, args: &[&str], (rows, cols): (u16, u16)) -> Self {
        let (pty, pts) = pty_process::blocking::open().expect("a pseudo-terminal");
        pty.resize(pty_process::Size::new(rows, cols))
            .expect("a size");
        let child = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(args)
            .current_dir(world.worktree())
            .env_clear()
            .envs(world.environment())
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .spawn(pts)
            .expect("dunlin starts");
        let shown = Shown {
            parser: vt100::Parser::new(rows, cols, 0),
            raw: Vec::new(),
            ended: false,
        };
        let shown = Arc::new((Mutex::new(shown), Condvar::new()));
        let reader = pty.as_fd().try_clone_to_owned().expect("a second handle");
        let writer = pty.as_fd().try_clone_to_owned().expect("a third handle");
        spawn_reader(
            std::fs::File::from(reader),
            std::fs::File::from(writer),
            Arc::clone(&shown),
        );
        Self { child, pty, shown }
    }

    /// Types.
    pub fn send(&mut self, keys: &str) {
        self.pty
            .write_all(keys.as_bytes())
            .expect("a program that reads");
        self.pty.flush().expect("a program that reads");
    }

    /// Waits until the screen satisfies a condition; fails with the screen.
    #[track_caller]
    pub fn until(&self, what: &str, satisfied: impl Fn(&str) -> bool) -> String {
        let (lock, changed) = &*self.shown;
        let end = Instant::now() + PATIENCE;
        let mut shown = lock.lock().expect("a lock");
        loop {
            let screen = shown.parser.screen().contents();
            if satisfied(&screen) {
                return screen;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !shown.ended,
                "waiting for {what}; the screen is:\n{screen}"
            );
            shown = changed.wait_timeout(shown, left).expect("a lock").0;
        }
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits for the end; gives the exit code.
    #[track_caller]
    pub fn ends(&mut self) -> i32 {
        let end = Instant::now() + PATIENCE;
        let (lock, changed) = &*self.shown;
        let mut shown = lock.lock().expect("a lock");
        while !shown.ended {
            let left = end.saturating_duration_since(Instant::now());
            let screen = shown.parser.screen().contents();
            assert!(!left.is_zero(), "it does not end; the screen is:\n{screen}");
            shown = changed.wait_timeout(shown, left).expect("a lock").0;
        }
        drop(shown);
        self.child.wait().expect("a child").code().unwrap_or(-1)
    }

    /// Changes the size, as a window manager would.
    pub fn resize(&self, rows: u16, cols: u16) {
        let mut shown = self.shown.0.lock().expect("a lock");
        shown.parser.screen_mut().set_size(rows, cols);
        drop(shown);
        self.pty
            .resize(pty_process::Size::new(rows, cols))
            .expect("a size");
    }

    /// All bytes so far.
    pub fn raw(&self) -> Vec<u8> {
        self.shown.0.lock().expect("a lock").raw.clone()
    }

    /// Looks at the screen model now.
    pub fn look<T>(&self, f: impl FnOnce(&vt100::Screen) -> T) -> T {
        f(self.shown.0.lock().expect("a lock").parser.screen())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by number.
    pub fn signal(&self, name: &str) {
        let status = std::process::Command::new("kill")
            .args([format!("-{name}"), self.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(status.success());
    }

    /// True if the terminal is in canonical mode with echo, as a shell expects it.
    pub fn is_restored(&self) -> bool {
        let modes = rustix::termios::tcgetattr(self.pty.as_fd()).expect("a terminal");
        let wanted = rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO;
        modes.local_modes.contains(wanted)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Feeds the screen and answers the queries that a real terminal answers.
fn spawn_reader(
    mut from: std::fs::File,
    mut to: std::fs::File,
    shown: Arc<(Mutex<Shown>, Condvar)>,
) {
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        loop {
            let count = from.read(&mut buffer).unwrap_or(0);
            let (lock, changed) = &*shown;
            let mut shown = lock.lock().expect("a lock");
            if count == 0 {
                shown.ended = true;
                changed.notify_all();
                return;
            }
            let bytes = &buffer[..count];
            shown.parser.process(bytes);
            shown.raw.extend_from_slice(bytes);
            changed.notify_all();
            drop(shown);
            if bytes.windows(3).any(|w| w == b"\x1b[c") {
                // A program that has ended reads no answers.
                drop(to.write_all(b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?62;22c"));
            }
        }
    });
}
