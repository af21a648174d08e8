//! Killed at random moments: nothing that was announced is lost, nothing runs twice, and the run can
//! be continued to its end. `DUNLIN_KILLS` sets the number of kills (default 50).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::world::World;

const STEPS: usize = 40;

/// Every step has one call; its output says which step it is, a file says how often it ran.
fn script() -> Value {
    let steps: Vec<Value> = (0..STEPS)
        .map(|i| {
            let command = format!("echo {i} >> ran; echo step {i}");
            let call = json!({"name": "bash", "input": {"command": command}});
            match i % 4 {
                0 => json!({"calls": [call]}),
                1 => json!({"reasoning": format!("thinking of {i}"), "calls": [call]}),
                2 => json!({"calls": [
                    {"name": "read", "input": {"file_path": "a.txt", "offset": i + 1}}]}),
                _ => json!({"calls": [call], "chunk": 4}),
            }
        })
        .chain([json!({"text": ["all ", "steps ", "are ", "done"]})])
        .collect();
    json!({"steps": steps})
}

/// A small generator, so that a failing run can be repeated.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What one run announced: parts in order with their last state, and its end.
#[derive(Default)]
pub(super) struct Announced {
    pub(super) order: Vec<String>,
    pub(super) parts: BTreeMap<String, Value>,
    pub(super) session: String,
    pub(super) reason: Option<String>,
}

impl Announced {
    pub(super) fn event(&mut self, event: &Value) {
        match event["type"].as_str() {
            Some("session.started") => {
                self.session = event["session"]["id"].as_str().expect("an id").to_owned();
            }
            Some("part.updated") => {
                let id = event["part"]["id"].as_str().expect("an id").to_owned();
                if !self.parts.contains_key(&id) {
                    self.order.push(id.clone());
                }
                self.parts.insert(id, event["part"].clone());
            }
            Some("part.delta") => {
                let id = event["part"].as_str().expect("an id");
                let part = self
                    .parts
                    .get_mut(id)
                    .expect("a delta comes after its part");
                let text = part["text"].as_str().expect("text").to_owned();
                part["text"] = json!(text + event["delta"].as_str().expect("text"));
            }
            Some("turn.finished") => {
                self.reason = event["reason"].as_str().map(str::to_owned);
            }
            _ => {}
        }
    }
}

