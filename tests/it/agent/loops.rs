//! The doom loop guard in a headless run: its own exit code, whatever the calls come to.

use serde_json::{Value, json};

use crate::support::world::{World, of_type, tools};

fn again_and_again(call: &Value) -> World {
    let steps: Vec<Value> = (0..12).map(|_| json!({"calls": [call]})).collect();
    World::scripted(&json!({"steps": steps}))
}

#[test]
fn the_same_call_again_and_again_ends_a_headless_run_with_code_4() {
    for (call, ran) in [
        (
            json!({"name": "bash", "input": {"command": "echo same"}}),
            3,
        ),
        // No such tool, arguments that do not fit, arguments that are no JSON, what a rule refuses.
        (json!({"name": "bsh", "input": {"command": "ls"}}), 0),
        (json!({"name": "read", "input": {"offset": "many"}}), 0),
        (json!({"name": "bash", "raw": "{\"command\": \"ls"}), 0),
        (json!({"name": "bash", "input": {"command": "touch no"}}), 0),
    ] {
        let w = again_and_again(&call);
        let deny = "permission.bash={'touch *'='deny'}";
        let (done, events) = w.events(&["--mode", "auto", "--config", deny, "go"]);
        assert_eq!(done.code, 4, "{call}:\n{}\n{}", done.stdout, done.stderr);
        let ended = of_type(&events, "turn.finished");
        assert_eq!(ended[0]["reason"], "doom-loop", "{call}");
        let tools = tools(&events);
        assert_eq!(tools.len(), 4, "{call}: the fourth one is not run");
        let count = |status: &str| {
            tools
                .iter()
                .filter(|t| t["state"]["status"] == status)
                .count()
        };
        assert_eq!(count("completed"), ran, "{call}");
        assert!(!w.worktree().join("no").exists());
    }
}

#[test]
fn a_cycle_of_three_calls_is_a_loop_and_polling_is_none_until_the_eleventh_call() {
    let echo = |text: &str| json!({"name": "bash", "input": {"command": format!("echo {text}")}});
    let steps: Vec<Value> = (0..12)
        .map(|i| json!({"calls": [echo(["a", "b", "c"][i % 3])]}))
        .collect();
    let w = World::scripted(&json!({"steps": steps}));
    let (done, events) = w.events(&["--mode", "auto", "go"]);
    done.code(4);
    assert_eq!(
        tools(&events).len(),
        10,
        "three rounds, then the next call asks"
    );
    let poll = json!({"name": "bash", "input": {"command": "echo x >> n; wc -l < n"}});
    let w = again_and_again(&poll);
    let (done, events) = w.events(&["--mode", "auto", "go"]);
    done.code(4);
    assert_eq!(tools(&events).len(), 11, "each result differed");
    assert_eq!(w.read("n").lines().count(), 10);
}
