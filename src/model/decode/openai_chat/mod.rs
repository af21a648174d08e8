//! OpenAI Chat Completions and its dialects → deltas.
//!
//! One decoder for all servers that speak it: nothing here asks who the server is, every oddity is
//! known by what it looks like. `calls` finds out which call a fragment belongs to, `blocks` which text
//! grows, `thoughts` where reasoning hides, `usage` what was counted.

mod blocks;
mod calls;
mod thoughts;
mod usage;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use self::blocks::Blocks;
use self::calls::{Calls, FastCall, Fragment};
use super::decoder::{Event, WireDecoder};
use super::json::{self, Text};
use super::out::Out;
use crate::model::delta::Usage;
use crate::model::error;
use crate::protocol::Finish;

/// State of one answer.
#[derive(Debug, Default)]
pub(super) struct OpenaiChat {
    blocks: Blocks,
    calls: Calls,
    /// What was counted so far.
    usage: Usage,
    /// The last reason that was given.
    reason: Option<String>,
    /// True once `[DONE]` was seen.
    done: bool,
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
    reasoning_opaque: Option<IgnoredAny>,
    thinking: Option<IgnoredAny>,
    thinking_blocks: Option<IgnoredAny>,
    thinking_content: Option<IgnoredAny>,
    thought: Option<IgnoredAny>,
    refusal: Option<IgnoredAny>,
    #[serde(borrow)]
    tool_calls: Option<Vec<FastCall<'a>>>,
    function_call: Option<IgnoredAny>,
    extra_content: Option<IgnoredAny>,
}

impl WireDecoder for OpenaiChat {
    fn frequent(&mut self, event: Event<'_>, out: &mut Out) -> bool {
        event.name.is_none()
            && serde_json::from_str::<Fast<'_>>(event.data).is_ok_and(|fast| self.fast(&fast, out))
    }

    fn value(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        match value {
            Value::Array(chunks) => chunks.iter().for_each(|chunk| self.chunk(name, chunk, out)),
            chunk => self.chunk(name, chunk, out),
        }
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
        self.blocks.close(out);
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
            &delta.reasoning_opaque,
            &delta.thinking,
            &delta.thinking_blocks,
            &delta.thinking_content,
            &delta.thought,
            &delta.refusal,
            &delta.function_call,
            &delta.extra_content,
        ];
        let calls = delta.tool_calls.as_deref().unwrap_or_default();
        let plain = calls.iter().all(FastCall::is_plain);
        if choice.index.unwrap_or(0) != 0 || !plain || more.iter().any(|field| field.is_some()) {
            return false;
        }
        for (name, field) in [
            ("reasoning_content", &delta.reasoning_content),
            ("reasoning", &delta.reasoning),
        ] {
            if let Some(text) = field.as_ref().filter(|text| !text.as_str().is_empty()) {
                self.blocks.field_reasoning(name, text.as_str(), out);
                break;
            }
        }
        if let Some(text) = &delta.content {
            self.blocks.content(text.as_str(), out);
        }
        self.take_calls(calls.iter().map(Fragment::of_fast), out);
        true
    }

    fn chunk(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        if let Some(usage) = usage::of_chunk(value) {
            self.usage = usage::newer(self.usage, usage);
            out.usage(self.usage);
        }
        let choice = json::items(value, "choices")
            .iter()
            .find(|choice| json::number(choice, "index").unwrap_or(0) == 0);
        if let Some(choice) = choice {
            self.choice(choice, out);
        }
        let is_error = name == Some("error")
            || error::has_error(value)
            || error::has_base_error(value)
            || (choice.is_none() && error::is_error(value));
        if is_error {
            out.fail(error::in_stream(value));
        } else if let Some(choice) = choice.filter(|choice| error::has_error(choice)) {
            out.fail(error::in_stream(choice));
        } else if let Some(failure) = choice
            .and_then(|choice| json::text(choice, "finish_reason"))
            .and_then(error::finish_reason)
        {
            out.fail(failure);
        }
    }

    fn choice(&mut self, choice: &Value, out: &mut Out) {
        // `message` beside or after deltas repeats the whole text; alone it is a whole answer
        let whole = choice
            .get("message")
            .filter(|_| !self.blocks.spoke() && !self.calls.any());
        if let Some(delta) = json::some(choice, "delta").or(whole) {
            self.delta(delta, out);
        } else if let Some(text) = json::text(choice, "text") {
            self.blocks.content(text, out);
        }
        if let Some(reason) = json::text(choice, "finish_reason").filter(|said| *said != "null") {
            self.reason = Some(reason.to_owned());
            self.calls.settle_whole(out);
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Out) {
        self.blocks.reasoning(delta, out);
        self.blocks.message_extra(delta, out);
        match delta.get("content") {
            Some(Value::String(text)) if is_thought(delta) => {
                self.blocks.grow_reasoning("think", text, out);
            }
            Some(Value::String(text)) => self.blocks.content(text, out),
            Some(Value::Array(items)) => self.blocks.content_items(items, out),
            Some(item @ Value::Object(_)) => {
                self.blocks.content_items(std::slice::from_ref(item), out);
            }
            _ => {}
        }
        if let Some(text) = json::text(delta, "refusal") {
            self.blocks.refusal(text, out);
        }
        let old = json::some(delta, "function_call").filter(|call| call.is_object());
        let lone = json::some(delta, "tool_calls").filter(|call| call.is_object());
        let calls = json::items(delta, "tool_calls")
            .iter()
            .chain(lone)
            .chain(old);
        self.take_calls(calls.map(Fragment::of_value), out);
    }

    fn take_calls<'a, F: Iterator<Item = Fragment<'a>>>(&mut self, calls: F, out: &mut Out) {
        for call in calls {
            self.blocks.close(out);
            self.calls.take(&call, out);
        }
    }

    fn complete(&mut self, out: &mut Out) {
        self.blocks.close(out);
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
