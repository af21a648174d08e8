//! Context management in the real program: folders' instructions, compaction by another model, figures.

use serde_json::{Value, json};

use crate::agent::orders::Steered;
use crate::support::server::{Reply, Server, end, text};
use crate::support::world::{World, of_type};

fn export(w: &World, id: &str) -> Value {
    let ran = w
        .run(&["sessions", "export", "--format", "json", id])
        .code(0);
    serde_json::from_str(&ran.stdout).expect("json")
}

/// Role and text of each text part, in order.
fn texts(session: &Value) -> Vec<(String, String)> {
    let messages = session["messages"].as_array().expect("messages");
    let mut all = Vec::new();
    for message in messages {
        let role = message["role"]
            .as_str()
            .or(message["message"]["role"].as_str());
        for part in message["parts"].as_array().expect("parts") {
            if let Some(text) = part["text"].as_str() {
                all.push((role.unwrap_or_default().to_owned(), text.to_owned()));
            }
        }
    }
    all
}

#[test]
fn instructions_of_a_folder_are_said_when_a_file_in_it_is_first_read_and_only_once() {
    let read = |path: &str| json!({"name": "read", "input": {"file_path": path}});
    let w = World::scripted(&json!({"steps": [
        {"calls": [read("top.txt")]},
        {"calls": [read("src/deep/a.txt"), read("src/b.txt")]},
        {"calls": [read("src/c.txt")]},
        {"text": "done"},
        {"calls": [read("src/deep/a.txt")]},
        {"text": "done again"}]}));
    w.write("AGENTS.md", "root rules");
    w.write("src/AGENTS.md", "source rules");
    w.write("src/deep/CLAUDE.md", "deep rules");
    w.write("top.txt", "x");
    for file in ["src/deep/a.txt", "src/b.txt", "src/c.txt"] {
        w.write(file, "x");
    }
    w.exec(&["go"]).code(0);
    w.exec(&["-c", "go on"]).code(0);
    let said: Vec<String> = texts(&export(&w, &w.newest()))
        .into_iter()
        .map(|(_, text)| text)
        .filter(|t| t.starts_with("Instructions from"))
        .collect();
    assert_eq!(
        said,
        [
            "Instructions from src/AGENTS.md, for everything in src/:\nsource rules",
            "Instructions from src/deep/CLAUDE.md, for everything in src/deep/:\ndeep rules"
        ]
    );
}

#[test]
fn a_focus_an_agents_own_prompt_and_the_small_model_make_the_summary() {
    let server = Server::start(vec![
        Reply::Stream(vec![text(&"long answer ".repeat(900)), end("end_turn")]),
        Reply::Stream(vec![text("after it"), end("end_turn")]),
    ]);
    let mut w = World::scripted(&json!({"steps": []}));
    w.set("ANTHROPIC_BASE_URL", &server.base);
    w.set("ANTHROPIC_API_KEY", "k-test");
    std::fs::create_dir_all(w.config().join("agents")).expect("a folder");
    std::fs::write(
        w.config().join("agents/compaction.md"),
        "---\ndescription: notes\n---\nWrite notes as a ship's log.\n",
    )
    .expect("an agent");
    let large = "anthropic/claude-sonnet-4-5";
    let small = "anthropic/claude-haiku-4-5";
    let setting = format!("small_model={small}");
    let mut run = Steered::begin(&w, &["--model", large, "--config", &setting, "first words"]);
    run.until("the end of the turn", |e| e["type"] == "turn.finished");
    run.say(&json!({"type": "compact", "focus": "the reef"}));
    let compacted = run.until("a compaction", |e| e["type"] == "context.compacted");
    assert_eq!(compacted["strategy"], "reactive-overflow");
    run.say(&json!({"type": "prompt", "text": "and now?"}));
    run.until("the end of the turn", |e| {
        e["type"] == "turn.finished" && e["reason"] == "done"
    });
    assert_eq!(run.end(), 0);
    let summary = server
        .aside()
        .into_iter()
        .find(|body| body["system"].to_string().contains("ship's log"))
        .expect("a summary was asked for with the agent's own prompt");
    assert_eq!(summary["model"], "claude-haiku-4-5");
    let asked = summary["messages"].to_string();
    assert!(asked.contains("keep this above all: the reef"), "{asked}");
    assert!(asked.contains("first words"));
    let next = server.asked().pop().expect("a request").body;
    let shown = next["messages"].to_string();
    assert_eq!(next["model"], "claude-sonnet-4-5");
    assert!(
        shown.contains("What did we do so far?") && shown.contains("the reef"),
        "{shown}"
    );
    assert!(
        !shown.contains("long answer"),
        "what was summarised is not sent again"
    );
}

#[test]
fn what_inspect_says_is_what_happened() {
    let step = |cached: u64, fresh: u64, n: usize| {
        json!({"usage": {"input": fresh, "output": 100, "cache_read": cached, "cache_write": 0},
            "calls": [{"name": "bash", "input": {"command": format!("head -c 60000 /dev/zero | tr '\\0' {n}")}}]})
    };
    let w = World::scripted(&json!({
        "model": {"input_price": 2.0, "output_price": 10.0},
        "steps": [step(0, 1_000, 1), step(1_000, 8_000, 2), {"text": "done",
            "usage": {"input": 7_000, "output": 100, "cache_read": 9_000, "cache_write": 0}}]}));
    let (ran, events) = w.events(&["--mode", "auto", "go"]);
    ran.code(0);
    let shown = w.run(&["inspect", &w.newest(), "--json"]).code(0);
    let report: Value = serde_json::from_str(&shown.stdout).expect("json");
    assert_eq!(report["requests"], json!([1_000, 9_000, 16_000]));
    assert_eq!(report["truncated_outputs"], 2);
    assert_eq!(report["messages"], 4);
    let rate = report["cache_hit_rate"].as_f64().expect("known");
    assert!((rate - 10_000.0 / 26_000.0).abs() < 1e-9, "{rate}");
    let costs = of_type(&events, "step.finished").into_iter();
    let sum: f64 = costs.map(|e| e["cost"].as_f64().expect("known")).sum();
    let cost = report["cost"].as_f64().expect("known");
    assert!((cost - sum).abs() < 1e-9, "{cost} against {sum}");
    // The last step's own count, and nothing was added since.
    assert_eq!(report["total_tokens"], 16_100);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("Only 38 %"), "{warnings}");
}
