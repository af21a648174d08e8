//! Killed at random moments of a run with everything in it: calls side by side, guidance, subagents,
//! permission asks, compactions. Nothing that was acknowledged is lost, no command runs twice, and the
//! run can be continued to the end that an undisturbed one has. `DUNLIN_KILLS` sets how many kills there
//! are (default 12; docs/durability.md has a long campaign), `DUNLIN_SEED` where chance begins.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::crash::{Announced, Chance, check, parts, stored};
use crate::support::world::World;

const STEPS: usize = 30;

fn script() -> Value {
    let bash = |command: String| json!({"name": "bash", "input": {"command": command}});
    let mark = |name: &str| bash(format!("echo {name} >> ran; echo did {name}"));
    let steps: Vec<Value> = (0..STEPS)
        .map(|i| match i % 5 {
            0 => json!({"calls": [mark(&format!("{i}a")), mark(&format!("{i}b")),
                {"name": "read", "input": {"file_path": "a.txt", "offset": i + 1, "limit": 3}}]}),
            1 => json!({"text": "I hand it on.", "calls": [{"name": "task", "input":
                {"description": format!("child {i}"), "prompt": format!("child {i}"), "agent": "general"}}]}),
            2 => json!({"calls": [bash(format!("touch asked-{i}"))]}),
            3 => json!({"reasoning": "Much to read.", "calls": [
                {"name": "read", "input": {"file_path": "big.txt", "offset": i * 40 + 1, "limit": 150}}]}),
            _ => json!({"text": "a few words about it", "chunk": 4, "calls": [mark(&i.to_string())]}),
        })
        .chain([json!({"text": "all steps are done"})])
        .collect();
    json!({
        // Small enough for several compactions.
        "model": {"context": 9_000, "max_output": 1_000},
        "branches": [{"match": "^child", "steps": [
            {"calls": [bash("echo child >> children; echo in the child".to_owned())]},
            {"text": "the child is done"}]}],
        "steps": steps,
        "side": ["what was done before"]
    })
}

/// What was sent and acknowledged as queued, by its text.
type Notes = BTreeSet<String>;

struct Run<'a> {
    w: &'a World,
    notes: Notes,
    sent: usize,
}

impl Run<'_> {
    /// Plays until `lines` lines were read, then kills; with none to the end. Says something now and
    /// then, and answers what is asked.
    /// Also says whether it was killed before its end.
    fn play(&mut self, first: bool, lines: Option<u64>, chance: &mut Chance) -> (Announced, bool) {
        let model = self.w.model();
        let mut args = vec![
            "exec",
            "--json",
            "--json-input",
            "--mode",
            "auto",
            "--model",
            &model,
        ];
        args.extend(["--config", "permission.bash={'touch *'='ask'}"]);
        args.push(if first { "go" } else { "-c" });
        let mut child = self
            .w
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("dunlin runs");
        let mut input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (mut seen, mut count, mut line, mut killed) =
            (Announced::default(), 0, String::new(), false);
        let mut unacknowledged: Vec<String> = Vec::new();
        let mut cut = false;
        loop {
            line.clear();
            if output.read_line(&mut line).expect("text") == 0 {
                break;
            }
            count += 1;
            let Ok(event) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            seen.event(&event);
            let mut say = |order: Value| {
                if let Some(input) = &mut input {
                    // It may be dead already.
                    drop(writeln!(input, "{order}"));
                }
            };
            match event["type"].as_str() {
                Some("permission.asked") => {
                    say(json!({"type": "answer", "ask": event["ask"]["id"],
                    "answer": {"answer": "once"}}));
                }
                Some("session.started") if event["cut"] == true => {
                    cut = true;
                    say(json!({"type": "continue"}));
                }
                Some("message.queued") => self.notes.extend(unacknowledged.pop()),
                // A queue that was left behind by a turn that had ended goes on.
                Some("queue.changed") if !first && !cut && count < 4 => {
                    if event["queue"]["guidance"][0].is_object() {
                        say(json!({"type": "queue.resume"}));
                    } else {
                        drop(input.take());
                    }
                }
                Some("step.finished") if self.sent < 12 && chance.below(3) == 0 => {
                    self.sent += 1;
                    let text = format!("note {}", self.sent);
                    say(json!({"type": "prompt", "text": text}));
                    unacknowledged.insert(0, text);
                }
                Some("turn.finished") if lines.is_none_or(|most| count < most) => {
                    drop(input.take());
                }
                _ => {}
            }
            if lines.is_some_and(|most| count >= most) && !killed {
                killed = true;
                child.kill().expect("a kill");
            }
        }
        let ended = child.wait().expect("an end");
        (seen, killed && !ended.success())
    }
}

