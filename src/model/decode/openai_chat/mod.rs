//! OpenAI Chat Completions and its dialects → deltas.
//!
//! One decoder for all servers that speak it: nothing here asks who the server is, every oddity is
//! known by what it looks like. `calls` finds out which call a fragment belongs to, `thoughts` where
//! reasoning hides, `usage` what was counted.

mod calls;
mod thoughts;
mod usage;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use self::calls::{Calls, FastCall, Fragment};
use self::thoughts::{Details, Source, Tags};
use super::decoder::{Event, WireDecoder};
use super::json::{self, Text};
use super::out::Out;
use crate::model::error;
use crate::protocol::Finish;

/// State of one answer.
#[derive(Debug, Default)]
pub(super) struct OpenaiChat {
    open: Open,
    tags: Tags,
    /// Where the visible reasoning comes from; the same text often comes twice.
    source: Option<Source>,
    calls: Calls,
    /// The last reason that was given.
    reason: Option<String>,
    /// True once `[DONE]` was seen.
    done: bool,
}

/// The block that grows.
#[derive(Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Text(u32),
    Refusal(u32),
    Reasoning {
        block: u32,
        field: &'static str,
        details: Details,
        extra: Option<Value>,
    },
}

/// The frequent chunk, read without building a tree: text, reasoning, pieces of calls.
#[derive(Deserialize)]
struct Fast<'a> {
    #[serde(borrow)]
    choices: (FastChoice<'a>,),
    usage: Option<IgnoredAny>,
    x_groq: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct FastChoice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: FastDelta<'a>,
    finish_reason: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct FastDelta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    reasoning_text: Option<IgnoredAny>,
    reasoning_details: Option<IgnoredAny>,
    refusal: Option<IgnoredAny>,
    #[serde(borrow)]
    tool_calls: Option<Vec<FastCall<'a>>>,
    function_call: Option<IgnoredAny>,
    extra_content: Option<IgnoredAny>,
}

impl WireDecoder for OpenaiChat {
    fn event(&mut self, event: Event<'_>, out: &mut Out) -> Result<(), serde_json::Error> {
        if event.name.is_none()
            && let Ok(fast) = serde_json::from_str::<Fast<'_>>(event.data)
            && self.fast(&fast, out)
        {
            return Ok(());
        }
        let value: Value = serde_json::from_str(event.data)?;
        self.chunk(event.name, &value, out);
        Ok(())
    }

    fn whole(&mut self, body: Value, out: &mut Out) {
        self.chunk(None, &body, out);
        if out.failure.is_none() {
            self.done(out);
        }
    }

    fn done(&mut self, out: &mut Out) {
        self.done = true;
        self.complete(out);
    }

    fn end(&mut self, out: &mut Out) {
        if self.reason.is_some() && out.failure.is_none() {
            self.complete(out);
        }
        self.close(out);
        self.calls.cut(out);
    }
}

impl OpenaiChat {
    fn fast(&mut self, fast: &Fast<'_>, out: &mut Out) -> bool {
        let choice = &fast.choices.0;
        let delta = &choice.delta;
        let more = [
            &fast.usage,
            &fast.x_groq,
            &fast.error,
            &choice.finish_reason,
            &choice.usage,
            &choice.error,
            &delta.reasoning_text,
            &delta.reasoning_details,
            &delta.refusal,
            &delta.function_call,
            &delta.extra_content,
        ];
        let calls = delta.tool_calls.as_deref().unwrap_or_default();
        let plain = calls.iter().all(|call| call.extra_content.is_none());
        if choice.index.unwrap_or(0) != 0 || !plain || more.iter().any(|field| field.is_some()) {
            return false;
        }
        for (name, field) in [
            ("reasoning_content", &delta.reasoning_content),
            ("reasoning", &delta.reasoning),
        ] {
            if let Some(text) = field.as_ref().filter(|text| !text.as_str().is_empty()) {
                self.field_reasoning(name, text.as_str(), out);
                break;
            }
        }
        if let Some(text) = &delta.content {
            self.content(text.as_str(), out);
        }
        self.take_calls(calls.iter().map(Fragment::of_fast), out);
        true
    }

