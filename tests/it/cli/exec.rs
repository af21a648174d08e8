//! `dunlin exec`: answers, events, exit codes (docs/exec-json.md).

use serde_json::{Value, json};

use crate::support::server::{Reply, Server, call, end, text};
use crate::support::world::{World, of_type, tools};

#[test]
fn the_answer_goes_to_stdout_and_progress_to_stderr() {
    let w = World::scripted(&json!({"steps": [
        {"text": "I look.", "calls": [{"name": "read", "input": {"file_path": "a.txt"}}]},
        {"text": "It says hello."}
    ]}));
    w.write("a.txt", "hello\n");
    let ran = w.exec(&["what does a.txt say?"]).code(0);
    assert_eq!(ran.stdout, "It says hello.\n");
    assert!(
        ran.stderr.contains("I look.") && ran.stderr.contains("a.txt"),
        "{}",
        ran.stderr
    );
}

#[test]
fn json_lines_tell_of_every_message_and_part_in_order() {
    let w = World::scripted(&json!({"steps": [
        {"text": "I look.", "calls": [
            {"name": "read", "input": {"file_path": "a.txt"}},
            {"name": "list", "input": {"path": "."}}
        ]},
        {"text": "Done."}
    ]}));
    w.write("a.txt", "hello\n");
    let (ran, events) = w.events(&["go"]);
    ran.code(0);
    let kinds: Vec<&str> = events
        .iter()
        .map(|e| e["type"].as_str().expect("a type"))
        .collect();
    assert_eq!(kinds[0], "session.started");
    assert_eq!(events[0]["format"], 1);
    assert_eq!(kinds.last(), Some(&"turn.finished"));
    assert_eq!(events.last().expect("one")["reason"], "done");
    assert_eq!(of_type(&events, "step.finished").len(), 2);
    let done = tools(&events);
    assert_eq!(done.len(), 2);
    for part in &done {
        assert_eq!(part["state"]["status"], "completed", "{part}");
    }
    assert!(
        done[0]["state"]["output"]
            .as_str()
            .expect("text")
            .contains("hello")
    );
    // A part is announced after its message, a delta after its part.
    let mut known: Vec<&Value> = Vec::new();
    for event in &events {
        match event["type"].as_str() {
            Some("message.created") => known.push(&event["message"]["id"]),
            Some("part.updated") => {
                assert!(known.contains(&&event["part"]["message"]));
                known.push(&event["part"]["id"]);
            }
            Some("part.delta") => assert!(known.contains(&&event["part"])),
            _ => {}
        }
    }
}

#[test]
fn edits_run_in_auto_edit_and_commands_are_refused_with_code_3() {
    let script = json!({"steps": [
        {"calls": [{"name": "read", "input": {"file_path": "a.txt"}}]},
        {"calls": [{"name": "edit", "input":
            {"file_path": "a.txt", "old_string": "one", "new_string": "two"}}]},
        {"calls": [{"name": "bash", "input": {"command": "touch made"}}]},
        {"text": "never said"}
    ]});
    let w = World::scripted(&script);
    w.write("a.txt", "one\n");
    let (ran, events) = w.events(&["--mode", "auto-edit", "go"]);
    ran.code(3);
    assert_eq!(w.read("a.txt"), "two\n");
    assert!(!w.worktree().join("made").exists());
    assert_eq!(of_type(&events, "permission.asked").len(), 1);
    assert_eq!(events.last().expect("one")["reason"], "refused");
    // In plan mode nothing is written.
    let w = World::scripted(&script);
    w.write("a.txt", "one\n");
    w.exec(&["--mode", "plan", "go"]);
    assert_eq!(w.read("a.txt"), "one\n");
}

#[test]
fn commands_run_in_auto_and_their_exit_code_is_told() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "echo out; echo err >&2; exit 3"}}]},
        {"text": "ok"}
    ]}));
    let (ran, events) = w.events(&["--mode", "auto", "go"]);
    ran.code(0);
    let part = &tools(&events)[0];
    let output = part["state"]["output"].as_str().expect("text");
    assert!(
        output.contains("out\n") && output.contains("err") && output.contains('3'),
        "{output}"
    );
    assert_eq!(part["state"]["metadata"]["exit"], 3);
}

