//! Compares a message as it is stored with the same message as a replay made it.
//!
//! Left out: ids and times, what a step changed in the worktree (patches, snapshots), prices (they
//! change), and what came later (pruning). Everything else must be equal.

use serde_json::{Value, json};

use super::{Difference, Report};
use crate::context::Entry;
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::protocol::{Finish, Message, Part, PartBody};

/// Characters shown before a difference.
const BEFORE: usize = 20;
/// Characters shown from a difference on.
const AFTER: usize = 60;

/// True if the program died while this message was made: nothing finished its step.
pub(super) fn was_crashed(message: &Message, parts: &[Part]) -> bool {
    let finished = |p: &Part| matches!(p.body, PartBody::StepFinish { .. });
    message.finish == Some(Finish::Interrupted) && !parts.iter().any(finished)
}

/// Compares one step: its header and its parts in order.
pub(super) fn step(message: &Message, parts: &[Part], replayed: &Entry, report: &mut Report) {
    let crashed = was_crashed(message, parts);
    if !crashed {
        let header = |m: &Message| {
            json!({
                "finish": m.finish,
                "error": m.error.as_ref().map(|e| json!([e.kind, e.message])),
                "tokens": m.tokens,
            })
        };
        let (stored, again) = (header(message), header(&replayed.message));
        for field in ["finish", "error", "tokens"] {
            differ(message, field, &stored[field], &again[field], report);
        }
    }
    let wanted = |part: &&Part| match &part.body {
        PartBody::Patch { .. } | PartBody::Subtask { .. } => false,
        PartBody::StepFinish { .. } => !crashed,
        _ => true,
    };
    let stored: Vec<&Part> = parts.iter().filter(wanted).collect();
    let again: Vec<&Part> = replayed.parts.iter().filter(wanted).collect();
    for n in 0..stored.len().max(again.len()) {
        report.parts += 1;
        let of = |part: Option<&&Part>| part.map_or(Value::Null, |p| comparable(&p.body, crashed));
        let kind = |part: &&Part| part.body.kind();
        let kind = stored.get(n).or_else(|| again.get(n)).map_or("", kind);
        report.calls += u64::from(kind == "tool");
        let place = format!("part {} ({kind})", n + 1);
        let (one, other) = (of(stored.get(n)), of(again.get(n)));
        differ(message, &place, &one, &other, report);
    }
}

/// Compares plain text.
pub(super) fn text(message: &Message, place: &str, one: &str, other: &str, report: &mut Report) {
    report.parts += 1;
    differ(message, place, &json!(one), &json!(other), report);
}

/// What of a part must be equal.
fn comparable(body: &PartBody, crashed: bool) -> Value {
    let mut value = serde_json::to_value(body).unwrap_or_default();
    let mut leave_out = |path: &str, fields: &[&str]| {
        if let Some(object) = value.pointer_mut(path).and_then(Value::as_object_mut) {
            for field in fields {
                object.remove(*field);
            }
        }
    };
    leave_out("", &["snapshot", "cost", "next"]);
    leave_out("/state", &["start", "end", "compacted_at"]);
    leave_out("/error", &["retry_after_ms", "hint"]);
    if crashed {
        // what a dead process said is marked when the session goes on
        leave_out("", &["ignored"]);
    }
    if value.pointer("/state/interrupted") == Some(&Value::Bool(true))
        && let Some(state) = value["state"].as_object_mut()
    {
        state.remove("title");
        state.remove("metadata");
        // What a command had printed when it was cut came from the command, which is not run again.
        if let Some(error) = state.get_mut("error")
            && error
                .as_str()
                .is_some_and(|e| e.ends_with(INTERRUPTED_OUTPUT))
        {
            *error = json!(INTERRUPTED_OUTPUT);
        }
    }
    if value["call"].as_str().is_some_and(is_made_up) {
        value["call"] = json!("");
    }
    value
}

/// True for a call id that dunlin made because the wire has none.
fn is_made_up(call: &str) -> bool {
    call.strip_prefix("call_")
        .is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn differ(message: &Message, place: &str, one: &Value, other: &Value, report: &mut Report) {
    let Some((path, stored, replayed)) = first_difference("", one, other) else {
        return;
    };
    report.differences.push(Difference {
        message: Some(message.id),
        place: format!("{place}{path}"),
        stored,
        replayed,
    });
}

/// The first place where two values differ, and what stands there.
fn first_difference(path: &str, one: &Value, other: &Value) -> Option<(String, String, String)> {
    match (one, other) {
        _ if one == other => None,
        (Value::Object(a), Value::Object(b)) => {
            let all = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            all.into_iter().find_map(|key| {
                let empty = Value::Null;
                let (a, b) = (a.get(key), b.get(key));
                first_difference(
                    &format!("{path} {key}"),
                    a.unwrap_or(&empty),
                    b.unwrap_or(&empty),
                )
            })
        }
        (Value::String(a), Value::String(b)) => {
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            Some((path.to_owned(), around(a, same), around(b, same)))
        }
        _ => Some((path.to_owned(), shown(one), shown(other))),
    }
}

fn around(text: &str, same: usize) -> String {
    let from = same.saturating_sub(BEFORE);
    let mut shown: String = if from > 0 { "…" } else { "" }.to_owned();
    shown.extend(text.chars().skip(from).take(BEFORE + AFTER));
    if text.chars().count() > from + BEFORE + AFTER {
        shown.push('…');
    }
    serde_json::to_string(&shown).unwrap_or(shown)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        other => around(&other.to_string(), 0),
    }
}
