//! Every stored error answer is classified as expected.

use dunlin::model::error::debug_error;
use serde_json::{Value, json};

use super::{files, fixtures};

fn accepted(got: &Value, expected: &Value, accept: &Value) -> bool {
    got == expected || accept.as_array().is_some_and(|list| list.contains(got))
}

#[test]
fn every_error_answer_is_classified_as_expected() {
    let Some(folder) = fixtures() else {
        return;
    };
    let mut wrong = Vec::new();
    let all = files(&folder.join("errors"), ".json");
    assert!(all.len() > 100, "only {} answers", all.len());
    for path in all {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let case: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("readable")).expect("valid");
        let got = debug_error(case["provider"].as_str().expect("provider"), &case);
        let accept = &case["accept"];
        for key in ["kind", "retryable"] {
            if !accepted(&got[key], &case["expected"][key], &accept[key]) {
                wrong.push(format!(
                    "{name}: {key}, expected {}: {got}",
                    case["expected"][key]
                ));
            }
        }
        let wait = case.get("retry_delay_ms").cloned().unwrap_or(Value::Null);
        let waits = match &wait {
            Value::Object(object) => object["accept"].clone(),
            list @ Value::Array(_) => list.clone(),
            other => json!([other]),
        };
        let fits = waits
            .as_array()
            .is_some_and(|list| list.contains(&got["retry_delay_ms"]));
        if !fits && !accepted(&got["retry_delay_ms"], &wait, &accept["retry_delay_ms"]) {
            wrong.push(format!("{name}: wait, expected {wait}: {got}"));
        }
        for key in ["message", "hint"] {
            let text = got[key].as_str().unwrap_or("");
            if !text.ends_with(['.', '!', '?', '…']) || text.len() < 20 {
                wrong.push(format!("{name}: {key} is no sentence: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
