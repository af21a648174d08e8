//! `dunlin replay`: what was recorded gives the same parts again, nothing runs a second time, and what
//! was altered since is named.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::orders::{Steered, is_running};
use crate::support::server::{Reply, Server, call, end, text};
use crate::support::world::{Ran, World};

fn folder(w: &World) -> PathBuf {
    let projects = fs::read_dir(w.data().join("projects")).expect("projects");
    let project = projects.map(|p| p.expect("a project").path()).next();
    project.expect("one").join("sessions").join(w.newest())
}

fn replay(w: &World) -> Ran {
    w.run(&["replay", &w.newest()])
}

#[track_caller]
fn the_same(w: &World, answers: u64) -> Value {
    let found = w.run(&["replay", &w.newest(), "--json"]).code(0).stdout;
    let found: Value = serde_json::from_str(&found).expect("json");
    assert_eq!(found["differences"], json!([]));
    assert_eq!(found["answers"], answers, "{found}");
    found
}

/// Rewrites each line of the journal; a changed line gets a checksum that fits.
fn alter(w: &World, change: impl Fn(&str) -> Option<String>) {
    let path = folder(w).join("journal");
    let old = fs::read_to_string(&path).expect("a journal");
    let mut new = String::new();
    for line in old.lines() {
        if let Some(json) = change(&line[9..]) {
            let sum = crc32fast::hash(json.as_bytes());
            new.push_str(&format!("{sum:08x} {json}\n"));
        }
    }
    assert_ne!(old, new, "nothing was altered");
    fs::write(path, new).expect("write");
}

fn busy() -> World {
    let w = World::scripted(&json!({"steps": [
        {"reasoning": "Where am I?", "text": ["I look ", "around."], "calls": [
            {"name": "bash", "input": {"command": "echo ran >> runs; echo hello world"}},
            {"name": "read", "input": {"file_path": "a.txt"}}]},
        {"text": "half an ", "calls": [{"name": "read", "input": {"file_path": "none.txt"}}],
            "fault": {"kind": "status", "status": 503, "message": "later", "retry_after_ms": 1}},
        {"text": ["what was ", "said before ", "it broke"], "calls": [
            {"name": "bash", "raw": "{\"command\": \"ls"}]},
        {"text": "Done after all.", "usage": {"input": 1000, "output": 7, "cache_read": 500}}
    ]}));
    w.write("a.txt", "file\n");
    w.exec(&["--mode", "auto", "look around"]).code(0);
    w
}

#[test]
fn a_session_with_tools_retries_and_broken_calls_gives_the_same_parts_and_runs_nothing() {
    let w = busy();
    assert_eq!(w.read("runs"), "ran\n");
    let found = the_same(&w, 5);
    assert_eq!(found["calls"], 4);
    assert_eq!(found["unrecorded"], json!([]));
    assert_eq!(w.read("runs"), "ran\n", "a tool ran again");
    assert!(replay(&w).code(0).stdout.contains("no differences"));
}

