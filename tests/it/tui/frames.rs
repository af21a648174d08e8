//! Screens against the reference frames, to the character: all of them below the conversation, whose
//! own cells have their own tests.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{Event, Fault, FaultKind, Role, SessionId};

use super::fixtures::{World, doom_loop, permission, place, summary};

/// The last rows of a frame, from the first one that begins so.
fn from<'a>(frame: &'a str, begin: &str) -> Vec<&'a str> {
    let rows: Vec<&str> = frame.lines().map(str::trim_end).collect();
    let at = rows.iter().rposition(|row| row.starts_with(begin));
    rows[at.unwrap_or_else(|| panic!("no row begins with `{begin}` in:\n{frame}"))..].to_vec()
}

#[track_caller]
fn same_from(world: &mut World, frame: &str, begin: &str) {
    let screen = world.tui.screen();
    let (shown, wanted) = (from(&screen, begin), from(frame, begin));
    let mut wanted = wanted;
    while wanted.last().is_some_and(|row| row.is_empty()) {
        wanted.pop();
    }
    assert_eq!(
        shown.join("\n"),
        wanted.join("\n"),
        "the whole screen:\n{screen}"
    );
}

#[test]
fn the_empty_start_is_frame_1() {
    let mut world = World::new(120, 40);
    let now = world.tui.now; // 14:02
    let day = 86_400_000;
    let sessions = vec![
        summary(SessionId::from_raw(7), "fix flaky resize test", now, 26),
        summary(
            SessionId::from_raw(6),
            "tokenizer cache eviction",
            now - day,
            61,
        ),
        summary(
            SessionId::from_raw(5),
            "port pager to ratatui 0.30",
            now - 3 * day,
            12,
        ),
    ];
    world.tui.event(Event::Place(place()));
    world.tui.event(Event::Sessions { sessions });
    world.status(Phase::Idle, 0, |status| {
        status.context.used = 0;
        status.context.pruned = 0;
        status.cost = None;
    });
    same_from(
        &mut world,
        include_str!("frames/01-empty-start-120x40.txt"),
        "    dunlin",
    );
}

#[test]
fn a_running_turn_is_the_foot_of_frame_2() {
    let mut world = World::new(120, 40);
    let said = world.say(Role::User, "Why does the resize test flake? Fix it.");
    world.plan(said);
    world.third_spin();
    world.status(Phase::Streaming, 72_000, |status| {
        status.turn_output = 3_100;
    });
    let screen = world.tui.screen();
    let rows = from(&screen, "  ⠹");
    assert_eq!(
        rows[0],
        "  ⠹ Guard reflow during replay  2/4   1m 12s   ↓ 3.1k                                                    \
         esc interrupt"
    );
    assert!(
        rows[1].starts_with(&format!("{}╍╍─", "━".repeat(31))),
        "{}",
        rows[1]
    );
    assert_eq!(rows[1].chars().nth(96), Some('┼'));
    assert_eq!(rows[2], "  ❯");
    assert_eq!(
        rows[4],
        "  build · sonnet-x high · ask                                                          \
         52.3k/200k 26%   $0.42   ? keys"
    );
}

#[test]
fn a_permission_is_frame_3a() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Port the parser tests to insta.");
    world.status(Phase::Asking, 1_000, |_| {});
    world.ask(permission("cargo add insta --dev"));
    world.ask(permission("cargo fetch"));
    let frame = include_str!("frames/03a-permission-prompt-120x40.txt");
    // The footer has one more hint: several questions are open.
    let frame = frame.replace(
        "ctrl+f full screen             ",
        "ctrl+f full screen   tab next  ",
    );
    same_from(&mut world, &frame, "━");
}

#[test]
fn a_loop_is_frame_3b() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Fix it.");
    world.status(Phase::Asking, 1_000, |status| status.context.used = 61_500);
    world.ask(doom_loop());
    same_from(
        &mut world,
        include_str!("frames/03b-doom-loop-120x40.txt"),
        "━",
    );
}

#[test]
fn queued_messages_are_the_foot_of_frame_4() {
    let mut world = World::new(120, 40);
    let said = world.say(Role::User, "Why does the resize test flake? Fix it.");
    world.plan(said);
    world.queued(
        &["use Option<u16>, not a bool flag"],
        &["add a changelog line", "!cargo clippy -p pager"],
        false,
    );
    world.tui.type_text("and rename it to pending_width");
    world.third_spin();
    world.status(Phase::Tools, 101_000, |status| status.turn_output = 3_100);
    same_from(
        &mut world,
        include_str!("frames/04-queued-messages-120x40.txt"),
        "  ⠹",
    );
}

#[test]
fn a_retry_is_the_foot_of_frame_9() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Port the parser tests to insta.");
    let next = world.tui.now + 7_400;
    let error = Fault::new(FaultKind::Overloaded, "Overloaded.", "");
    world.status(
        Phase::Retrying {
            attempt: 3,
            limit: Some(6),
            next,
            error,
        },
        20_000,
        |status| {
            status.context.used = 36_000;
            status.context.pruned = 0;
            status.cost = Some(0.29);
        },
    );
    same_from(
        &mut world,
        include_str!("frames/09-retry-countdown-120x40.txt"),
        "  ⟲ Retrying",
    );
}

#[test]
fn under_80_columns_margins_go_and_hints_shrink_as_in_frame_10() {
    let mut world = World::new(60, 20);
    let said = world.say(Role::User, "Why does the resize test flake? Fix it.");
    world.plan(said);
    world.third_spin();
    world.status(Phase::Streaming, 72_000, |status| {
        status.turn_output = 3_100;
    });
    same_from(
        &mut world,
        include_str!("frames/10-narrow-60x20.txt"),
        "⠹ Guard",
    );
}

#[test]
fn compaction_says_that_nothing_is_lost() {
    let mut world = World::new(120, 40);
    world.say(Role::User, "Go on.");
    world.queued(&[], &["add a changelog line"], false);
    let phase = Phase::Compacting {
        messages: 61,
        tokens: 161_030,
    };
    world.status(phase, 14_000, |status| {
        status.turn_output = 1_200;
        status.context.used = 161_030;
        status.context.pruned = 0;
    });
    let screen = world.tui.screen();
    let rows = from(&screen, "  ⌁ Compacting");
    assert_eq!(
        rows[0],
        "  ⌁ Compacting   14s   ↓ 1.2k                                                              \
         esc cancel, nothing is lost"
    );
    assert!(rows[2].ends_with("sends after compaction"), "{}", rows[2]);
    assert_eq!(rows[3].chars().nth(96), Some('┿'));
}
