//! Anthropic Messages → deltas.
//!
//! Content blocks come one after the other under an `index`; a call is complete at its
//! `content_block_stop`. Blocks of a kind that the client does not run (server tools and their results,
//! compaction, fallback) are kept whole and go back unread.

use std::collections::BTreeMap;
use std::mem;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::decoder::{Event, WireDecoder};
use super::json::{self, Text};
use super::out::{Call, Out};
use crate::model::arguments;
use crate::model::delta::Usage;
use crate::model::error;
use crate::protocol::Finish;

/// State of one answer.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// Id of the message under way.
    id: Option<String>,
    started: bool,
    blocks: BTreeMap<u64, Content>,
    /// A stopped call without arguments. Only what follows tells whether it has none or was cut
    /// before the first.
    bare: Option<Call>,
    usage: Usage,
    stop_reason: Option<String>,
    /// True if a call may run.
    calls: bool,
}

#[derive(Debug)]
enum Content {
    /// Announced to nobody until it has text.
    Text(Option<u32>),
    Thinking {
        block: u32,
        signature: String,
    },
    Tool {
        call: Call,
        /// `input` of the start; what counts when no fragment follows.
        input: Value,
    },
    Opaque {
        block: Value,
        /// Fragments of its input.
        json: String,
    },
}

/// The frequent event, read without building a tree.
#[derive(Deserialize)]
struct Fast<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
}

impl WireDecoder for Anthropic {
    fn frequent(&mut self, event: Event<'_>, out: &mut Out) -> bool {
        serde_json::from_str::<Fast<'_>>(event.data).is_ok_and(|fast| self.fast(&fast, out))
    }

    fn value(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        self.slow(name, value, out);
    }

    fn whole(&mut self, body: Value, out: &mut Out) {
        self.message_start(&json!({ "message": body }), out);
        for (index, block) in json::items(&body, "content").iter().enumerate() {
            self.block_start(index as u64, block, out);
            self.block_stop(index as u64, out);
        }
        let delta = json!({ "delta": { "stop_reason": body["stop_reason"] } });
        self.message_delta(&delta, out);
        self.done(out);
    }

    fn done(&mut self, out: &mut Out) {
        if let Some(raw) = self.stop_reason.clone() {
            self.close(out);
            out.finish(finish(&raw, self.calls), &raw);
        }
    }

    fn end(&mut self, out: &mut Out) {
        self.done(out);
        self.close(out);
    }
}

impl Anthropic {
    /// True if it was one of the frequent events and is dealt with.
    fn fast(&mut self, fast: &Fast<'_>, out: &mut Out) -> bool {
        let (Some(index), Some(delta)) = (fast.index, &fast.delta) else {
            return false;
        };
        if fast.kind.as_str() != "content_block_delta" {
            return false;
        }
        let kind = delta.kind.as_ref().map_or("", Text::as_str);
        match (kind, self.blocks.get_mut(&index)) {
            ("text_delta", Some(Content::Text(block))) => {
                grow_text(block, delta.text.as_ref().map_or("", Text::as_str), out);
            }
            ("thinking_delta", Some(Content::Thinking { block, .. })) => {
                if let Some(text) = &delta.thinking {
                    out.reasoning(*block, text.as_str());
                }
            }
            ("input_json_delta", Some(Content::Tool { call, .. })) => {
                call.grow(delta.partial_json.as_ref().map_or("", Text::as_str), out);
            }
            _ => return false,
        }
        true
    }

    fn slow(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        let index = json::number(value, "index").unwrap_or(0);
        let kind = json::text(value, "type").or(name).unwrap_or("");
        match kind {
            "message_start" => self.message_start(value, out),
            "content_block_start" => {
                self.settle_bare(false, out);
                self.block_start(index, &value["content_block"], out);
            }
            "content_block_delta" => self.block_delta(index, &value["delta"], out),
            "content_block_stop" => self.block_stop(index, out),
            "message_delta" => self.message_delta(value, out),
            "message_stop" => {
                self.take_usage(&value["usage"], out);
                self.stop_reason.get_or_insert_default();
                self.done(out);
            }
            "ping" => {}
            _ if kind == "error" || error::is_error(value) => out.fail(error::in_stream(value)),
            _ => {}
        }
    }

