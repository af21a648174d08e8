//! Google Gemini `streamGenerateContent` → deltas.
//!
//! A chunk holds whole parts; there is no end marker and no order of `finishReason` and text one could
//! rely on, so the answer ends with the body. `partial` puts arguments together that come by JSON path.

mod partial;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use self::partial::Partial;
use super::decoder::{Event, WireDecoder};
use super::json::{self, Text};
use super::out::{Call, Out};
use crate::model::delta::Usage;
use crate::model::error;
use crate::protocol::Finish;

/// State of one answer.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    open: Open,
    /// The call whose arguments are still coming.
    call: Option<(Call, Partial)>,
    /// True if a call may run.
    calls: bool,
    counts: Counts,
    /// The last reason.
    reason: Option<String>,
    /// Why the prompt was refused.
    blocked: Option<String>,
}

/// The block that grows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Text(u32),
    Thought(u32),
}

/// `usageMetadata`, merged over the chunks.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Counts {
    #[serde(rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(rename = "candidatesTokenCount")]
    candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
    #[serde(rename = "cachedContentTokenCount")]
    cached: Option<u64>,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use: Option<u64>,
}

/// The frequent chunk, read without building a tree: text or thoughts and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fast<'a> {
    #[serde(borrow)]
    candidates: (FastCandidate<'a>,),
    usage_metadata: Option<Counts>,
    prompt_feedback: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FastCandidate<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    content: FastContent<'a>,
    finish_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct FastContent<'a> {
    #[serde(borrow)]
    parts: Vec<FastPart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FastPart<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    thought: Option<bool>,
    thought_signature: Option<IgnoredAny>,
}

impl WireDecoder for Gemini {
    fn frequent(&mut self, event: Event<'_>, out: &mut Out) -> bool {
        serde_json::from_str::<Fast<'_>>(event.data).is_ok_and(|fast| self.fast(&fast, out))
    }

    fn value(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        match value {
            Value::Array(chunks) => chunks.iter().for_each(|chunk| self.value(name, chunk, out)),
            // Google's own command-line tool and some gateways are given each chunk in a wrapper
            wrapped if wrapped["response"].is_object() => {
                self.value(name, &wrapped["response"], out);
            }
            chunk => self.chunk(name, chunk, out),
        }
    }

    fn whole(&mut self, body: Value, out: &mut Out) {
        self.value(None, &body, out);
    }

    fn done(&mut self, _out: &mut Out) {}

    fn end(&mut self, out: &mut Out) {
        self.end_block(out);
        let reason = self.reason.as_deref().map(finish);
        let complete = matches!(reason, Some(Finish::Stop)) && out.failure.is_none();
        self.end_call(complete, out);
        match (reason, &self.blocked) {
            (Some(Finish::Stop), _) if self.calls => out.finish(Finish::ToolCalls, self.raw()),
            (Some(reason), _) => out.finish(reason, self.raw()),
            (None, Some(why)) => {
                out.finish(Finish::ContentFilter, &format!("blockReason:{why}"));
            }
            (None, None) => {}
        }
    }
}

impl Gemini {
    fn raw(&self) -> &str {
        self.reason.as_deref().unwrap_or("")
    }

    fn fast(&mut self, fast: &Fast<'_>, out: &mut Out) -> bool {
        let candidate = &fast.candidates.0;
        let parts = &candidate.content.parts;
        if candidate.index.unwrap_or(0) != 0
            || candidate.finish_reason.is_some()
            || fast.error.is_some()
            || fast.prompt_feedback.is_some()
            || parts.iter().any(|part| part.thought_signature.is_some())
        {
            return false;
        }
        for part in parts {
            self.text(part.text.as_str(), part.thought == Some(true), out);
        }
        if let Some(counts) = fast.usage_metadata {
            self.count(counts, out);
        }
        true
    }

    fn chunk(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        let candidate = json::items(value, "candidates")
            .iter()
            .find(|candidate| json::number(candidate, "index").unwrap_or(0) == 0);
        if let Some(candidate) = candidate {
            for part in json::items(&candidate["content"], "parts") {
                self.part(part, out);
            }
            let reason = json::text(candidate, "finishReason");
            // the enum's zero, which older servers write into every chunk
            if let Some(reason) = reason.filter(|said| *said != "FINISH_REASON_UNSPECIFIED") {
                self.reason = Some(reason.to_owned());
            }
        }
        if let Some(why) = json::text(&value["promptFeedback"], "blockReason") {
            self.blocked = Some(why.to_owned());
        }
        let said = &value["usageMetadata"];
        if said.is_object() {
            let count = |key| json::number(said, key);
            let counts = Counts {
                prompt: count("promptTokenCount"),
                candidates: count("candidatesTokenCount"),
                thoughts: count("thoughtsTokenCount"),
                cached: count("cachedContentTokenCount"),
                tool_use: count("toolUsePromptTokenCount"),
            };
            self.count(counts, out);
        }
        let is_error = name == Some("error")
            || error::has_error(value)
            || (value.get("candidates").is_none() && error::is_error(value));
        if is_error {
            out.fail(error::in_stream(value));
        }
    }

