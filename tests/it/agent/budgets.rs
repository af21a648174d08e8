//! Limits of money, tokens, steps and time; models that stand in for an overloaded one.

use serde_json::{Value, json};

use crate::support::world::{World, of_type};

fn busy(steps: usize, usage: &Value) -> Value {
    let steps: Vec<Value> = (0..steps)
        .map(|i| {
            json!({"usage": usage,
                "calls": [{"name": "bash", "input": {"command": format!("echo {i}")}}]})
        })
        .collect();
    json!({"model": {"input_price": 1000.0, "output_price": 1000.0}, "steps": steps})
}

#[test]
fn each_budget_stops_a_headless_run_with_code_5_and_says_which() {
    let usage = json!({"input": 900, "output": 100});
    for (limit, steps, word) in [
        // The title counts as well, so the sums are a little larger than the steps'.
        ("budget.usd=3", 3, "its budget is $3.00"),
        ("budget.tokens=2500", 3, "its budget is 2500"),
        ("budget.steps=2", 2, "made 2 steps"),
    ] {
        let w = World::scripted(&busy(9, &usage));
        let (ran, events) = w.events(&["--mode", "auto", "--config", limit, "go"]);
        ran.code(5);
        assert_eq!(of_type(&events, "step.finished").len(), steps, "{limit}");
        let said = of_type(&events, "error")[0]["error"]["message"].to_string();
        assert!(said.contains(word), "{limit}: {said}");
    }
}

#[test]
fn time_is_a_budget_too() {
    let slow = json!({"name": "bash", "input": {"command": "sleep 1.2"}});
    let w = World::scripted(&json!({"steps": [{"calls": [slow]}, {"text": "never said"}]}));
    let (ran, events) = w.events(&["--mode", "auto", "--config", "budget.time=1s", "go"]);
    ran.code(5);
    assert_eq!(of_type(&events, "step.finished").len(), 1);
    let said = of_type(&events, "error")[0]["error"]["message"].to_string();
    assert!(said.contains("worked for"), "{said}");
}

#[test]
fn what_was_spent_is_known_after_a_resume() {
    let w = World::scripted(&busy(9, &json!({"input": 10, "output": 1})));
    let limit = ["--mode", "auto", "--config", "budget.steps=2"];
    let first: Vec<&str> = limit.iter().copied().chain(["go"]).collect();
    w.exec(&first).code(5);
    let again: Vec<&str> = limit.iter().copied().chain(["-c", "go on"]).collect();
    let (ran, events) = w.events(&again);
    ran.code(5);
    assert_eq!(
        of_type(&events, "step.finished").len(),
        0,
        "nothing is left to spend"
    );
}

#[test]
fn a_model_that_stays_overloaded_is_replaced_for_the_turn_and_the_user_is_told() {
    let busy = json!({"kind": "status", "status": 529, "retry_after_ms": 1, "times": 3});
    let w = World::scripted(&json!({"steps": [
        {"text": "from the first", "fault": busy}, {"text": "from the first again"}]}));
    let other = w.root().join("other.json");
    let script = json!({"steps": [{"text": "from the other"}]});
    std::fs::write(&other, script.to_string()).expect("a script");
    let list = format!("fallback_models=['scripted/{}']", other.display());
    let (ran, events) = w.events(&["--config", &list, "go"]);
    ran.code(0);
    assert_eq!(of_type(&events, "retry").len(), 2);
    let notices = of_type(&events, "notice");
    let told = notices
        .iter()
        .any(|n| n["text"].to_string().contains("other.json"));
    assert!(told, "{notices:?}");
    let texts = || {
        of_type(&events, "part.updated")
            .into_iter()
            .map(|e| e["part"]["text"].clone())
    };
    assert!(texts().any(|t| t == "from the other"));
    // The next turn asks the chosen model again.
    let (ran, events) = w.events(&["-c", "--config", &list, "more"]);
    ran.code(0);
    let said = of_type(&events, "message.created").last().expect("one")["message"]["model"].clone();
    assert_eq!(said, w.model());
}

#[test]
fn titles_count_towards_the_budget_but_not_as_a_message() {
    // Each step takes 11 tokens; the title's instructions alone are more than 40.
    let slow = json!({"name": "bash", "input": {"command": "sleep 0.3"}});
    let usage = json!({"input": 10, "output": 1});
    let steps: Vec<Value> = (0..40)
        .map(|_| json!({"usage": usage, "calls": [slow]}))
        .collect();
    let w = World::scripted(&json!({
        "model": {"input_price": 1000.0, "output_price": 1000.0}, "steps": steps}));
    let budget = [
        "--mode",
        "auto",
        "--config",
        "loop.loop_repeats=99",
        "--config",
        "budget.tokens=66",
    ];
    let args: Vec<&str> = budget.iter().copied().chain(["go"]).collect();
    let (ran, events) = w.events(&args);
    ran.code(5);
    let made = of_type(&events, "step.finished").len();
    assert!(made < 6, "{made} steps of 11 tokens in a budget of 66");
    let shown = w.run(&["sessions", "list", "--json"]).code(0);
    let listed: Value = serde_json::from_str(&shown.stdout).expect("json");
    let cost = listed[0]["cost"].as_f64().expect("known");
    assert!((cost - made as f64 * 0.011).abs() < 1e-9, "{cost}");
}

#[test]
fn summaries_count_towards_the_budget() {
    let usage = json!({"input": 1000, "output": 1});
    let w = World::scripted(&json!({"steps": [
        {"text": "one", "usage": usage}, {"text": "two", "usage": usage}, {"text": "three"}],
        "side": ["A title", "A long summary ".repeat(200)]}));
    w.exec(&["go"]).code(0);
    let ran = w.run(&["sessions", "list", "--json"]).code(0);
    let listed: Value = serde_json::from_str(&ran.stdout).expect("json");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    w.exec(&[
        "-r",
        &id,
        "--config",
        "context.strategy=proactive-threshold",
        "--config",
        "context.threshold=0.001",
        "--config",
        "context.threshold_keep=0.0",
        "go on",
    ]);
    let shown = w.run(&["inspect", &id, "--json"]).code(0);
    let report: Value = serde_json::from_str(&shown.stdout).expect("json");
    assert_eq!(report["summaries"], 1, "{report:#}");
    let (ran, events) = w.events(&["-r", &id, "--config", "budget.tokens=2102", "more"]);
    ran.code(5);
    assert!(
        of_type(&events, "step.finished").is_empty(),
        "the summary took it all"
    );
}
