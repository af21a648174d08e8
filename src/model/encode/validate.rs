//! What each provider's documentation demands of the order of a conversation, as checks.
//!
//! For tests only: written from the reference pages, not from the encoders. Each check gives the first
//! rule that a body breaks.

use std::collections::HashSet;

use serde_json::Value;

use super::Quirks;
use crate::model::decode::Wire;

type Check = Result<(), String>;

/// Checks a body against the rules of its wire.
pub(super) fn validate(body: &Value, quirks: &Quirks) -> Check {
    let asks = body.pointer("/generationConfig").unwrap_or(body);
    for limit in ["max_tokens", "max_output_tokens", "maxOutputTokens"] {
        let most = asks.get(limit).and_then(Value::as_u64);
        ensure(most != Some(0), "room for an answer", body)?;
    }
    match quirks.wire {
        Wire::Anthropic => anthropic(body),
        Wire::OpenaiChat => chat(body, quirks),
        Wire::OpenaiResponses => responses(body),
        Wire::Gemini => gemini(body),
    }
}

fn ensure(holds: bool, rule: &str, at: &Value) -> Check {
    if holds {
        Ok(())
    } else {
        Err(format!("{rule}: {at}"))
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

fn of_type<'a>(blocks: &'a [Value], kind: &str) -> Vec<&'a Value> {
    blocks.iter().filter(|b| text(b, "type") == kind).collect()
}

fn is_safe_id(id: &str, most: usize) -> bool {
    !id.is_empty()
        && id.len() <= most
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn anthropic(body: &Value) -> Check {
    let messages = list(body, "messages");
    ensure(!messages.is_empty(), "at least one message", body)?;
    let mut ids = HashSet::new();
    let mut due: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        ensure(
            text(message, "role") == role,
            "roles alternate, user first",
            message,
        )?;
        let blocks = list(message, "content");
        ensure(!blocks.is_empty(), "content is not empty", message)?;
        for block in blocks {
            if text(block, "type") == "text" {
                ensure(
                    !text(block, "text").trim().is_empty(),
                    "text is not blank",
                    block,
                )?;
            }
        }
        let results = of_type(blocks, "tool_result");
        let uses = of_type(blocks, "tool_use");
        if role == "user" {
            ensure(uses.is_empty(), "only the assistant uses tools", message)?;
            let first = blocks.iter().take(results.len());
            let leading = first.filter(|b| text(b, "type") == "tool_result").count();
            ensure(leading == results.len(), "results come first", message)?;
            let got: Vec<String> = results
                .iter()
                .map(|b| text(b, "tool_use_id").to_owned())
                .collect();
            ensure(
                got == due,
                "one result for each call of the message before",
                message,
            )?;
            due.clear();
        } else {
            ensure(results.is_empty(), "only the user has results", message)?;
            for block in uses {
                let id = text(block, "id");
                ensure(is_safe_id(id, 64), "id has the documented form", block)?;
                ensure(ids.insert(id.to_owned()), "ids are unique", block)?;
                ensure(block["input"].is_object(), "input is an object", block)?;
                ensure(is_safe_id(text(block, "name"), 64), "a name", block)?;
                due.push(id.to_owned());
            }
            let last = blocks.last().map_or("", |b| text(b, "type"));
            ensure(
                !last.contains("thinking"),
                "thinking does not end a message",
                message,
            )?;
            for block in of_type(blocks, "thinking") {
                ensure(
                    !text(block, "signature").is_empty(),
                    "thinking is signed",
                    block,
                )?;
            }
        }
    }
    ensure(due.is_empty(), "no call at the end", body)?;
    anthropic_head(body, messages)?;
    let last = messages.last().map_or(&[][..], |m| list(m, "content"));
    let paused = last
        .last()
        .is_some_and(|b| text(b, "type") == "server_tool_use");
    ensure(
        messages.len() % 2 == 1 || paused,
        "the user is last, or a server tool",
        body,
    )?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    ensure(marks <= 4, "at most four cache points", body)
}

