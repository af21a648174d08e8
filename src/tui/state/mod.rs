//! All that is on screen, as plain data. Only `update` changes it; `view` draws it.
//!
//! `run` makes it before the first frame, so making one costs microseconds and does no I/O.

pub mod asks;
pub mod hints;
pub mod plan;
pub mod subagents;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::style::Modifier;

use asks::Asks;
use hints::Hints;
use plan::Plan;

use super::composer::Composer;
use super::composer::vim::Vim;
use super::keymap::{Keymap, nearest};
use super::overlay::Overlay;
use super::picture::Canvas;
use super::picture::way::Facts;
use super::term::gallery::Seen;
use super::theme::{ColourDepth, Glyphs, Theme, ThemeChoice};
use super::transcript::Transcript;
use super::view::Spots;
use crate::config::used::UiSettings;
use crate::protocol::event::Place;
use crate::protocol::{
    MessageId, Millis, NoticeLevel, Op, PartId, PatchFile, Phase, QueueState, ReadOnly,
    SessionInfo, SessionSummary, Status, TurnEnd,
};

/// A sentence in the footer that goes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// What it says.
    pub text: String,
    /// How much it matters.
    pub level: NoticeLevel,
    /// Until when.
    pub until: Millis,
}

/// What the terminal is and can.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// Columns and rows.
    pub size: (u16, u16),
    /// The window has the focus (true until the terminal says otherwise).
    pub focused: bool,
    /// The kitty keyboard flags were answered: ctrl+enter exists.
    pub kitty: bool,
    /// Colours it shows.
    pub depth: ColourDepth,
    /// Its background, if it told.
    pub background: Option<(u8, u8, u8)>,
    /// What is known about its pictures.
    pub pictures: Facts,
}

impl Session {
    /// The command that opens it where it belongs.
    pub fn open_there(&self) -> String {
        let info = self.info.as_ref();
        info.map(SessionInfo::open_there).unwrap_or_default()
    }
}

/// The open session.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its facts; none until one is open.
    pub info: Option<SessionInfo>,
    /// Why it can only be read; none if it can be written.
    pub read_only: Option<ReadOnly>,
    /// Its last turn was cut.
    pub cut: bool,
    /// The user's prompts with their messages, oldest first, for rewind.
    pub prompts: Vec<(MessageId, String)>,
    /// The task list, if there is one.
    pub plan: Option<Plan>,
    /// What its steps changed, by patch part.
    pub patches: BTreeMap<PartId, Vec<PatchFile>>,
    /// Something was said: the start screen is gone.
    pub begun: bool,
    /// How the last turn ended.
    pub ended: Option<TurnEnd>,
    /// An earlier prompt is in the composer again.
    pub editing: Option<Editing>,
}

/// An earlier prompt that is being edited: sending makes a branch where it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Editing {
    /// The prompt.
    pub message: MessageId,
    /// The end of its branch, if that is not the current one.
    pub branch: Option<MessageId>,
}

/// What is shown first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum First {
    /// The session.
    #[default]
    Nothing,
    /// The list of sessions.
    Sessions,
    /// A part of the session.
    Part(PartId),
}

/// What the start screen shows besides the place.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// Name and version.
    pub version: String,
    /// The worktree for the eye, known before the agent is.
    pub worktree: String,
    /// Facts of the place.
    pub place: Option<Place>,
    /// Newest sessions.
    pub recent: Vec<SessionSummary>,
    /// What is shown as soon as a session is open.
    pub first: First,
    /// Nobody can work yet: why, and what was found.
    pub onboarding: Option<(String, Vec<String>)>,
    /// What is wrong with the user's own themes, one sentence each.
    pub problems: Vec<String>,
    /// The scripted provider plays: said clearly.
    pub scripted: bool,
}

/// Times of keys, for guards and doubles.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyTimes {
    /// The last key that went into the composer.
    pub typed: Option<Millis>,
    /// The last click: when, where, and the how many-th in a row.
    pub click: Option<(Millis, (u16, u16), u8)>,
    /// The last Esc that found nothing to do.
    pub escape: Option<Millis>,
    /// The last ctrl+c or ctrl+d that found nothing to do.
    pub quit: Option<Millis>,
    /// A click that folds unless another one follows: when, and the number of its cell.
    pub fold: Option<(Millis, u64)>,
    /// When a key closed the last overlay.
    pub closed: Option<Millis>,
}

