//! What the user wrote is never lost, whatever keys, events and sizes come; and the cursor stands on a
//! whole character, on the screen. By property, through the whole front end.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Event, Op, PromptInput, Role};
use dunlin::tui::input::Input;
use dunlin::tui::update::{Effect, Msg};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::everything::MARKDOWN;
use super::fixtures::{World, permission};

/// One thing that happens. No key of these takes text away on purpose.
#[derive(Debug, Clone)]
enum Step {
    /// A sign of its own is typed, with this behind it.
    Word(&'static str),
    Press(&'static str),
    /// So many lines are pasted.
    Paste(usize),
    Resize(u16, u16),
    /// A turn begins or ends.
    Runs(bool),
    /// A question comes, and goes again by itself.
    Asked(bool),
    Streams,
}

fn step() -> impl Strategy<Value = Step> {
    let tail = prop::sample::select(vec![
        "",
        " ",
        "日本",
        "👩‍👩‍👧‍👦",
        "e\u{301}",
        "🇩🇪",
        " @",
        " /",
        " $",
        "(",
        "\"",
    ]);
    let key = prop::sample::select(vec![
        "left",
        "right",
        "up",
        "down",
        "home",
        "end",
        "alt+b",
        "alt+f",
        "ctrl+a",
        "ctrl+e",
        "esc",
        "enter",
        "alt+enter",
        "tab",
        "shift+tab",
        "ctrl+c",
        "ctrl+r",
        "ctrl+s",
        "ctrl+f",
        "ctrl+g",
        "ctrl+l",
        "ctrl+o",
        "ctrl+t",
        "ctrl+y",
        "alt+y",
        "ctrl+↑",
        "ctrl+enter",
        "pgup",
        "pgdn",
        "alt+x",
        "alt+m",
        "alt+g",
        "alt+t",
        "ctrl+w",
        "alt+d",
        "ctrl+k",
        "ctrl+u",
        "?",
        "!",
        "ctrl+v",
        "alt+w",
        "alt+↑",
    ]);
    prop_oneof![
        5 => tail.prop_map(Step::Word),
        8 => key.prop_map(Step::Press),
        1 => (1_usize..40).prop_map(Step::Paste),
        1 => (1_u16..130, 1_u16..45).prop_map(|(width, height)| Step::Resize(width, height)),
        1 => any::<bool>().prop_map(Step::Runs),
        1 => any::<bool>().prop_map(Step::Asked),
        1 => Just(Step::Streams),
    ]
}

/// What was written so far, and all places where it may be.
struct Desk {
    world: World,
    words: Vec<String>,
    /// What left the front end: operations, texts for the editor and the clipboard.
    sent: String,
    asked: Option<dunlin::protocol::AskId>,
    queued: Vec<String>,
    ended: bool,
}

impl Desk {
    fn new(vim: bool) -> Self {
        let mut world = World::new(80, 24);
        world.say(Role::User, "Go.");
        world.answer(MARKDOWN);
        world.status(Phase::Idle, 0, |_| {});
        if vim {
            world.tui.type_text("/vim");
            world.tui.press("enter");
        }
        world.tui.effects();
        Self {
            world,
            words: Vec::new(),
            sent: String::new(),
            asked: None,
            queued: Vec::new(),
            ended: false,
        }
    }

    /// A character that was not written yet: whatever is typed into the middle of it, it stays whole.
    fn sign(&self) -> String {
        let number = u32::try_from(self.words.len()).expect("few words");
        char::from_u32(0x4e00 + number)
            .expect("a character")
            .to_string()
    }

    /// True while keys go to the composer.
    fn writes(&self) -> bool {
        let state = &self.world.tui.state;
        let insert = state
            .composer
            .vim
            .as_ref()
            .is_none_or(|vim| vim.word() == "insert");
        state.overlays.is_empty() && state.asks.current().is_none() && insert
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Word(tail) if self.writes() => {
                let word = self.sign();
                self.world.tui.type_text(&format!("{word}{tail}"));
                self.words.push(word);
            }
            Step::Paste(lines) if self.writes() => {
                let word = self.sign();
                let text = format!("{word}\n{}", "line\n".repeat(*lines));
                self.world.tui.tell(Msg::Input(Input::Paste(text)));
                self.words.push(word);
            }
            Step::Word(_) | Step::Paste(_) => {}
            Step::Press(key) => self.world.tui.press(key),
            Step::Resize(width, height) => self.world.tui.resize(*width, *height),
            Step::Runs(true) => self.world.status(Phase::Streaming, 3_000, |_| {}),
            Step::Runs(false) => self.world.status(Phase::Idle, 0, |_| {}),
            Step::Asked(true) if self.asked.is_none() => {
                self.asked = Some(self.world.ask(permission("cargo add insta")).id);
            }
            Step::Asked(_) => {
                if let Some(ask) = self.asked.take() {
                    self.world.tui.event(Event::AskClosed { ask });
                }
            }
            Step::Streams => drop(self.world.answer("Some more words.")),
        }
        self.answer();
    }

    /// What the agent would do with what it is told.
    fn answer(&mut self) {
        for effect in self.world.tui.effects() {
            match &effect {
                Effect::Op(Op::Prompt { input, .. }) => self.queue(input),
                Effect::Quit => self.ended = true,
                _ => {}
            }
            self.sent.push_str(&format!("{effect:?}\n"));
        }
    }

    fn queue(&mut self, input: &PromptInput) {
        self.queued.push(input.text.clone());
        let queued: Vec<&str> = self.queued.iter().map(String::as_str).collect();
        self.world.queued(&queued, &[], false);
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let screen = self.world.tui.draw().area;
        if let Some(at) = self.world.tui.drawn().cursor {
            prop_assert!(
                at.x < screen.width && at.y < screen.height,
                "{at:?} in {screen:?}"
            );
        }
        let buffer = &self.world.tui.state.composer.buffer;
        let (text, cursor) = (buffer.text(), buffer.cursor());
        let whole = cursor == text.len() || text.grapheme_indices(true).any(|(at, _)| at == cursor);
        prop_assert!(whole, "the cursor is at {cursor} of {text:?}");
        let here = format!("{:?}", self.world.tui.state.composer);
        for word in &self.words {
            prop_assert!(
                here.contains(word) || self.sent.contains(word),
                "{word} is lost"
            );
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn nothing_written_is_lost(vim in any::<bool>(), steps in proptest::collection::vec(step(), 1..60)) {
        let mut desk = Desk::new(vim);
        for step in &steps {
            desk.take(step);
            if desk.ended {
                break;
            }
            desk.check()?;
        }
    }
}
