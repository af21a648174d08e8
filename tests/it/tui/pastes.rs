//! Pastes that come as fast keys: much of it becomes one thing, nothing of it is sent or lost.

use dunlin::protocol::{Op, Role};
use dunlin::tui::input::{Code, Input, Key};
use dunlin::tui::update::Msg;

use super::fixtures::World;

/// Keys as a terminal without bracketed paste sends them: a hundred in a millisecond, a pause now and
/// then.
fn poured(world: &mut World, text: &str) {
    for (n, c) in text.chars().enumerate() {
        if n % 100 == 99 {
            world.tui.now += if n % 1_000 == 999 { 30 } else { 1 };
        }
        let code = if c == '\n' {
            Code::Enter
        } else {
            Code::Char(c)
        };
        world.tui.tell(Msg::Input(Input::Key(Key::plain(code))));
    }
}

fn lines(count: usize) -> String {
    (0..count).map(|n| format!("line {n} of it\n")).collect()
}

#[test]
fn a_poured_block_folds_into_one_thing_and_is_sent_whole() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.tui.type_text("look at ");
    world.tui.wait(400);
    let block = lines(300);
    poured(&mut world, &block);
    assert_eq!(world.tui.ops(), [], "nothing is sent line by line");
    assert!(
        world.tui.state.deadline().is_some(),
        "the loop wakes for its end"
    );
    world.tui.wait(200);
    let screen = world.tui.screen();
    assert!(screen.contains("❯ look at [pasted 300 lines]"), "{screen}");
    world.tui.type_text("and tell");
    world.tui.press("enter");
    let ops = world.tui.ops();
    let said = format!("look at {block}and tell");
    assert!(
        matches!(&ops[..], [Op::Prompt { input, .. }] if input.text == said),
        "{ops:?}"
    );
}

#[test]
fn another_key_ends_it_at_once_and_enter_sends_it_whole() {
    let mut world = World::new(100, 30);
    poured(&mut world, &lines(40));
    world.tui.press("backspace");
    assert!(
        world.tui.state.composer.is_empty(),
        "one thing, deleted as one"
    );
    let mut world = World::new(100, 30);
    let block = lines(40);
    poured(&mut world, &block);
    world.tui.now += 500;
    world.tui.press("enter");
    let ops = world.tui.ops();
    assert!(
        matches!(&ops[..], [Op::Prompt { input, .. }] if input.text == block),
        "{ops:?}"
    );
}

#[test]
fn a_few_poured_lines_stay_text() {
    let mut world = World::new(100, 30);
    poured(&mut world, "one line\ntwo lines\nthree lines");
    world.tui.wait(500);
    let text = "one line\ntwo lines\nthree lines";
    assert_eq!(world.tui.state.composer.buffer.text(), text);
    assert_eq!(world.tui.state.deadline(), None, "nobody wakes for nothing");
}
