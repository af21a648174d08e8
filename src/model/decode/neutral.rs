//! The neutral JSON of a decoded answer, for `dunlin debug decode` and for comparing with recorded
//! expectations. Nothing of the program itself reads it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::decoder::{Decoded, Decoder, Wire};
use crate::model::delta::{Delta, Usage};
use crate::protocol::{Fault, Finish};

/// Decodes a body, `split` bytes at a time (at once if none), into neutral JSON: text, reasoning,
/// tool_calls, finish_reason, usage, error, extra.
pub fn decode_bytes(wire: Wire, bytes: &[u8], split: Option<usize>) -> Value {
    let size = split.unwrap_or(bytes.len()).max(1);
    neutral(wire, bytes.chunks(size))
}

/// The same for a body that comes in these chunks.
pub fn neutral<'c, C: IntoIterator<Item = &'c [u8]>>(wire: Wire, chunks: C) -> Value {
    let mut decoder = Decoder::new(wire);
    let mut seen = Seen::default();
    for chunk in chunks {
        seen.take(decoder.feed(chunk));
    }
    seen.take(decoder.finish());
    seen.json(&decoder)
}

/// An answer put together from its deltas.
#[derive(Debug, Default)]
struct Seen {
    /// Text and reasoning by block.
    texts: BTreeMap<u32, Block>,
    calls: BTreeMap<u32, Value>,
    /// What goes back with calls.
    signed: BTreeMap<u32, Value>,
    usage: Usage,
    finish: Option<(Finish, String)>,
    fault: Option<Fault>,
}

#[derive(Debug, Default)]
struct Block {
    reasoning: bool,
    text: String,
    provider: Option<Value>,
}

impl Block {
    fn is(&self, kind: &str) -> bool {
        self.provider
            .as_ref()
            .is_some_and(|provider| provider["type"] == kind)
    }
}

impl Seen {
    fn take(&mut self, decoded: Decoded) {
        for delta in decoded.deltas {
            match delta {
                Delta::Text { block, text } => {
                    self.texts.entry(block).or_default().text.push_str(&text);
                }
                Delta::Reasoning { block, text } => {
                    let seen = self.texts.entry(block).or_default();
                    seen.reasoning = true;
                    seen.text.push_str(&text);
                }
                Delta::BlockEnd { block, provider } => {
                    self.texts.entry(block).or_default().provider = provider;
                }
                Delta::CallStart { .. } | Delta::CallArguments { .. } => {}
                Delta::CallEnd {
                    block,
                    id,
                    name,
                    arguments,
                    provider,
                } => {
                    let call = call(id.as_deref(), &name, arguments, provider.as_ref());
                    let _old: Option<Value> = self.calls.insert(block, call);
                    self.signed
                        .extend(provider.map(|provider| (block, provider)));
                }
                Delta::Usage(usage) => self.usage = usage,
                Delta::Finish { reason, raw } => self.finish = Some((reason, raw)),
            }
        }
        if decoded.fault.is_some() {
            self.fault = decoded.fault;
        }
    }

    fn json(self, decoder: &Decoder) -> Value {
        let joined = |reasoning: bool| -> String {
            self.texts
                .values()
                .filter(|text| text.reasoning == reasoning && !text.is("refusal"))
                .map(|text| text.text.as_str())
                .collect()
        };
        let finish = match (&self.fault, &self.finish) {
            (None, Some((reason, _))) => json!(reason),
            _ => json!(Finish::Error),
        };
        json!({
            "text": joined(false),
            "reasoning": joined(true),
            "tool_calls": self.calls.values().collect::<Vec<_>>(),
            "finish_reason": finish,
            "usage": {
                "input": self.usage.input,
                "output": self.usage.output,
                "reasoning": self.usage.reasoning,
                "cache_read": self.usage.cache_read,
                "cache_write": self.usage.cache_write,
            },
            "error": self.fault.as_ref().map(|fault| json!({
                "kind": fault.kind,
                "message": decoder.said(),
                "sentence": fault.to_string(),
                "retryable": fault.retryable,
                "retry_delay_ms": fault.retry_after_ms,
            })),
            "extra": self.extra(decoder),
        })
    }

