//! OpenAI Responses → deltas.
//!
//! An answer is a list of items, each of which may come in deltas, only at its end, or only in the final
//! `response.completed`. `list` finds the item that an event speaks of, `item` keeps what is known of
//! one.

mod item;
mod list;

use serde::Deserialize;
use serde_json::Value;

use self::item::Item;
use self::list::{Items, Place};
use super::decoder::{Event, WireDecoder};
use super::json::{self, Text};
use super::out::Out;
use crate::model::delta::Usage;
use crate::model::error;
use crate::protocol::Finish;

/// State of one answer.
#[derive(Debug, Default)]
pub(super) struct OpenaiResponses {
    items: Items,
    /// True if a call may run.
    calls: bool,
    /// Id of the answer.
    id: Option<String>,
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
    fn frequent(&mut self, event: Event<'_>, out: &mut Out) -> bool {
        let Ok(fast) = serde_json::from_str::<Fast<'_>>(event.data) else {
            return false;
        };
        let at = Place::at(fast.output_index);
        let part = fast.content_index.or(fast.summary_index).unwrap_or(0);
        self.grow(at, part, fast.kind.as_str(), fast.delta.as_str(), out);
        true
    }

    fn value(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        self.slow(name, value, out);
    }

    fn whole(&mut self, body: Value, out: &mut Out) {
        self.over(&body, "", out);
    }

    fn done(&mut self, _out: &mut Out) {}

    fn end(&mut self, out: &mut Out) {
        self.cut(false, out);
    }
}

