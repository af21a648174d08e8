//! The whole front end without a terminal, for tests: keys and events in, screen and effects out.
//!
//! It runs the same `update` and `view` as the program; only bytes and time are missing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::input::{Input, Key};
use super::picture::way::Facts;
use super::state::{Start, State, Terminal};
use super::theme::ColourDepth;
use super::update::{Effect, Msg, update};
use super::view::{self, Drawn};
use crate::config::used::UiSettings;
use crate::protocol::{Event, Millis, Op};

/// Milliseconds between two keys of `type_text`: a fast hand, not a paste.
const KEY_MS: Millis = 40;

/// A front end under test.
#[derive(Debug)]
pub struct Harness {
    /// The state.
    pub state: State,
    /// The time; keys move it on.
    pub now: Millis,
    effects: Vec<Effect>,
    screen: Buffer,
    drawn: Drawn,
}

impl Harness {
    /// A screen of that size, connected, with default settings.
    pub fn new(width: u16, height: u16) -> Self {
        Self::with(UiSettings::default(), width, height)
    }

    /// The same with other settings.
    pub fn with(settings: UiSettings, width: u16, height: u16) -> Self {
        let terminal = Terminal {
            size: (width, height),
            focused: true,
            kitty: true,
            depth: ColourDepth::Truecolour,
            background: None,
            pictures: Facts::default(),
        };
        let start = Start {
            version: "0.1".to_owned(),
            worktree: "~/code/pager".to_owned(),
            ..Start::default()
        };
        let mut harness = Self {
            state: State::new(settings, start, terminal),
            now: 1_763_733_720_000,
            effects: Vec::new(),
            screen: Buffer::empty(Rect::new(0, 0, width, height)),
            drawn: Drawn::default(),
        };
        harness.tell(Msg::Connected(Box::default()));
        harness.effects.clear();
        harness
    }

    /// A message.
    pub fn tell(&mut self, msg: Msg) {
        let effects = update(&mut self.state, msg, self.now);
        self.effects.extend(effects);
    }

    /// An event of the agent.
    pub fn event(&mut self, event: Event) {
        self.tell(Msg::Event(event));
    }

    /// Presses keys by name, e.g. `ctrl+g`, `enter`, `a`. Panics never: an unknown name is ignored.
    pub fn press(&mut self, names: &str) {
        for key in names
            .split_whitespace()
            .filter_map(|name| name.parse::<Key>().ok())
        {
            self.now += KEY_MS;
            self.tell(Msg::Input(Input::Key(key)));
        }
    }

    /// Types text, a key at a time.
    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.now += KEY_MS;
            let key = Key::plain(super::input::Code::Char(c));
            self.tell(Msg::Input(Input::Key(key)));
        }
    }

    /// Lets time pass, with a tick at its end.
    pub fn wait(&mut self, millis: Millis) {
        self.now += millis;
        self.tell(Msg::Tick);
    }

    /// Resizes the screen.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.screen = Buffer::empty(Rect::new(0, 0, width, height));
        self.tell(Msg::Resize(width, height));
    }

    /// Draws a frame and gives it.
    pub fn draw(&mut self) -> &Buffer {
        self.screen.reset();
        self.drawn = view::draw(&mut self.state, &mut self.screen, self.now);
        self.state.spots = self.drawn.spots;
        &self.screen
    }

    /// Draws a frame and gives its text, rows without trailing blanks.
    pub fn screen(&mut self) -> String {
        self.draw();
        let area = self.screen.area;
        let mut text = String::new();
        for y in 0..area.height {
            let mut row = String::new();
            let mut x = 0;
            while x < area.width {
                let symbol = self.screen[(x, y)].symbol();
                row.push_str(symbol);
                x += (unicode_width::UnicodeWidthStr::width(symbol) as u16).max(1);
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    /// What the last frame was.
    pub const fn drawn(&self) -> Drawn {
        self.drawn
    }

    /// The effects since the last call.
    pub fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The operations among the effects since the last call.
    pub fn ops(&mut self) -> Vec<Op> {
        let effects = self.effects();
        effects
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Op(op) => Some(op),
                _ => None,
            })
            .collect()
    }
}
