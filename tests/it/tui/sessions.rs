//! The session picker, the tree of a session and the search: screens, keys, and what they ask for.

use dunlin::protocol::event::Phase;
use dunlin::protocol::{
    Delivery, Destination, Event, FileStatus, MessageId, NoticeLevel, Op, Part, PartBody, PartId,
    PatchFile, PromptInput, ReadOnly, Role, SearchHit, SessionId, SessionSummary, ToolPart,
    ToolState, TreeTurn,
};
use serde_json::json;

use super::fixtures::{World, summary};

const DAY: i64 = 86_400_000;

pub(super) fn id(n: u128) -> SessionId {
    SessionId::from_raw(n)
}

/// The sessions of frame 6; the screen's clock says Friday 21 November 2025, 14:02.
pub(super) fn frame_sessions(now: i64) -> Vec<SessionSummary> {
    let of = |n, title, updated, percent, cost| SessionSummary {
        cost: Some(cost),
        first_prompt: "something".to_owned(),
        ..summary(id(n), title, updated, percent)
    };
    let mut sessions = vec![
        SessionSummary {
            added: 61,
            removed: 18,
            open_elsewhere: true,
            ..of(90, "fix flaky resize test", now, 26, 0.42)
        },
        of(
            80,
            "why does resize clear scrollback",
            now - 8_520_000,
            44,
            1.10,
        ),
        SessionSummary {
            branch: "ratatui-030".to_owned(),
            added: 802,
            removed: 611,
            ..of(60, "port pager to ratatui 0.30", now - 3 * DAY, 12, 0.31)
        },
        SessionSummary {
            branch: "ratatui-030".to_owned(),
            fork: true,
            ..of(70, "keep resize debounce", now - 3 * DAY, 15, 0.12)
        },
        of(
            50,
            "tmux resize storm, 60 events per second",
            now - 19 * DAY,
            71,
            2.07,
        ),
    ];
    sessions[3].info.parent = Some(id(60));
    sessions
}

pub(super) fn opened(world: &mut World, sessions: Vec<SessionSummary>) {
    world.tui.press("ctrl+s");
    assert_eq!(world.tui.ops(), [Op::ListSessions { all: false }]);
    world.tui.event(Event::Sessions { sessions });
}

/// A row of a frame without its marks, columns kept.
pub(super) fn unmarked(row: &str) -> String {
    let Some(end) = row.find('⟧') else {
        return row.to_owned();
    };
    let (before, rest) = row.split_at(end);
    let after = rest.find("  ").unwrap_or(rest.len());
    let (name, columns) = rest.split_at(after);
    let padded = format!("{before}{name}  {columns}");
    padded.replace(['⟦', '⟧'], "").trim_end().to_owned()
}

fn text(message: MessageId, n: u128, text: &str) -> Part {
    part(
        message,
        n,
        PartBody::Text {
            text: text.to_owned(),
            synthetic: false,
            ignored: false,
        },
    )
}

fn part(message: MessageId, n: u128, body: PartBody) -> Part {
    Part {
        id: PartId::from_raw(n),
        message,
        session: id(90),
        start: 0,
        end: Some(1),
        body,
    }
}

fn call(message: MessageId, n: u128, tool: &str, title: &str, metadata: serde_json::Value) -> Part {
    let state = ToolState::Completed {
        input: json!({}),
        output: String::new(),
        title: title.to_owned(),
        metadata,
        attachments: Vec::new(),
        truncated: None,
        compacted_at: None,
        start: 0,
        end: 1,
    };
    part(
        message,
        n,
        PartBody::Tool(ToolPart {
            call: n.to_string(),
            tool: tool.to_owned(),
            state,
            provider: None,
        }),
    )
}

/// The preview of frame 6.
pub(super) fn frame_preview(world: &World) -> Event {
    let said = [Role::User, Role::Assistant, Role::User];
    let messages: Vec<_> = (1..)
        .zip(said)
        .map(|(n, role)| world.message(MessageId::from_raw(n), role))
        .collect();
    let [ask, answer, next] = [1, 2, 3].map(MessageId::from_raw);
    let parts = vec![
        text(ask, 1, "Why does the resize test flake? Fix it."),
        text(
            answer,
            2,
            "The reflow runs while replay is still filling the cell list\nso it must wait.",
        ),
        call(
            answer,
            3,
            "edit",
            "src/reflow.rs",
            json!({"added": 4, "removed": 1}),
        ),
        call(answer, 4, "bash", "cargo test -p pager", json!({"exit": 0})),
        text(next, 5, "add a changelog line"),
    ];
    Event::Preview {
        session: id(90),
        messages,
        parts,
    }
}

