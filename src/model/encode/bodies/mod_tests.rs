//! What the encoders make of conversations. Whole bodies are in `golden_tests` and `hard_tests`, single
//! behaviours in `single_tests`, what holds for any history in `any_history_tests`, what is kept between
//! requests in `memory_tests`, recorded answers on their way back in `recorded_tests`; this file makes
//! conversations for them.

#[path = "any_history_tests.rs"]
mod any_history;
#[path = "golden_tests.rs"]
mod golden;
#[path = "hard_tests.rs"]
mod hard;
#[path = "memory_tests.rs"]
mod memory;
#[path = "recorded_tests.rs"]
mod recorded;
#[path = "single_tests.rs"]
mod single;

use std::sync::Arc;

use serde_json::{Value, json};

use super::validate::validate;
use super::*;
use crate::model::decode::Wire;
use crate::model::{Block, RequestMessage, ToolSpec};
use crate::protocol::{Effort, IdMint, ModelRef, SessionId};

fn model(name: &str) -> ModelRef {
    ModelRef {
        provider: "p".to_owned(),
        model: name.to_owned(),
    }
}

fn session(n: u64) -> SessionId {
    IdMint::new(n, 0).session(1)
}

fn said(assistant: bool, model_name: &str, blocks: Vec<Block>) -> Arc<RequestMessage> {
    Arc::new(RequestMessage {
        assistant,
        blocks,
        model: model(model_name),
    })
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn call(id: &str, name: &str) -> Block {
    Block::Call {
        id: id.to_owned(),
        name: name.to_owned(),
        input: json!({"path": id}),
        provider: None,
    }
}

fn result(id: &str, name: &str, output: &str) -> Block {
    Block::Result {
        id: id.to_owned(),
        name: name.to_owned(),
        output: output.to_owned(),
        error: false,
        files: Vec::new(),
    }
}

fn png() -> Block {
    Block::File {
        mime: "image/png".to_owned(),
        name: "shot.png".to_owned(),
        bytes: Bytes::from_static(b"\x89PNG"),
    }
}

fn request(model_name: &str, messages: Vec<Arc<RequestMessage>>) -> Request {
    Request {
        model: model(model_name),
        system_stable: Arc::from("You are dunlin."),
        system_dynamic: Arc::from("Today is Friday."),
        messages: messages.into(),
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}},
                "required": ["path"]}),
        }]
        .into(),
        max_output: 8_000,
        effort: None,
        session: session(1),
        place: None,
    }
}

fn encode(request: &Request, quirks: &Quirks) -> Value {
    serde_json::from_slice(&body(request, quirks)).expect("a body is JSON")
}

/// All shapes of endpoint that the property tests cover.
fn endpoints() -> Vec<Quirks> {
    let chat = Quirks::plain(Wire::OpenaiChat);
    vec![
        Quirks::plain(Wire::Anthropic),
        chat.clone(),
        Quirks {
            short_ids: true,
            assistant_after_tool: true,
            tool_name: true,
            ..chat.clone()
        },
        Quirks {
            cache_control: true,
            images: true,
            null_content: false,
            reasoning_required: true,
            ..chat
        },
        Quirks::plain(Wire::OpenaiResponses),
        Quirks::plain(Wire::Gemini),
    ]
}
