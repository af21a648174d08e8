//! What a terminal is sent: one synchronized update per frame, nothing outside it, few bytes, none
//! when nothing changes. The bytes are played into a terminal, which must then show the same cells.

use std::num::NonZero;
use std::time::{Duration, Instant};

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Event, Role};
use dunlin::tui::term::paint::Painter;
use dunlin::tui::view;
use serde_json::json;

use super::everything::{conversation, overlays};
use super::fixtures::World;

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// The budget of a frame.
const MOST: usize = 8_192;

/// A front end whose frames go to a terminal.
struct Wired {
    world: World,
    painter: Painter,
    terminal: vt100::Parser,
    size: (u16, u16),
}

impl Wired {
    fn new(width: u16, height: u16) -> Self {
        let cells = |n| NonZero::new(n).expect("a size");
        let mut world = World::new(width, height);
        // The dearest world: 24-bit ink on tints.
        world.tui.state.terminal.background = Some((0x12, 0x14, 0x18));
        world.tui.state.restyle();
        Self {
            world,
            painter: Painter::new(width, height),
            terminal: vt100::Parser::new(cells(height), cells(width), 0),
            size: (width, height),
        }
    }

    /// Draws a frame; gives its bytes.
    #[track_caller]
    fn frame(&mut self) -> usize {
        let now = self.world.tui.now;
        let drawn = view::draw(&mut self.world.tui.state, self.painter.canvas(), now);
        let bytes = self
            .painter
            .frame("", drawn.cursor)
            .expect("a frame")
            .to_vec();
        let count = |what: &[u8]| bytes.windows(what.len()).filter(|w| *w == what).count();
        if !bytes.is_empty() {
            assert!(bytes.starts_with(BEGIN) && bytes.ends_with(END));
            assert_eq!((count(BEGIN), count(END)), (1, 1));
        }
        self.terminal.process(&bytes);
        bytes.len()
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.world.tui.resize(width, height);
        self.painter.resize(width, height);
        let cells = |n| NonZero::new(n).expect("a size");
        let screen = self.terminal.screen_mut();
        screen.set_size(cells(height), cells(width));
        self.size = (width, height);
    }