#[test]
fn the_fourth_identical_call_ends_with_code_4() {
    let step = json!({"calls": [{"name": "bash", "input": {"command": "echo same"}}]});
    let w = World::scripted(&json!({"steps": [step, step, step, step, step, step]}));
    let (ran, events) = w.events(&["--mode", "auto", "go"]);
    ran.code(4);
    let ran: Vec<Value> = tools(&events)
        .into_iter()
        .filter(|p| p["state"]["status"] == "completed")
        .collect();
    assert_eq!(ran.len(), 3);
}

#[test]
fn the_step_limit_ends_with_a_grace_step_and_code_5() {
    let steps: Vec<Value> = (0..9)
        .map(|i| json!({"calls": [{"name": "bash", "input": {"command": format!("echo {i}")}}]}))
        .collect();
    let w = World::scripted(&json!({"steps": steps, "side": ["what is left"]}));
    let (ran, events) = w.events(&["--mode", "auto", "--max-steps", "3", "go"]);
    ran.code(5);
    assert_eq!(of_type(&events, "step.finished").len(), 3);
    assert_eq!(tools(&events).len(), 2, "the last step has no tools");
}

#[test]
fn bad_command_lines_end_with_code_2_and_say_what_to_do() {
    let w = World::new();
    let ran = w.run(&["exec", "--mode", "yolo", "x"]).code(2);
    assert!(ran.stderr.contains("auto-edit"), "{}", ran.stderr);
    let ran = w.run(&["exec", "-r", "nonsense", "x"]).code(2);
    assert!(ran.stderr.contains("sessions list"), "{}", ran.stderr);
    let ran = w.run(&["exec", "-C", "/no/such/folder", "x"]).code(2);
    assert!(ran.stderr.contains("/no/such/folder"), "{}", ran.stderr);
    let ran = w.run(&["exec"]).code(2);
    assert!(ran.stderr.contains("prompt"), "{}", ran.stderr);
    let ran = w.run(&["exec", "--config", "contxt.prune=1", "x"]).code(2);
    assert!(ran.stderr.contains("context"), "{}", ran.stderr);
}

#[test]
fn without_a_key_it_says_what_to_set() {
    let w = World::new();
    let ran = w.run(&["exec", "hello"]).code(1);
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY"), "{}", ran.stderr);
    let ran = w
        .run(&["exec", "--model", "anthropic/claude-sonnet-4-5", "hello"])
        .code(1);
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY"), "{}", ran.stderr);
    let ran = w.run(&["exec", "--model", "antropic/x", "hello"]).code(2);
    assert!(ran.stderr.contains("anthropic"), "{}", ran.stderr);
}

#[test]
fn without_a_terminal_the_screen_points_to_exec() {
    let w = World::new();
    let ran = w.run(&[]).code(2);
    assert!(ran.stderr.contains("dunlin exec"), "{}", ran.stderr);
}

#[test]
fn what_is_piped_in_joins_the_prompt() {
    use std::io::Write;
    let server = Server::start(vec![Reply::Stream(vec![text("ok"), end("end_turn")])]);
    let w = over_http(&server);
    let mut child = w
        .command(&["exec", "--model", "anthropic/m", "explain"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"piped text")
        .expect("a reader");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success());
    let said = server.asked()[0].body["messages"].to_string();
    assert!(
        said.contains("explain") && said.contains("piped text"),
        "{said}"
    );
}

fn over_http(server: &Server) -> World {
    let mut w = World::new();
    w.set("ANTHROPIC_API_KEY", "sk-test-secret");
    w.set("ANTHROPIC_BASE_URL", &server.base);
    w
}