    fn extra(&self, decoder: &Decoder) -> Value {
        let mut extra = Map::new();
        let mut put = |key: &str, value: Value| {
            let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            if !empty {
                let _old: Option<Value> = extra.insert(key.to_owned(), value);
            }
        };
        put(
            "raw_finish_reason",
            json!(self.finish.as_ref().map(|(_, raw)| raw)),
        );
        let blocks = |reasoning: bool| {
            let texts: Vec<&str> = self
                .texts
                .values()
                .filter(|text| text.reasoning == reasoning && !text.text.is_empty())
                .map(|text| text.text.as_str())
                .collect();
            json!(if texts.len() > 1 { texts } else { Vec::new() })
        };
        put("text_blocks", blocks(false));
        put("reasoning_blocks", blocks(true));
        let refusal: String = self
            .texts
            .values()
            .filter(|text| text.is("refusal"))
            .map(|text| text.text.as_str())
            .collect();
        put(
            "refusal",
            json!(Some(refusal).filter(|text| !text.is_empty())),
        );
        let (server, other) = self.opaque();
        put("server_tool_calls", Value::Array(server));
        put("other_blocks", Value::Array(other));
        put("done_marker", json!(decoder.saw_done_marker()));
        let texts = self
            .texts
            .iter()
            .map(|(block, text)| (*block, text.provider.as_ref()));
        let calls = self
            .signed
            .iter()
            .map(|(block, provider)| (*block, Some(provider)));
        let by_block: BTreeMap<u32, &Value> = texts
            .chain(calls)
            .filter_map(|(block, provider)| Some((block, provider?)))
            .collect();
        let signatures = by_block.values().flat_map(|provider| signatures(provider));
        put("signatures", signatures.collect());
        Value::Object(extra)
    }

    /// What the provider ran itself, and the other blocks that we do not look into.
    fn opaque(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut server, mut other) = (Vec::new(), Vec::new());
        for provider in self
            .texts
            .values()
            .filter_map(|text| text.provider.as_ref())
        {
            if provider["type"] != "opaque" {
                continue;
            }
            let block = &provider["block"];
            let kind = block["type"].as_str().unwrap_or("");
            if kind.ends_with("_tool_use") {
                server.push(json!(
                    {"id": block["id"], "name": block["name"], "arguments": block["input"]}));
            } else if block.is_object() {
                other.push(json!(kind));
            } else if let Some(kind) = provider["item"]["type"].as_str() {
                server.push(json!(kind));
            } else if let Some(part) = provider["part"].as_object() {
                let named = part
                    .keys()
                    .find(|key| !matches!(key.as_str(), "thoughtSignature" | "text"));
                server.extend(named.map(|key| json!(key)));
            }
        }
        (server, other)
    }
}

fn call(
    id: Option<&str>,
    name: &str,
    arguments: Result<Value, String>,
    provider: Option<&Value>,
) -> Value {
    let mut call = json!({"id": id, "name": name});
    match arguments {
        Ok(arguments) => call["arguments"] = arguments,
        Err(raw) => {
            call["arguments"] = Value::Null;
            call["arguments_raw"] = raw.into();
            call["incomplete"] = true.into();
        }
    }
    if let Some(provider) = provider {
        if provider["type"] == "custom_tool_call" {
            call["type"] = "custom".into();
        }
        if let Some(namespace) = provider.get("namespace") {
            call["namespace"] = namespace.clone();
        }
    }
    call
}

/// The opaque texts in a provider value, by kind and length in bytes.
fn signatures(provider: &Value) -> Vec<Value> {
    let part = &provider["part"];
    let empty_text = part["text"].as_str() == Some("");
    let kind = provider["type"].as_str().unwrap_or("");
    let found = [
        (&provider["signature"], "signature"),
        (&provider["data"], "redacted"),
        (&provider["item"]["encrypted_content"], "encrypted_content"),
        (&provider["thoughtSignature"], kind),
        (
            &part["thoughtSignature"],
            if empty_text { "emptytext" } else { "other" },
        ),
        (
            &provider["extra_content"]["google"]["thought_signature"],
            "thought_signature",
        ),
    ];
    found
        .into_iter()
        .filter_map(|(value, kind)| {
            let text = value.as_str()?;
            Some(json!({"kind": kind, "len": text.len(), "text": text}))
        })
        .collect()
}