#[test]
fn titles_and_prompts_are_searched_and_enter_opens() {
    let mut world = World::new(120, 40);
    let now = world.tui.now;
    let mut sessions = vec![
        summary(id(9), "fix flaky resize test", now - 3_600_000, 26),
        summary(id(8), "port pager", now - 2 * DAY, 12),
    ];
    sessions[0].first_prompt = "the zebra crosses".to_owned();
    opened(&mut world, sessions);
    world.tui.ops();
    world.tui.type_text("port");
    let screen = world.tui.screen();
    assert!(
        screen.contains("1 of 2") && screen.contains("This week") && !screen.contains("flaky"),
        "{screen}"
    );
    world.tui.press("ctrl+u");
    world.tui.type_text("zebra");
    let screen = world.tui.screen();
    assert!(
        screen.contains("fix flaky resize test  the zebra crosses"),
        "{screen}"
    );
    world.tui.press("enter");
    assert_eq!(world.tui.ops().last(), Some(&Op::OpenSession(id(9))));
}

#[test]
fn subagents_and_forks_hang_under_their_session_and_few_subagents_are_shown() {
    let mut world = World::new(120, 40);
    let now = world.tui.now;
    let mut sessions = vec![summary(id(10), "the parent", now - 5, 1)];
    for n in 11..20 {
        let mut child = summary(id(n), &format!("look at {n}"), now, 1);
        child.info.parent = Some(id(10));
        sessions.push(child);
    }
    opened(&mut world, sessions);
    let screen = world.tui.screen();
    let shown = screen.matches("└ task: look at").count();
    assert_eq!(shown, 5, "{screen}");
    assert!(screen.contains("4 more subagents"), "{screen}");
    world.tui.type_text("look at 19");
    let screen = world.tui.screen();
    assert!(
        screen.contains("the parent") && screen.contains("└ task: look at 19"),
        "{screen}"
    );
}

#[test]
fn a_session_is_named_within_the_picker() {
    let mut world = World::new(120, 40);
    let now = world.tui.now;
    opened(&mut world, vec![summary(id(9), "old name", now, 1)]);
    world.tui.ops();
    world.tui.press("ctrl+r ctrl+u");
    world.tui.type_text("new name");
    assert!(world.tui.screen().contains("❯ Name  new name"));
    world.tui.press("enter");
    let renamed = Op::RenameSession {
        id: id(9),
        title: "new name".to_owned(),
    };
    assert_eq!(world.tui.ops(), [renamed]);
    let refused = "Session x is open in another dunlin (process 7).";
    world.tui.event(Event::Kept {
        level: NoticeLevel::Error,
        text: refused.to_owned(),
    });
    assert!(world.tui.screen().contains(refused));
    world.tui.press("ctrl+r esc");
    assert!(
        world.tui.screen().contains("enter open"),
        "esc ends naming, not the picker"
    );
}

#[test]
fn deleting_asks_and_only_y_deletes() {
    let mut world = World::new(120, 40);
    let now = world.tui.now;
    opened(&mut world, vec![summary(id(9), "a title", now, 1)]);
    world.tui.ops();
    world.tui.press("delete");
    assert!(world.tui.screen().contains("Delete “a title” for ever?"));
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), []);
    assert!(!world.tui.screen().contains("for ever"));
    world.tui.press("ctrl+x y");
    assert_eq!(world.tui.ops(), [Op::DeleteSession(id(9))]);
    world.tui.press("ctrl+d");
    assert_eq!(world.tui.ops(), [Op::ArchiveSession(id(9))]);
    world.tui.press("tab");
    assert_eq!(world.tui.ops(), [Op::ListSessions { all: true }]);
    world.tui.press("ctrl+f");
    assert_eq!(world.tui.ops(), [Op::ForkSession(id(9))]);
}

fn turn(n: u128, parent: Option<u128>, text: &str, current: bool, tip: u128) -> TreeTurn {
    TreeTurn {
        prompt: MessageId::from_raw(n),
        parent: parent.map(MessageId::from_raw),
        text: text.to_owned(),
        at: 1_763_733_720_000,
        last: MessageId::from_raw(n + 1),
        tip: MessageId::from_raw(tip),
        files: vec![PatchFile {
            path: format!("src/{n}.rs"),
            added: 4,
            removed: 1,
            status: FileStatus::Modified,
        }],
        current,
    }
}