    fn message_start(&mut self, value: &Value, out: &mut Out) {
        let id = json::text(&value["message"], "id");
        if mem::replace(&mut self.started, true) {
            if id.is_some() && id != self.id.as_deref() {
                // Not even cut calls are reported: what belongs to which message is a guess.
                self.blocks
                    .retain(|_, content| !matches!(content, Content::Tool { .. }));
                self.bare = None;
                out.fail(error::spliced());
            }
            return;
        }
        self.id = id.map(str::to_owned);
        self.take_usage(&value["message"]["usage"], out);
    }

    fn message_delta(&mut self, value: &Value, out: &mut Out) {
        self.take_usage(&value["usage"], out);
        let reason = json::text(&value["delta"], "stop_reason");
        if let Some(reason) = reason.or_else(|| json::text(value, "stop_reason")) {
            self.stop_reason = Some(reason.to_owned());
            let cut = matches!(
                finish(reason, false),
                Finish::Length | Finish::ContentFilter
            );
            self.settle_bare(cut, out);
        }
    }

    fn take_usage(&mut self, said: &Value, out: &mut Out) {
        let new = |key: &str, old: Option<u64>| json::number(said, key).or(old);
        self.usage = Usage {
            input: new("input_tokens", self.usage.input),
            output: new("output_tokens", self.usage.output),
            reasoning: new(
                "output_tokens_details.thinking_tokens",
                self.usage.reasoning,
            ),
            cache_read: new("cache_read_input_tokens", self.usage.cache_read),
            cache_write: new("cache_creation_input_tokens", self.usage.cache_write),
        };
        out.usage(self.usage);
    }

    fn block_start(&mut self, index: u64, content: &Value, out: &mut Out) {
        let block = match json::text(content, "type").unwrap_or("") {
            "text" => {
                let mut block = None;
                grow_text(&mut block, json::text(content, "text").unwrap_or(""), out);
                Content::Text(block)
            }
            "thinking" => {
                let block = out.block();
                out.reasoning(block, json::text(content, "thinking").unwrap_or(""));
                let signature = json::text(content, "signature").unwrap_or("").to_owned();
                Content::Thinking { block, signature }
            }
            "redacted_thinking" => {
                let data = content.get("data").cloned().unwrap_or_default();
                out.carry(json!({"wire": "anthropic", "type": "redacted_thinking", "data": data}));
                return;
            }
            "tool_use" => {
                let mut call = Call::new(out);
                call.identify(json::text(content, "id"), json::text(content, "name"), out);
                let input = match content.get("input") {
                    Some(Value::String(text)) => arguments::parse(text).unwrap_or_default(),
                    input => input.cloned().unwrap_or_default(),
                };
                Content::Tool { call, input }
            }
            "" => return,
            _ => Content::Opaque {
                block: content.clone(),
                json: String::new(),
            },
        };
        if let Some(old) = self.blocks.insert(index, block) {
            break_off(old, false, out);
        }
    }

    fn block_delta(&mut self, index: u64, delta: &Value, out: &mut Out) {
        let kind = json::text(delta, "type").unwrap_or("");
        self.expect(index, kind, out);
        match (kind, self.blocks.get_mut(&index)) {
            ("text_delta", Some(Content::Text(block))) => {
                grow_text(block, json::text(delta, "text").unwrap_or(""), out);
            }
            ("thinking_delta", Some(Content::Thinking { block, .. })) => {
                out.reasoning(*block, json::text(delta, "thinking").unwrap_or(""));
            }
            ("signature_delta", Some(Content::Thinking { signature, .. })) => {
                signature.push_str(json::text(delta, "signature").unwrap_or(""));
            }
            ("input_json_delta", Some(Content::Tool { call, .. })) => {
                match &delta["partial_json"] {
                    Value::String(piece) => call.grow(piece, out),
                    whole @ Value::Object(_) => call.grow(&whole.to_string(), out),
                    _ => {}
                }
            }
            ("input_json_delta", Some(Content::Opaque { json, .. })) => {
                json.push_str(json::text(delta, "partial_json").unwrap_or(""));
            }
            (_, Some(Content::Opaque { block, .. })) => merge(block, delta),
            _ => {}
        }
    }

