//! Questions: the guard on keys, what each answer is, hidden characters.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Answer, AskBody, GrantScope, Op, Role};

use super::fixtures::{World, doom_loop, permission};

fn asked(body: AskBody) -> (World, dunlin::protocol::AskId) {
    let mut world = World::new(120, 40);
    world.say(Role::User, "go");
    world.status(Phase::Asking, 0, |_| {});
    let ask = world.ask(body);
    (world, ask.id)
}

#[track_caller]
fn answer_to(body: AskBody, keys: &str) -> Vec<Answer> {
    let (mut world, id) = asked(body);
    world.tui.wait(500);
    world.tui.press(keys);
    let ops = world.tui.ops();
    ops.into_iter()
        .map(|op| match op {
            Op::Answer { ask, answer } if ask == id => answer,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn no(message: &str) -> Answer {
    Answer::No {
        message: message.to_owned(),
    }
}

#[test]
fn a_question_that_appears_while_the_user_types_takes_no_key() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "go");
    world.status(Phase::Tools, 0, |_| {});
    world.tui.type_text("remember to sa");
    world.ask(permission("rm -r target"));
    world.tui.type_text("y yes ");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), []);
    assert_eq!(
        world.tui.state.composer.expanded(),
        "remember to say yes ",
        "the draft goes on"
    );
    world.tui.wait(450);
    world.tui.press("n enter");
    assert_eq!(world.tui.ops().len(), 1);
    assert!(
        world.tui.screen().contains("❯ remember to say yes"),
        "the draft is back"
    );
}

#[test]
fn keys_right_after_a_question_appeared_are_ignored() {
    let (mut world, _) = asked(permission("ls"));
    world.tui.press("y");
    assert_eq!(world.tui.ops(), []);
    world.tui.wait(400);
    world.tui.press("y");
    assert_eq!(world.tui.ops().len(), 1);
}

#[test]
fn each_key_gives_its_answer() {
    let ask = || permission("cargo add insta --dev");
    let always = |scope, pattern: &str| Answer::Always {
        scope,
        pattern: pattern.to_owned(),
    };
    assert_eq!(answer_to(ask(), "y"), [Answer::Once]);
    assert_eq!(answer_to(ask(), "enter"), [Answer::Once]);
    assert_eq!(
        answer_to(ask(), "s"),
        [always(GrantScope::Session, "cargo add *")]
    );
    assert_eq!(
        answer_to(ask(), "p"),
        [always(GrantScope::Project, "cargo add *")]
    );
    assert_eq!(answer_to(ask(), "esc"), [no("")]);
    assert_eq!(
        answer_to(ask(), "n u s e space n p m enter"),
        [no("use npm")]
    );
    assert_eq!(
        answer_to(
            ask(),
            "e backspace backspace backspace backspace backspace * enter s"
        ),
        [always(GrantScope::Session, "cargo *")]
    );
    assert_eq!(
        answer_to(ask(), "n esc y"),
        [Answer::Once],
        "esc leaves the field"
    );
}

#[test]
fn a_loop_stops_by_default_and_says_why() {
    assert_eq!(answer_to(doom_loop(), "enter"), [no("")]);
    assert_eq!(answer_to(doom_loop(), "c"), [Answer::Once]);
    assert_eq!(answer_to(doom_loop(), "t h m enter"), [no("hm")]);
    let always = Answer::Always {
        scope: GrantScope::Session,
        pattern: String::new(),
    };
    assert_eq!(answer_to(doom_loop(), "a"), [always]);
}

#[test]
fn a_question_is_answered_by_number_or_in_words() {
    let question = || AskBody::Question {
        question: "Which one?".to_owned(),
        options: vec!["tabs".to_owned(), "spaces".to_owned()],
    };
    assert_eq!(
        answer_to(question(), "2"),
        [Answer::Text {
            text: "spaces".to_owned()
        }]
    );
    assert_eq!(
        answer_to(question(), "3 n o space i d e a enter"),
        [Answer::Text {
            text: "no idea".to_owned()
        }]
    );
}

#[test]
fn hidden_characters_are_written_out_and_withhold_wide_grants() {
    let (mut world, _) = asked(permission("echo a\u{202e}b\u{200b}c"));
    let screen = world.tui.screen();
    assert!(
        screen.contains("⟨U+202E⟩") && screen.contains("⟨U+200B⟩"),
        "{screen}"
    );
    assert!(
        screen.contains("not offered: hidden characters"),
        "{screen}"
    );
    assert!(!screen.contains("This session"), "{screen}");
    world.tui.wait(500);
    world.tui.press("s p");
    assert_eq!(world.tui.ops(), [], "not offered, not taken");
    world.tui.press("enter");
    assert_eq!(
        world.tui.state.asks.all().len(),
        1,
        "enter opens the no, it does not approve"
    );
}

#[test]
fn pipes_say_why_wide_grants_are_withheld() {
    let mut body = permission("curl x | sh");
    if let AskBody::Permission {
        pattern,
        withheld,
        dangerous,
        ..
    } = &mut body
    {
        *pattern = None;
        *withheld = "pipes into a shell".to_owned();
        *dangerous = true;
    }
    let (mut world, _) = asked(body);
    let screen = world.tui.screen();
    assert!(
        screen.contains("not offered: pipes into a shell"),
        "{screen}"
    );
    assert!(
        screen.contains("❯ n  No"),
        "enter is as safe as esc: {screen}"
    );
}

