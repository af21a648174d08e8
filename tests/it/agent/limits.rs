//! Tier 1 through the whole program: every tool is given something without bounds, and what it leaves in
//! the session is bounded: output, error, title, metadata. What was cut is in a file that `read` and `grep`
//! open unasked.

use dunlin::tools::output::rules::{Limit, RULES};
use serde_json::{Value, json};

use super::orders::Steered;
use crate::support::world::{World, of_type, tools};

/// What a tool may put around its output: the way to the rest, an exit code.
const AROUND: usize = 9 * 1024;

/// A call for each tool, or several.
fn calls() -> Vec<(&'static str, Value)> {
    let long = |text: &str, bytes: usize| text.repeat(bytes / text.len());
    let garbage = format!(
        "*** Begin Patch\n*** Update File: a.txt\n@@ {0}\n-{0}\n+b\n*** End Patch",
        long("é?", 1 << 20)
    );
    let todos: Vec<Value> = (0..100_000)
        .map(|n| json!({"content": format!("item {n} é"), "status": "pending"}))
        .collect();
    let blanks = "\n".repeat(100_000);
    vec![
        (
            "bash",
            json!({"command": "head -c 30000000 /dev/zero | tr '\\0' x"}),
        ),
        (
            "bash",
            json!({"command": "yes 'wörter über wörter' | head -c 3000001"}),
        ),
        (
            "bash",
            json!({"command": "yes é | head -c 2000000; sleep 60", "background": true}),
        ),
        ("bash_output", json!({"job": "job-1", "wait": 3000})),
        ("kill", json!({"job": "job-1"})),
        ("kill", json!({"job": long("é", 1 << 20)})),
        ("read", json!({"file_path": "wide.txt"})),
        ("read", json!({"file_path": long("é/", 1 << 20)})),
        ("grep", json!({"pattern": long("(", 1 << 20)})),
        ("grep", json!({"pattern": "é", "path": "wide.txt"})),
        ("glob", json!({"pattern": long("[é", 1 << 20)})),
        ("list", json!({"path": long("é", 1 << 20)})),
        (
            "edit",
            json!({"file_path": "a.txt", "old_string": long("not thére\n", 5 << 20), "new_string": "x"}),
        ),
        // Lines that are nearly right everywhere.
        (
            "edit",
            json!({"file_path": "blank.txt", "old_string": format!("{blanks}x"), "new_string": "x"}),
        ),
        (
            "write",
            json!({"file_path": "big.txt", "content": long("söme text\n", 5 << 20)}),
        ),
        (
            "write",
            json!({"file_path": long("é", 1 << 20), "content": "x"}),
        ),
        ("apply_patch", json!({"patch": garbage})),
        ("apply_patch", json!({"patch": long("é", 1 << 20)})),
        ("todo", json!({"todos": todos})),
        ("question", json!({"question": "Which?", "options": ["a"]})),
        ("question", json!({"question": long("é", 1 << 20)})),
        ("skill", json!({"name": "huge"})),
        ("skill", json!({"name": long("é", 1 << 20)})),
        (
            "web_fetch",
            json!({"url": format!("http://127.0.0.1:9/{}", long("é", 1 << 20))}),
        ),
        (
            "task",
            json!({"description": long("é ", 1 << 16), "prompt": "answer at length", "agent": "general"}),
        ),
        (
            "task",
            json!({"description": "d", "prompt": "p", "agent": long("é", 1 << 20)}),
        ),
        ("recall", json!({"tool": "edit", "limit": 100})),
        (
            "recall",
            json!({"query": long("(", 1 << 20), "regex": true}),
        ),
        ("recall", json!({"part": long("é", 1 << 20)})),
        ("mcp__server__tool", json!({"x": long("é", 1 << 20)})),
    ]
}

fn world() -> World {
    let mut steps = vec![json!({"calls": [
        {"name": "read", "input": {"file_path": "a.txt"}},
        {"name": "read", "input": {"file_path": "blank.txt"}}]})];
    // One step each: the job has to be there before it is looked at.
    steps.extend(
        calls()
            .into_iter()
            .map(|(tool, input)| json!({"calls": [{"name": tool, "input": input}]})),
    );
    steps.push(json!({"text": "done"}));
    let w = World::scripted(&json!({
        "branches": [{"match": "^answer at length", "steps": [
            {"text": {"repeat": "long wörds\n", "times": 300_000}, "chunk": 100_000}]}],
        "steps": steps}));
    w.write("a.txt", "some text\n");
    w.write("blank.txt", &"\n".repeat(200_000));
    w.write("wide.txt", &"é".repeat(3 << 20));
    let skill = w.config().join("skills/huge");
    std::fs::create_dir_all(&skill).expect("a folder");
    let text = format!(
        "---\nname: huge\ndescription: d\n---\n{}",
        "wörds\n".repeat(200_000)
    );
    std::fs::write(skill.join("SKILL.md"), text).expect("a skill");
    w
}