    /// Makes room for text or thoughts where none were announced: some gateways leave the start out, or
    /// go from the one to the other inside a block.
    fn expect(&mut self, index: u64, kind: &str, out: &mut Out) {
        let missing = matches!(
            (kind, self.blocks.get(&index)),
            ("text_delta", Some(Content::Thinking { .. }) | None)
                | ("thinking_delta", Some(Content::Text(_)) | None)
        );
        if !missing {
            return;
        }
        let new = if kind == "text_delta" {
            Content::Text(None)
        } else {
            Content::Thinking {
                block: out.block(),
                signature: String::new(),
            }
        };
        if let Some(old) = self.blocks.insert(index, new) {
            break_off(old, false, out);
        }
    }

    fn block_stop(&mut self, index: u64, out: &mut Out) {
        match self.blocks.remove(&index) {
            Some(Content::Text(Some(block))) => out.end(block, None),
            Some(Content::Thinking { block, signature }) => out.end(block, signed(&signature)),
            Some(Content::Tool { mut call, input }) => {
                let given = input.as_object().is_some_and(|map| !map.is_empty());
                if call.raw.trim().is_empty() && !given {
                    self.settle_bare(false, out);
                    self.bare = Some(call);
                    return;
                }
                if call.raw.trim().is_empty() {
                    call.grow(&input.to_string(), out);
                }
                self.calls = true;
                call.end(out);
            }
            Some(Content::Opaque { mut block, json }) => {
                if let (Some(map), Ok(input)) = (block.as_object_mut(), serde_json::from_str(&json))
                {
                    let _old: Option<Value> = map.insert("input".to_owned(), input);
                }
                out.carry(json!({"wire": "anthropic", "type": "opaque", "block": block}));
            }
            Some(Content::Text(None)) | None => {}
        }
    }

    fn settle_bare(&mut self, cut: bool, out: &mut Out) {
        if let Some(mut call) = self.bare.take() {
            if cut {
                call.refuse(out);
            } else {
                self.calls = true;
                call.end_with(Value::Object(Map::new()), out);
            }
        }
    }

    /// Ends what is open. Calls that never got their `content_block_stop` must not run, unless the
    /// server says that it stopped to have them run and nothing of them is missing.
    fn close(&mut self, out: &mut Out) {
        self.settle_bare(true, out);
        let run = self.stop_reason.as_deref() == Some("tool_use");
        for (_, content) in mem::take(&mut self.blocks) {
            self.calls |= break_off(content, run, out);
        }
    }
}

/// Ends a block that never got its `content_block_stop`. True if it is a call that may run; `run` says
/// whether one may that is whole.
fn break_off(content: Content, run: bool, out: &mut Out) -> bool {
    match content {
        Content::Text(Some(block)) => out.end(block, None),
        Content::Thinking { block, signature } => out.end(block, signed(&signature)),
        Content::Tool { mut call, .. } if run && call.is_whole() => {
            call.end(out);
            return true;
        }
        Content::Tool { mut call, .. } => call.refuse(out),
        Content::Text(None) | Content::Opaque { .. } => {}
    }
    false
}

fn grow_text(block: &mut Option<u32>, text: &str, out: &mut Out) {
    if !text.is_empty() {
        let block = *block.get_or_insert_with(|| out.block());
        out.text(block, text);
    }
}

fn signed(signature: &str) -> Option<Value> {
    (!signature.is_empty())
        .then(|| json!({"wire": "anthropic", "type": "thinking", "signature": signature}))
}

/// Puts a delta of a kind we do not know into its block: texts are appended, the rest is set.
fn merge(block: &mut Value, delta: &Value) {
    let (Some(block), Some(delta)) = (block.as_object_mut(), delta.as_object()) else {
        return;
    };
    for (key, value) in delta.iter().filter(|(key, _)| *key != "type") {
        match (block.get_mut(key), value) {
            (Some(Value::String(old)), Value::String(more)) => old.push_str(more),
            (_, Value::Null) => {}
            _ => {
                let _old: Option<Value> = block.insert(key.clone(), value.clone());
            }
        }
    }
}

fn finish(raw: &str, calls: bool) -> Finish {
    match raw {
        "end_turn" | "stop_sequence" | "" if calls => Finish::ToolCalls,
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::ContentFilter,
        _ => Finish::Other,
    }
}
