//! What waits, on the screen: what was not taken comes back, what was sent is gone at once, and thousands that wait
//! cost no more than the rows that show them.

use dunlin::protocol::{Delivery, Event, Fault, FaultKind, Op, Phase, PromptInput, Role};

use super::fixtures::World;

fn busy() -> World {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Tools, 0, |_| {});
    world
}

fn refuse(world: &mut World, text: &str) {
    let error = Fault::new(
        FaultKind::BadRequest,
        "This message was not queued.",
        "Wait.",
    );
    let input = PromptInput {
        text: text.to_owned(),
        files: Vec::new(),
    };
    world.tui.event(Event::Error { error });
    world.tui.event(Event::Returned { input });
}

#[test]
fn a_message_that_is_not_taken_is_in_the_composer_again() {
    let mut world = busy();
    world.tui.type_text("one too many");
    world.tui.press("enter");
    let ops = world.tui.ops();
    let [Op::Prompt { input, delivery }] = ops.as_slice() else {
        panic!("{ops:?}");
    };
    assert_eq!(*delivery, Delivery::Guidance);
    assert_eq!(world.tui.state.composer.expanded(), "");
    let text = input.text.clone();
    refuse(&mut world, &text);
    assert_eq!(world.tui.state.composer.expanded(), "one too many");
    let screen = world.tui.screen();
    assert!(screen.contains("was not queued"), "{screen}");
    assert!(!screen.contains("sending"), "{screen}");
}

#[test]
fn a_message_that_is_not_taken_leaves_alone_what_is_written_meanwhile() {
    let mut world = busy();
    world.tui.type_text("one too many");
    world.tui.press("enter");
    world.tui.type_text("something else");
    refuse(&mut world, "one too many");
    assert_eq!(world.tui.state.composer.expanded(), "something else");
    let screen = world.tui.screen();
    assert!(screen.contains("↑ brings it back"), "{screen}");
}

#[test]
fn what_was_sent_is_gone_before_the_lists_are_told_again() {
    let mut world = busy();
    world.queued(&["now", "and this"], &["later"], false);
    let ids = world.tui.state.queue.guidance.iter().map(|i| i.id);
    let ids: Vec<_> = ids.collect();
    world.tui.event(Event::Dequeued {
        count: 2,
        ids,
        coalesced: true,
    });
    let screen = world.tui.screen();
    assert!(!screen.contains("and this"), "{screen}");
    assert!(screen.contains("later"), "{screen}");
}

#[test]
fn what_is_on_its_way_shows_until_the_lists_have_it() {
    let mut world = busy();
    world.tui.type_text("use an option");
    world.tui.press("enter");
    let id = dunlin::protocol::IdMint::new(3, 0).queue(9);
    world.tui.event(Event::Queued { id, position: 1 });
    let screen = world.tui.screen();
    assert!(screen.contains("use an option"), "{screen}");
    world.queued(&["use an option"], &[], false);
    let screen = world.tui.screen();
    assert_eq!(screen.matches("use an option").count(), 1, "{screen}");
    assert!(!screen.contains("sending"), "{screen}");
}

#[test]
fn of_a_thousand_that_wait_the_first_and_the_newest_are_shown() {
    let mut world = busy();
    let long = "word ".repeat(2_000);
    let texts: Vec<String> = (0..1_000).map(|n| format!("m{n} {long}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    world.queued(&texts, &[], false);
    let screen = world.tui.screen();
    for shown in ["m0 word", "m1 word", "m2 word", "996 more", "m999 word"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    world.tui.type_text("/queue");
    world.tui.press("enter");
    let screen = world.tui.screen();
    assert!(screen.contains("m5 word"), "{screen}");
}
