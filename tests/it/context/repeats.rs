//! Compactions that cannot help are not repeated: a threshold below what no compaction removes is met once.

use serde_json::{Value, json};

use crate::support::world::{World, of_type};

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "input": {"command": command}}]})
}

fn world() -> World {
    World::scripted(&json!({
        "model": {"context": 30_000, "max_output": 1_000, "enforce_limit": true},
        "steps": [bash("seq 1500"), bash("seq 900; echo b"), {"text": "word ".repeat(600)},
            bash("seq 300"), {"text": "done"}],
        "side": ["a summary of it all"]
    }))
}

/// The kinds of these events in order, and of each compaction its figures.
fn course(events: &[Value]) -> Vec<String> {
    let named = events.iter().filter_map(|e| match e["type"].as_str()? {
        "context.compacted" => Some(format!(
            "compacted {} {}",
            e["before_tokens"], e["after_tokens"]
        )),
        "step.finished" => Some("step".to_owned()),
        _ => None,
    });
    named.collect()
}

#[test]
fn a_threshold_below_the_floor_does_not_compact_again_at_once() {
    let settings: [&[&str]; 2] = [
        &[
            "context.strategy=proactive-threshold",
            "context.threshold=0",
            "context.threshold_keep=0",
        ],
        &["context.strategy=middle-removal", "context.removal_at=0.1"],
    ];
    for config in settings {
        let world = world();
        let mut all = Vec::new();
        for (at, prompt) in ["one", "two"].into_iter().enumerate() {
            let long = format!("{prompt} {}", "lorem ".repeat(200));
            let mut args = vec!["--mode", "auto", "--no-sandbox", long.as_str()];
            if at > 0 {
                args.push("-c");
            }
            args.extend(config.iter().flat_map(|c| ["--config", c]));
            let (ran, events) = world.events(&args);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert_eq!(of_type(&events, "turn.finished")[0]["reason"], "done");
            all.extend(course(&events));
        }
        let compactions = all.iter().filter(|c| c.starts_with("compacted")).count();
        assert!(compactions > 0, "it was never due: {all:?}");
        let twice = all
            .windows(2)
            .any(|w| w.iter().all(|c| c.starts_with("compacted")));
        assert!(!twice, "{config:?}: {all:?}");
        assert!(
            compactions <= 2,
            "{config:?}: each must free a tenth of the window: {all:?}"
        );
    }
}
