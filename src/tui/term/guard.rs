//! The screen as a resource: taken once, given back exactly once, whatever happens.
//!
//! `run` enters it; the ONE `leave` is used by Drop, the panic hook, fatal signals, suspend, the
//! external editor and the printed transcript. While the screen is ours stderr goes to a log file,
//! so that a stray line of a library cannot tear a frame. Child processes are not started here.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::termios::{self, OptionalActions, Termios};

/// What is switched on: alternate screen (with the title kept), kitty keys (and xterm's way to tell
/// ctrl+enter from enter, where kitty's is not known), pastes, focus, wrap off.
const ENTER: &str =
    "\x1b[22;0t\x1b[?1049h\x1b[>4;1m\x1b[>1u\x1b[?2004h\x1b[?1004h\x1b[?7l\x1b[2J\x1b[H";
const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
/// In reverse. Each is harmless where the terminal does not know it or it is off already.
const LEAVE: &str = "\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?7h\x1b[?1004l\x1b[?2004l\x1b[<1u\x1b[>4;0m\
                     \x1b[0m\x1b[?25h\x1b[?1049l\x1b[23;0t";
/// Background colour, kitty flags, the terminal's name, and DA1, which every terminal answers: the end
/// of the answers.
const PROBE: &str = "\x1b]11;?\x1b\\\x1b[?u\x1b[>0q\x1b[c";

/// What only some terminals are asked, after they said what they are: others would print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Kitty: are graphics on?
    Graphics,
    /// Sixels: how many colours, and how many pixels has a cell?
    Pixels,
}

impl Question {
    /// As it is asked.
    pub const fn bytes(self) -> &'static str {
        match self {
            Self::Graphics => "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t",
            Self::Pixels => "\x1b[?1;1;0S\x1b[16t",
        }
    }
}

/// Some of our signs and where the cursor stands after them, asked before anything is drawn: the
/// first frame clears them away. They stand in the second row, where an answer is no function key.
const WIDTH_PROBE: &str = "\x1b[2;1H❯⠿✓⋯╍\x1b[6n\x1b[H";

/// Columns that the signs of the width probe take where each takes one.
pub const PROBED_COLUMNS: u16 = 5;

/// Puts the terminal into our hands and back. Clones share one state.
#[derive(Debug, Clone)]
pub struct Guard {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    /// The terminal's settings before us.
    before: Termios,
    /// True while the terminal is ours: raw mode.
    active: bool,
    /// True while our screen is switched on. Switching it off twice would pop the keyboard flags
    /// of whoever started us.
    on_screen: bool,
    mouse: bool,
    /// Where stderr goes while the screen is ours; none leaves it alone.
    log: Option<File>,
    /// The user's stderr, while it is put aside.
    stderr: Option<OwnedFd>,
    /// What takes back what the terminal was handed besides: pictures.
    also: String,
}

impl Guard {
    /// Remembers how the terminal is. Nothing is changed yet. Fails if stdin or stdout is not one.
    pub fn new(mouse: bool, log: Option<&Path>) -> io::Result<Self> {
        if !termios::isatty(io::stdout()) {
            return Err(io::Error::from(io::ErrorKind::NotConnected));
        }
        let before = termios::tcgetattr(io::stdin())?;
        let path = log.unwrap_or_else(|| Path::new("/dev/null"));
        // A log that cannot be opened must not keep the program from starting.
        let mut options = File::options();
        let log = options.append(true).create(true).mode(0o600);
        let log = log.open(path).ok();
        let inner = Inner {
            before,
            active: false,
            on_screen: false,
            mouse,
            log,
            stderr: None,
            also: String::new(),
        };
        Ok(Self {
            inner: Arc::new(Mutex::new(inner)),
        })
    }

    /// Raw mode and stderr aside; gives the bytes that must be written before the first frame.
    pub fn enter(&self) -> io::Result<String> {
        let mut inner = self.lock();
        let mut raw = inner.before.clone();
        raw.make_raw();
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        inner.active = true;
        inner.switch_off();
        inner.on_screen = true;
        inner.put_stderr_aside();
        let mouse = if inner.mouse { MOUSE_ON } else { "" };
        Ok(format!("{ENTER}{mouse}"))
    }

    /// The questions to the terminal, to be written once after the first frame.
    pub const fn probe() -> &'static str {
        PROBE
    }

    /// Asks how wide our signs are; to be written once, before the first frame.
    pub const fn width_probe() -> &'static str {
        WIDTH_PROBE
    }

    /// Gives the terminal back as it was. Does nothing if the screen is not ours.
    pub fn leave(&self) {
        self.lock().leave();
    }

    /// To be written, besides all else, when the screen is left: takes pictures back. Whatever way it
    /// is left, also by a panic.
    pub fn when_left(&self, bytes: String) {
        self.lock().also = bytes;
    }

    /// True while the screen is ours.
    pub fn is_active(&self) -> bool {
        self.lock().active
    }

    /// Leaves the screen but stays raw, so that any key can bring it back.
    pub fn show_normal_screen(&self) {
        self.lock().switch_off();
    }

    /// Restores the screen when the UI's thread panics, before the panic is printed. Panics of other
    /// threads are caught where they run; their words go to the log.
    pub fn hook_panics(&self) -> PanicHook {
        let guard = self.clone();
        let mine = std::thread::current().id();
        let before: Arc<PanicFn> = Arc::from(std::panic::take_hook());
        let next = Arc::clone(&before);
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == mine {
                guard.leave();
            }
            next(info);
        }));
        PanicHook {
            before: Some(before),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type PanicFn = dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync;

/// Puts the panic hook of before back when it is dropped.
pub struct PanicHook {
    before: Option<Arc<PanicFn>>,
}

impl std::fmt::Debug for PanicHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PanicHook")
    }
}

impl Drop for PanicHook {
    fn drop(&mut self) {
        // set_hook panics on a thread that is panicking; the hook may stay then.
        if let Some(before) = self.before.take()
            && !std::thread::panicking()
        {
            std::panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

impl Inner {
    fn switch_off(&mut self) {
        if std::mem::take(&mut self.on_screen) {
            // The terminal may be gone (SIGHUP): then there is nothing to restore.
            drop(write_all(std::mem::take(&mut self.also).as_bytes()));
            drop(write_all(LEAVE.as_bytes()));
        }
    }

    fn leave(&mut self) {
        if !self.active {
            return;
        }
        self.active = false;
        self.switch_off();
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
        if let Some(stderr) = self.stderr.take() {
            let _ = rustix::stdio::dup2_stderr(&stderr);
        }
    }

    fn put_stderr_aside(&mut self) {
        let Some(log) = &self.log else { return };
        if self.stderr.is_none() && termios::isatty(io::stderr()) {
            let kept = rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3);
            if let Ok(kept) = kept
                && rustix::stdio::dup2_stderr(log).is_ok()
            {
                self.stderr = Some(kept);
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Writes to the terminal at once and completely.
pub fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    while !bytes.is_empty() {
        match rustix::io::write(io::stdout(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            // Someone made the terminal non-blocking (it is shared with other programs): wait.
            Err(rustix::io::Errno::AGAIN) => {
                poll(&mut [PollFd::new(&io::stdout(), PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
