//! One item of a Responses answer: a message, reasoning, a call, or something the server ran itself.
//!
//! Only `openai_responses` uses it. Whatever way the content came (deltas, end of part, end of item),
//! it is given out once.

use std::collections::BTreeMap;
use std::mem;

use serde_json::{Value, json};

use crate::model::decode::json;
use crate::model::decode::out::{Call, Out};

/// Where text of an item belongs: what kind of part, and which one of them.
pub(super) type Place = (PartKind, u64);

/// The kinds of parts, in the order in which they stand when they come all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PartKind {
    /// Arguments or input of a call.
    Arguments,
    /// Summary of reasoning.
    Summary,
    /// Raw reasoning.
    Thought,
    /// What the model says.
    Text,
    /// What it refuses to say.
    Refusal,
}

/// The part that an event of this type speaks of; none if it speaks of no part that is kept.
pub(super) fn place(kind: &str, part: u64) -> Option<Place> {
    let name = kind.strip_prefix("response.")?;
    let name = name
        .strip_suffix(".delta")
        .or_else(|| name.strip_suffix(".done"))?;
    let of = match name {
        "output_text" => PartKind::Text,
        "refusal" => PartKind::Refusal,
        // the second of each is what older servers say
        "reasoning_text" | "reasoning" => PartKind::Thought,
        "reasoning_summary_text" | "reasoning_summary" => PartKind::Summary,
        "function_call_arguments" | "custom_tool_call_input" => PartKind::Arguments,
        _ => return None,
    };
    Some((of, part))
}

/// What an event that ends a whole part says: the event that would have ended its text, and the text.
pub(super) fn part_text<'v>(event: &str, part: &'v Value) -> (&'static str, Option<&'v str>) {
    let key = match json::text(part, "type") {
        Some("refusal") => return ("response.refusal.done", json::text(part, "refusal")),
        Some("reasoning_text") => "response.reasoning_text.done",
        _ if event.contains("summary") => "response.reasoning_summary_text.done",
        _ => "response.output_text.done",
    };
    (key, json::text(part, "text"))
}

/// One item.
#[derive(Debug)]
pub(super) struct Item {
    kind: Kind,
    /// Parts that have text, with their blocks.
    parts: BTreeMap<Place, u32>,
    /// The block that is still open.
    open: Option<(Place, u32)>,
    /// The server's id of it.
    id: Option<String>,
    /// Arguments or input that came with the announcement.
    given: String,
    /// True once the input of a custom call was said to be whole.
    whole_input: bool,
    done: bool,
}

#[derive(Debug)]
enum Kind {
    Message,
    Reasoning,
    Call(Call),
    /// A call whose input is plain text.
    Custom(Call),
    /// The server's own business; kept when it is done.
    Opaque,
}

