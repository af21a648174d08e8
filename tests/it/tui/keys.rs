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
        "While a turn runs",
    ] {
        assert!(screen.contains(word), "{word} is not in:\n{screen}");
    }
    world.tui.press("?");
    assert!(!world.tui.screen().contains("While a turn runs"));
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

#[test]
fn every_text_that_was_put_aside_comes_back() {
    let mut world = World::new(100, 30);
    for text in ["important thought", "second"] {
        world.tui.type_text(text);
        world.tui.press("ctrl+c");
    }
    assert!(world.tui.screen().contains("Put aside"));
    world.tui.press("↑");
    assert_eq!(world.tui.state.composer.expanded(), "second");
    assert!(
        !world.tui.screen().contains("Put aside"),
        "it has come back"
    );
    world.tui.press("ctrl+u ↑");
    assert_eq!(world.tui.state.composer.expanded(), "important thought");
}

#[test]
fn a_mistyped_command_runs_no_other() {
    for typed in ["/foo", "/modle"] {
        let mut world = World::new(100, 30);
        world.tui.type_text(typed);
        world.tui.press("enter");
        assert_eq!(world.tui.ops(), []);
        assert!(world.tui.state.overlays.is_empty());
        let screen = world.tui.screen();
        assert!(screen.contains(&format!("There is no {typed}")), "{screen}");
    }
}

#[test]
fn a_command_found_by_what_it_does_is_written_out_not_run() {
    let mut world = World::new(100, 30);
    world.tui.type_text("/window");
    assert!(world.tui.screen().contains("/context"));
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), []);
    assert_eq!(world.tui.state.composer.expanded(), "/context ");
}

#[test]
fn a_chosen_file_keeps_the_lines_that_were_typed() {
    for key in ["tab", "enter"] {
        let mut world = World::new(100, 30);
        world.tui.type_text("see @big:10-40");
        let ops = world.tui.ops();
        let Some(Op::FindFiles { generation, .. }) = ops.last() else {
            panic!("{ops:?}")
        };
        let generation = *generation;
        let paths = vec!["src/big.rs".to_owned()];
        world.tui.event(Event::Files { generation, paths });
        world.tui.press(key);
        assert_eq!(
            world.tui.state.composer.expanded(),
            "see @src/big.rs:10-40 "
        );
    }
}

#[test]
fn what_is_mentioned_goes_along_however_it_was_written() {
    let mut world = World::new(100, 30);
    world.tui.type_text("why (@src/big.rs:10-12), tell");
    world.tui.press("esc enter");
    let sent = |world: &mut World| {
        let ops = world.tui.ops();
        match ops.last() {
            Some(Op::Prompt { input, .. }) => input.files.clone(),
            other => panic!("{other:?}"),
        }
    };
    let files = sent(&mut world);
    assert_eq!(files[0].name, "src/big.rs:10-12");
    world.tui.press("↑ enter");
    assert_eq!(sent(&mut world), files, "the same again from the history");
}

#[test]
fn a_shell_command_has_its_sign_once_and_a_word_in_the_line_above() {
    let mut world = World::new(100, 30);
    world.tui.type_text("!ls -l");
    let screen = world.tui.screen();
    assert!(screen.contains("  ! ls -l\n"), "{screen}");
    assert!(screen.contains("─ shell ─"), "{screen}");
    let cursor = world.tui.drawn().cursor.expect("a cursor");
    assert_eq!(cursor.x, 4 + "ls -l".len() as u16);
    world.tui.press("ctrl+u");
    assert!(!world.tui.screen().contains("─ shell ─"));
}

#[test]
fn the_status_row_names_the_command_that_runs() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "!sleep 3");
    let message = world.message_of(Role::Assistant);
    world.runs(message, "sleep 3", "", 0);
    world.status(Phase::Tools, 1_000, |_| {});
    let screen = world.tui.screen();
    let status = screen.lines().rev().find(|row| row.contains("interrupt"));
    assert!(
        status.is_some_and(|row| row.contains("Running sleep 3")),
        "{screen}"
    );
}

#[test]
fn rows_of_a_long_text_that_do_not_show_are_counted() {
    let mut world = World::new(100, 24);
    let text: Vec<String> = (1..=30).map(|n| format!("short line {n}")).collect();
    world.tui.tell(Msg::Edited(Ok(text.join("\n"))));
    let screen = world.tui.screen();
    assert!(screen.contains("22 rows above"), "{screen}");
    assert!(
        !screen.contains('❯'),
        "its first row is not on screen: {screen}"
    );
    for _ in 0..29 {
        world.tui.press("↑");
    }
    let screen = world.tui.screen();
    assert!(screen.contains("❯ short line 1\n"), "{screen}");
    assert!(screen.contains("22 rows below"), "{screen}");
}

#[test]
fn a_notice_that_is_longer_than_the_row_is_read_whole_at_any_width() {
    let text = "There is no desktop here whose clipboard could be read: paste or drop its path.";
    for (width, height) in [(120, 40), (60, 20), (36, 20)] {
        let mut world = World::new(width, height);
        world.say(Role::User, "go");
        world.status(Phase::Idle, 0, |_| {});
        world.tui.tell(Msg::Pictures(Err(text.to_owned())));
        let screen = world.tui.screen();
        let words: Vec<&str> = screen.split_whitespace().collect();
        assert!(words.join(" ").contains(text), "{width}: {screen}");
    }
}

