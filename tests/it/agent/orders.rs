//! `exec --json --json-input`: a run that is steered from outside.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::world::World;

/// A run with both ends in hand.
pub struct Steered {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub events: Vec<Value>,
}

impl Steered {
    pub fn start(w: &World, args: &[&str]) -> Self {
        let model = w.model();
        let mut all = vec!["--model", model.as_str()];
        all.extend(args);
        Self::begin(w, &all)
    }

    /// The same with a model of one's own.
    pub fn begin(w: &World, args: &[&str]) -> Self {
        let mut all = vec!["exec", "--json", "--json-input"];
        all.extend(args);
        let mut child = w
            .command(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("dunlin runs");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            input,
            output,
            events: Vec::new(),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn say(&mut self, order: &Value) {
        writeln!(self.input.as_mut().expect("open"), "{order}").expect("a reader");
    }

    /// Reads until an event satisfies a condition, and gives it.
    #[track_caller]
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Some(event) = self.next() else {
                panic!("the run ended before {what}: {:#?}", self.events);
            };
            if wanted(&event) {
                return event;
            }
        }
    }

    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let count = self.output.read_line(&mut line).expect("text");
        let event: Value = (count > 0).then(|| serde_json::from_str(&line).expect("json"))?;
        self.events.push(event.clone());
        Some(event)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().expect("it was there");
        self.child.wait().expect("an end");
    }

    /// Ends the input and reads the rest; the exit code.
    pub fn end(&mut self) -> i32 {
        drop(self.input.take());
        while self.next().is_some() {}
        self.child.wait().expect("an end").code().unwrap_or(-1)
    }
}

impl Drop for Steered {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn waits_for(file: &str) -> Value {
    json!({"name": "bash", "input": {"command":
        format!("for i in $(seq 1200); do [ -e {file} ] && exit 0; sleep 0.02; done; exit 9")}})
}

pub fn is_running(tool: &str) -> impl Fn(&Value) -> bool {
    move |e| e["part"]["tool"] == tool && e["part"]["state"]["status"] == "running"
}

fn prompts(run: &Steered) -> Vec<String> {
    let mut users = Vec::new();
    let mut said = Vec::new();
    for event in &run.events {
        if event["type"] == "message.created" && event["message"]["role"] == "user" {
            users.push(event["message"]["id"].clone());
        }
        let part = &event["part"];
        if event["type"] == "part.updated"
            && part["type"] == "text"
            && users.contains(&part["message"])
        {
            said.push(part["text"].as_str().expect("text").to_owned());
        }
    }
    said
}

#[test]
fn prompts_queue_while_a_turn_runs_and_can_be_changed_until_they_are_sent() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [waits_for("go.now")]}, {"text": "one"}, {"text": "two"}, {"text": "three"}]}));
    let mut run = Steered::start(&w, &["--mode", "auto", "start"]);
    run.until("the command runs", is_running("bash"));
    let mut ids = Vec::new();
    for (text, delivery) in [
        ("use an option", "guidance"),
        ("drop me", "guidance"),
        ("and a test", "guidance"),
        ("!echo from the shell", "follow-up"),
        ("later", "follow-up"),
    ] {
        run.say(&json!({"type": "prompt", "text": text, "delivery": delivery}));
        ids.push(run.until("it is queued", |e| e["type"] == "message.queued"));
    }
    let positions: Vec<i64> = ids
        .iter()
        .map(|e| e["position"].as_i64().expect("one"))
        .collect();
    assert_eq!(positions, [1, 2, 3, 1, 2]);
    run.say(&json!({"type": "queue.remove", "id": ids[1]["id"]}));
    run.say(&json!({"type": "queue.move", "id": ids[4]["id"], "to": 0}));
    run.say(&json!({"type": "queue.replace", "id": ids[2]["id"], "text": "and two tests"}));
    run.until("the changes are made", |e| {
        e["queue"]["guidance"][1]["input"]["text"] == "and two tests"
    });
    run.say(&json!({"type": "nonsense"}));
    run.until("a complaint", |e| e["type"] == "error");
    w.write("go.now", "");
    assert_eq!(run.end(), 0);
    assert_eq!(
        prompts(&run),
        [
            "start",
            "First: use an option\n\nAlso: and two tests",
            "later",
            "!echo from the shell"
        ]
    );
    let joined = run
        .events
        .iter()
        .find(|e| e["type"] == "message.dequeued")
        .expect("one");
    assert_eq!(
        (&joined["count"], &joined["coalesced"]),
        (&json!(2), &json!(true))
    );
    let shell = run.events.iter().any(|e| {
        e["part"]["state"]["status"] == "completed"
            && e["part"]["state"]["output"]
                .as_str()
                .is_some_and(|o| o.contains("from the shell"))
    });
    assert!(shell, "a follow-up that begins with ! runs as a command");
}

#[test]
fn a_question_waits_for_its_answer_also_a_subagents() {
    let bash = json!({"name": "bash", "input": {"command": "touch made; echo ran >> log"}});
    let task = json!({"name": "task", "input":
        {"description": "d", "prompt": "the child", "agent": "general"}});
    let w = World::scripted(&json!({
        "branches": [{"match": "the child", "steps": [{"calls": [bash]}, {"text": "child done"}]}],
        "steps": [{"calls": [bash]}, {"calls": [task]}, {"text": "done"}]}));
    let mut run = Steered::start(&w, &["start"]);
    for _ in 0..2 {
        let asked = run.until("a question", |e| e["type"] == "permission.asked");
        run.say(
            &json!({"type": "answer", "ask": asked["ask"]["id"], "answer": {"answer": "once"}}),
        );
        run.until("it is closed", |e| e["type"] == "permission.answered");
    }
    assert_eq!(run.end(), 0, "{:#?}", run.events);
    assert_eq!(w.read("log"), "ran\nran\n");
}