    /// Lets the code be coloured that is on the screen, or comes on it.
    fn coloured(&mut self) {
        let transcript = &mut self.world.tui.state.transcript;
        let end = Instant::now() + Duration::from_secs(10);
        while !transcript.poll_highlights(false) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A frame within the budget; the terminal then shows it. Gives its bytes.
    #[track_caller]
    fn fits(&mut self, what: &str) -> usize {
        let bytes = self.frame();
        // The budget is for 120×40; larger screens have more to say.
        let (width, height) = self.size;
        let cells = usize::from(width) * usize::from(height);
        let most = MOST.max(MOST * cells / (120 * 40));
        assert!(bytes <= most, "{what} at {:?}: {bytes} bytes", self.size);
        self.agrees();
        assert_eq!(self.frame(), 0, "{what}: nothing changed any more");
        bytes
    }

    /// The terminal shows what was drawn.
    #[track_caller]
    fn agrees(&mut self) {
        let drawn = self.world.tui.screen();
        let (width, _) = self.size;
        let shown: Vec<String> = self
            .terminal
            .screen()
            .rows(0, width)
            .map(|row| row.trim_end().to_owned())
            .collect();
        let drawn: Vec<&str> = drawn.lines().collect();
        assert_eq!(shown, drawn);
    }
}

#[test]
fn a_streamed_turn_stays_in_its_budget_and_nothing_is_written_when_nothing_changes() {
    let mut wired = Wired::new(120, 40);
    wired.frame();
    wired.world.say(Role::User, "Tell me all about it.");
    wired
        .world
        .status(Phase::Streaming, 1_000, |status| status.turn_output = 10);
    let turn = wired.world.message_of(Role::Assistant);
    let (mut largest, mut frames) = (0, 0);
    for n in 0..60 {
        let text = format!(
            "## Part {n}\n\nSome *prose* with `code`, 日本語 and a [link](https://example.org/{n}).\n\n\
             - one\n- two\n\n| a | b |\n| --- | --- |\n| {n} | x |\n\n```rust\nfn part_{n}() {{}}\n```\n"
        );
        wired.world.streamed(turn, &text);
        wired.world.tui.now += 40;
        largest = largest.max(wired.frame());
        frames += 1;
    }
    assert!(
        frames == 60 && largest <= MOST,
        "{largest} bytes in a frame"
    );
    wired.agrees();
    wired.world.status(Phase::Idle, 0, |_| {});
    wired.frame();
    assert_eq!(wired.frame(), 0, "nothing changed");
    wired.world.tui.now += 60_000;
    assert_eq!(wired.frame(), 0, "time alone changes nothing");
    for key in ["pgup", "pgup", "alt+↑", "pgdn", "ctrl+end"] {
        wired.world.tui.press(key);
        let bytes = wired.frame();
        assert!(bytes <= MOST, "{key}: {bytes} bytes");
        wired.agrees();
    }
}

#[test]
fn every_overlay_comes_and_goes_in_one_update_each() {
    let mut wired = Wired::new(120, 40);
    let said = wired.world.say(Role::User, "go");
    wired.world.done(
        said,
        "bash",
        (json!({"command": "ls"}), "ls", "a\nb\nc"),
        json!({"exit": 0}),
        20,
    );
    wired.frame();
    wired.world.tui.event(Event::Diff(super::reports::diff()));
    assert!(wired.frame() <= MOST);
    wired.agrees();
    for key in ["j", "s", "w", "l", "s"] {
        wired.world.tui.press(key);
        assert!(wired.frame() <= MOST, "{key}");
        wired.agrees();
    }
    wired.world.tui.press("esc");
    assert!(wired.frame() <= MOST);
    wired.agrees();
    let report = super::reports::context(wired.world.tui.now);
    wired.world.tui.event(Event::Context { report });
    assert!(wired.frame() <= MOST);
    wired.agrees();
    wired.world.tui.press("↑ ↑");
    let bytes = wired.frame();
    assert!(bytes > 0 && bytes < 1_500, "{bytes} bytes for a selection");
    wired.world.tui.press("esc");
    wired.frame();
    wired.agrees();
}

#[test]
fn a_storm_of_resizes_leaves_the_terminal_as_it_was_drawn() {
    let mut wired = Wired::new(120, 40);
    let said = wired.world.say(Role::User, "go");
    for n in 0..30 {
        let output = format!("line {n}\n").repeat(12);
        let call = (json!({"command": "ls"}), "ls", output.as_str());
        wired
            .world
            .done(said, "bash", call, json!({"exit": n % 2}), 20);
    }
    let sizes = [(20, 6), (300, 100), (61, 17), (80, 24), (37, 9), (120, 40)];
    for (width, height) in sizes.into_iter().cycle().take(24) {
        wired.resize(width, height);
        wired.frame();
        wired.agrees();
    }
}

#[test]
fn every_cell_overlay_and_size_is_one_update_within_the_budget() {
    let mut wired = Wired::new(120, 40);
    wired.frame();
    conversation(&mut wired.world);
    wired.fits("the conversation");
    wired.coloured();
    let mut largest = wired.fits("its colours");
    wired.world.tui.now += 125;
    let spun = wired.frame();
    assert!(
        (1..300).contains(&spun),
        "the spinner's step took {spun} bytes"
    );
    for (width, height) in [
        (120, 40),
        (80, 24),
        (60, 20),
        (20, 6),
        (1, 1),
        (300, 100),
        (120, 40),
    ] {
        wired.resize(width, height);
        wired.fits("a resize");
        for key in [
            "pgup",
            "pgup",
            "pgup",
            "alt+↑",
            "ctrl+e",
            "pgdn",
            "ctrl+home",
            "ctrl+end",
        ] {
            wired.world.tui.press(key);
            let bytes = wired.fits(key);
            if wired.size == (120, 40) {
                largest = largest.max(bytes);
            }
        }
        for (name, open) in overlays() {
            open(&mut wired.world);
            wired.fits(name);
            for key in ["↓", "↓", "tab", "↑", "pgdn"] {
                wired.world.tui.press(key);
                wired.fits(name);
            }
            wired.world.tui.wait(500);
            wired.world.tui.press("esc esc ctrl+u");
            wired.fits("closing");
        }
    }
    assert!(largest > 1_000, "{largest} bytes: nothing was drawn");
}