#[test]
fn a_turn_over_http_streams_calls_a_tool_and_sends_its_result() {
    let server = Server::start(vec![
        Reply::Stream(vec![
            text("I look."),
            call("toolu_1", "read", &json!({"file_path": "a.txt"})),
            end("tool_use"),
        ]),
        Reply::Stream(vec![text("It says hello."), end("end_turn")]),
    ]);
    let w = over_http(&server);
    w.write("a.txt", "hello\n");
    let ran = w.run(&["exec", "--model", "anthropic/m", "what?"]).code(0);
    assert_eq!(ran.stdout, "It says hello.\n");
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].path, "/v1/messages");
    assert!(
        asked[0]
            .headers
            .contains(&("x-api-key".to_owned(), "sk-test-secret".to_owned()))
    );
    let messages = asked[1].body["messages"].as_array().expect("messages");
    let last = messages.last().expect("one").to_string();
    assert!(last.contains("tool_result") && last.contains("toolu_1") && last.contains("hello"));
}

#[test]
fn faults_of_the_server_are_retried_and_the_turn_gets_through() {
    let server = Server::start(vec![
        Reply::Status(
            429,
            vec![("retry-after-ms", "5".to_owned())],
            "{}".to_owned(),
        ),
        Reply::Broken(vec![text("I beg")]),
        Reply::Stream(vec![text("ok"), end("end_turn")]),
    ]);
    let w = over_http(&server);
    let ran = w
        .run(&["exec", "--json", "--model", "anthropic/m", "x"])
        .code(0);
    let events: Vec<Value> = ran
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).expect("json"))
        .collect();
    let retries = of_type(&events, "retry");
    assert_eq!(retries.len(), 2);
    assert_eq!(retries[0]["delay_ms"], 5);
    assert!(
        !server.asked()[2].body.to_string().contains("I beg"),
        "a broken attempt is not sent"
    );
}