#[test]
fn an_interrupt_with_a_prompt_sends_it_at_once() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [waits_for("never")]}, {"text": "as you say"}]}));
    let mut run = Steered::start(&w, &["--mode", "auto", "start"]);
    run.until("the command runs", is_running("bash"));
    run.say(&json!({"type": "prompt", "text": "do this instead", "delivery": "interrupt"}));
    assert_eq!(run.end(), 0);
    assert_eq!(prompts(&run), ["start", "do this instead"]);
    let cut = run.events.iter().any(|e| {
        e["part"]["state"]["error"] == "[Tool execution was interrupted]"
            && e["part"]["state"]["interrupted"] == true
    });
    assert!(cut);
}

#[test]
fn a_budget_asks_and_the_answer_grants_the_same_again() {
    let steps: Vec<Value> = (0..3)
        .map(|i| json!({"calls": [{"name": "bash", "input": {"command": format!("echo {i}")}}]}))
        .chain([json!({"text": "done"})])
        .collect();
    let w = World::scripted(&json!({"steps": steps}));
    let mut run = Steered::start(
        &w,
        &["--mode", "auto", "--config", "budget.steps=2", "start"],
    );
    let asked = run.until("the budget", |e| e["ask"]["body"]["kind"] == "budget");
    run.say(&json!({"type": "answer", "ask": asked["ask"]["id"], "answer": {"answer": "once"}}));
    assert_eq!(run.end(), 0, "four steps are twice the budget");
}

#[test]
fn without_a_prompt_it_waits_for_orders_and_the_code_is_the_last_turns() {
    let w = World::scripted(&json!({"steps": [{"text": "hello"}, {"text": "again"}]}));
    let mut run = Steered::start(&w, &[]);
    run.say(&json!({"type": "prompt", "text": "one"}));
    run.until("the first turn", |e| e["type"] == "turn.finished");
    run.say(&json!({"type": "prompt", "text": "two"}));
    run.until("the second turn", |e| e["type"] == "turn.finished");
    assert_eq!(run.end(), 0);
    assert_eq!(prompts(&run), ["one", "two"]);
}

/// One call that has to be asked for.
fn asks() -> Value {
    json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}, {"text": "so be it"}]})
}

#[test]
fn a_question_that_nobody_can_answer_any_more_is_a_no() {
    let w = World::scripted(&asks());
    let mut run = Steered::start(&w, &["--mode", "ask", "go"]);
    run.until("a question", |e| e["type"] == "permission.asked");
    assert_eq!(run.end(), 3);
    assert!(!w.worktree().join("made").exists());
}

#[test]
fn words_are_no_permission() {
    let w = World::scripted(&asks());
    let mut run = Steered::start(&w, &["--mode", "ask", "go"]);
    let asked = run.until("a question", |e| e["type"] == "permission.asked");
    run.say(&json!({"type": "answer", "ask": asked["ask"]["id"],
        "answer": {"answer": "text", "text": "please do not"}}));
    let told = |e: &Value| {
        let error = e["part"]["state"]["error"].as_str().unwrap_or_default();
        error.contains("please do not")
    };
    run.until("the words reach the model", told);
    assert_eq!(run.end(), 0);
    assert!(!w.worktree().join("made").exists());
}

#[test]
fn an_order_with_a_file_that_is_not_there_is_left_out_and_said() {
    let w = World::scripted(&json!({"default": {"text": "seen"}, "steps": []}));
    w.write("note.txt", "x");
    let mut run = Steered::start(&w, &[]);
    let order = |text: &str, path: &str| {
        json!({"type": "prompt", "text": text, "files": [
            {"mime": "text/plain", "name": "note", "source": {"path": path}}]})
    };
    run.say(&order("never said", "nowhere.txt"));
    let error = run.until("a complaint", |e| e["type"] == "error");
    let message = error["error"]["message"].as_str().expect("a sentence");
    assert!(
        message.contains("there is no file nowhere.txt"),
        "{message}"
    );
    run.say(&order("look", "note.txt"));
    run.until("the turn", |e| e["type"] == "turn.finished");
    run.say(&json!({"type": "retry-now"}));
    run.until("a word", |e| e["type"] == "notice");
    assert_eq!(run.end(), 0);
    assert_eq!(prompts(&run), ["look"]);
}

#[test]
fn a_no_of_a_megabyte_is_told_to_the_model_within_the_limits() {
    let w = World::scripted(&asks());
    let mut run = Steered::start(&w, &["--mode", "ask", "go"]);
    let asked = run.until("a question", |e| e["type"] == "permission.asked");
    let words = format!("no, {} and that is all", "wörter ".repeat(150_000));
    run.say(&json!({"type": "answer", "ask": asked["ask"]["id"],
        "answer": {"answer": "no", "message": words}}));
    let refused = run.until("the refusal", |e| {
        e["part"]["type"] == "tool" && e["part"]["state"]["status"] == "error"
    });
    let error = refused["part"]["state"]["error"].as_str().expect("words");
    assert!(
        error.contains("says: no, wörter") && error.contains("and that is all"),
        "{error}"
    );
    assert!(error.len() < 10_000, "{} bytes", error.len());
    assert!(error.contains("Full output saved to: "), "{error}");
    assert_eq!(run.end(), 0);
}