    fn chunk(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        if let Some(usage) = usage::of_chunk(value) {
            out.usage(usage);
        }
        let choice = json::items(value, "choices")
            .iter()
            .find(|choice| json::number(choice, "index").unwrap_or(0) == 0);
        if let Some(choice) = choice {
            self.choice(choice, out);
        }
        let told = ["error", "detail"]
            .iter()
            .any(|key| json::some(value, key).is_some());
        // MiniMax: 0 is success
        let base = json::number(value, "base_resp.status_code").unwrap_or(0);
        let is_error = name == Some("error")
            || base > 0
            || json::text(value, "object") == Some("error")
            || (told && (choice.is_none() || json::some(value, "error").is_some()));
        if is_error {
            out.fail(error::in_stream(value));
        } else if let Some(choice) = choice.filter(|choice| json::some(choice, "error").is_some()) {
            out.fail(error::in_stream(choice));
        } else if let Some(failure) = choice
            .and_then(|choice| json::text(choice, "finish_reason"))
            .and_then(error::finish_reason)
        {
            out.fail(failure);
        }
    }

    fn choice(&mut self, choice: &Value, out: &mut Out) {
        // `message` beside `delta` repeats the whole text so far; alone it is a whole answer
        if let Some(delta) = json::some(choice, "delta").or_else(|| choice.get("message")) {
            self.reasoning(delta, out);
            self.message_extra(delta, out);
            match delta.get("content") {
                Some(Value::String(text)) if is_thought(delta) => {
                    self.grow_reasoning("think", text, out);
                }
                Some(Value::String(text)) => self.content(text, out),
                Some(Value::Array(items)) => self.content_items(items, out),
                _ => {}
            }
            if let Some(text) = json::text(delta, "refusal") {
                self.refusal(text, out);
            }
            let old = json::some(delta, "function_call").filter(|call| call.is_object());
            let lone = json::some(delta, "tool_calls").filter(|call| call.is_object());
            let calls = json::items(delta, "tool_calls")
                .iter()
                .chain(lone)
                .chain(old);
            self.take_calls(calls.map(Fragment::of_value), out);
        }
        if let Some(reason) = json::text(choice, "finish_reason") {
            self.reason = Some(reason.to_owned());
            self.calls.settle(finish(reason), out);
        }
    }

    fn take_calls<'a, F: Iterator<Item = Fragment<'a>>>(&mut self, calls: F, out: &mut Out) {
        for call in calls {
            self.close(out);
            self.calls.take(&call, out);
        }
    }

    fn content(&mut self, text: &str, out: &mut Out) {
        if text.is_empty() {
            return;
        }
        if self.tags.is_idle() {
            self.text(text, out);
            return;
        }
        for (thought, piece) in self.tags.feed(text) {
            if thought {
                self.grow_reasoning("think", &piece, out);
            } else {
                self.text(&piece, out);
            }
        }
    }

    fn content_items(&mut self, items: &[Value], out: &mut Out) {
        for item in items {
            if let Some(thinking) = item.get("thinking") {
                let text = json::joined_text(thinking);
                if !text.is_empty() {
                    self.grow_reasoning("thinking", &text, out);
                }
            } else {
                self.content(&json::joined_text(item), out);
            }
        }
    }

    fn text(&mut self, text: &str, out: &mut Out) {
        let block = if let Open::Text(block) = self.open {
            block
        } else {
            self.end_block(out);
            let block = out.block();
            self.open = Open::Text(block);
            block
        };
        out.text(block, text);
    }

    fn refusal(&mut self, text: &str, out: &mut Out) {
        let block = if let Open::Refusal(block) = self.open {
            block
        } else {
            self.end_block(out);
            let block = out.block();
            self.open = Open::Refusal(block);
            block
        };
        out.text(block, text);
    }

    /// Reasoning of a chunk: visible text from the first field that has any, details to be sent back.
    fn reasoning(&mut self, delta: &Value, out: &mut Out) {
        let details = json::items(delta, "reasoning_details");
        let said = ["reasoning_content", "reasoning", "reasoning_text"]
            .iter()
            .find_map(|field| json::text(delta, field).map(|text| (*field, text)));
        if let Some((field, text)) = said {
            self.field_reasoning(field, text, out);
        } else if self.source != Some(Source::Field) {
            let text = thoughts::detail_text(details);
            if !text.is_empty() {
                self.source = Some(Source::Details);
                self.grow_reasoning("reasoning_details", &text, out);
            }
        }
        if !details.is_empty() {
            self.open_reasoning("", out);
            if let Open::Reasoning { details: kept, .. } = &mut self.open {
                kept.take(details);
            }
        }
    }