/// One, then two ways on; the second is the current one.
fn tree(world: &mut World) {
    let turns = vec![
        turn(10, None, "begin", true, 31),
        turn(20, Some(10), "one way", false, 21),
        turn(30, Some(10), "other way", true, 31),
    ];
    world.tui.event(Event::Tree {
        turns,
        sought: None,
    });
}

#[test]
fn the_tree_shows_branches_and_files_and_goes_where_one_wants() {
    let mut world = World::new(100, 30);
    world.status(Phase::Idle, 0, |_| {});
    tree(&mut world);
    let screen = world.tui.screen();
    let row = |what: &str| {
        let row = screen.lines().find(|l| l.contains(what));
        row.unwrap_or_else(|| panic!("no {what} in\n{screen}"))
    };
    assert!(row("Rewind").ends_with("3 turns   2 branches"), "{screen}");
    assert!(row("begin").starts_with("    begin"), "{screen}");
    assert!(row("one way").starts_with("    ├ one way"), "{screen}");
    assert!(row("other way").starts_with("  ❯ other way"), "{screen}");
    assert!(row("other way").contains("+4 −1"), "{screen}");
    assert!(screen.contains("src/30.rs"), "{screen}");
    // The current branch: back to before it, with a preview for files.
    world.tui.press("enter");
    assert!(world.tui.screen().contains("Go back to before it"));
    world.tui.press("enter");
    let rewind = |files| Op::Rewind {
        to: MessageId::from_raw(30),
        files,
        confirmed: !files,
    };
    assert_eq!(world.tui.ops(), [rewind(true)]);
    world.tui.event(Event::UndoPreview {
        note: None,
        to: Destination::Before {
            message: MessageId::from_raw(30),
        },
        prompt: "other way".to_owned(),
        files: Vec::new(),
    });
    world.tui.press("enter");
    let confirmed = Op::Rewind {
        to: MessageId::from_raw(30),
        files: true,
        confirmed: true,
    };
    assert_eq!(world.tui.ops(), [confirmed]);
    // Another branch: to its end.
    tree(&mut world);
    world.tui.press("k enter ↓ enter");
    let switched = Op::SwitchBranch {
        tip: MessageId::from_raw(21),
        files: false,
        confirmed: true,
    };
    assert_eq!(world.tui.ops(), [switched]);
    assert!(world.tui.state.overlays.is_empty());
}

#[test]
fn an_earlier_prompt_is_edited_and_sending_it_makes_a_branch_where_it_stood() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "other way");
    world.status(Phase::Idle, 0, |_| {});
    tree(&mut world);
    world.tui.press("e");
    assert_eq!(world.tui.ops(), []);
    let screen = world.tui.screen();
    assert!(
        screen.contains("❯ other way") && screen.contains("Editing an earlier prompt"),
        "{screen}"
    );
    world.tui.type_text(", please");
    world.tui.press("enter");
    let expected = |first: Vec<Op>| {
        let mut ops = first;
        ops.push(Op::Prompt {
            input: PromptInput {
                text: "other way, please".to_owned(),
                files: Vec::new(),
            },
            delivery: Delivery::Guidance,
        });
        ops
    };
    let back = Op::Rewind {
        to: MessageId::from_raw(30),
        files: false,
        confirmed: true,
    };
    assert_eq!(world.tui.ops(), expected(vec![back]));
    // What the agent answers does not put the old prompt back.
    world.tui.event(Event::BranchChanged {
        tip: None,
        prompt: "other way".to_owned(),
    });
    assert_eq!(world.tui.state.composer.expanded(), "");
}

#[test]
fn editing_is_left_with_escape_and_a_fork_is_made_at_a_turn() {
    let mut world = World::new(100, 30);
    world.say(Role::User, "other way");
    world.status(Phase::Idle, 0, |_| {});
    tree(&mut world);
    world.tui.press("e esc");
    assert_eq!(world.tui.state.composer.expanded(), "");
    world.tui.type_text("something else");
    world.tui.press("enter");
    let ops = world.tui.ops();
    assert!(matches!(ops.as_slice(), [Op::Prompt { .. }]), "{ops:?}");
    tree(&mut world);
    world.tui.press("k f");
    let fork = Op::Fork {
        at: Some(MessageId::from_raw(21)),
    };
    assert_eq!(world.tui.ops(), [fork]);
}

