//! Very many messages while a command runs: each that is taken is stored once, told seldom and said in order, over
//! `kill -9` as well; what no longer fits goes back to its sender. And the queue of an earlier dunlin.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::crash::stored;
use super::orders::{Steered, is_running};
use crate::support::world::World;

/// Messages that may wait (`loop.queue_limit`), and how many are sent.
const LIMIT: usize = 300;
const SENT: usize = 400;

fn world(limit: usize) -> World {
    let w = World::scripted(&json!({
        "steps": [{"calls": [{"name": "bash", "input": {"command":
            "for i in $(seq 3000); do [ -e go.now ] && exit 0; sleep 0.02; done"}}]}],
        "default": {"text": "as you say"}}));
    let config = format!("[loop]\nqueue_limit = {limit}\n");
    std::fs::write(w.config().join("config.toml"), config).expect("a config");
    w
}

fn flooded(w: &World, delivery: &str) -> Steered {
    let mut run = Steered::start(w, &["--mode", "auto", "start"]);
    run.until("the command runs", is_running("bash"));
    for n in 0..SENT {
        run.say(&json!({"type": "prompt", "text": format!("m{n}"), "delivery": delivery}));
    }
    run
}

fn count(run: &Steered, kind: &str) -> usize {
    run.events.iter().filter(|e| e["type"] == kind).count()
}

