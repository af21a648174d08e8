//! What keys do: sending, queueing, interrupting, completing, quitting.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Delivery, Event, FileSource, MessageId, Op, PromptInput, QueueEdit, Role};
use dunlin::tui::input::Input;
use dunlin::tui::update::{Effect, Msg};

use super::fixtures::World;

fn prompt(text: &str, delivery: Delivery) -> Op {
    let input = PromptInput {
        text: text.to_owned(),
        files: Vec::new(),
    };
    Op::Prompt { input, delivery }
}

#[test]
fn enter_sends_and_the_text_stays_visible_until_the_agent_has_it() {
    let mut world = World::new(100, 30);
    world.tui.type_text("fix the parser");
    assert!(world.tui.screen().contains("❯ fix the parser"));
    world.tui.press("enter");
    let effects = world.tui.effects();
    assert!(effects.contains(&Effect::SaveHistory("fix the parser".to_owned())));
    assert!(effects.contains(&Effect::Op(prompt("fix the parser", Delivery::Guidance))));
    assert_eq!(world.tui.screen().matches("fix the parser").count(), 1);
    world.say(Role::User, "fix the parser");
    assert_eq!(world.tui.screen().matches("fix the parser").count(), 1);
}

#[test]
fn while_a_turn_runs_tab_queues_and_ctrl_enter_interrupts() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Streaming, 0, |_| {});
    world.tui.type_text("later");
    world.tui.press("tab");
    world.tui.type_text("now");
    world.tui.press("ctrl+enter");
    assert_eq!(
        world.tui.ops(),
        [
            prompt("later", Delivery::FollowUp),
            prompt("now", Delivery::Interrupt)
        ]
    );
    world.tui.press("esc");
    assert_eq!(world.tui.ops(), [Op::Interrupt]);
}

#[test]
fn the_newest_queued_message_is_edited_or_dropped() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Tools, 0, |_| {});
    world.queued(&["first"], &["second"], false);
    let newest = world.tui.state.queue.follow_ups[0].id;
    let older = world.tui.state.queue.guidance[0].id;
    world.tui.press("ctrl+↑");
    assert_eq!(world.tui.ops(), [Op::Queue(QueueEdit::Remove(newest))]);
    assert_eq!(world.tui.state.composer.expanded(), "second");
    assert_eq!(
        world.tui.screen().matches("second").count(),
        1,
        "in one place"
    );
    world.tui.press("ctrl+x");
    assert_eq!(world.tui.ops(), [Op::Queue(QueueEdit::Remove(older))]);
}

#[test]
fn paused_messages_go_on_with_enter_on_nothing() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Idle, 0, |_| {});
    world.queued(&[], &["later"], true);
    let screen = world.tui.screen();
    assert!(screen.contains("⋯ paused"), "{screen}");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::Queue(QueueEdit::Resume)]);
}

#[test]
fn a_script_that_types_a_line_and_enter_in_one_write_is_obeyed() {
    let mut world = World::new(100, 30);
    let mut parser = dunlin::tui::input::Parser::default();
    for input in parser.feed(b"hello there\r") {
        world.tui.tell(Msg::Input(input));
    }
    assert_eq!(world.tui.ops(), [], "held for a moment");
    assert!(world.tui.state.deadline().is_some());
    world.tui.wait(20);
    assert_eq!(world.tui.ops(), [prompt("hello there", Delivery::Guidance)]);
}

#[test]
fn lines_pasted_as_keys_are_one_text() {
    let mut world = World::new(100, 30);
    let mut parser = dunlin::tui::input::Parser::default();
    for input in parser.feed(b"one line\rtwo lines\rthree\r") {
        world.tui.tell(Msg::Input(input));
    }
    world.tui.wait(500);
    assert_eq!(world.tui.ops(), []);
    assert_eq!(
        world.tui.state.composer.expanded(),
        "one line\ntwo lines\nthree\n"
    );
}

#[test]
fn a_long_paste_is_a_chip_and_is_sent_verbatim() {
    let mut world = World::new(100, 30);
    let text = "a line\n".repeat(40);
    world.tui.tell(Msg::Input(Input::Paste(text.clone())));
    assert!(world.tui.screen().contains("❯ [pasted 40 lines]"));
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [prompt(&text, Delivery::Guidance)]);
}