#[test]
fn a_wrong_key_is_told_and_never_printed() {
    let body = json!({"type": "error", "error":
        {"type": "authentication_error", "message": "invalid x-api-key"}});
    let server = Server::start(vec![Reply::Status(401, Vec::new(), body.to_string())]);
    let w = over_http(&server);
    let ran = w.run(&["exec", "--model", "anthropic/m", "x"]).code(1);
    assert!(ran.stderr.contains("key"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("sk-test-secret") && !ran.stdout.contains("sk-test-secret"));
}

#[test]
fn nobody_there_is_a_sentence_and_the_session_can_be_continued() {
    let mut w = World::new();
    w.set("ANTHROPIC_API_KEY", "k");
    w.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let ran = w
        .run(&[
            "exec",
            "--config",
            "loop.retries=0",
            "--model",
            "anthropic/m",
            "remember me",
        ])
        .code(1);
    assert!(ran.stderr.contains("127.0.0.1:9"), "{}", ran.stderr);
    let server = Server::start(vec![Reply::Stream(vec![text("ok"), end("end_turn")])]);
    w.set("ANTHROPIC_BASE_URL", &server.base);
    w.run(&["exec", "-c"]).code(0);
    assert!(server.asked()[0].body.to_string().contains("remember me"));
}

#[test]
fn a_session_goes_on_where_it_was() {
    let w = World::scripted(&json!({"steps": [{"text": "first"}, {"text": "second"}]}));
    w.exec(&["one"]).code(0);
    let (ran, events) = w.events(&["-c", "two"]);
    ran.code(0);
    let id = events[0]["session"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let listed = w.run(&["sessions", "list", "--json"]).code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("json");
    assert_eq!(listed.as_array().expect("an array").len(), 1);
    assert_eq!(listed[0]["id"], id.as_str());
    let shown = w
        .run(&["sessions", "export", "--format", "md", &id])
        .code(0)
        .stdout;
    for said in ["one", "first", "two", "second"] {
        assert!(shown.contains(said), "{said} in {shown}");
    }
}

#[test]
fn a_session_that_is_open_elsewhere_is_refused_and_left_alone() {
    use std::io::{BufRead, BufReader};
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "while [ ! -e go ]; do sleep 0.05; done"}}]},
        {"text": "first is done"}
    ]}));
    let model = w.model();
    let mut first = w
        .command(&[
            "exec", "--json", "--mode", "auto", "--model", &model, "wait",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    let mut lines = BufReader::new(first.stdout.take().expect("a pipe")).lines();
    let mut id = String::new();
    for line in lines.by_ref() {
        let event: Value = serde_json::from_str(&line.expect("a line")).expect("json");
        if event["type"] == "session.started" {
            id = event["session"]["id"].as_str().expect("an id").to_owned();
        }
        if event["part"]["state"]["status"] == "running" {
            break;
        }
    }
    let second = w
        .run(&["exec", "--model", &model, "-r", &id, "me too"])
        .code(1);
    assert!(second.stderr.contains("open"), "{}", second.stderr);
    w.write("go", "");
    let last = lines.last().expect("a line").expect("a line");
    assert!(last.contains("\"done\""), "{last}");
    assert!(first.wait().expect("an end").success());
}

#[test]
fn a_stream_that_falls_silent_times_out_with_a_sentence() {
    let server = Server::start(vec![Reply::Hang(vec![text("I beg")])]);
    let w = over_http(&server);
    let ran = w
        .run(&[
            "exec",
            "--config",
            "loop.idle_timeout=200ms",
            "--config",
            "loop.retries=0",
            "--model",
            "anthropic/m",
            "x",
        ])
        .code(1);
    assert!(
        ran.stderr.contains("silent") || ran.stderr.contains("time"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_users_rules_reach_the_model_and_so_do_facts_of_the_place() {
    let server = Server::start(vec![Reply::Stream(vec![text("ok"), end("end_turn")])]);
    let w = over_http(&server);
    w.write("AGENTS.md", "Always answer in rhymes.\n");
    std::fs::write(w.config().join("AGENTS.md"), "My name is Ada.\n").expect("a file");
    let in_git = w.commit();
    w.run(&["exec", "--model", "anthropic/m", "x"]).code(0);
    let system = server.asked()[0].body["system"].to_string();
    assert!(system.contains("Always answer in rhymes.") && system.contains("My name is Ada."));
    assert_eq!(system.contains("branch main"), in_git, "{system}");
}

#[test]
fn a_full_window_is_compacted_and_the_turn_goes_on() {
    let call = |n: usize| json!({"calls": [{"name": "read", "input": {"file_path": format!("f{n}.txt")}}]});
    let mut steps: Vec<Value> = (0..12).map(call).collect();
    steps.push(json!({"text": "all read"}));
    let w = World::scripted(&json!({
        "model": {"context": 16_000, "max_output": 2_000, "enforce_limit": true},
        "steps": steps,
        "side": ["notes: f0 to f5 were read"]
    }));
    for n in 0..12 {
        w.write(
            &format!("f{n}.txt"),
            &format!("line of file {n}\n").repeat(400),
        );
    }
    let (ran, events) = w.events(&["go"]);
    let ran = ran.code(0);
    assert!(ran.stdout.contains("all read"));
    assert!(!of_type(&events, "context.compacted").is_empty());
    for event in of_type(&events, "context.compacted") {
        assert!(
            event["after_tokens"].as_u64() < event["before_tokens"].as_u64(),
            "{event}"
        );
    }
    assert_eq!(tools(&events).len(), 12);
}

#[test]
fn a_data_folder_that_cannot_be_written_is_said_once_and_ends_with_code_1() {
    let mut w = World::scripted(&json!({"steps": [{"text": "never"}]}));
    w.write("file", "");
    let below_a_file = w.worktree().join("file").join("data");
    w.set("DUNLIN_DATA_DIR", &below_a_file.to_string_lossy());
    let ran = w.exec(&["go"]).code(1);
    assert_eq!(ran.stderr.matches("Could not").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_told() {
    let w = World::scripted(&json!({"steps": [{"text": "fine"}]}));
    for json in [true, false] {
        let mut args = vec!["exec"];
        args.extend(json.then_some("--json"));
        let model = w.model();
        args.extend(["--model", &model, "go"]);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = w.command(&args);
        let output = command
            .stdout(full.expect("/dev/full"))
            .output()
            .expect("dunlin runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("Standard output cannot be written: No space left"),
            "{said}"
        );
    }
}