#[test]
fn what_was_altered_or_taken_out_is_named() {
    let cases: [(&str, &str, &str); 4] = [
        ("Done after all.", "Done before all.", "part 2 (text)"),
        ("hello world", "hello moon", "tool"),
        ("look around", "look away", "text"),
        ("echo ran", "echo ram", "input command"),
    ];
    for (old, new, place) in cases {
        let w = busy();
        alter(&w, |json| Some(json.replace(old, new)));
        let said = replay(&w).code(1).stdout;
        assert!(said.contains(place), "{new}: {said}");
        assert!(said.contains("stored:"), "{new}: {said}");
    }
    let w = busy();
    alter(&w, |json| {
        (!json.contains("Done after all.")).then(|| json.to_owned())
    });
    let said = replay(&w).code(1).stdout;
    assert!(said.contains("part"), "{said}");

    let w = busy();
    let path = folder(&w).join("journal");
    let mut bytes = fs::read(&path).expect("a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("write");
    let said = replay(&w).code(1).stdout;
    assert!(
        said.contains("journal") && said.contains("damaged"),
        "{said}"
    );

    let w = busy();
    let path = folder(&w).join("frames");
    let mut bytes = fs::read(&path).expect("frames");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("write");
    let said = replay(&w).code(1).stdout;
    assert!(said.contains("frames"), "{said}");
}

#[test]
fn bytes_of_a_wire_go_through_its_decoder_again_and_no_key_is_kept() {
    let key = format!("sk-ant-{}", "replayreplayreplay");
    let stream = |parts: &[String], reason: &str| {
        let mut all = text("I look.");
        all.push_str(&parts.concat());
        all.push_str(&end(reason));
        // pieces that end anywhere, inside of characters too
        let half = all.len() / 2;
        Reply::Stream(vec![all[..half].to_owned(), all[half..].to_owned()])
    };
    let read = call("toolu_1", "read", &json!({"file_path": "a.txt"}));
    let server = Server::start(vec![
        stream(&[read], "tool_use"),
        Reply::Status(
            529,
            vec![("retry-after-ms", "1".to_owned())],
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#
                .to_owned(),
        ),
        Reply::Broken(vec![text("half of an ans")]),
        stream(&[], "end_turn"),
    ]);
    let mut w = World::new();
    w.set("ANTHROPIC_BASE_URL", &server.base);
    w.set("ANTHROPIC_API_KEY", &key);
    w.write("a.txt", "hello\n");
    let model = "anthropic/claude-sonnet-4-5";
    w.run(&["exec", "--model", model, "go"]).code(0);
    let found = the_same(&w, 4);
    assert_eq!(found["calls"], 1);
    let frames = fs::read(folder(&w).join("frames")).expect("frames");
    let has = |what: &str| memchr::memmem::find(&frames, what.as_bytes()).is_some();
    assert!(has("\"wire\":\"anthropic\""));
    assert!(!has(&key) && !has("x-api-key"));
    // what is altered in the decoder's output is seen here too
    alter(&w, |json| Some(json.replace("toolu_1", "toolu_2")));
    let said = replay(&w).code(1).stdout;
    assert!(said.contains("toolu_1"), "{said}");
}

#[test]
fn guidance_and_interrupts_are_played_as_they_came() {
    let wait = "for i in $(seq 1200); do [ -e go ] && exit 0; sleep 0.02; done; exit 9";
    // what it prints is not in its text
    let long = "printf 'zq''7\\n'; sleep 97531";
    let w = World::scripted(&json!({"steps": [
        {"text": "waiting", "calls": [{"name": "bash", "input": {"command": wait}}]},
        {"text": "went on", "calls": [{"name": "bash", "input": {"command": long}}]},
        {"text": ["one ", "two ", "three ", "four"], "pace": 4},
        {"text": "the end"}
    ]}));
    let mut run = Steered::start(&w, &["--mode", "auto", "start"]);
    run.until("the first command", is_running("bash"));
    run.say(&json!({"type": "prompt", "text": "and be quick"}));
    run.until("the queue", |e| e["type"] == "message.queued");
    w.write("go", "");
    run.until("what the second command prints", |e| {
        e["type"] == "part.updated" && e.to_string().contains("zq7")
    });
    run.say(&json!({"type": "interrupt"}));
    run.until("the end", |e| e["type"] == "turn.finished");
    run.say(&json!({"type": "prompt", "text": "go on"}));
    run.until("half an answer", |e| e["type"] == "part.delta");
    run.say(&json!({"type": "interrupt"}));
    run.until("the end", |e| e["type"] == "turn.finished");
    run.say(&json!({"type": "prompt", "text": "once more"}));
    run.until("the end", |e| e["type"] == "turn.finished");
    assert_eq!(run.end(), 0);
    let cut = run
        .events
        .iter()
        .filter(|e| e["part"]["state"]["interrupted"] == true);
    let said: Vec<_> = cut
        .filter_map(|e| e["part"]["state"]["error"].as_str())
        .collect();
    assert!(said.iter().any(|s| s.starts_with("zq7")), "{said:?}");
    let found = the_same(&w, 4);
    assert_eq!(found["unrecorded"], json!([]));
}

#[test]
fn a_compaction_and_what_follows_it_are_played() {
    let long = "word ".repeat(1_500);
    let w = World::scripted(&json!({
        "model": {"context": 16_000, "max_output": 1_000},
        "side": ["Summary: files were read and nothing was found."],
        "steps": (0..14).map(|n| json!({"text": format!("step {n}"), "calls": [
            {"name": "bash", "input": {"command": format!("echo {n} {long}")}}]}))
            .chain([json!({"text": "over"})]).collect::<Vec<_>>()
    }));
    w.exec(&["--mode", "auto", "read it all"]).code(0);
    let found = the_same_at_least(&w);
    assert!(found["summaries"].as_u64() >= Some(1), "{found}");
    alter(&w, |json| {
        Some(json.replace("nothing was found", "gold was found"))
    });
    let said = replay(&w).code(1).stdout;
    assert!(said.contains("summary"), "{said}");
}

fn the_same_at_least(w: &World) -> Value {
    let found = w.run(&["replay", &w.newest(), "--json"]).code(0).stdout;
    serde_json::from_str(&found).expect("json")
}

#[test]
fn a_session_that_was_killed_in_a_step_and_went_on_is_played() {
    let w = World::scripted(&json!({"steps": [
        {"text": "first", "calls": [{"name": "read", "input": {"file_path": "a.txt"}}]},
        {"text": "second", "calls": [
            {"name": "read", "input": {"file_path": "a.txt"}},
            {"name": "bash", "input": {"command": "sleep 5"}}]},
        {"text": "third"}
    ]}));
    w.write("a.txt", "file\n");
    let run = {
        let mut run = Steered::start(&w, &["--mode", "auto", "start"]);
        run.until("the command", is_running("bash"));
        // the answer is written to the frames a moment after it ended
        let until = Instant::now() + Duration::from_secs(20);
        let recorded = || {
            let frames = fs::read(folder(&w).join("frames")).unwrap_or_default();
            memchr::memmem::find_iter(&frames, b"DF1\n").count()
        };
        while recorded() < 2 {
            assert!(Instant::now() < until, "{} answers", recorded());
            std::thread::sleep(Duration::from_millis(10));
        }
        run
    };
    drop(run); // kills it
    w.exec(&["--mode", "auto", "-c"]).code(0);
    let found = the_same_at_least(&w);
    assert_eq!(found["answers"], 3, "{found}");
}

#[test]
fn without_recorded_answers_it_says_why() {
    let w = World::scripted(&json!({"steps": [{"text": "hello"}]}));
    w.exec(&["--config", "store.frames_days=0", "hi"]).code(0);
    assert!(!folder(&w).join("frames").exists());
    let ran = w.run(&["replay", &w.newest()]).code(1);
    assert!(ran.stderr.contains("no recorded answers"), "{}", ran.stderr);
    assert!(ran.stderr.contains("store.frames_days"), "{}", ran.stderr);
}
