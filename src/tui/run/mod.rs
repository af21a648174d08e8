//! The interactive front end as the program starts it: enter, first frame, then everything else.
//!
//! `app` calls `run` on the main thread. Order (DESIGN §3): raw mode → first frame → the agent, on a
//! thread of its own; keys are read and shown from the first frame on. One loop, few branches.

pub mod editor;
pub mod farewell;
pub mod frames;
mod looping;
mod pictures;
mod screen;
mod signals;
mod stdin;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::input::Parser;
use super::picture::way::{Brand, Facts};
use super::state::{self, State, Terminal};
use super::term::guard::{Guard, Question};
use super::theme::ColourDepth;
use super::update::Known;
use crate::config::used::UiSettings;
use crate::protocol::Millis;
use crate::protocol::link::{Inbox, OpSender};

/// Starts the agent; may take as long as it needs.
pub type Connect = Box<dyn FnOnce() -> AgentLink + Send>;

/// Keeps a prompt for later sessions.
pub type Remember = Box<dyn FnMut(&str) + Send>;

/// Keeps how often hints were used.
pub type KeepHints = Box<dyn FnMut(&std::collections::BTreeMap<String, u32>) + Send>;

/// What the interactive front end needs to start. Nothing here may take time to make.
pub struct Start {
    /// `[ui]`, keys included.
    pub settings: UiSettings,
    /// Version for the start screen.
    pub version: &'static str,
    /// The worktree for the eye, e.g. `~/code/pager`.
    pub worktree_label: String,
    /// A prompt from the command line: sent as soon as the agent is there.
    pub initial_prompt: Option<String>,
    /// What is shown first.
    pub first: state::First,
    /// Starts the agent. Called after the first frame, on a thread of its own.
    pub connect: Connect,
    /// Answers come from a script: said on the start screen.
    pub scripted_notice: bool,
    /// The folder of the user's own themes.
    pub themes: Option<PathBuf>,
    /// Where pictures of the clipboard are kept until they are sent; none for nowhere.
    pub pictures: Option<PathBuf>,
    /// Sentences about what is wrong with the user's keys.
    pub problems: Vec<String>,
    /// Where stderr goes while the screen is ours; none for nowhere.
    pub stderr_log: Option<PathBuf>,
}

impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start")
            .field("worktree_label", &self.worktree_label)
            .finish_non_exhaustive()
    }
}

/// The agent as the front end sees it.
pub struct AgentLink {
    /// Takes what the user wants.
    pub ops: OpSender,
    /// Brings what happened.
    pub events: Inbox,
    /// What was kept for the user.
    pub known: Known,
    /// Keeps a prompt for later sessions; must not block for long.
    pub remember: Option<Remember>,
    /// Keeps which hints the user needs no more; must not block for long.
    pub keep_hints: Option<KeepHints>,
}

impl std::fmt::Debug for AgentLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentLink")
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// What is to follow the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The scripted demonstration.
    Demo,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit code.
    pub code: u8,
    /// For the normal screen: last answer, what changed, how to resume. Safe to print; may be empty.
    pub farewell: String,
    /// What the user asked for to follow.
    pub next: Option<Next>,
}

/// Why the interactive front end could not run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Stdin or stdout is not a terminal.
    #[error(
        "The interactive screen needs a terminal, and stdin or stdout is not one. Use `dunlin exec` instead."
    )]
    NoTerminal,
    /// The terminal failed.
    #[error(
        "The terminal could not be read or written: {0}. Try another terminal, or `dunlin exec`."
    )]
    Terminal(#[from] std::io::Error),
}