#[test]
fn a_notice_is_seen_over_an_overlay() {
    for key in ["?", "alt+x", "ctrl+s"] {
        let mut world = World::new(120, 40);
        world.say(Role::User, "go");
        world.tui.press(key);
        world.tui.tell(Msg::Copied(true));
        let screen = world.tui.screen();
        assert!(screen.contains("Copied."), "{key}: {screen}");
        world.tui.event(Event::Notice {
            level: dunlin::protocol::NoticeLevel::Warning,
            text: "It was left as it is.".to_owned(),
        });
        let screen = world.tui.screen();
        assert!(screen.contains("It was left as it is."), "{key}: {screen}");
    }
}

#[test]
fn a_notice_is_gone_when_something_else_is_said() {
    let mut world = World::new(120, 40);
    world.status(Phase::Idle, 0, |_| {});
    world.tui.type_text("/effort silly");
    world.tui.press("enter");
    assert!(world.tui.screen().contains("is no effort"));
    world.tui.type_text("/mode plan");
    world.tui.press("enter");
    let screen = world.tui.screen();
    assert!(!screen.contains("is no effort"), "{screen}");
    world.tui.type_text("/find");
    world.tui.press("enter");
    assert!(world.tui.screen().contains("Write /find WORDS."));
}

#[test]
fn an_esc_right_after_an_overlay_closed_stops_no_turn() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "go");
    world.status(Phase::Tools, 0, |_| {});
    world.tui.press("alt+x esc esc");
    assert_eq!(world.tui.ops(), []);
    world.tui.wait(500);
    world.tui.press("esc");
    assert_eq!(world.tui.ops(), [Op::Interrupt]);
}

#[test]
fn the_queued_message_that_keys_act_on_is_shown_and_a_dropped_one_comes_back() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "go");
    world.status(Phase::Tools, 0, |_| {});
    let texts = [
        "follow one",
        "follow two",
        "follow three",
        "follow four",
        "follow five",
        "follow six",
    ];
    world.queued(&[], &texts, false);
    let screen = world.tui.screen();
    for shown in ["follow one", "follow six", "2 more"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    world.tui.press("ctrl+x");
    assert!(world.tui.screen().contains("Dropped"));
    world.tui.press("↑");
    assert_eq!(world.tui.state.composer.expanded(), "follow six");
}

#[test]
fn warnings_of_the_start_stay_to_be_read_whole() {
    let mut world = World::new(60, 24);
    let warnings = [
        "unknown key ui.foo in config.toml: the closest is ui.mouse, which is a long way from it",
        ".dunlin/config.toml is ignored until you trust this folder: run `dunlin trust`.",
    ];
    for text in warnings {
        world.tui.event(Event::Notice {
            level: dunlin::protocol::NoticeLevel::Warning,
            text: text.to_owned(),
        });
    }
    world.tui.wait(20_000);
    let screen = world.tui.screen();
    let words: Vec<&str> = screen.split_whitespace().collect();
    for text in warnings {
        assert!(words.join(" ").contains(text), "{screen}");
    }
    assert_eq!(world.tui.state.theme_problem(), None);
    world.tui.state.theme_name = "drak".to_owned();
    let problem = world.tui.state.theme_problem().expect("nobody's name");
    assert!(problem.contains("The closest is `dark`"), "{problem}");
}

#[test]
fn titles_of_the_start_are_cut_with_a_mark_and_only_where_they_must() {
    let mut world = World::new(38, 24);
    let id = dunlin::protocol::SessionId::from_raw(9);
    let title = "fix the flaky resize test of the pager";
    let sessions = vec![super::fixtures::summary(id, title, 0, 3)];
    world.tui.event(Event::Sessions { sessions });
    let screen = world.tui.screen();
    assert!(
        screen.contains("ctrl+s  fix the flaky resize test of …"),
        "{screen}"
    );
}

#[test]
fn help_cuts_nothing_at_any_width() {
    for (width, height) in [(60, 200), (80, 200), (120, 120), (170, 100)] {
        let mut world = World::new(width, height);
        world.tui.press("?");
        let screen = world.tui.screen();
        let cut = screen.replace("[none…max", "").contains('…');
        assert!(!cut, "{width}: {screen}");
        assert!(screen.contains("Writing"), "{screen}");
        let first = screen.lines().position(|row| row.contains("Everywhere"));
        let writing = screen.lines().position(|row| row.contains("Writing"));
        assert!(width > 80 || writing < first, "{screen}");
    }
}

#[test]
fn one_thing_is_one_row_of_the_palette() {
    let mut world = World::new(120, 40);
    world.tui.press("alt+x");
    world.tui.type_text("what subagents did");
    let screen = world.tui.screen();
    assert_eq!(
        screen.matches("what subagents did and do").count(),
        1,
        "{screen}"
    );
    let row = screen.lines().find(|row| row.contains("/subagents"));
    assert!(row.is_some_and(|row| row.ends_with("alt+t")), "{screen}");
}

#[test]
fn a_theme_is_chosen_by_what_it_looks_like() {
    let mut world = World::new(120, 40);
    world.tui.type_text("/theme");
    world.tui.press("enter");
    let screen = world.tui.screen();
    for shown in ["✓ Ran cargo test", "✗ Ran", "? Run this command", "┼"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
}