#[test]
fn the_picker_finds_later_prompts_too_and_an_old_answer_says_nothing() {
    let mut world = World::new(120, 40);
    let now = world.tui.now;
    let sessions = vec![
        summary(id(60), "port pager to ratatui", now, 12),
        summary(id(50), "tmux resize storm", now, 71),
    ];
    opened(&mut world, sessions);
    world.tui.ops();
    world.tui.type_text("zebra");
    let search = |text: &str, generation| Op::Search {
        text: text.to_owned(),
        prompts: true,
        all: false,
        generation,
    };
    // fewer than three letters are not worth a look into every journal
    let asked = world.tui.ops();
    assert_eq!(
        asked,
        [search("zeb", 3), search("zebr", 4), search("zebra", 5)]
    );
    assert!(world.tui.screen().contains("no session matches"));
    let prompt = "a long beginning of the third prompt, and then a zebra runs by";
    let at = prompt.find("zebra").expect("there");
    let hit = SearchHit {
        session: id(50),
        title: "tmux resize storm".to_owned(),
        worktree: "/home/u/code/pager".to_owned(),
        part: PartId::from_raw(1),
        role: Role::User,
        kind: "text".to_owned(),
        at: 0,
        excerpt: prompt.to_owned(),
        found: at..at + 5,
    };
    let found = |generation, hits: &[SearchHit]| Event::Found {
        generation,
        hits: hits.to_vec(),
        more: false,
    };
    world.tui.event(found(4, std::slice::from_ref(&hit)));
    assert!(world.tui.screen().contains("no session matches"));
    world.tui.event(found(5, &[hit]));
    let screen = world.tui.screen();
    assert!(screen.contains("1 of 2"), "{screen}");
    assert!(
        screen.contains("tmux resize storm  …mpt, and then a zebra runs by"),
        "{screen}"
    );
    world.tui.press("enter");
    let ops = world.tui.ops();
    assert!(ops.contains(&Op::OpenSession(id(50))), "{ops:?}");
}

#[test]
fn a_session_that_can_only_be_read_says_why_and_what_to_do() {
    let mut world = World::new(120, 30);
    let mut session = summary(id(9), "a title", 0, 1).info;
    session.worktree = "/home/u/an other".to_owned();
    for (why, says) in [
        (
            ReadOnly::OtherWindow,
            "open in another window; /fork goes on in a copy",
        ),
        (
            ReadOnly::OtherFolder,
            "of another folder; go on with dunlin -C '/home/u/an other' -r ses_",
        ),
        (ReadOnly::NotWritable, "its files cannot be written"),
    ] {
        world.tui.event(Event::SessionStarted {
            session: session.clone(),
            writable: false,
            read_only: Some(why),
            cut: false,
        });
        let screen = world.tui.screen();
        assert!(
            screen.contains("Read only") && screen.contains(says),
            "{screen}"
        );
        world.tui.type_text("hello");
        world.tui.press("enter");
        let sent = world.tui.ops();
        assert!(
            !sent.iter().any(|op| matches!(op, Op::Prompt { .. })),
            "{sent:?}"
        );
        world.tui.press("ctrl+u");
    }
}

#[test]
fn words_are_searched_in_all_sessions_and_enter_goes_to_the_part() {
    let mut world = World::new(100, 30);
    world.tui.type_text("/search zeb");
    world.tui.press("enter");
    let search = |text: &str, all, generation| Op::Search {
        text: text.to_owned(),
        prompts: false,
        all,
        generation,
    };
    assert_eq!(world.tui.ops(), [search("zeb", false, 1)]);
    world.tui.type_text("ra");
    assert_eq!(
        world.tui.ops(),
        [search("zebr", false, 2), search("zebra", false, 3)]
    );
    let hit = |part, excerpt: &str| SearchHit {
        session: id(9),
        title: "a title".to_owned(),
        worktree: "/home/u/code/pager".to_owned(),
        part: PartId::from_raw(part),
        role: Role::Assistant,
        kind: "tool".to_owned(),
        at: 0,
        excerpt: excerpt.to_owned(),
        found: 2..7,
    };
    let found = |generation, hits| Event::Found {
        generation,
        hits,
        more: false,
    };
    // The answer to an older question says nothing any more.
    world.tui.event(found(2, vec![hit(1, "a zebrx here")]));
    assert!(world.tui.screen().contains("searching"));
    world.tui.event(found(
        3,
        vec![hit(1, "a zebra here"), hit(2, "a zebra there")],
    ));
    let screen = world.tui.screen();
    assert!(
        screen.contains("2 places")
            && screen.contains("a title")
            && screen.contains("a zebra there"),
        "{screen}"
    );
    world.tui.press("tab");
    assert_eq!(world.tui.ops(), [search("zebra", true, 4)]);
    world.tui.press("↓ enter");
    let go = Op::OpenPart {
        session: id(9),
        part: PartId::from_raw(2),
    };
    assert_eq!(world.tui.ops(), [go]);
}
