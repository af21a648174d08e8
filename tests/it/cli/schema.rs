//! `dunlin exec --output-schema`: the answer fits, or the run fails.

use serde_json::{Value, json};

use crate::support::world::{World, of_type};

fn world(answers: &[&str]) -> (World, String) {
    let steps: Vec<Value> = answers.iter().map(|text| json!({"text": text})).collect();
    let w = World::scripted(&json!({"steps": steps}));
    let schema = json!({"type": "object", "properties": {"count": {"type": "integer"}},
        "required": ["count"], "additionalProperties": false});
    let file = w.root().join("schema.json");
    std::fs::write(&file, schema.to_string()).expect("schema");
    let file = file.to_string_lossy().into_owned();
    (w, file)
}

#[test]
fn an_answer_that_fits_is_printed_bare() {
    for answer in ["{\"count\": 3}", "```json\n{\"count\": 3}\n```"] {
        let (w, file) = world(&[answer]);
        let ran = w.exec(&["--output-schema", &file, "count"]).code(0);
        assert_eq!(ran.stdout, "{\"count\": 3}\n");
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    let (w, file) = world(&["There are 3.", "{\"count\": 3}"]);
    let (ran, events) = w.events(&["--output-schema", &file, "count"]);
    ran.code(0);
    assert_eq!(of_type(&events, "turn.finished").len(), 2);
    let said: Vec<String> = of_type(&events, "part.updated")
        .iter()
        .map(|e| e["part"]["text"].to_string())
        .collect();
    assert!(
        said.iter()
            .any(|t| t.contains("JSON Schema") && t.contains("additionalProperties"))
    );
    assert!(said.iter().any(|t| t.contains("it is not JSON")));
    let (w, file) = world(&["{\"count\": \"3\"}", "{\"count\": 3}"]);
    let ran = w.exec(&["--output-schema", &file, "count"]).code(0);
    assert_eq!(ran.stdout, "{\"count\": 3}\n");
}

#[test]
fn an_answer_that_never_fits_ends_with_an_error() {
    let (w, file) = world(&["no", "{\"count\": 1, \"more\": 2}", "{\"count\": 1}"]);
    let (ran, events) = w.events(&["--output-schema", &file, "count"]);
    ran.code(1);
    let errors = of_type(&events, "error");
    let message = errors[0]["error"]["message"].to_string();
    assert!(message.contains("/more must not be there"), "{message}");
    assert_eq!(events.last().expect("an end")["type"], "turn.finished");
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_said() {
    let (w, file) = world(&["x"]);
    let gone = w.root().join("gone.json").to_string_lossy().into_owned();
    let ran = w.exec(&["--output-schema", &gone, "count"]).code(2);
    assert!(ran.stderr.contains("gone.json"), "{}", ran.stderr);
    std::fs::write(&file, r#"{"unevaluatedProperties": false}"#).expect("schema");
    let ran = w.exec(&["--output-schema", &file, "count"]).code(2);
    assert!(
        ran.stderr.contains("unevaluatedProperties"),
        "{}",
        ran.stderr
    );
    let both = ["--json", "--json-input", "--output-schema", &file];
    w.exec(&both).code(2);
}