#[test]
fn a_long_command_is_never_cut_without_a_mark_and_can_be_seen_whole() {
    let long: Vec<String> = (0..60).map(|n| format!("line {n} of the script")).collect();
    let (mut world, _) = asked(permission(&long.join("\n")));
    let screen = world.tui.screen();
    assert!(screen.contains("┊ 41 more rows"), "{screen}");
    world.tui.wait(500);
    world.tui.press("ctrl+f");
    let mut seen = String::new();
    for _ in 0..60 {
        seen.push_str(&world.tui.screen());
        world.tui.press("↓");
    }
    for line in &long {
        assert!(seen.contains(line.as_str()), "{line} was never shown");
    }
}

#[test]
fn several_questions_are_answered_in_any_order() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "go");
    let first = world.ask(permission("one"));
    let second = world.ask(permission("two"));
    assert!(world.tui.screen().contains("1 of 2"));
    world.tui.wait(500);
    world.tui.press("tab");
    world.tui.wait(500);
    world.tui.press("y");
    assert_eq!(
        world.tui.ops(),
        [Op::Answer {
            ask: second.id,
            answer: Answer::Once
        }]
    );
    world.tui.press("y");
    assert_eq!(world.tui.ops(), [], "the next one is new to the eye");
    world.tui.wait(500);
    world.tui.press("y");
    assert_eq!(
        world.tui.ops(),
        [Op::Answer {
            ask: first.id,
            answer: Answer::Once
        }]
    );
}

#[test]
fn a_pattern_that_does_not_cover_the_call_is_not_granted() {
    let (mut world, _) = asked(permission("cargo add insta --dev"));
    world.tui.wait(500);
    world.tui.press("e ctrl+u n p m space * enter");
    let screen = world.tui.screen();
    assert!(screen.contains("does not match this command"), "{screen}");
    world.tui.press("s");
    assert_eq!(world.tui.ops(), [], "the field is open: s is a letter");
    world.tui.press("ctrl+u c a r g o space * enter");
    let screen = world.tui.screen();
    assert!(!screen.contains("does not match"), "{screen}");
    world.tui.press("s");
    let granted = Answer::Always {
        scope: GrantScope::Session,
        pattern: "cargo *".to_owned(),
    };
    let ops = world.tui.ops();
    assert!(
        matches!(&ops[..], [Op::Answer { answer, .. }] if *answer == granted),
        "{ops:?}"
    );
}

#[test]
fn nothing_is_approved_that_does_not_show() {
    for (width, height) in [(20, 6), (30, 8), (60, 12), (60, 20), (120, 40)] {
        for subject in ["cargo add insta --dev", "one\ntwo\nthree\nfour\nfive\nsix"] {
            let mut world = World::new(120, 40);
            world.say(Role::User, "go");
            world.status(Phase::Asking, 0, |_| {});
            world.ask(permission(subject));
            world.tui.resize(width, height);
            world.tui.wait(500);
            let screen = world.tui.screen();
            let begins = screen.contains(subject.lines().next().expect("a line"));
            let whole = subject.lines().all(|line| screen.contains(line));
            assert!(whole || !begins || screen.contains("more row"), "{screen}");
            world.tui.press("enter");
            let approved = matches!(
                world.tui.ops().last(),
                Some(Op::Answer {
                    answer: Answer::Once,
                    ..
                })
            );
            assert_eq!(approved, begins, "{width}x{height}: {screen}");
        }
    }
}

#[test]
fn what_we_found_out_goes_before_what_the_model_says() {
    let mut body = permission("cargo add insta --dev");
    if let AskBody::Permission { says, .. } = &mut body {
        *says = "A very long claim of the model about what it is going to do. ".repeat(20);
    }
    let mut world = World::new(60, 20);
    world.say(Role::User, "go");
    world.ask(body);
    let screen = world.tui.screen();
    assert!(
        screen.contains("sees") && screen.contains("where"),
        "{screen}"
    );
    assert!(screen.contains("more row"), "{screen}");
}

#[test]
fn a_question_on_the_whole_screen_names_the_keys_that_go_on_and_ends_with_a_full_page() {
    let long: Vec<String> = (1..=62).map(|n| format!("line {n} of it")).collect();
    let mut world = World::new(80, 24);
    world.say(Role::User, "go");
    world.ask(permission(&long.join("\n")));
    world.tui.wait(500);
    world.tui.screen();
    world.tui.press("ctrl+f");
    let screen = world.tui.screen();
    let mark = screen.lines().find(|row| row.contains("more rows"));
    assert!(mark.is_some_and(|row| row.ends_with("pgdn")), "{screen}");
    for _ in 0..12 {
        world.tui.press("pgdn");
        world.tui.screen();
    }
    let screen = world.tui.screen();
    assert!(
        screen.contains("line 62 of it") && screen.contains("line 57 of it"),
        "{screen}"
    );
    let mark = screen.lines().find(|row| row.contains("rows above"));
    assert!(mark.is_some_and(|row| row.ends_with("pgup")), "{screen}");
    world.tui.press("ctrl+home");
    assert!(world.tui.screen().contains("line 1 of it"));
}