impl OpenaiResponses {
    fn slow(&mut self, name: Option<&str>, value: &Value, out: &mut Out) {
        let at = Place::of(value);
        let part = ["content_index", "summary_index"]
            .iter()
            .find_map(|key| json::number(value, key))
            .unwrap_or(0);
        let kind = json::text(value, "type").or(name).unwrap_or("");
        match kind {
            "response.created" => self.created(&value["response"], out),
            "response.output_item.added" => self.added(at, &value["item"], out),
            "response.output_item.done" => {
                let known = self.items.ended_by(at, &value["item"]);
                self.item_done(known, at, &value["item"], out);
            }
            "response.content_part.done" | "response.reasoning_summary_part.done" => {
                let (kind, text) = item::part_text(kind, &value["part"]);
                self.part_done(at, part, kind, text, out);
            }
            "response.output_text.done"
            | "response.reasoning_text.done"
            | "response.reasoning_summary_text.done" => {
                self.part_done(at, part, kind, json::text(value, "text"), out);
            }
            "response.refusal.done" => {
                self.part_done(at, part, kind, json::text(value, "refusal"), out);
            }
            "response.function_call_arguments.done" => {
                if let Some(item) = self.items.find(at) {
                    self.calls |= item.arguments_done(json::text(value, "arguments"), out);
                }
            }
            "response.custom_tool_call_input.done" => {
                if let Some(item) = self.items.find(at) {
                    item.input_done(json::text(value, "input"), out);
                }
            }
            "response.completed"
            | "response.done"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                let response = json::some(value, "response").unwrap_or(value);
                self.over(response, kind, out);
            }
            _ if is_error(name, kind, value) => out.fail(error::in_stream(value)),
            _ => {
                let delta = json::joined_text(&value["delta"]);
                self.grow(at, part, kind, &delta, out);
            }
        }
    }

    /// A second answer inside the first cannot be told apart from it.
    fn created(&mut self, response: &Value, out: &mut Out) {
        let id = json::text(response, "id");
        if id.is_some() && self.id.is_some() && self.id.as_deref() != id {
            self.items.forget_calls();
            out.fail(error::spliced());
        }
        self.id = id.map(str::to_owned).or(self.id.take());
    }

    fn added(&mut self, at: Place<'_>, said: &Value, out: &mut Out) {
        if self.items.knows(at, said) {
            return;
        }
        let item = Item::begin(said, out);
        if let Some(old) = self.items.add(at, item) {
            self.calls |= old.cut(false, out);
        }
    }

    fn grow(&mut self, at: Place<'_>, part: u64, kind: &str, delta: &str, out: &mut Out) {
        let Some(place) = item::place(kind, part) else {
            return;
        };
        let item = match self.items.find_for(at, place.0) {
            Some(item) => item,
            // a stream that was taken up again may lack the start of an item
            None => match Item::unannounced(place.0) {
                Some(item) => self.items.push(at, item),
                None => return,
            },
        };
        item.grow(place, delta, out);
    }

    fn part_done(
        &mut self,
        at: Place<'_>,
        part: u64,
        kind: &str,
        text: Option<&str>,
        out: &mut Out,
    ) {
        if let (Some(place), Some(text)) = (item::place(kind, part), text)
            && let Some(item) = self.items.find_for(at, place.0)
        {
            item.fill(place, text, out);
        }
    }

    /// The end of the item `known`, or of one that was not mentioned before.
    fn item_done(&mut self, known: Option<usize>, at: Place<'_>, said: &Value, out: &mut Out) {
        let item = match known.and_then(|known| self.items.get(known)) {
            Some(item) => item,
            None => self.items.push(at, Item::begin(said, out)),
        };
        if !item.is_done() {
            self.calls |= item.done(said, out);
        }
    }

    fn cut(&mut self, completed: bool, out: &mut Out) {
        for item in self.items.take() {
            self.calls |= item.cut(completed, out);
        }
    }

    /// The answer has ended; `kind` is the event that says so. What it says of its status counts more.
    fn over(&mut self, response: &Value, kind: &str, out: &mut Out) {
        let status = json::text(response, "status")
            .filter(|status| *status != "completed" && *status != "in_progress")
            .or_else(|| kind.strip_prefix("response."))
            .unwrap_or("completed");
        if matches!(status, "failed" | "cancelled") || error::has_error(response) {
            usage(response, out);
            out.fail(if status == "cancelled" {
                error::cancelled()
            } else {
                error::in_stream(response)
            });
            return;
        }
        let list = json::items(response, "output");
        let places = self.items.places(list);
        for ((index, said), known) in (0..).zip(list).zip(places) {
            self.item_done(known, Place::at(index), said, out);
        }
        usage(response, out);
        let incomplete = status == "incomplete";
        self.cut(!incomplete, out);
        if incomplete {
            let details = &response["incomplete_details"];
            let raw = json::text(details, "reason").or_else(|| details.as_str());
            let raw = raw.unwrap_or("");
            out.finish(incomplete_reason(raw), &format!("incomplete:{raw}"));
        } else if self.calls {
            out.finish(Finish::ToolCalls, "completed");
        } else {
            out.finish(Finish::Stop, "completed");
        }
    }
}

/// True for an error, in whatever shape.
fn is_error(name: Option<&str>, kind: &str, value: &Value) -> bool {
    matches!(kind, "error" | "response.error")
        || name == Some("error")
        || error::has_error(value)
        || (!kind.starts_with("response.") && error::is_error(value))
}

fn usage(response: &Value, out: &mut Out) {
    let Some(said) = json::some(response, "usage") else {
        return;
    };
    let first = |keys: [&str; 2]| keys.iter().find_map(|key| json::number(said, key));
    let cache_read = json::number(said, "input_tokens_details.cached_tokens");
    let cache_write = json::number(said, "input_tokens_details.cache_write_tokens");
    let cached = cache_read
        .unwrap_or(0)
        .saturating_add(cache_write.unwrap_or(0));
    out.usage(Usage {
        input: first(["input_tokens", "prompt_tokens"]).map(|all| all.saturating_sub(cached)),
        output: first(["output_tokens", "completion_tokens"]),
        reasoning: json::number(said, "output_tokens_details.reasoning_tokens"),
        cache_read,
        cache_write,
    });
}

fn incomplete_reason(raw: &str) -> Finish {
    // an answer that is not complete was cut, whatever the reason is called
    match raw {
        "content_filter" => Finish::ContentFilter,
        _ => Finish::Length,
    }
}
