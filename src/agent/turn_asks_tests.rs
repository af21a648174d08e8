//! What is asked and what is settled by it: calls that never run are loops too, and a wider permission
//! settles the questions it covers.

use super::*;
use crate::protocol::{AskId, GrantScope};

fn looped(w: &World) -> Option<AskId> {
    let ask = w.turn.asks().first()?;
    matches!(ask.body, AskBody::DoomLoop { repeats: 4, .. }).then_some(ask.id)
}

/// Worlds whose model makes the same call again and again, and it never runs.
fn never_running() -> Vec<World> {
    let same = || (0..9).map(|_| runs(&["t"])).collect::<Vec<_>>();
    let mut denied = World::new(setup(), same());
    denied.denies = Some("A rule refuses it.");
    let mut invalid = World::new(setup(), same());
    invalid.invalid = true;
    let broken = (0..9).map(|_| Answers::Broken("{\"command\": ")).collect();
    vec![denied, invalid, World::new(setup(), broken)]
}

#[test]
fn calls_that_are_refused_or_cannot_be_read_are_a_loop_too() {
    for mut w in never_running() {
        w.prompt("go");
        w.run();
        assert_eq!(w.tools().len(), 4);
        let ask = looped(&w).expect("the fourth one asks");
        w.give(Input::Answer {
            ask,
            answer: Answer::Once,
        });
        w.run();
        assert_eq!(w.tools().len(), 7, "counting began anew with the fourth");
        let runs = w.states.values().any(|s| s.name() == "completed");
        assert!(!runs, "a yes to the loop is no permission");
        let answer = Answer::No {
            message: String::new(),
        };
        let ask = looped(&w).expect("asked again");
        w.give(Input::Answer { ask, answer });
        let told = |s: &ToolState| matches!(s, ToolState::Error { error, .. } if error.contains("repeating"));
        assert!(w.states.values().any(told), "the model is told");
    }
}

#[test]
fn headless_a_loop_of_refused_calls_ends_the_turn() {
    for mut w in never_running() {
        w.turn.setup.headless = true;
        w.prompt("go");
        w.run();
        assert_eq!(w.ends(), [TurnEnd::DoomLoop]);
    }
}

#[test]
fn a_resumed_session_knows_the_calls_that_could_not_be_read() {
    let mut w = World::new(setup(), vec![Answers::Broken("{"); 3]);
    w.prompt("go");
    w.run();
    let entries = w.turn.conversation().entries().to_vec();
    let messages = entries.iter().map(|e| e.message.clone()).collect();
    let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
    let mut again = World::new(setup(), vec![Answers::Broken("{")]);
    let conversation = Conversation::from_history(messages, parts);
    again.turn = Turn::new(setup(), conversation, &BTreeMap::new());
    again.written = w.written.clone();
    again.prompt("go on");
    again.run();
    assert!(looped(&again).is_some());
}

#[test]
fn always_allow_lets_twenty_more_pass_and_only_this_call() {
    let mut w = World::new(setup(), (0..40).map(|_| runs(&["t"])).collect());
    w.prompt("go");
    w.run();
    let ask = looped(&w).expect("the fourth one asks");
    let answer = Answer::Always {
        scope: GrantScope::Session,
        pattern: String::new(),
    };
    w.give(Input::Answer { ask, answer });
    w.run();
    assert_eq!(
        w.tools().len(),
        4 + 20 + 1,
        "twenty ran without a question, the next one asks"
    );
    assert!(matches!(
        w.turn.asks()[0].body,
        AskBody::DoomLoop { cycle: 1, .. }
    ));
}

/// Two commands of one step wait for the user.
fn two_asked() -> World {
    let mut w = World::new(setup(), vec![runs(&["a", "b"])]);
    w.asks_permission = true;
    w.prompt("go");
    w.run();
    assert_eq!(w.turn.asks().len(), 2);
    w
}

fn always(w: &mut World, ask: AskId) {
    let answer = Answer::Always {
        scope: GrantScope::Session,
        pattern: "*".to_owned(),
    };
    w.give(Input::Answer { ask, answer });
}

#[test]
fn a_wider_permission_settles_the_questions_of_siblings() {
    let mut w = two_asked();
    let (first, second) = (w.turn.asks()[0].id, w.turn.asks()[1].id);
    // What the user granted covers both.
    w.asks_permission = false;
    always(&mut w, first);
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
    let closed = |id| {
        let of = |e: &&Event| matches!(e, Event::AskClosed { ask } if *ask == id);
        w.events.iter().filter(of).count()
    };
    assert_eq!((closed(first), closed(second)), (1, 1));
    assert!(w.states.values().all(|s| s.name() == "completed"));
}

#[test]
fn a_question_that_a_permission_does_not_cover_stays_open_as_it_is() {
    let mut w = two_asked();
    let (first, second) = (w.turn.asks()[0].id, w.turn.asks()[1].id);
    always(&mut w, first);
    w.run();
    assert_eq!(w.turn.asks().len(), 1);
    assert_eq!(
        w.turn.asks()[0].id,
        second,
        "it was not asked a second time"
    );
    // A permission from elsewhere in the tree settles it later.
    w.give(Input::JudgeAgain);
    w.run();
    assert_eq!(w.turn.asks()[0].id, second);
    w.asks_permission = false;
    w.give(Input::JudgeAgain);
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
}

#[test]
fn calls_that_are_judged_again_count_once_for_the_loop_guard() {
    // Twice in earlier steps, once asked about and judged again and again: no loop of four.
    let mut w = World::new(setup(), vec![runs(&["a"]), runs(&["a"]), runs(&["a"])]);
    w.prompt("go");
    while w.tools().len() < 3 {
        w.step(0);
        w.asks_permission = w.requests == 3;
    }
    w.run();
    for _ in 0..4 {
        w.give(Input::JudgeAgain);
        w.run();
    }
    assert!(matches!(w.turn.asks()[0].body, AskBody::Permission { .. }));
    w.asks_permission = false;
    w.give(Input::JudgeAgain);
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
}

#[test]
fn a_refused_call_says_who_refused_it_and_why() {
    let mut w = two_asked();
    let asks: Vec<AskId> = w.turn.asks().iter().map(|ask| ask.id).collect();
    for (ask, words) in asks.into_iter().zip(["use npm", ""]) {
        let answer = Answer::No {
            message: words.to_owned(),
        };
        w.give(Input::Answer { ask, answer });
    }
    let mut told: Vec<String> = w
        .states
        .values()
        .filter_map(|s| s.metadata()?.get("refused")?.get("words")?.as_str())
        .map(str::to_owned)
        .collect();
    told.sort();
    assert_eq!(told, ["", "use npm"]);
}