/// Rules about thinking and cache points, which concern the whole body.
fn anthropic_head(body: &Value, messages: &[Value]) -> Check {
    let thinking = &body["thinking"];
    if thinking["type"] == "enabled" {
        let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
        let most = body["max_tokens"].as_u64().unwrap_or(0);
        ensure(budget >= 1_024, "a budget of at least 1,024", thinking)?;
        ensure(budget < most, "a budget below the limit", thinking)?;
        // the turn that goes on: the assistant called, the user's side has the results
        let going_on = messages
            .last()
            .is_some_and(|m| !of_type(list(m, "content"), "tool_result").is_empty());
        let called = messages.iter().rev().nth(1).filter(|_| going_on);
        let first = called.map_or("thinking", |m| {
            list(m, "content").first().map_or("", |b| text(b, "type"))
        });
        ensure(
            first.contains("thinking"),
            "a turn that goes on with thinking begins with it",
            body,
        )?;
    }
    for block in messages.iter().flat_map(|m| list(m, "content")) {
        let kind = text(block, "type");
        let marked = block.get("cache_control").is_some();
        ensure(
            !(marked && kind.contains("thinking")),
            "no cache point on thinking",
            block,
        )?;
        ensure(
            kind != "redacted_thinking" || !text(block, "data").is_empty(),
            "redacted thinking has its data",
            block,
        )?;
        for inner in list(block, "content") {
            let blank = text(inner, "type") == "text" && text(inner, "text").trim().is_empty();
            ensure(kind != "tool_result" || !blank, "no blank result", block)?;
        }
    }
    Ok(())
}

fn chat(body: &Value, quirks: &Quirks) -> Check {
    let messages = list(body, "messages");
    let mut due: Vec<String> = Vec::new();
    let mut ids = HashSet::new();
    let mut before = "";
    let mut conversation = 0;
    for (index, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        let blank = match &message["content"] {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(parts) => parts.is_empty(),
            _ => true,
        };
        match role {
            "system" => ensure(index == 0, "one system message, first", message)?,
            "tool" => {
                ensure(!due.is_empty(), "a tool message answers a call", message)?;
                let id = due.remove(0);
                ensure(
                    text(message, "tool_call_id") == id,
                    "results in call order",
                    message,
                )?;
                ensure(!blank, "results are not empty", message)?;
                let plain = list(message, "content")
                    .iter()
                    .all(|part| text(part, "type") == "text");
                ensure(plain, "results are text", message)?;
            }
            "user" => {
                ensure(due.is_empty(), "results come before the user", message)?;
                ensure(!blank, "the user says something", message)?;
                let refused = quirks.assistant_after_tool && before == "tool";
                ensure(!refused, "no user after tool", message)?;
                ensure(before != "user", "no two user messages in a row", message)?;
            }
            "assistant" => {
                ensure(due.is_empty(), "results come before the assistant", message)?;
                ensure(before != "assistant", "no two assistant messages", message)?;
                ensure(conversation > 0, "the user begins", message)?;
                let calls = list(message, "tool_calls");
                ensure(
                    !blank || !calls.is_empty(),
                    "the assistant says something",
                    message,
                )?;
                ensure(
                    message.get("tool_calls").is_none() || !calls.is_empty(),
                    "no empty list of calls",
                    message,
                )?;
                let thinks = message.get("reasoning_content").is_some();
                ensure(
                    !quirks.reasoning_required || calls.is_empty() || thinks,
                    "calls come with reasoning",
                    message,
                )?;
                for call in calls {
                    let id = text(call, "id");
                    let good = if quirks.short_ids {
                        id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())
                    } else {
                        !id.is_empty()
                    };
                    ensure(good, "id has the documented form", call)?;
                    ensure(ids.insert(id.to_owned()), "ids are unique", call)?;
                    let name = text(&call["function"], "name");
                    ensure(is_safe_id(name, 64), "a name", call)?;
                    let arguments = text(&call["function"], "arguments");
                    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
                    ensure(parsed.is_object(), "arguments are a JSON object", call)?;
                    due.push(id.to_owned());
                }
            }
            _ => ensure(false, "a known role", message)?,
        }
        if role != "system" {
            conversation += 1;
            before = role;
        }
    }
    ensure(due.is_empty(), "no call without a result", body)?;
    ensure(matches!(before, "user" | "tool"), "user or tool last", body)
}