/// All that is on screen.
#[derive(Debug)]
pub struct State {
    /// The user's settings.
    pub settings: UiSettings,
    /// Keys.
    pub keys: Keymap,
    /// The terminal.
    pub terminal: Terminal,
    /// The user's own themes by name.
    pub themes: Vec<(String, ThemeChoice)>,
    /// The theme's name as chosen.
    pub theme_name: String,
    /// Styles.
    pub theme: Theme,
    /// For times of day.
    pub zone: TimeZone,
    /// The conversation.
    pub transcript: Transcript,
    /// Where things were drawn last, for the mouse.
    pub spots: Spots,
    /// Where the user writes.
    pub composer: Composer,
    /// Overlays, the topmost last.
    pub overlays: Vec<Overlay>,
    /// The session's subagents, and the one that is looked at.
    pub subagents: subagents::Subagents,
    /// Open questions.
    pub asks: Asks,
    /// What waits.
    pub queue: QueueState,
    /// The agent's status; none until it is there.
    pub status: Option<Status>,
    /// The session.
    pub session: Session,
    /// The start screen.
    pub start: Start,
    /// Sent, but neither queued nor in the transcript yet.
    pub sending: Option<String>,
    /// A passing sentence.
    pub flash: Option<Flash>,
    /// Times of keys.
    pub times: KeyTimes,
    /// What the user knows already.
    pub hints: Hints,
    /// Facts of the disk, for /status.
    pub facts: Vec<(String, String)>,
    /// Servers of tools outside, as they were last told.
    pub servers: Vec<crate::protocol::outside::ToolServer>,
    /// Closing: the agent is writing what is left.
    pub closing: bool,
    /// The agent is there.
    pub connected: bool,
    /// The mouse holds a selection.
    pub dragging: bool,
    /// The changes were asked for by their key: an empty turn is not worth a screen.
    pub opening_changes: bool,
    /// The words of the search whose place is being opened.
    pub looked_for: Option<String>,
}

impl State {
    /// Takes in what was highlighted beside; true if something on screen changed.
    pub fn poll_highlights(&mut self) -> bool {
        let calm = matches!(self.phase(), Phase::Idle);
        let watched = self.subagents.watched.as_mut();
        let watched = watched.is_some_and(|w| w.transcript.poll_highlights(calm));
        self.transcript.poll_highlights(calm) || watched
    }

    /// The state before anything is known.
    pub fn new(settings: UiSettings, start: Start, terminal: Terminal) -> Self {
        let keys = Keymap::new(&settings.keys, &settings.key_places);
        let theme_name = settings.theme.clone();
        let mut state = Self {
            keys,
            theme: Theme::new(ThemeChoice::Auto, terminal.depth, None),
            settings,
            terminal,
            theme_name,
            themes: Vec::new(),
            zone: TimeZone::UTC,
            transcript: Transcript::new(),
            spots: Spots::default(),
            composer: Composer::default(),
            overlays: Vec::new(),
            subagents: subagents::Subagents::default(),
            asks: Asks::default(),
            queue: QueueState::default(),
            status: None,
            session: Session::default(),
            start,
            sending: None,
            flash: None,
            times: KeyTimes::default(),
            hints: Hints::default(),
            facts: Vec::new(),
            servers: Vec::new(),
            closing: false,
            connected: false,
            dragging: false,
            opening_changes: false,
            looked_for: None,
        };
        state.composer.vim = state.settings.vim.then(Vim::default);
        state.restyle();
        state
    }

    /// A theme by its name, the user's own before the built-in ones.
    pub fn theme_named(&self, name: &str) -> Option<ThemeChoice> {
        let own = self.themes.iter().find(|(own, _)| own == name);
        own.map(|(_, choice)| choice.clone())
            .or_else(|| ThemeChoice::named(name))
    }

    /// What is wrong with the theme's name, if it is nobody's.
    pub fn theme_problem(&self) -> Option<String> {
        if self.theme_named(&self.theme_name).is_some() {
            return None;
        }
        let built_in = ThemeChoice::BUILT_IN.iter().map(|(name, _)| *name);
        let own = self.themes.iter().map(|(name, _)| name.as_str());
        let near = nearest(&self.theme_name, built_in.chain(own));
        Some(format!(
            "ui.theme: there is no theme `{}`. The closest is `{near}`; /theme shows all.",
            self.theme_name
        ))
    }

    /// Makes the theme anew from its name, the terminal's colours and its background.
    pub fn restyle(&mut self) {
        let choice = self.theme_named(&self.theme_name).unwrap_or_default();
        let terminal = &self.terminal;
        self.theme = Theme::new(choice, terminal.depth, terminal.background)
            .with_glyphs(self.theme.glyphs.clone());
        self.recanvas();
    }

