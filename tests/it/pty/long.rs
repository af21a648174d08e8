//! Long sessions: open with their newest page, read back page by page, gone on with as a whole.

use std::sync::Arc;

use dunlin::protocol::{
    Event, Fault, Finish, Message, MessageId, Mode, Part, PartBody, PartId, Role, SessionId,
    SessionInfo, Tokens,
};
use dunlin::session::{Announce, Commit, Project, Record};

use super::{READY, quit, sized};
use crate::support::pty::Terminal;
use crate::support::server::{Reply, Server, end, text};
use crate::support::world::World;

const TIME: u64 = 1_700_000_000_000;

#[derive(Debug)]
struct Deaf;

impl Announce for Deaf {
    fn announce(&self, _: Vec<Event>) {}

    fn failed(&self, fault: Fault) {
        panic!("{fault}");
    }
}

/// A session of so many turns: `question N.`, `answer N.` and ballast.
fn session(world: &World, turns: u64, ballast: usize) -> String {
    let project = Project::open(&world.data(), &world.worktree()).expect("a project");
    let id = SessionId::from_raw(u128::from(TIME) << 80);
    let info = SessionInfo {
        id,
        parent: None,
        title: "A long talk".to_owned(),
        worktree: world.worktree().display().to_string(),
        model: world.model().parse().expect("a model"),
        agent: "build".to_owned(),
        mode: Mode::Ask,
        created: TIME as i64,
    };
    let store = project.create(&info, Arc::new(Deaf)).expect("a session");
    let ballast = "some words ".repeat(ballast / 11);
    let mut parent = None;
    for turn in 0..turns {
        let mut records = Vec::new();
        for (n, role, said) in [
            (0, Role::User, format!("question {turn}.")),
            (
                1,
                Role::Assistant,
                format!("answer {turn}. {ballast} That was {turn}."),
            ),
        ] {
            let message = MessageId::from_raw(id.raw() + u128::from(turn * 2 + n + 1) * 1_000);
            records.push(Record::Message(Message {
                id: message,
                session: id,
                parent,
                role,
                agent: "build".to_owned(),
                model: info.model.clone(),
                summary: false,
                finish: (role == Role::Assistant).then_some(Finish::Stop),
                error: None,
                tokens: Tokens::default(),
                cost: None,
                created: TIME as i64,
                completed: Some(TIME as i64),
            }));
            records.push(Record::Part(Part {
                id: PartId::from_raw(message.raw() + 1),
                message,
                session: id,
                start: TIME as i64,
                end: Some(TIME as i64),
                body: PartBody::Text {
                    text: said,
                    synthetic: false,
                    ignored: false,
                },
            }));
            parent = Some(message);
        }
        store.commit(Commit::written(records, Vec::new()));
    }
    store.close_blocking();
    id.to_string()
}

fn opened(world: &World, id: &str, last: &str) -> Terminal {
    let terminal = sized(world, &["-r", id], (40, 120));
    terminal.shows(last);
    terminal.shows(READY);
    terminal
}

#[test]
fn a_long_session_is_read_back_to_its_first_word_and_undone_from_its_last() {
    let world = World::scripted(&serde_json::json!({
        "steps": [],
        "branches": [{"match": "go on", "steps": [{"text": "The new answer."}]}]
    }));
    let id = session(&world, 1_200, 450);
    let mut terminal = opened(&world, &id, "answer 1199.");
    // the top of what is known, page after page
    for _ in 0..40 {
        terminal.send("\x1b[1;5H");
        let screen = terminal.until("an older page", |screen| screen.contains("question "));
        if screen.contains("question 0.") {
            break;
        }
        terminal.quiet();
    }
    terminal.shows("question 0.");
    terminal.send("\x1b[1;5F");
    terminal.shows("answer 1199.");
    terminal.send("/undo\r");
    terminal.shows("Take back the last turn");
    terminal.answer("\r");
    terminal.shows_no("Take back the last turn");
    terminal.until("the prompt in the composer", |screen| {
        screen.contains("❯ question 1199.") && !screen.contains("That was 1199.")
    });
    terminal.send("\x15go on\r");
    terminal.shows("The new answer.");
    quit(&mut terminal);
    let said = world.run(&["sessions", "export", "--format", "json", &id]);
    let said: serde_json::Value = serde_json::from_str(&said.code(0).stdout).expect("JSON");
    let messages = said["messages"].as_array().expect("messages");
    let words = |message: &serde_json::Value| message["parts"][0]["text"].clone();
    let newest = messages.iter().rfind(|m| words(m) == "go on").expect("it");
    let before = messages.iter().find(|m| m["id"] == newest["parent"]);
    let before = before.map(words).expect("a parent");
    assert!(before.as_str().expect("a text").starts_with("answer 1198."));
}

#[test]
fn the_next_prompt_of_a_long_session_sends_all_of_it() {
    let server = Server::start(vec![Reply::Stream(vec![text("Yes."), end("end_turn")])]);
    let mut world = World::new();
    world.set("ANTHROPIC_API_KEY", "sk-test-secret");
    world.set("ANTHROPIC_BASE_URL", &server.base);
    let id = session(&world, 1_200, 450);
    let model = "anthropic/claude-sonnet-4-5";
    world
        .run(&["exec", "-r", &id, "--model", model, "and now?"])
        .code(0);
    let asked = server.asked();
    let said = asked[0].body["messages"].to_string();
    for turn in 0..1_200 {
        assert!(said.contains(&format!("answer {turn}. ")), "{turn}");
    }
    assert!(said.contains("and now?"));
}

#[cfg(target_os = "linux")]
#[test]
fn memory_follows_what_is_shown_and_not_how_much_was_said() {
    let kib = |terminal: &Terminal| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.id()));
        let status = status.expect("a process");
        let line = status.lines().find(|l| l.starts_with("VmRSS:"));
        let digits = line.and_then(|l| l.split_whitespace().nth(1));
        digits.and_then(|d| d.parse::<u64>().ok()).expect("a size")
    };
    let world = World::scripted(&serde_json::json!({"steps": []}));
    let short = session(&world, 400, 4_000);
    let mut terminal = opened(&world, &short, "That was 399.");
    let little = kib(&terminal);
    quit(&mut terminal);
    let world = World::scripted(&serde_json::json!({"steps": []}));
    let long = session(&world, 6_000, 4_000);
    // the view is made at the first opening
    quit(&mut opened(&world, &long, "That was 5999."));
    let mut terminal = opened(&world, &long, "That was 5999.");
    let much = kib(&terminal);
    quit(&mut terminal);
    assert!(much < little + 20 * 1_024, "{little} KiB, then {much} KiB");
}