impl Item {
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            parts: BTreeMap::new(),
            open: None,
            id: None,
            given: String::new(),
            whole_input: false,
            done: false,
        }
    }

    /// An item of which the start was not seen, for this part of it; none for calls, which cannot run
    /// without a name.
    pub(super) const fn unannounced(part: PartKind) -> Option<Self> {
        match part {
            PartKind::Arguments => None,
            PartKind::Summary | PartKind::Thought => Some(Self::new(Kind::Reasoning)),
            PartKind::Text | PartKind::Refusal => Some(Self::new(Kind::Message)),
        }
    }

    /// The server's id of it.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// True if it can have such a part.
    pub(super) const fn takes(&self, part: PartKind) -> bool {
        matches!(
            (&self.kind, part),
            (Kind::Message, PartKind::Text | PartKind::Refusal)
                | (Kind::Reasoning, PartKind::Summary | PartKind::Thought)
                | (Kind::Call(_) | Kind::Custom(_), PartKind::Arguments)
        )
    }

    /// True if what is said is of the same kind.
    pub(super) fn is_kind(&self, said: &Value) -> bool {
        let kind = json::text(said, "type").unwrap_or("");
        match self.kind {
            Kind::Message => kind == "message",
            Kind::Reasoning => kind == "reasoning",
            Kind::Call(_) => kind == "function_call",
            Kind::Custom(_) => kind == "custom_tool_call",
            Kind::Opaque => !matches!(
                kind,
                "message" | "reasoning" | "function_call" | "custom_tool_call"
            ),
        }
    }

    /// True if what is said is certainly about this very item.
    pub(super) fn is(&self, said: &Value) -> bool {
        let same = |ours: Option<&str>, theirs: Option<&str>| ours.is_some() && ours == theirs;
        let call_id = match &self.kind {
            Kind::Call(call) | Kind::Custom(call) => call.id.as_deref(),
            _ => None,
        };
        self.is_kind(said)
            && (same(call_id, json::text(said, "call_id"))
                || same(self.id(), json::text(said, "id")))
    }

    /// True if it is a call that has not ended.
    pub(super) const fn is_open_call(&self) -> bool {
        matches!(&self.kind, Kind::Call(call) | Kind::Custom(call) if !call.is_ended())
    }

    /// An item that the server announced.
    pub(super) fn begin(said: &Value, out: &mut Out) -> Self {
        let kind = json::text(said, "type").unwrap_or("");
        let mut item = Self::new(match kind {
            "message" => {
                if let Some(phase) = json::some(said, "phase") {
                    let mut provider = json!(
                        {"wire": "openai-responses", "type": "message", "phase": phase});
                    if let Some(id) = json::some(said, "id") {
                        provider["id"] = id.clone();
                    }
                    out.carry(provider);
                }
                Kind::Message
            }
            "reasoning" => Kind::Reasoning,
            "function_call" | "custom_tool_call" => {
                let mut call = Call::new(out);
                let mut provider = json!({"wire": "openai-responses", "type": kind});
                for (key, from) in [("item_id", "id"), ("namespace", "namespace")] {
                    if let Some(value) = json::some(said, from) {
                        provider[key] = value.clone();
                    }
                }
                call.provider = Some(provider);
                call.identify(json::text(said, "call_id"), json::text(said, "name"), out);
                if kind == "function_call" {
                    Kind::Call(call)
                } else {
                    Kind::Custom(call)
                }
            }
            _ => Kind::Opaque,
        });
        item.id = json::text(said, "id").map(str::to_owned);
        item.given = arguments_in(said);
        item
    }

    /// True once its end was seen.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    /// Appends to a part.
    pub(super) fn grow(&mut self, place: Place, delta: &str, out: &mut Out) {
        match (&mut self.kind, place.0) {
            (Kind::Call(call) | Kind::Custom(call), PartKind::Arguments) => call.grow(delta, out),
            (Kind::Message, PartKind::Text | PartKind::Refusal)
            | (Kind::Reasoning, PartKind::Summary | PartKind::Thought)
                if !delta.is_empty() && !self.done =>
            {
                let block = self.block(place, out);
                if matches!(place.0, PartKind::Summary | PartKind::Thought) {
                    out.reasoning(block, delta);
                } else {
                    out.text(block, delta);
                }
            }
            _ => {}
        }
    }

    /// Gives out the whole text of a part if nothing of it came before.
    pub(super) fn fill(&mut self, place: Place, text: &str, out: &mut Out) {
        if !self.parts.contains_key(&place) {
            self.grow(place, text, out);
        }
    }

    /// Takes the arguments as the server says they are complete. True if the call may run.
    pub(super) fn arguments_done(&mut self, arguments: Option<&str>, out: &mut Out) -> bool {
        let Kind::Call(call) = &mut self.kind else {
            return false;
        };
        if let Some(arguments) = arguments {
            call.complete(arguments, out);
        }
        // without arguments, or with broken ones, only the end of the item tells whether it was cut
        if !call.is_ended() && call.is_whole() {
            call.end(out);
            return true;
        }
        false
    }

    /// Takes the input of a custom call if none of it came before.
    pub(super) fn input_done(&mut self, input: Option<&str>, out: &mut Out) {
        if let Kind::Custom(call) = &mut self.kind {
            if let Some(input) = input.filter(|_| call.raw.is_empty()) {
                call.grow(input, out);
            }
            self.whole_input = true;
        }
    }

    /// Takes the whole item at its end. True if it is a call that may run.
    pub(super) fn done(&mut self, said: &Value, out: &mut Out) -> bool {
        let incomplete = json::text(said, "status") == Some("incomplete");
        self.fill_parts(said, out);
        if matches!(&self.kind, Kind::Reasoning) {
            self.reasoning_done(said, out);
        } else {
            self.end_open(None, out);
        }
        self.done = true;
        match &mut self.kind {
            Kind::Call(call) => {
                call.identify(json::text(said, "call_id"), json::text(said, "name"), out);
                call.complete(&arguments_in(said), out);
                if call.is_ended() {
                    return false;
                }
                if incomplete {
                    call.refuse(out);
                } else {
                    call.end(out);
                }
                !incomplete
            }
            Kind::Custom(call) => {
                call.identify(json::text(said, "call_id"), json::text(said, "name"), out);
                if call.raw.is_empty() {
                    call.grow(&arguments_in(said), out);
                }
                if incomplete {
                    call.refuse(out);
                } else {
                    let input = Value::String(call.raw.clone());
                    call.end_with(input, out);
                }
                !incomplete
            }
            Kind::Opaque => {
                if !incomplete && json::text(said, "type").is_some() {
                    out.carry(json!({"wire": "openai-responses", "type": "opaque", "item": said}));
                }
                false
            }
            Kind::Message | Kind::Reasoning => false,
        }
    }

    /// Gives out the parts that came without deltas.
    fn fill_parts(&mut self, said: &Value, out: &mut Out) {
        let lists = [
            ("summary", PartKind::Summary, "text"),
            ("content", PartKind::Thought, "text"),
            ("content", PartKind::Text, "text"),
            ("content", PartKind::Refusal, "refusal"),
        ];
        for (list, kind, key) in lists {
            // some servers count parts from 1: if as many came as there are, nothing is missing
            let came = self.parts.keys().filter(|(of, _)| *of == kind).count();
            let text_alone = said.get(list).filter(|said| said.is_string());
            let parts = text_alone.map_or_else(|| json::items(said, list), std::slice::from_ref);
            let whole: Vec<(u64, &str)> = (0..)
                .zip(parts)
                .filter_map(|(at, part)| match part {
                    Value::String(text) if key == "text" => Some((at, text.as_str())),
                    part => Some((at, json::text(part, key)?)),
                })
                .collect();
            if came < whole.len() {
                for (at, text) in whole {
                    self.fill((kind, at), text, out);
                }
            }
        }
    }

    fn reasoning_done(&mut self, said: &Value, out: &mut Out) {
        let mut item = said.clone();
        if let Some(map) = item.as_object_mut() {
            let _status: Option<Value> = map.shift_remove("status");
        }
        let provider = json!({"wire": "openai-responses", "type": "reasoning", "item": item});
        if self.open.is_some() {
            self.end_open(Some(provider), out);
        } else {
            out.carry(provider);
        }
    }

    /// The block of a part; ends the part before it.
    fn block(&mut self, place: Place, out: &mut Out) -> u32 {
        match self.open {
            Some((open, block)) if open == place => block,
            _ => {
                self.end_open(None, out);
                let block = out.block();
                let _old: Option<u32> = self.parts.insert(place, block);
                self.open = Some((place, block));
                block
            }
        }
    }

    fn end_open(&mut self, provider: Option<Value>, out: &mut Out) {
        if let Some(((kind, _), block)) = mem::take(&mut self.open) {
            let refusal = (kind == PartKind::Refusal)
                .then(|| json!({"wire": "openai-responses", "type": "refusal"}));
            out.end(block, provider.or(refusal));
        }
    }

    /// The answer ended before the item did; `completed` if the server says that nothing is missing.
    /// True if it is a call that may run.
    pub(super) fn cut(mut self, completed: bool, out: &mut Out) -> bool {
        self.end_open(None, out);
        match &mut self.kind {
            Kind::Call(call) | Kind::Custom(call) if call.is_ended() => false,
            // with a completed answer, an item that was only announced is whole too
            Kind::Call(call) if completed => {
                call.complete(&self.given, out);
                call.end(out);
                true
            }
            Kind::Custom(call) if completed && self.whole_input => {
                let input = Value::String(call.raw.clone());
                call.end_with(input, out);
                true
            }
            Kind::Call(call) | Kind::Custom(call) => {
                call.refuse(out);
                false
            }
            _ => false,
        }
    }
}

/// The arguments or the input of an announced or whole call, as text.
fn arguments_in(said: &Value) -> String {
    let given = json::some(said, "arguments").or_else(|| json::some(said, "input"));
    match given {
        Some(Value::String(text)) => text.clone(),
        Some(given) => given.to_string(),
        None => String::new(),
    }
}
