//! Waiting for another attempt: what the user sees, and what the user can do about it.

use super::*;
use crate::protocol::Phase;

/// A world that waits after its first attempt failed so.
fn waiting(kind: FaultKind) -> World {
    let mut w = World::new(setup(), vec![Answers::Fail(kind), Answers::Say("ok")]);
    w.prompt("go");
    until_it_waits(&mut w);
    w
}

fn until_it_waits(w: &mut World) {
    while !matches!(w.turn.status().phase, Phase::Retrying { .. }) {
        assert!(!w.due.is_empty(), "it never waits");
        // The timer stays where it is until it is wanted.
        let at = w.due.iter().position(|d| !matches!(d, Due::Timer(_)));
        w.step(at.expect("something but a timer"));
    }
}

#[test]
fn the_user_sees_which_attempt_comes_when_and_why() {
    let w = waiting(FaultKind::Server);
    let Phase::Retrying {
        attempt,
        limit,
        next,
        error,
    } = w.turn.status().phase
    else {
        panic!("it waits");
    };
    assert_eq!((attempt, limit), (2, Some(4)));
    assert_eq!(error.kind, FaultKind::Server);
    assert_eq!(
        w.sleeps,
        [next],
        "the countdown ends when the attempt begins"
    );
    assert!(
        (1_000..=2_000).contains(&(next - w.now)),
        "{}",
        next - w.now
    );
    let told = w.events.iter().any(|e| {
        matches!(e, Event::Retry { attempt: 1, delay_ms, .. } if *delay_ms as i64 == next - w.now)
    });
    assert!(told);
}

#[test]
fn retry_now_begins_the_attempt_at_once_and_the_timer_comes_too_late() {
    let mut w = waiting(FaultKind::Server);
    w.give(Input::RetryNow);
    assert_eq!(w.requests, 2);
    let timers: Vec<usize> = (0..w.due.len())
        .filter(|at| matches!(w.due[*at], Due::Timer(_)))
        .collect();
    assert_eq!(timers.len(), 1);
    w.step(timers[0]);
    assert_eq!(w.requests, 2, "the old timer starts nothing");
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
    // When nothing waits it means nothing.
    w.give(Input::RetryNow);
    assert_eq!(w.requests, 2);
}

#[test]
fn an_interrupt_ends_the_wait_and_nothing_begins_by_itself() {
    let mut w = waiting(FaultKind::Overloaded);
    w.give(Input::Interrupt);
    assert_eq!(w.ends(), [TurnEnd::Interrupted]);
    assert_eq!(w.turn.status().phase, Phase::Idle);
    w.run();
    assert_eq!(w.requests, 1);
    w.prompt("and now?");
    w.run();
    assert_eq!(w.ends().last(), Some(&TurnEnd::Done));
}

#[test]
fn what_the_user_says_while_it_waits_goes_along_with_the_next_attempt() {
    let mut w = waiting(FaultKind::Server);
    w.give(prompt("be brief", Delivery::Guidance));
    assert_eq!(w.turn.queue().guidance.len(), 1);
    w.run();
    assert_eq!(w.texts(Role::User), ["go", "be brief"]);
    assert_eq!((w.requests, w.ends()), (2, vec![TurnEnd::Done]));
}

#[test]
fn overload_is_waited_out_without_a_limit_but_never_longer_than_its_cap() {
    let mut w = World::new(setup(), vec![Answers::Fail(FaultKind::Overloaded); 30]);
    w.prompt("go");
    for _ in 0..30 {
        until_it_waits(&mut w);
        let Phase::Retrying { limit, next, .. } = w.turn.status().phase else {
            panic!("it waits");
        };
        assert_eq!(limit, None);
        assert!(next - w.now <= 60_000, "{} ms apart", next - w.now);
        w.now = next;
        let timer = w.due.iter().rposition(|d| matches!(d, Due::Timer(_)));
        w.step(timer.expect("a timer"));
    }
    w.run();
    assert_eq!((w.requests, w.ends()), (31, vec![TurnEnd::Done]));
}

#[test]
fn what_a_broken_attempt_said_is_kept_and_not_sent_again() {
    let mut w = waiting(FaultKind::Server);
    let messages = assemble::messages(w.turn.conversation_mut(), &|_| None);
    let sent = format!("{messages:?}");
    assert!(sent.contains("go") && !sent.contains("I beg"), "{sent}");
    w.run();
    let all: Vec<String> = w
        .turn
        .conversation()
        .entries()
        .iter()
        .flat_map(|e| &e.parts)
        .filter_map(|p| match &p.body {
            PartBody::Text { text, ignored, .. } => Some(format!("{text} {ignored}")),
            PartBody::Retry { attempt, .. } => Some(format!("retry {attempt}")),
            _ => None,
        })
        .collect();
    assert_eq!(all, ["go false", "I beg true", "retry 1", "ok false"]);
}