/// Runs until `lines` lines were read, then kills; with none it runs to its end.
fn run(w: &World, first: bool, lines: Option<u64>) -> Announced {
    let model = w.model();
    let mut args = vec!["exec", "--json", "--mode", "auto", "--model", &model];
    args.push(if first { "go" } else { "-c" });
    let mut child = w
        .command(&args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let (mut announced, mut count, mut line) = (Announced::default(), 0, String::new());
    let mut all = String::new();
    loop {
        line.clear();
        if output.read_line(&mut line).expect("text") == 0 {
            break;
        }
        all.push_str(&line);
        // The last line of a killed run may be cut.
        if let Ok(event) = serde_json::from_str(&line) {
            announced.event(&event);
        }
        count += 1;
        if lines == Some(count) {
            // What is in the pipe already was announced too: it is read on until the end.
            child.kill().expect("a kill");
        }
    }
    child.wait().expect("an end");
    assert!(
        !announced.session.is_empty(),
        "no session was begun:\n{all}"
    );
    announced
}

pub(super) fn stored(w: &World, session: &str) -> Vec<Value> {
    let ran = w
        .run(&["sessions", "export", "--format", "json", session])
        .code(0);
    let document: Value = serde_json::from_str(&ran.stdout).expect("json");
    document["messages"].as_array().expect("messages").clone()
}

pub(super) fn parts(messages: &[Value]) -> Vec<&Value> {
    messages
        .iter()
        .flat_map(|m| m["parts"].as_array().expect("parts"))
        .collect()
}

/// Everything announced is there, in order, and not behind what was announced.
pub(super) fn check(announced: &Announced, messages: &[Value], context: &str) {
    let parts = parts(messages);
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    for id in &announced.order {
        let at = parts.iter().position(|p| p["id"] == id.as_str());
        let at = at.unwrap_or_else(|| panic!("{context}: {id} is lost"));
        let (said, kept) = (&announced.parts[id], parts[at]);
        // Within a message the order is that of the announcements (a step's patch comes late).
        let before = last.insert(kept["message"].to_string(), at);
        assert!(
            before.is_none_or(|b| b < at),
            "{context}: {id} is out of order"
        );
        assert_eq!(said["type"], kept["type"], "{context}: {id}");
        if let (Some(said), Some(kept)) = (said["text"].as_str(), kept["text"].as_str()) {
            assert!(
                kept.starts_with(said),
                "{context}: {id} lost text: {said:?}, {kept:?}"
            );
        }
        let (was, is) = (&said["state"], &kept["state"]);
        let rank = |s: &Value| match s["status"].as_str() {
            Some("pending") => 1,
            Some("running") => 2,
            Some("completed" | "error") => 3,
            _ => 0,
        };
        assert!(
            rank(is) >= rank(was),
            "{context}: {id} went back: {was}, {is}"
        );
        if rank(was) == 3 {
            assert_eq!(was["output"], is["output"], "{context}: {id}");
        }
    }
}

/// The calls of a transcript by their step: (step, result), where an interrupted one has none.
fn calls(messages: &[Value]) -> BTreeMap<usize, Option<String>> {
    let mut calls = BTreeMap::new();
    for part in parts(messages).into_iter().filter(|p| p["type"] == "tool") {
        let step = part["call"]
            .as_str()
            .expect("a call")
            .split('_')
            .nth(2)
            .expect("a step");
        let step: usize = step.parse().expect("a number");
        let state = &part["state"];
        let result = match state["status"].as_str() {
            Some("completed") => Some(state["output"].as_str().expect("text").to_owned()),
            Some("error") => {
                assert_eq!(state["interrupted"], true, "{part}");
                None
            }
            other => panic!("{other:?} is no end of a call: {part}"),
        };
        assert!(
            calls.insert(step, result).is_none(),
            "step {step} was played twice"
        );
    }
    calls
}

fn killed_session(seed: u64, kills: usize) {
    let lines: String = (0..STEPS + 2).map(|i| format!("line {i}\n")).collect();
    let undisturbed = World::scripted(&script());
    undisturbed.write("a.txt", &lines);
    let whole = run(&undisturbed, true, None);
    assert_eq!(whole.reason.as_deref(), Some("done"));
    let expected = calls(&stored(&undisturbed, &whole.session));
    assert_eq!(expected.len(), STEPS);

    let mut chance = Chance(seed);
    let mut done = 0;
    while done < kills {
        let w = World::scripted(&script());
        w.write("a.txt", &lines);
        let mut first = true;
        let messages = loop {
            // Enough lines that the prompt is stored, few enough that many kills fit into a session.
            let kill = (done < kills).then(|| if first { 8 } else { 2 } + chance.below(28));
            let announced = run(&w, first, kill);
            first = false;
            let messages = stored(&w, &announced.session);
            check(&announced, &messages, &format!("seed {seed}, kill {done}"));
            if announced.reason.is_some() {
                assert_eq!(announced.reason.as_deref(), Some("done"));
                break messages;
            }
            done += 1;
        };
        let got = calls(&messages);
        assert_eq!(got.len(), STEPS, "every step was played");
        for (step, result) in &got {
            if result.is_some() {
                assert_eq!(result, &expected[step], "step {step}");
            }
        }
        let ran = w.read("ran");
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for line in ran.lines() {
            *times.entry(line).or_default() += 1;
        }
        assert!(
            times.values().all(|t| *t == 1),
            "a command ran twice: {times:?}"
        );
        // Killed between its last words and its end, a run is continued with one sentence more.
        let said = parts(&messages);
        let last = said.iter().any(|p| p["text"] == "all steps are done");
        assert!(last, "seed {seed}: the end was not reached");
    }
}

#[test]
fn nothing_announced_is_lost_and_the_run_goes_on_to_the_same_end() {
    let kills: usize = std::env::var("DUNLIN_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(50);
    std::thread::scope(|scope| {
        for seed in [11, 12] {
            scope.spawn(move || killed_session(seed, kills.div_ceil(2)));
        }
    });
}