/// Bytes and lines of what a tool says, within its limit and what may be around it.
fn check(part: &Value) {
    let (tool, state) = (part["tool"].as_str().expect("a name"), &part["state"]);
    let text = state["output"]
        .as_str()
        .or(state["error"].as_str())
        .expect("a result");
    let (lines, bytes, chars) = (text.lines().count(), text.len(), text.chars().count());
    let limit = RULES
        .iter()
        .find(|rule| rule.tool == tool)
        .map(|rule| rule.limit);
    let fine = match limit {
        Some(Limit::Bash) => chars <= 30_000 + AROUND,
        Some(_) => bytes <= 51_200 + AROUND && lines <= 2_200,
        None => chars <= 120_000 + AROUND,
    };
    let head: String = text.chars().take(200).collect();
    assert!(
        fine,
        "{tool}: {lines} lines, {bytes} bytes, {chars} characters: {head}"
    );
    let title = state["title"].as_str().unwrap_or_default();
    assert!(
        title.chars().count() <= 241 && !title.contains('\n'),
        "{tool}: {}",
        title.len()
    );
    let facts = state["metadata"].to_string();
    assert!(
        facts.len() <= 120_000,
        "{tool}: {} bytes of metadata",
        facts.len()
    );
    assert!(
        !text.contains('\u{fffd}'),
        "{tool} was cut inside a character"
    );
}

/// The file that a text names, if it was cut.
fn saved(part: &Value) -> Option<String> {
    let state = &part["state"];
    let text = state["output"].as_str().or(state["error"].as_str())?;
    let (_, rest) = text.split_once("Full output saved to: ")?;
    assert!(text.contains(" bytes truncated...") && rest.contains("read with offset/limit"));
    Some(rest.lines().next().expect("a path").to_owned())
}

#[test]
fn whatever_a_tool_is_given_what_it_leaves_behind_is_bounded() {
    for rule in RULES {
        assert!(
            calls().iter().any(|(tool, _)| *tool == rule.tool),
            "no case for {}",
            rule.tool
        );
    }
    let w = world();
    let mut run = Steered::start(&w, &["--mode", "auto", "--no-sandbox", "go"]);
    let asked = run.until("the question", |e| e["type"] == "permission.asked");
    let answer = json!({"answer": "text", "text": "an änswer\n".repeat(100_000)});
    run.say(&json!({"type": "answer", "ask": asked["ask"]["id"], "answer": answer}));
    assert_eq!(run.end(), 0);
    let parts = tools(&run.events);
    assert_eq!(parts.len(), calls().len() + 2);
    parts.iter().for_each(check);
    // Whatever was ever shown of a running call, too.
    for event in of_type(&run.events, "part.updated") {
        let title = event["part"]["state"]["title"].as_str().unwrap_or_default();
        assert!(title.chars().count() <= 241, "{}", event["part"]["tool"]);
    }
    let cut: Vec<(String, String)> = parts
        .iter()
        .filter_map(|p| Some((p["tool"].as_str()?.to_owned(), saved(p)?)))
        .collect();
    for tool in [
        "bash",
        "todo",
        "question",
        "skill",
        "task",
        "read",
        "web_fetch",
    ] {
        assert!(
            cut.iter().any(|(name, _)| name == tool),
            "{tool} says nothing of a file: {cut:?}"
        );
    }
    open_unasked(&w, &cut);
}

/// Files of full outputs are read and searched although everything else would have to be asked for.
fn open_unasked(w: &World, cut: &[(String, String)]) {
    let looks: Vec<Value> = cut
        .iter()
        .map(|(_, path)| {
            assert!(
                std::fs::metadata(path).is_ok_and(|m| m.len() > 4_000),
                "{path}"
            );
            json!({"calls": [{"name": "read", "input": {"file_path": path, "limit": 2}},
                {"name": "grep", "input": {"pattern": ".", "path": path, "limit": 2}}]})
        })
        .chain([json!({"text": "seen"})])
        .collect();
    w.write_script(&json!({"branches": [{"match": "^look", "steps": looks}], "steps": []}));
    let (ran, events) = w.events(&["-c", "--mode", "ask", "look"]);
    ran.code(0);
    let looked = tools(&events);
    assert_eq!(looked.len(), 2 * cut.len());
    for part in &looked {
        assert_eq!(part["state"]["status"], "completed", "{part}");
    }
}
