//! Screens as the settings and the terminal ask for them: without colour, in sixteen, on light paper,
//! without motion, in ASCII.

use std::collections::BTreeSet;

use dunlin::config::used::UiSettings;
use dunlin::tui::term::paint::Painter;
use dunlin::tui::theme::{ColourDepth, Glyphs};
use dunlin::tui::view;
use ratatui::style::{Color, Modifier};

use super::everything::{conversation, overlays};
use super::fixtures::World;

/// A conversation of every kind of cell on such a terminal.
fn world(depth: ColourDepth, background: Option<(u8, u8, u8)>) -> World {
    let mut world = World::new(120, 40);
    world.tui.state.terminal.depth = depth;
    world.tui.state.terminal.background = background;
    world.tui.state.restyle();
    conversation(&mut world);
    world
}

/// Looks at the start, the middle and the end of the conversation, and at every overlay.
fn tour(world: &mut World, mut look: impl FnMut(&mut World, &str)) {
    world.tui.draw();
    look(world, "the end");
    for _ in 0..40 {
        world.tui.press("pgup");
        world.tui.draw();
        look(world, "a page up");
    }
    world.tui.press("ctrl+end");
    for (name, open) in overlays() {
        open(world);
        world.tui.draw();
        look(world, name);
        world.tui.wait(500);
        world.tui.press("esc esc ctrl+u");
        world.tui.draw();
    }
}

/// All codes of all SGR escapes that the screen's bytes have.
fn codes(world: &mut World) -> BTreeSet<String> {
    let now = world.tui.now;
    let (width, height) = world.tui.state.terminal.size;
    let mut painter = Painter::new(width, height);
    let drawn = view::draw(&mut world.tui.state, painter.canvas(), now);
    let bytes = painter.frame("", drawn.cursor).expect("a frame");
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut found = BTreeSet::new();
    for escape in text.split("\x1b[").skip(1) {
        let end = escape.find(|c: char| !matches!(c, '0'..='9' | ';' | ':' | '?'));
        let (codes, rest) = escape.split_at(end.unwrap_or(escape.len()));
        if rest.starts_with('m') {
            found.extend(codes.split(';').map(str::to_owned));
        }
    }
    found
}

#[test]
fn without_colour_no_escape_names_one() {
    let mut world = world(ColourDepth::None, Some((0, 0, 0)));
    let mut seen = BTreeSet::new();
    tour(&mut world, |world, _| seen.extend(codes(world)));
    let weights = [
        "0", "1", "2", "3", "4", "7", "9", "22", "23", "24", "27", "29",
    ];
    let others: Vec<&String> = seen
        .iter()
        .filter(|code| !weights.contains(&code.as_str()))
        .collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(
        seen.contains("1") && seen.contains("2"),
        "weight is left: {seen:?}"
    );
}

#[test]
fn sixteen_colours_are_the_terminals_own() {
    let mut world = world(ColourDepth::Ansi16, Some((0, 0, 0)));
    let mut seen = BTreeSet::new();
    tour(&mut world, |world, _| seen.extend(codes(world)));
    let wrong = seen.iter().filter(|code| {
        let code: u8 = code.parse().unwrap_or_default();
        // 38 and 48 begin the codes of larger palettes; 34 is a blue that cannot be read on black.
        matches!(code, 34 | 38 | 48)
    });
    assert_eq!(wrong.count(), 0, "{seen:?}");
    assert!(
        seen.contains("36") && seen.contains("32") && seen.contains("31") && seen.contains("33")
    );
}

fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let part = |v: u8| (f64::from(v) / 255.0).powf(2.2);
    0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b) + 0.05
}

#[test]
fn on_light_and_dark_paper_every_word_can_be_read() {
    for paper in [(0xfb, 0xfb, 0xf8), (0x12, 0x14, 0x18)] {
        let mut world = world(ColourDepth::Truecolour, Some(paper));
        let light = luminance(paper) > 0.5;
        tour(&mut world, |world, what| {
            let buffer = world.tui.draw().clone();
            for cell in buffer.content.iter().filter(|cell| cell.symbol() != " ") {
                let own = |colour, other| match colour {
                    Color::Rgb(r, g, b) => (r, g, b),
                    _ => other,
                };
                let ink = own(cell.fg, if light { (0, 0, 0) } else { (255, 255, 255) });
                let (a, b) = (luminance(ink), luminance(own(cell.bg, paper)));
                let contrast = a.max(b) / a.min(b);
                assert!(
                    contrast >= 3.0,
                    "{what} on {paper:?}: {cell:?} has {contrast:.1}"
                );
                // Terminals make ink faint by darkening it: on light paper that is no difference.
                assert!(
                    !light || !cell.modifier.contains(Modifier::DIM),
                    "{what}: {cell:?}"
                );
            }
        });
    }
}

fn without_digits(world: &mut World) -> String {
    world
        .tui
        .screen()
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .collect()
}

#[test]
fn reduced_motion_moves_nothing_but_the_seconds() {
    let mut still = World::new(120, 40);
    still.tui.state.settings = UiSettings {
        reduced_motion: true,
        ..UiSettings::default()
    };
    conversation(&mut still);
    still.tui.now += 1_000 - still.tui.now % 1_000;
    // Each duration has a beginning of its own; frames come with the seconds of the clock.
    let first = without_digits(&mut still);
    for _ in 0..7 {
        still.tui.now += 125;
        assert_eq!(
            without_digits(&mut still),
            first,
            "something moved within a second"
        );
    }
    let next = still.tui.drawn().next.expect("the seconds go on");
    assert_eq!(next % 1_000, 0, "frames come with the seconds");
    let before = still.tui.screen();
    still.tui.now = next;
    assert_ne!(still.tui.screen(), before, "the seconds stand still");
    let mut moving = World::new(120, 40);
    conversation(&mut moving);
    moving.tui.draw();
    let next = moving.tui.drawn().next.expect("a spinner");
    assert!(next - moving.tui.now <= 125);
}

#[test]
fn nothing_moves_while_nobody_looks_or_something_is_selected() {
    let mut world = World::new(120, 40);
    conversation(&mut world);
    world.tui.state.terminal.focused = false;
    world.tui.draw();
    assert_eq!(world.tui.drawn().next, None);
    world.tui.state.terminal.focused = true;
    world.tui.draw();
    assert!(world.tui.drawn().next.is_some());
    world.tui.state.transcript.select_start(4, 3);
    world.tui.state.transcript.select_end(9, 5);
    world.tui.draw();
    assert_eq!(world.tui.drawn().next, None);
}

#[test]
fn the_ascii_set_leaves_no_other_sign_of_ours() {
    let mut world = World::new(120, 40);
    world.tui.state.theme = world.tui.state.theme.clone().with_glyphs(Glyphs::ASCII);
    conversation(&mut world);
    let theirs: BTreeSet<char> = "日本語のも折り返されます幅文章、。👩‍👧👦🇩🇪".chars().collect();
    let mut ours = BTreeSet::new();
    tour(&mut world, |world, _| {
        let screen = world.tui.screen();
        ours.extend(
            screen
                .chars()
                .filter(|c| !c.is_ascii() && !theirs.contains(c)),
        );
    });
    assert!(ours.is_empty(), "{ours:?}");
}