/// Results of the main session's calls by their ids; none for one that was cut.
fn results(messages: &[Value]) -> BTreeMap<String, Option<String>> {
    let mut results = BTreeMap::new();
    for part in parts(messages).into_iter().filter(|p| p["type"] == "tool") {
        let id = part["call"].as_str().expect("a call").to_owned();
        let state = &part["state"];
        let result = match state["status"].as_str() {
            Some("completed") => state["output"].as_str().map(str::to_owned),
            _ => None,
        };
        let again = results.insert(id.clone(), result);
        assert!(again.is_none(), "call {id} was made twice");
    }
    results
}

/// The user's own words; what a compaction says again is not among them.
fn user_texts(messages: &[Value]) -> String {
    let users = messages.iter().filter(|m| m["role"] == "user");
    let texts = users.flat_map(|m| m["parts"].as_array().expect("parts"));
    texts
        .filter(|p| p["synthetic"] != true)
        .filter_map(|p| p["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

fn world() -> World {
    let w = World::scripted(&script());
    w.write("a.txt", &"line\n".repeat(STEPS + 9));
    w.write(
        "big.txt",
        &format!("{}\n", "words of a long line ".repeat(4)).repeat(3_000),
    );
    w
}

fn killed_session(seed: u64, kills: usize) {
    let mut chance = Chance(seed);
    let undisturbed = world();
    let mut run = Run {
        w: &undisturbed,
        notes: Notes::new(),
        sent: 99,
    };
    let (whole, _) = run.play(true, None, &mut chance);
    assert_eq!(whole.reason.as_deref(), Some("done"));
    let messages = stored(&undisturbed, &whole.session);
    let expected = results(&messages);
    let compactions = parts(&messages)
        .iter()
        .filter(|p| p["type"] == "compaction")
        .count();
    assert!(compactions > 2, "{compactions} compactions");

    let mut done = 0;
    while done < kills {
        let w = world();
        let mut run = Run {
            w: &w,
            notes: Notes::new(),
            sent: 0,
        };
        let mut first = true;
        let messages = loop {
            let kill = (done < kills).then(|| if first { 8 } else { 3 } + chance.below(40));
            let (announced, killed) = run.play(first, kill, &mut chance);
            assert!(!announced.session.is_empty(), "no session was begun");
            first = false;
            let messages = stored(&w, &announced.session);
            check(&announced, &messages, &format!("seed {seed}, kill {done}"));
            if !killed {
                break messages;
            }
            done += 1;
        };
        let got = results(&messages);
        // A step that was cut while its calls still streamed has only those that had come.
        let step = |id: &str| id.split('_').nth(2).map(str::to_owned);
        for missing in expected.keys().filter(|id| !got.contains_key(*id)) {
            let mut siblings = got.iter().filter(|(id, _)| step(id) == step(missing));
            assert!(
                siblings.any(|(_, result)| result.is_none()),
                "seed {seed}: {missing} was never made"
            );
        }
        assert!(
            got.keys().all(|id| expected.contains_key(id)),
            "seed {seed}"
        );
        for (id, result) in got.iter().filter(|(_, result)| result.is_some()) {
            assert_eq!(result, &expected[id], "seed {seed}: {id}");
        }
        let ran = w.read("ran");
        let mut lines: Vec<&str> = ran.lines().collect();
        lines.sort_unstable();
        let count = lines.len();
        lines.dedup();
        assert_eq!(
            lines.len(),
            count,
            "seed {seed}: a command ran twice: {ran}"
        );
        let said = user_texts(&messages);
        for note in &run.notes {
            let times = said.lines().filter(|l| l.ends_with(note.as_str())).count();
            assert_eq!(
                times, 1,
                "seed {seed}: {note} was said {times} times in:\n{said}"
            );
        }
    }
}

#[test]
fn a_run_with_everything_in_it_survives_being_killed() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let kills = number("DUNLIN_KILLS").unwrap_or(12) as usize;
    let seed = number("DUNLIN_SEED").unwrap_or(21);
    std::thread::scope(|scope| {
        for seed in [seed, seed + 1] {
            scope.spawn(move || killed_session(seed, kills.div_ceil(2)));
        }
    });
}