    fn field_reasoning(&mut self, field: &'static str, text: &str, out: &mut Out) {
        if self.source == Some(Source::Details) {
            return;
        }
        self.source = Some(Source::Field);
        self.grow_reasoning(field, text, out);
    }

    fn grow_reasoning(&mut self, field: &'static str, text: &str, out: &mut Out) {
        let block = self.open_reasoning(field, out);
        if !text.is_empty() {
            out.reasoning(block, text);
        }
    }

    /// The open reasoning block, or a new one; `field` counts for a block that has none yet.
    fn open_reasoning(&mut self, field: &'static str, out: &mut Out) -> u32 {
        if !matches!(self.open, Open::Reasoning { .. }) {
            self.end_block(out);
            let block = out.block();
            out.reasoning(block, "");
            self.open = Open::Reasoning {
                block,
                field,
                details: Details::default(),
                extra: None,
            };
        }
        match &mut self.open {
            Open::Reasoning {
                block, field: f, ..
            } => {
                if f.is_empty() {
                    *f = field;
                }
                *block
            }
            _ => 0,
        }
    }

    /// `extra_content` of the message itself (Gemini puts a thought signature of text there).
    fn message_extra(&mut self, delta: &Value, out: &mut Out) {
        let extra = delta
            .get("extra_content")
            .filter(|extra| extra.pointer("/google/thought_signature").is_some());
        if let Some(said) = extra {
            self.open_reasoning("", out);
            if let Open::Reasoning { extra, .. } = &mut self.open {
                *extra = Some(said.clone());
            }
        }
    }

    /// Ends the block that grows.
    fn end_block(&mut self, out: &mut Out) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => {}
            Open::Text(block) => out.end(block, None),
            Open::Refusal(block) => {
                out.end(
                    block,
                    Some(json!({"wire": "openai-chat", "type": "refusal"})),
                );
            }
            Open::Reasoning {
                block,
                field,
                details,
                extra,
            } => {
                let mut provider =
                    json!({"wire": "openai-chat", "type": "reasoning", "field": field});
                if let Some(details) = details.into_value() {
                    provider["reasoning_details"] = details;
                }
                if let Some(extra) = extra {
                    provider["extra_content"] = extra;
                }
                out.end(block, Some(provider));
            }
        }
    }

    /// Gives out what was held back and ends the block that grows.
    fn close(&mut self, out: &mut Out) {
        match self.tags.flush() {
            Some((true, held)) => self.grow_reasoning("think", &held, out),
            Some((false, held)) => self.text(&held, out),
            None => {}
        }
        self.end_block(out);
    }

    fn complete(&mut self, out: &mut Out) {
        self.close(out);
        let raw = self.reason.clone().unwrap_or_default();
        let reason = match finish(&raw) {
            Finish::Other if self.reason.is_none() && self.calls.any() => Finish::Stop,
            reason => reason,
        };
        self.calls.settle(reason, out);
        let reason = match reason {
            Finish::Stop if self.calls.any() => Finish::ToolCalls,
            reason => reason,
        };
        out.finish(reason, &raw);
    }
}

/// Gemini's compatible endpoint marks thoughts in the content this way.
fn is_thought(delta: &Value) -> bool {
    delta.pointer("/extra_content/google/thought") == Some(&Value::Bool(true))
}

fn finish(raw: &str) -> Finish {
    match raw.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "end" | "completed" => {
            Finish::Stop
        }
        "tool_calls" | "function_call" | "tool_use" | "tool_call" => Finish::ToolCalls,
        "length"
        | "max_tokens"
        | "model_length"
        | "max_output_tokens"
        | "model_context_window_exceeded" => Finish::Length,
        "content_filter" | "safety" | "refusal" | "sensitive" | "recitation" | "blocklist"
        | "prohibited_content" | "content_filtered" => Finish::ContentFilter,
        "error" => Finish::Error,
        _ => Finish::Other,
    }
}