    fn part(&mut self, part: &Value, out: &mut Out) {
        let signature = ["thoughtSignature", "thought_signature"]
            .iter()
            .find_map(|key| json::text(part, key));
        // a signature alone stands for an empty text
        let bare = |map: &Map<String, Value>| {
            let mut keys = map.keys().map(String::as_str);
            keys.all(|key| matches!(key, "thought" | "thoughtSignature" | "thought_signature"))
        };
        let text = part
            .get("text")
            .and_then(Value::as_str)
            .or_else(|| part.as_object().filter(|map| bare(map)).map(|_| ""));
        if let Some(call) = json::some(part, "functionCall") {
            self.end_block(out);
            self.function_call(call, signature, out);
        } else if let Some(text) = text {
            let thought = part.get("thought") == Some(&Value::Bool(true));
            self.text(text, thought, out);
            if let Some(signature) = signature {
                self.sign(text, thought, signature, out);
            }
        } else if part.as_object().is_some_and(|map| !map.is_empty()) {
            self.end_block(out);
            out.carry(json!({"wire": "gemini", "type": "opaque", "part": part}));
        }
    }

    fn text(&mut self, text: &str, thought: bool, out: &mut Out) {
        if text.is_empty() {
            return;
        }
        match (self.open, thought) {
            (Open::Text(block), false) => out.text(block, text),
            (Open::Thought(block), true) => out.reasoning(block, text),
            (_, thought) => {
                self.end_block(out);
                let block = out.block();
                if thought {
                    self.open = Open::Thought(block);
                    out.reasoning(block, text);
                } else {
                    self.open = Open::Text(block);
                    out.text(block, text);
                }
            }
        }
    }

    /// Keeps the signature of a text or thought part.
    fn sign(&mut self, text: &str, thought: bool, signature: &str, out: &mut Out) {
        if thought {
            let provider = json!(
                {"wire": "gemini", "type": "thought", "thoughtSignature": signature});
            if let Open::Thought(block) = std::mem::take(&mut self.open) {
                out.end(block, Some(provider));
            } else {
                out.carry(provider);
            }
            return;
        }
        self.end_block(out);
        out.carry(if text.is_empty() {
            json!({"wire": "gemini", "type": "opaque",
                "part": {"text": "", "thoughtSignature": signature}})
        } else {
            json!({"wire": "gemini", "type": "text", "thoughtSignature": signature})
        });
    }

    fn function_call(&mut self, said: &Value, signature: Option<&str>, out: &mut Out) {
        if let Some(name) = json::text(said, "name") {
            // the one before was never closed, but nothing more can come for it
            self.end_call(true, out);
            let mut call = Call::new(out);
            let id = json::text(said, "id");
            call.identify(id, Some(name), out);
            let mut provider = json!({"wire": "gemini", "type": "functionCall"});
            for (key, value) in [("id", id), ("thoughtSignature", signature)] {
                if let Some(value) = value {
                    provider[key] = value.into();
                    call.provider = Some(provider.clone());
                }
            }
            self.call = Some((call, Partial::default()));
        }
        let Some((_, arguments)) = &mut self.call else {
            return;
        };
        arguments.take_whole(&said["args"]);
        for piece in json::items(said, "partialArgs") {
            arguments.take(piece);
        }
        if said.get("willContinue") != Some(&Value::Bool(true)) {
            self.end_call(true, out);
        }
    }

    fn end_call(&mut self, complete: bool, out: &mut Out) {
        let Some((mut call, arguments)) = self.call.take() else {
            return;
        };
        call.grow(&arguments.value().to_string(), out);
        if complete && arguments.is_whole() {
            self.calls = true;
            call.end_with(arguments.into_value(), out);
        } else {
            call.refuse(out);
        }
    }

    fn end_block(&mut self, out: &mut Out) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => {}
            Open::Text(block) | Open::Thought(block) => out.end(block, None),
        }
    }

    fn count(&mut self, new: Counts, out: &mut Out) {
        let old = self.counts;
        let all = Counts {
            prompt: new.prompt.or(old.prompt),
            candidates: new.candidates.or(old.candidates),
            thoughts: new.thoughts.or(old.thoughts),
            cached: new.cached.or(old.cached),
            tool_use: new.tool_use.or(old.tool_use),
        };
        self.counts = all;
        let output = match (all.candidates, all.thoughts) {
            (None, None) => None,
            (said, thought) => Some(said.unwrap_or(0).saturating_add(thought.unwrap_or(0))),
        };
        out.usage(Usage {
            input: all.prompt.map(|prompt| {
                prompt
                    .saturating_sub(all.cached.unwrap_or(0))
                    .saturating_add(all.tool_use.unwrap_or(0))
            }),
            output,
            reasoning: all.thoughts,
            cache_read: all.cached,
            cache_write: None,
        });
    }
}

fn finish(raw: &str) -> Finish {
    match raw.to_ascii_uppercase().as_str() {
        // the second is what servers that only speak the wire say of calls
        "STOP" | "FUNCTION_CALL" | "TOOL_CALLS" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "LANGUAGE"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => Finish::ContentFilter,
        _ => Finish::Other,
    }
}