#[test]
fn a_command_is_completed_and_carried_out() {
    let mut world = World::new(100, 30);
    world.tui.type_text("/und");
    let screen = world.tui.screen();
    assert!(screen.contains("❯ /undo"), "{screen}");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::Undo { confirmed: false }]);
    world.tui.type_text("/compct now");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), []);
    let screen = world.tui.screen();
    assert!(screen.contains("The closest is /compact"), "{screen}");
    assert!(
        screen.contains("❯ /compct now"),
        "what was typed stays: {screen}"
    );
}

#[test]
fn a_file_is_found_mentioned_and_sent_along() {
    let mut world = World::new(100, 30);
    world.tui.type_text("see @ma");
    let ops = world.tui.ops();
    let Some(Op::FindFiles { query, generation }) = ops.last() else {
        panic!("{ops:?}")
    };
    assert_eq!(query, "ma");
    let paths = vec!["src/main.rs".to_owned(), "Makefile".to_owned()];
    world.tui.event(Event::Files {
        generation: generation - 1,
        paths: vec!["old".to_owned()],
    });
    world.tui.event(Event::Files {
        generation: *generation,
        paths,
    });
    let screen = world.tui.screen();
    assert!(
        screen.contains("src/main.rs") && !screen.contains("old"),
        "{screen}"
    );
    world.tui.press("tab");
    world.tui.press("enter");
    let ops = world.tui.ops();
    let [Op::Prompt { input, .. }] = &ops[..] else {
        panic!("{ops:?}")
    };
    assert_eq!(input.text, "see @src/main.rs ");
    assert_eq!(
        input.files[0].source,
        FileSource::Path("src/main.rs".to_owned())
    );
}

#[test]
fn ctrl_c_puts_text_aside_then_quits_at_the_second_press() {
    let mut world = World::new(100, 30);
    world.tui.type_text("half a thought");
    world.tui.press("ctrl+c");
    assert!(world.tui.state.composer.is_empty());
    world.tui.press("↑");
    assert_eq!(world.tui.state.composer.expanded(), "half a thought");
    world.tui.press("ctrl+c ctrl+c");
    assert!(!world.tui.effects().contains(&Effect::Quit));
    world.tui.press("ctrl+c");
    assert!(world.tui.effects().contains(&Effect::Quit));
}

#[test]
fn escape_twice_on_nothing_asks_for_the_tree() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "first prompt");
    world.status(Phase::Idle, 0, |_| {});
    world.tui.press("esc esc");
    assert_eq!(world.tui.ops(), [Op::Tree]);
}

#[test]
fn what_was_taken_back_is_offered_in_the_composer() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "first prompt");
    let prompt = "first prompt".to_owned();
    world.tui.event(Event::BranchChanged { tip: None, prompt });
    assert_eq!(world.tui.state.composer.expanded(), "first prompt");
    assert_eq!(
        world.tui.state.session.prompts,
        Vec::<(MessageId, String)>::new()
    );
}

#[test]
fn help_lists_keys_and_commands_from_the_tables() {
    let mut world = World::new(160, 50);
    world.tui.press("?");
    let screen = world.tui.screen();
    for word in [
        "shift+enter",
        "/compact",
        "interrupt and send",
        "Everywhere",
    ] {
        assert!(screen.contains(word), "{word} is not in:\n{screen}");
    }
    world.tui.press("?");
    assert!(!world.tui.screen().contains("Everywhere"));
}

#[test]
fn nothing_runs_when_nothing_changes() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Idle, 0, |_| {});
    world.tui.draw();
    assert_eq!(world.tui.drawn().next, None);
    assert_eq!(world.tui.state.deadline(), None);
    world.status(Phase::Streaming, 0, |_| {});
    world.tui.draw();
    let next = world.tui.drawn().next.expect("a spinner turns");
    assert!(next - world.tui.now <= 125);
    world.tui.tell(Msg::Input(Input::Focus(false)));
    world.tui.draw();
    assert_eq!(world.tui.drawn().next, None, "nobody looks");
}

#[test]
fn a_question_notifies_only_when_nobody_looks() {
    let mut world = World::new(100, 30);
    world.ask(super::fixtures::permission("ls"));
    assert!(
        !world
            .tui
            .effects()
            .iter()
            .any(|e| matches!(e, Effect::Notify(_)))
    );
    world.tui.tell(Msg::Input(Input::Focus(false)));
    world.ask(super::fixtures::permission("pwd"));
    assert!(
        world
            .tui
            .effects()
            .iter()
            .any(|e| matches!(e, Effect::Notify(_)))
    );
}