fn responses(body: &Value) -> Check {
    let items = list(body, "input");
    ensure(!items.is_empty(), "at least one item", body)?;
    let mut due: Vec<(String, String)> = Vec::new();
    let mut ids = HashSet::new();
    let mut answering = false;
    for (index, item) in items.iter().enumerate() {
        let kind = text(item, "type");
        let next = items.get(index + 1);
        match kind {
            "reasoning" => {
                ensure(
                    !text(item, "encrypted_content").is_empty(),
                    "encrypted",
                    item,
                )?;
                let led_to = next.is_some_and(|n| {
                    text(n, "type").ends_with("_call")
                        || text(n, "type") == "reasoning"
                        || text(n, "role") == "assistant"
                });
                ensure(led_to, "reasoning is followed by what it led to", item)?;
            }
            "function_call" | "custom_tool_call" => {
                let id = text(item, "call_id");
                let arguments = serde_json::from_str::<Value>(text(item, "arguments"));
                let good = kind == "custom_tool_call" && item["input"].is_string()
                    || arguments.is_ok_and(|all| all.is_object());
                ensure(good, "arguments are a JSON object", item)?;
                ensure(item.get("id").is_none(), "no id that was not stored", item)?;
                ensure(!answering, "calls before outputs", item)?;
                ensure(is_safe_id(id, 64), "id has the documented form", item)?;
                ensure(ids.insert(id.to_owned()), "ids are unique", item)?;
                ensure(is_safe_id(text(item, "name"), 64), "a name", item)?;
                due.push((format!("{kind}_output"), id.to_owned()));
            }
            "function_call_output" | "custom_tool_call_output" => {
                ensure(!due.is_empty(), "an output answers a call", item)?;
                let (expected, id) = due.remove(0);
                ensure(kind == expected, "the output fits the call", item)?;
                ensure(text(item, "call_id") == id, "outputs in call order", item)?;
                answering = !due.is_empty();
            }
            "message" => {
                let user = text(item, "role") == "user";
                ensure(!user || due.is_empty(), "outputs before the user", item)?;
                ensure(!answering, "outputs stand together", item)?;
                ensure(!list(item, "content").is_empty(), "content", item)?;
            }
            _ => ensure(!kind.is_empty(), "items have types", item)?,
        }
    }
    ensure(due.is_empty(), "no call without an output", body)?;
    let last = items.last().unwrap_or(body);
    let fine = text(last, "role") == "user" || text(last, "type").ends_with("_output");
    ensure(fine, "user or output last", last)
}

fn gemini(body: &Value) -> Check {
    let contents = list(body, "contents");
    ensure(contents.len() % 2 == 1, "the user begins and ends", body)?;
    let mut due: Vec<(Value, Value)> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "model" };
        ensure(
            text(content, "role") == role,
            "roles alternate, user first",
            content,
        )?;
        let parts = list(content, "parts");
        ensure(!parts.is_empty(), "parts are not empty", content)?;
        let calls: Vec<&Value> = parts.iter().filter_map(|p| p.get("functionCall")).collect();
        let answers: Vec<&Value> = parts
            .iter()
            .filter_map(|p| p.get("functionResponse"))
            .collect();
        let wrong = if role == "user" { &calls } else { &answers };
        ensure(
            wrong.is_empty(),
            "calls are the model's, responses the user's",
            content,
        )?;
        if role == "user" {
            let got: Vec<(Value, Value)> = answers
                .iter()
                .map(|a| (a["name"].clone(), a["id"].clone()))
                .collect();
            ensure(got == due, "as many responses as calls, in order", content)?;
        }
        due = calls
            .iter()
            .map(|c| (c["name"].clone(), c["id"].clone()))
            .collect();
        let signed = |part: &&Value| part.get("functionCall").is_some();
        let first = parts.iter().find(signed);
        ensure(
            !text(body, "model").starts_with("gemini-3")
                || first.is_none_or(|part| part.get("thoughtSignature").is_some()),
            "the first call of a step is signed",
            content,
        )?;
        for call in calls {
            ensure(call["args"].is_object(), "args is an object", call)?;
            ensure(is_safe_id(text(call, "name"), 64), "a name", call)?;
        }
    }
    ensure(due.is_empty(), "no call at the end", body)
}

/// Checks a history on every wire, for tests of what is made of conversations.
pub(crate) fn check_every_wire(messages: &crate::model::Messages) -> Check {
    for wire in [
        Wire::Anthropic,
        Wire::OpenaiChat,
        Wire::OpenaiResponses,
        Wire::Gemini,
    ] {
        let quirks = Quirks::plain(wire);
        let model = crate::protocol::ModelRef {
            provider: "scripted".to_owned(),
            model: "m".to_owned(),
        };
        let body = super::body(
            &crate::model::Request {
                model,
                system_stable: "".into(),
                system_dynamic: "".into(),
                messages: messages.clone(),
                tools: [].into(),
                max_output: 1_000,
                effort: None,
                session: crate::protocol::SessionId::from_raw(1),
                place: None,
            },
            &quirks,
        );
        let body = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        validate(&body, &quirks).map_err(|rule| format!("{wire}: {rule}\n{body:#}"))?;
    }
    Ok(())
}
