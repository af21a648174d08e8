//! Another model or provider in the middle of a session: the history stays valid, and what belongs to
//! one model goes back to that model only.

use serde_json::{Value, json};

use crate::support::server::{Reply, Server};
use crate::support::world::World;

fn stream(events: &[Value]) -> Reply {
    Reply::Stream(
        events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect(),
    )
}

/// Claude thinks, signs, and reads a file.
fn claude_calls() -> Reply {
    stream(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "private thought"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "CLAUDE-SIGNATURE"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_01", "name": "read", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"file_path\":\"a.txt\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

fn claude_says() -> Reply {
    stream(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "claude speaks"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ])
}

fn responses_says() -> Reply {
    stream(&[
        json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1",
            "summary": [], "encrypted_content": "OPENAI-SECRET"}}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "message", "id": "msg_1",
            "role": "assistant", "content": [{"type": "output_text", "text": "responses speaks"}]}}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [],
            "usage": {"input_tokens": 9, "output_tokens": 3}}}),
    ])
}

fn chat_says() -> Reply {
    stream(&[
        json!({"choices": [{"index": 0, "delta": {"reasoning_content": "chat thought", "content": "chat speaks"}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ])
}

fn gemini_says() -> Reply {
    stream(&[
        json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "gemini speaks", "thoughtSignature": "GEMINI-SIGNATURE"}]}}]}),
    ])
}

#[test]
fn every_wire_goes_on_with_what_the_others_began_and_sees_nothing_that_is_theirs() {
    let server = Server::start(vec![
        claude_calls(),
        claude_says(),
        responses_says(),
        chat_says(),
        gemini_says(),
        claude_says(),
        responses_says(),
    ]);
    let mut w = World::new();
    for name in ["ANTHROPIC", "OPENAI", "GEMINI"] {
        w.set(&format!("{name}_API_KEY"), "k");
        w.set(&format!("{name}_BASE_URL"), &server.base);
    }
    w.write("a.txt", "content of the file\n");
    let turns = [
        ("anthropic/claude-sonnet-4-5", "/v1/messages"),
        ("openai/gpt-5.2", "/v1/responses"),
        ("openai-chat/gpt-5.2", "/v1/chat/completions"),
        (
            "gemini/gemini-3-pro-preview",
            "/v1beta/models/gemini-3-pro-preview:streamGenerateContent",
        ),
        ("anthropic/claude-sonnet-4-5", "/v1/messages"),
        ("openai/gpt-5.2", "/v1/responses"),
    ];
    w.run(&["exec", "--model", turns[0].0, "turn 0"]).code(0);
    for (number, (model, _)) in turns.iter().enumerate().skip(1) {
        let prompt = format!("turn {number}");
        w.run(&["exec", "-c", "--model", model, &prompt]).code(0);
    }
    let asked = server.asked();
    assert_eq!(asked.len(), turns.len() + 1, "the first turn has two steps");
    let others = ["CLAUDE-SIGNATURE", "OPENAI-SECRET", "GEMINI-SIGNATURE"];
    for (number, (model, path)) in turns.iter().enumerate().skip(1) {
        let request = &asked[number + 1];
        assert_eq!(request.path, *path);
        let body = request.body.to_string();
        assert!(body.contains("content of the file"), "{model}: {body}");
        for earlier in 0..=number {
            assert!(body.contains(&format!("turn {earlier}")), "{model}");
        }
        let own = match *model {
            "anthropic/claude-sonnet-4-5" => "CLAUDE-SIGNATURE",
            "openai/gpt-5.2" if number > 1 => "OPENAI-SECRET",
            _ => "",
        };
        for secret in others {
            assert_eq!(
                body.contains(secret),
                secret == own,
                "{model}: {secret} in {body}"
            );
        }
        let thought = body.contains("private thought");
        assert_eq!(thought, own == "CLAUDE-SIGNATURE", "{model}: {body}");
    }
    // the call and its result belong together on every wire
    let of = |number: usize| asked[number].body.to_string();
    assert!(of(2).contains("\"type\":\"function_call\"") && of(2).contains("function_call_output"));
    assert!(of(3).contains("\"tool_calls\"") && of(3).contains("\"role\":\"tool\""));
    assert!(of(4).contains("\"functionCall\"") && of(4).contains("\"functionResponse\""));
    assert!(of(5).contains("\"tool_use\"") && of(5).contains("\"tool_result\""));
}
