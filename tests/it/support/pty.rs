//! The real binary in a real pseudo-terminal, its screen kept by a vt100 parser. Waits are for
//! conditions, never for times.

use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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
            parser: vt100::Parser::new(cells(rows), cells(cols), 0),
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

    /// Waits until the screen does not show a text any more.
    #[track_caller]
    pub fn shows_no(&self, text: &str) -> String {
        self.until(&format!("the end of {text}"), |screen| {
            !screen.contains(text)
        })
    }

    /// Types an answer to a question. For 400 ms after it appears, and after a typed key, a question
    /// takes no letters (UX §5): the lower bound is waited for, which cannot make a test flaky.
    pub fn answer(&mut self, keys: &str) {
        std::thread::sleep(Duration::from_millis(420));
        self.send(keys);
    }

    /// Waits for a whole second in which nothing is written; gives what the program did to get there.
    #[track_caller]
    pub fn quiet(&self) -> usize {
        let end = Instant::now() + PATIENCE;
        let (lock, changed) = &*self.shown;
        let mut shown = lock.lock().expect("a lock");
        let mut since = (Instant::now(), shown.raw.len());
        loop {
            if shown.raw.len() != since.1 {
                since = (Instant::now(), shown.raw.len());
            }
            let silent = since.0.elapsed();
            if silent >= Duration::from_secs(1) {
                return since.1;
            }
            assert!(Instant::now() < end, "it never stops writing");
            let left = Duration::from_secs(1).saturating_sub(silent);
            shown = changed.wait_timeout(shown, left).expect("a lock").0;
        }
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

    /// Kills it as a crash would, and waits.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }

    /// The process's state letter: `S` sleeps, `T` is stopped.
    pub fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default();
        after.trim().chars().next().unwrap_or('?')
    }

    /// Changes the size, as a window manager would.
    pub fn resize(&self, rows: u16, cols: u16) {
        let mut shown = self.shown.0.lock().expect("a lock");
        shown.parser.screen_mut().set_size(cells(rows), cells(cols));
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

/// A size, as the parser wants it.
fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a terminal has cells")
}

/// Polls a condition of the world outside the terminal.
#[track_caller]
pub fn until(what: &str, satisfied: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !satisfied() {
        assert!(Instant::now() < end, "waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ids of processes whose command line holds this text.
pub fn ids(text: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("a process table");
    let mine = |process: std::fs::DirEntry| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let id = process.file_name().to_string_lossy().parse().ok()?;
        line.contains(text).then_some(id)
    };
    processes.flatten().filter_map(mine).collect()
}

/// True while a process runs whose command line holds this text.
pub fn runs(text: &str) -> bool {
    !ids(text).is_empty()
}

/// Feeds the screen and answers the queries that a real terminal answers.
fn spawn_reader(
    mut from: std::fs::File,
    mut to: std::fs::File,
    shown: Arc<(Mutex<Shown>, Condvar)>,
) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        // Where the next look for a question begins: one may be cut by a read.
        let mut asked_until = 0;
        loop {
            let count = from.read(&mut buffer).unwrap_or(0);
            let (lock, changed) = &*shown;
            let mut shown = lock.lock().unwrap_or_else(PoisonError::into_inner);
            if count == 0 {
                shown.ended = true;
                changed.notify_all();
                return;
            }
            let bytes = &buffer[..count];
            shown.parser.process(bytes);
            shown.raw.extend_from_slice(bytes);
            changed.notify_all();
            let from = asked_until.max(shown.raw.len().saturating_sub(count + 2));
            let asked = shown.raw[from..].windows(3).position(|w| w == b"\x1b[c");
            if let Some(at) = asked {
                asked_until = from + at + 3;
            }
            drop(shown);
            if asked.is_some() {
                // A program that has ended reads no answers.
                drop(to.write_all(b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?62;22c"));
            }
        }
    });
}