/// Runs the interactive front end until the user ends it. Blocks the thread it is called on.
pub fn run(start: Start) -> Result<Exit, TuiError> {
    if start.settings.plain || wants_lines() {
        return super::plain::run(start);
    }
    let (themes, mut problems) = start
        .themes
        .as_deref()
        .map(super::theme::user::load)
        .unwrap_or_default();
    problems.extend(start.problems);
    let Start {
        settings,
        version,
        worktree_label,
        initial_prompt,
        first,
        connect,
        ..
    } = start;
    let guard = Guard::new(settings.mouse, start.stderr_log.as_deref())
        .map_err(|_not_a_terminal| TuiError::NoTerminal)?;
    let mut screen = screen::Screen::new(guard.clone());
    let terminal = Terminal {
        size: screen.measure(),
        focused: true,
        kitty: false,
        depth: depth(),
        background: None,
        pictures: Facts {
            brand: Brand::of_environment(&|name| std::env::var(name).ok()),
            cell: screen::cell_pixels(),
            ..Facts::default()
        },
    };
    let facts = state::Start {
        version: version.to_owned(),
        worktree: worktree_label,
        scripted: start.scripted_notice,
        first,
        problems,
        ..state::Start::default()
    };
    let mut state = State::new(settings, facts, terminal);
    state.themes = themes;
    let problem = state.theme_problem();
    state.start.problems.extend(problem);
    state.restyle();
    if ascii_only() {
        state.theme = state.theme.clone().with_glyphs(super::theme::Glyphs::ASCII);
        state.recanvas();
    }
    let links = state.transcript.links().clone();
    links.switch(state.settings.links && links_work(state.theme.has_colour()));
    // Over ssh an address without its machine would lead to the wrong one.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    links.on_host(&host.unwrap_or_default());
    screen.set_links(links);
    let _hook = guard.hook_panics();
    screen.enter()?;
    screen.first(Guard::width_probe());
    // The questions to the terminal ride behind the first frame; answers come as input.
    screen.also(Guard::probe());
    if state.terminal.pictures.brand == Brand::Placeholders {
        screen.also(Question::Graphics.bytes());
    }
    screen.draw(&mut state, now())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let parts = looping::Parts {
        state,
        screen,
        parser: Parser::default(),
        initial_prompt,
        pictures: start.pictures,
    };
    let ended = runtime.block_on(looping::run(parts, connect));
    guard.leave();
    ended
}

/// The time.
pub(super) fn now() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// True if the environment asks for output that a screen reader can follow, or one is at work on the
/// console (speakup, brltty) or around us (Emacspeak).
fn wants_lines() -> bool {
    let get = |name: &str| std::env::var(name).unwrap_or_default();
    let console = || {
        let readers = [
            "/sys/accessibility/speakup/synth",
            "/run/brltty.pid",
            "/run/brltty/brltty.pid",
        ];
        readers
            .iter()
            .any(|path| std::path::Path::new(path).exists())
    };
    reads_aloud(&get) || (get("TERM") == "linux" && console())
}

/// What the environment alone says about it.
fn reads_aloud(get: &dyn Fn(&str) -> String) -> bool {
    let asked = !matches!(get("ACCESSIBLE").as_str(), "" | "0" | "false");
    asked || get("TERM") == "dumb" || !get("EMACSPEAK_DIR").is_empty()
}

/// Colours by the environment; `NO_COLOR` wins.
fn depth() -> ColourDepth {
    let get = |name| std::env::var(name).unwrap_or_default();
    let term = get("TERM");
    if !get("NO_COLOR").is_empty() || term == "dumb" {
        ColourDepth::None
    } else if matches!(get("COLORTERM").as_str(), "truecolor" | "24bit")
        || term.ends_with("-direct")
    {
        ColourDepth::Truecolour
    } else if term.contains("256color") || term.contains("kitty") || term.contains("ghostty") {
        ColourDepth::Ansi256
    } else {
        ColourDepth::Ansi16
    }
}

/// True unless the terminal is known to print addresses as text, or nothing but text is wanted.
fn links_work(coloured: bool) -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    let old = ["linux", "vt", "screen", "eterm", "dumb"];
    coloured && !old.iter().any(|name| term.starts_with(name))
}

/// Terminals and locales that cannot show the Unicode signs.
fn ascii_only() -> bool {
    let get = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = get("LC_ALL")
        .or_else(|| get("LC_CTYPE"))
        .or_else(|| get("LANG"));
    let plain = locale.is_some_and(|name| name == "C" || name == "POSIX");
    plain || get("TERM").is_some_and(|term| term == "linux" || term == "vt100")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_readers_and_dumb_terminals_get_lines() {
        let with = |name: &'static str, value: &'static str| {
            reads_aloud(&move |asked: &str| if asked == name { value } else { "" }.to_owned())
        };
        assert!(with("ACCESSIBLE", "1") && with("TERM", "dumb") && with("EMACSPEAK_DIR", "/e"));
        assert!(!with("ACCESSIBLE", "0") && !with("TERM", "xterm-256color") && !with("LANG", "C"));
    }
}