    /// Decides anew how pictures are shown.
    pub fn recanvas(&mut self) {
        let ascii = self.theme.glyphs == Glyphs::ASCII;
        let facts = self.terminal.pictures;
        let canvas = Canvas {
            way: facts.way(&self.settings.images, self.theme.depth(), ascii),
            cell: facts.cell.unwrap_or(Canvas::default().cell),
            paper: self.terminal.background.unwrap_or_default(),
            registers: if facts.registers == 0 {
                Canvas::default().registers
            } else {
                facts.registers
            },
        };
        self.transcript.set_canvas(canvas);
        if let Some(watched) = &mut self.subagents.watched {
            watched.transcript.set_canvas(canvas);
        }
    }

    /// What the agent is to read for the pictures on screen.
    pub fn wanted_files(&mut self) -> Vec<Op> {
        let mut sources = self.transcript.pictures().wanted();
        if let Some(watched) = &mut self.subagents.watched {
            sources.extend(watched.transcript.pictures().wanted());
        }
        sources.into_iter().map(Op::ReadFile).collect()
    }

    /// The pictures that the frame in `cells` shows. One with something over it is not whole.
    pub fn seen_pictures(&self, cells: &Buffer) -> Vec<Seen> {
        let watched = self.subagents.watched.as_ref();
        let transcript = match self.overlays.last() {
            None => &self.transcript,
            Some(Overlay::Subagent) => watched.map_or(&self.transcript, |w| &w.transcript),
            // What lies over the conversation covers all of it, unless a question lies over that.
            Some(_) if self.asks.current().is_none() => return Vec::new(),
            Some(_) => &self.transcript,
        };
        let mut seen = transcript.seen().to_vec();
        for seen in seen.iter_mut().filter(|seen| seen.made.way.paints()) {
            let bare = seen.area.intersection(cells.area) == seen.area
                && seen.area.positions().all(|at| {
                    let cell = &cells[at];
                    cell.symbol() == "▀" && !cell.modifier.contains(Modifier::REVERSED)
                });
            seen.whole &= bare;
        }
        seen
    }

    /// Says something in the footer for a while.
    pub fn say(&mut self, level: NoticeLevel, text: impl Into<String>, now: Millis) {
        let until = now
            + if level == NoticeLevel::Info {
                4_000
            } else {
                8_000
            };
        self.flash = Some(Flash {
            text: text.into(),
            level,
            until,
        });
    }

    /// True while a turn runs.
    pub fn is_running(&self) -> bool {
        !matches!(self.phase(), Phase::Idle)
    }

    /// What the turn does.
    pub fn phase(&self) -> &Phase {
        self.status
            .as_ref()
            .map_or(&Phase::Idle, |status| &status.phase)
    }

    /// True if the conversation has begun: the start screen is gone.
    pub fn has_begun(&self) -> bool {
        self.session.begun && !self.transcript.is_empty()
    }

    /// Under 80 columns there are no margins.
    pub const fn is_narrow(&self) -> bool {
        self.terminal.size.0 < 80
    }

    /// Columns that the composer's text may take.
    pub fn composer_width(&self) -> usize {
        let margins = if self.is_narrow() { 2 } else { 6 };
        usize::from(self.terminal.size.0)
            .saturating_sub(margins)
            .max(2)
    }

    /// Something may move on screen.
    pub const fn motion(&self) -> bool {
        !self.settings.reduced_motion && self.terminal.focused
    }

    /// When something changes by itself, besides what is drawn: a held Enter, a passing sentence.
    pub fn deadline(&self) -> Option<Millis> {
        let flash = self.flash.as_ref().map(|flash| flash.until);
        let fold = self.times.fold.map(|(at, _)| at);
        [self.composer.burst.deadline(), flash, fold]
            .into_iter()
            .flatten()
            .min()
    }

    /// The window's title: project and state.
    pub fn title(&self) -> String {
        let place = self.start.worktree.trim_end_matches('/');
        let project = place
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("dunlin");
        let state = match self.phase() {
            _ if self.asks.current().is_some() => "waiting for you",
            Phase::Idle => "ready",
            Phase::Retrying { .. } => "retrying",
            Phase::Compacting { .. } => "compacting",
            _ => "working",
        };
        format!("{project} {} {state}", self.theme.glyphs.dot)
    }
}