fn journal(w: &World) -> PathBuf {
    let mut found = Vec::new();
    let mut todo = vec![w.data().join("projects")];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            if entry.path().is_dir() {
                todo.push(entry.path());
            } else if entry.file_name() == "journal" {
                found.push(entry.path());
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// What the user said in a session, in order.
fn said(w: &World, session: &str) -> Vec<String> {
    let messages = stored(w, session);
    let users = messages.iter().filter(|m| m["role"] == "user");
    let parts = users.flat_map(|m| m["parts"].as_array().cloned().unwrap_or_default());
    let texts = parts.filter_map(|p| p["text"].as_str().map(ToOwned::to_owned));
    texts.collect()
}

fn session(run: &Steered) -> String {
    let started = run.events.iter().find(|e| e["type"] == "session.started");
    let id = &started.expect("a session")["session"]["id"];
    id.as_str().expect("an id").to_owned()
}

/// Guidance as it is said when so many wait.
fn joined(many: usize) -> String {
    let lines: Vec<String> = (0..many).map(|n| format!("[{}]: m{n}", n + 1)).collect();
    lines.join("\n\n")
}

#[test]
fn a_flood_of_guidance_is_said_in_order_and_what_does_not_fit_goes_back() {
    let w = world(LIMIT);
    let began = Instant::now();
    let mut run = flooded(&w, "guidance");
    let last = format!("m{}", SENT - 1);
    run.until("the last one is refused", |e| {
        e["type"] == "message.returned" && e["input"]["text"] == *last
    });
    assert_eq!(count(&run, "message.queued"), LIMIT);
    assert_eq!(count(&run, "error"), SENT - LIMIT);
    let error = run.events.iter().find(|e| e["type"] == "error");
    let error = error.expect("a refusal")["error"]["message"].to_string();
    assert!(error.contains("was not queued: 300 messages"), "{error}");
    let returned = run
        .events
        .iter()
        .filter(|e| e["type"] == "message.returned");
    let returned: Vec<&str> = returned
        .filter_map(|e| e["input"]["text"].as_str())
        .collect();
    let beyond: Vec<String> = (LIMIT..SENT).map(|n| format!("m{n}")).collect();
    assert_eq!(returned, beyond);
    // told at most ten times a second, the last state too
    let tenths = began.elapsed().as_millis() as usize / 100;
    let told = count(&run, "queue.changed");
    assert!(told <= tenths + 3, "{told} times in {tenths} tenths");
    run.until("the last state", |e| {
        let all = e["queue"]["guidance"].as_array();
        e["type"] == "queue.changed" && all.is_some_and(|all| all.len() == LIMIT)
    });
    let bytes = std::fs::metadata(journal(&w)).expect("a journal").len();
    assert!(bytes < 1_000 * LIMIT as u64, "{bytes} bytes for {LIMIT}");
    w.write("go.now", "");
    assert_eq!(run.end(), 0);
    assert_eq!(
        said(&w, &session(&run)),
        ["start".to_owned(), joined(LIMIT)]
    );
    assert_eq!(count(&run, "message.dequeued"), 1);
    let left = run.events.iter().rfind(|e| e["type"] == "queue.changed");
    assert_eq!(left.expect("told")["queue"]["guidance"], json!([]));
}

#[test]
fn a_flood_of_follow_ups_starts_a_turn_each_and_no_list_is_told_for_each() {
    let w = world(40);
    let mut run = flooded(&w, "follow-up");
    run.until("the last one is refused", |e| {
        e["type"] == "message.returned" && e["input"]["text"] == format!("m{}", SENT - 1)
    });
    w.write("go.now", "");
    assert_eq!(run.end(), 0);
    let mut expected = vec!["start".to_owned()];
    expected.extend((0..40).map(|n| format!("m{n}")));
    assert_eq!(said(&w, &session(&run)), expected);
    assert_eq!(count(&run, "message.dequeued"), 40);
    assert_eq!(count(&run, "turn.finished"), 41);
}

#[test]
fn what_was_acknowledged_of_a_flood_is_said_once_after_kill_9() {
    let w = world(LIMIT);
    for acknowledged in [1, 97] {
        let mut run = flooded(&w, "guidance");
        for _ in 0..acknowledged {
            run.until("one more", |e| e["type"] == "message.queued");
        }
        let session = session(&run);
        run.kill();
        let known: HashSet<Value> = run
            .events
            .iter()
            .filter(|e| e["type"] == "message.queued")
            .map(|e| e["id"].clone())
            .collect();
        w.write("go.now", "");
        let again = w.exec(&["--json", "-r", &session]).code(0);
        let events = again
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("json"));
        let events: Vec<Value> = events.collect();
        let dequeued: Vec<&Value> = events
            .iter()
            .filter(|e| e["type"] == "message.dequeued")
            .collect();
        assert_eq!(dequeued.len(), 1);
        let ids: HashSet<Value> = dequeued[0]["ids"]
            .as_array()
            .expect("ids")
            .iter()
            .cloned()
            .collect();
        assert!(known.is_subset(&ids), "{acknowledged} were acknowledged");
        // one that was written and not told of any more may be among them
        let said = said(&w, &session);
        let wanted = match ids.len() {
            1 => "m0".to_owned(),
            2 => "First: m0\n\nAlso: m1".to_owned(),
            many => joined(many),
        };
        assert_eq!(said, ["start".to_owned(), wanted]);
        std::fs::remove_file(w.worktree().join("go.now")).expect("gone");
    }
}

#[test]
fn a_queue_that_an_earlier_dunlin_stored_as_one_value_is_said_in_order() {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/session/frozen");
    let w = World::scripted(&json!({"default": {"text": "as you say"}}));
    // a session of its own makes the project's folder
    w.exec(&["first"]).code(0);
    let own = journal(&w);
    let sessions = own.parent().and_then(Path::parent).expect("a folder");
    let id = "ses_01a2031360d373d68008c10ab5f5b696";
    std::fs::create_dir(sessions.join(id)).expect("a folder");
    let old = sessions.join(id).join("journal");
    std::fs::copy(frozen.join("queue-as-one-value.journal"), &old).expect("a copy");
    let model = w.model();
    w.run(&["exec", "--mode", "auto", "--model", &model, "-r", id])
        .code(0);
    let joined = "First: use an option\n\nAlso: and a test";
    assert_eq!(said(&w, id), ["start", joined, "later", "!echo last"]);
    let text = std::fs::read_to_string(&old).expect("text");
    let after = text
        .rsplit_once("\"name\":\"queue\"")
        .expect("the last of it")
        .1;
    assert!(after.starts_with(",\"value\":null"), "{after}");
}
