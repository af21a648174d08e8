//! Two sessions of the program in one folder: an undo in the one takes back nothing of the other's.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::world::World;

fn call(name: &str, input: Value) -> Value {
    json!({"calls": [{"name": name, "input": input}]})
}

/// A prompt that begins with a letter plays the steps of that letter.
fn world(branches: &[(char, Vec<Value>)]) -> World {
    let branches: Vec<Value> = branches
        .iter()
        .map(|(letter, steps)| json!({"match": format!("^{letter}"), "steps": steps}))
        .collect();
    let w = World::scripted(&json!({"branches": branches, "default": {"text": "done"}}));
    let lines: Vec<String> = (0..40).map(|n| format!("line {n}\n")).collect();
    w.write("shared.txt", &lines.concat());
    w.commit();
    w
}

/// A run of the program that goes on.
struct Run {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    session: String,
}

impl Run {
    fn start(w: &World, letter: char) -> Self {
        let (model, prompt) = (w.model(), letter.to_string());
        let args = [
            "exec", "--json", "--mode", "auto", "--model", &model, &prompt,
        ];
        let mut command = w.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("dunlin runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            output,
            session: String::new(),
        }
    }

    /// Reads until an event fits; false at the end.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> bool {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("text") > 0 {
            let event: Value = serde_json::from_str(&line).expect("json");
            if let Some(id) = event["session"]["id"].as_str() {
                id.clone_into(&mut self.session);
            }
            if fits(&event) {
                return true;
            }
            line.clear();
        }
        false
    }

    /// Waits until a call runs.
    fn until_it_runs(&mut self) {
        assert!(self.until(|e| e["part"]["state"]["status"] == "running"));
    }

    /// Waits for the end; gives the session.
    fn end(mut self) -> String {
        self.until(|_| false);
        assert!(self.child.wait().expect("an end").success());
        self.session
    }
}

/// `/undo` and `y` in this session; gives what was said.
fn undo(w: &World, session: &str) -> String {
    let model = w.model();
    let mut child = w
        .command(&[
            "--plain", "--mode", "auto", "--model", &model, "-r", session,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("dunlin runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"/undo\ny\n/quit\n").expect("lines");
    drop(input);
    let said = child.wait_with_output().expect("an end").stdout;
    String::from_utf8_lossy(&said).into_owned()
}

/// A command that runs until a file is there, outside of the folder.
fn waiting(w: &World, then: &str) -> String {
    let gate = w.root().join("gate");
    format!(
        "until [ -e '{}' ]; do sleep 0.02; done; {then}",
        gate.display()
    )
}

#[test]
fn what_another_session_writes_while_a_command_runs_stays() {
    let w = world(&[]);
    let a = waiting(&w, "echo A > fa.txt; echo A >> shared.txt");
    let edit = json!({"file_path": "shared.txt", "old_string": "line 2\n", "new_string": "line 2\nB was here\n"});
    w.write_script(&json!({"branches": [
        {"match": "^A", "steps": [call("bash", json!({"command": a})), {"text": "a"}]},
        {"match": "^B", "steps": [
            call("read", json!({"file_path": "shared.txt"})),
            call("edit", edit),
            call("write", json!({"file_path": "fb.txt", "content": "B\n"})),
            call("bash", json!({"command": "echo B > by-command.txt"})),
            {"text": "b"}]},
    ]}));
    let before = w.read("shared.txt");
    let mut a = Run::start(&w, 'A');
    a.until_it_runs();
    let b = Run::start(&w, 'B').end();
    std::fs::write(w.root().join("gate"), "").expect("a file");
    let a = a.end();
    let said = undo(&w, &a);
    assert!(said.contains("fa.txt: removed · while \"until"), "{said}");
    assert!(!w.worktree().join("fa.txt").exists(), "{said}");
    assert_eq!(w.read("fb.txt"), "B\n", "{said}");
    assert_eq!(w.read("by-command.txt"), "B\n", "{said}");
    let text = w.read("shared.txt");
    assert!(
        text.contains("B was here") && !text.contains("A\n"),
        "{said}"
    );
    let said = undo(&w, &b);
    assert_eq!(w.read("shared.txt"), before, "{said}");
    assert!(!w.worktree().join("fb.txt").exists(), "{said}");
    assert!(!w.worktree().join("by-command.txt").exists(), "{said}");
    assert!(
        said.contains("fb.txt: removed\n"),
        "a tool's own write needs no mark: {said}"
    );
}

#[test]
fn sessions_that_edit_one_file_together_take_back_their_own_lines() {
    let letters = ['A', 'B', 'C'];
    let steps = |at: usize| {
        let mut steps = Vec::new();
        for n in 0..3 {
            let line = at * 13 + n * 4;
            let (old, new) = (
                format!("line {line}\n"),
                format!("line {line}\nof {at} {n}\n"),
            );
            steps.push(call("read", json!({"file_path": "shared.txt"})));
            steps.push(call(
                "edit",
                json!({"file_path": "shared.txt", "old_string": old, "new_string": new}),
            ));
            steps.push(call(
                "write",
                json!({"file_path": format!("own-{at}-{n}"), "content": "x\n"}),
            ));
        }
        steps.push(json!({"text": "done"}));
        steps
    };
    let branches: Vec<_> = letters
        .iter()
        .enumerate()
        .map(|(at, l)| (*l, steps(at)))
        .collect();
    let w = world(&branches);
    let runs = letters.map(|letter| Run::start(&w, letter));
    let sessions = runs.map(Run::end);
    for at in [1, 0, 2] {
        let lines = |of: usize| {
            let text = w.read("shared.txt");
            let own = text.lines().filter(|l| l.starts_with(&format!("of {of} ")));
            own.map(str::to_owned).collect::<Vec<String>>()
        };
        let others: Vec<usize> = (0..3).filter(|other| *other != at).collect();
        let before: Vec<_> = others.iter().map(|other| lines(*other)).collect();
        let files = |of: usize| {
            (0..3)
                .filter(|n| w.worktree().join(format!("own-{of}-{n}")).exists())
                .count()
        };
        let kept: Vec<_> = others.iter().map(|other| files(*other)).collect();
        let said = undo(&w, &sessions[at]);
        assert_eq!(lines(at), [""; 0], "{said}");
        assert_eq!(files(at), 0, "{said}");
        assert_eq!(
            others.iter().map(|other| lines(*other)).collect::<Vec<_>>(),
            before,
            "{said}"
        );
        assert_eq!(
            others.iter().map(|other| files(*other)).collect::<Vec<_>>(),
            kept,
            "{said}"
        );
    }
}
