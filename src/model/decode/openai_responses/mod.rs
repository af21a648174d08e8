//! OpenAI Responses → deltas.
//!
//! An answer is a list of items under `output_index`; item ids change between events on some servers
//! and are never looked at. Every item may come in deltas, only at its end, or only in the final
//! `response.completed`. `item` keeps what is known of one item.

mod item;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use self::item::Item;
use super::decoder::{Event, WireDecoder};
use super::json::{self, Text};
use super::out::Out;
use crate::model::delta::Usage;
use crate::model::error;
use crate::protocol::Finish;

/// State of one answer.
#[derive(Debug, Default)]
pub(super) struct OpenaiResponses {
    items: BTreeMap<u64, Item>,
    /// True if a call may run.
    calls: bool,
}

/// The frequent event, read without building a tree.
#[derive(Deserialize)]
struct Fast<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    output_index: u64,
    content_index: Option<u64>,
    summary_index: Option<u64>,
    #[serde(borrow)]
    delta: Text<'a>,
}

impl WireDecoder for OpenaiResponses {
    fn event(&mut self, event: Event<'_>, out: &mut Out) -> Result<(), serde_json::Error> {
        if let Ok(fast) = serde_json::from_str::<Fast<'_>>(event.data) {
            let part = fast.content_index.or(fast.summary_index).unwrap_or(0);
            self.grow(
                fast.output_index,
                part,
                fast.kind.as_str(),
                fast.delta.as_str(),
                out,
            );
            return Ok(());
        }
        let value: Value = serde_json::from_str(event.data)?;
        self.slow(event.name, &value, out);
        Ok(())
    }

    fn whole(&mut self, body: Value, out: &mut Out) {
        match json::text(&body, "status") {
            Some("failed") => out.fail(error::in_stream(&body)),
            Some("incomplete") => self.over(&body, true, out),
            _ => self.over(&body, false, out),
        }
    }

    fn done(&mut self, _out: &mut Out) {}

    fn end(&mut self, out: &mut Out) {
        for (_, item) in std::mem::take(&mut self.items) {
            self.calls |= item.cut(false, out);
        }
    }
}

impl OpenaiResponses {
    fn slow(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        let at = json::number(value, "output_index").unwrap_or(0);
        let part = ["content_index", "summary_index"]
            .iter()
            .find_map(|key| json::number(value, key))
            .unwrap_or(0);
        let kind = json::text(value, "type").or(name).unwrap_or("");
        match kind {
            "response.output_item.added" => self.added(at, &value["item"], out),
            "response.output_item.done" => self.item_done(at, &value["item"], out),
            "response.output_text.done"
            | "response.reasoning_text.done"
            | "response.reasoning_summary_text.done" => {
                self.part_done(at, part, kind, json::text(value, "text"), out);
            }
            "response.refusal.done" => {
                self.part_done(at, part, kind, json::text(value, "refusal"), out);
            }
            "response.function_call_arguments.done" => {
                if let Some(item) = self.items.get_mut(&at) {
                    self.calls |= item.arguments_done(json::text(value, "arguments"), out);
                }
            }
            "response.custom_tool_call_input.done" => {
                if let Some(item) = self.items.get_mut(&at) {
                    item.input_done(json::text(value, "input"), out);
                }
            }
            "response.completed" => self.over(&value["response"], false, out),
            "response.incomplete" => self.over(&value["response"], true, out),
            "response.failed" => {
                usage(&value["response"], out);
                out.fail(error::in_stream(&value["response"]));
            }
            "error" => out.fail(error::in_stream(value)),
            _ if json::some(value, "error").is_some() => out.fail(error::in_stream(value)),
            _ => {
                let delta = json::text(value, "delta").unwrap_or("");
                self.grow(at, part, kind, delta, out);
            }
        }
    }

    fn added(&mut self, at: u64, said: &Value, out: &mut Out) {
        let item = Item::begin(said, out);
        if let Some(old) = self.items.insert(at, item) {
            self.calls |= old.cut(false, out);
        }
    }

    fn grow(&mut self, at: u64, part: u64, kind: &str, delta: &str, out: &mut Out) {
        // a stream that was taken up again may lack the start of an item
        let item = match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.items.entry(at).or_insert_with(Item::message)
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.items.entry(at).or_insert_with(Item::reasoning)
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let Some(item) = self.items.get_mut(&at) else {
                    return;
                };
                item
            }
            _ => return,
        };
        item.grow(item::place(kind, part), delta, out);
    }

    fn part_done(&mut self, at: u64, part: u64, kind: &str, text: Option<&str>, out: &mut Out) {
        if let (Some(item), Some(text)) = (self.items.get_mut(&at), text) {
            item.fill(item::place(kind, part), text, out);
        }
    }

    fn item_done(&mut self, at: u64, said: &Value, out: &mut Out) {
        let mut item = self
            .items
            .remove(&at)
            .unwrap_or_else(|| Item::begin(said, out));
        if !item.is_done() {
            self.calls |= item.done(said, out);
        }
        // kept, so that the final list does not bring it again
        self.items.insert(at, item);
    }

    /// Under which index each item of the final list was streamed. Some servers leave numbers out or
    /// count from 1: as many items as came are the same items in the same order.
    fn places(&self, count: usize) -> Vec<u64> {
        if self.items.len() == count {
            self.items.keys().copied().collect()
        } else {
            (0..count as u64).collect()
        }
    }

    fn over(&mut self, response: &Value, incomplete: bool, out: &mut Out) {
        let list = json::items(response, "output");
        for (said, at) in list.iter().zip(self.places(list.len())) {
            self.item_done(at, said, out);
        }
        usage(response, out);
        for (_, item) in std::mem::take(&mut self.items) {
            self.calls |= item.cut(!incomplete, out);
        }
        let (reason, raw) = if incomplete {
            let raw = response["incomplete_details"]["reason"]
                .as_str()
                .unwrap_or("");
            (incomplete_reason(raw), format!("incomplete:{raw}"))
        } else if self.calls {
            (Finish::ToolCalls, "completed".to_owned())
        } else {
            (Finish::Stop, "completed".to_owned())
        };
        out.finish(reason, &raw);
    }
}

fn usage(response: &Value, out: &mut Out) {
    let Some(said) = json::some(response, "usage") else {
        return;
    };
    let cache_read = json::number(said, "input_tokens_details.cached_tokens");
    let cache_write = json::number(said, "input_tokens_details.cache_write_tokens");
    let cached = cache_read
        .unwrap_or(0)
        .saturating_add(cache_write.unwrap_or(0));
    out.usage(Usage {
        input: json::number(said, "input_tokens").map(|all| all.saturating_sub(cached)),
        output: json::number(said, "output_tokens"),
        reasoning: json::number(said, "output_tokens_details.reasoning_tokens"),
        cache_read,
        cache_write,
    });
}

fn incomplete_reason(raw: &str) -> Finish {
    match raw {
        "max_output_tokens" | "max_tokens" | "length" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        _ => Finish::Other,
    }
}
