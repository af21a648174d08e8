//! Where reasoning hides in a chat answer: `reasoning_details` and `<think>` at the start of the text.

use serde_json::Value;

use crate::model::decode::json;

/// What the visible reasoning is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// `reasoning_content`, `reasoning` or `reasoning_text`.
    Field,
    /// `reasoning_details`.
    Details,
}

/// Fields with the text of reasoning, with what the decoder's table calls them. Those that only few
/// servers have do not go back.
const FIELDS: [(&str, &str); 6] = [
    ("reasoning_content", "reasoning_content"),
    ("reasoning", "reasoning"),
    ("reasoning_text", "reasoning_text"),
    ("thinking", "think"),
    ("thinking_content", "think"),
    ("thought", "think"),
];

/// The text of the first field that has any, with the field's name. An object instead of a text is read
/// too, but does not go back.
pub(super) fn field_text(delta: &Value) -> Option<(&'static str, String)> {
    FIELDS.iter().find_map(|(key, name)| {
        let said = delta.get(key)?;
        let name = if said.is_string() { name } else { "think" };
        Some((name, json::joined_text(said))).filter(|(_, text)| !text.is_empty())
    })
}

/// The visible text in details or thinking blocks.
pub(super) fn detail_text(details: &[Value]) -> String {
    let text = |detail| {
        ["text", "summary", "thinking"]
            .iter()
            .find_map(|key| json::text(detail, key))
    };
    details.iter().filter_map(text).collect()
}

/// Details as they must go back: fragments of one entry joined again.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Value>);

impl Details {
    /// Takes the details of a chunk.
    pub(super) fn take(&mut self, details: &[Value]) {
        for detail in details.iter().filter(|detail| detail.is_object()) {
            match self.0.last_mut().filter(|last| continues(last, detail)) {
                Some(last) => join(last, detail),
                None => self.0.push(detail.clone()),
            }
        }
    }

    /// The list, none if it is empty.
    pub(super) fn into_value(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Array(self.0))
    }
}

/// True if `next` is a further piece of `last`: the same kind of text under the same index.
fn continues(last: &Value, next: &Value) -> bool {
    let kind = json::text(next, "type");
    let is_text = matches!(
        kind,
        Some("reasoning.text" | "reasoning.summary" | "thinking")
    );
    let more = json::text(next, "text").or_else(|| json::text(next, "thinking"));
    let ended = json::text(last, "signature").is_some() && more.is_some();
    is_text && !ended && json::text(last, "type") == kind && last.get("index") == next.get("index")
}

fn join(last: &mut Value, next: &Value) {
    let (Some(last), Some(next)) = (last.as_object_mut(), next.as_object()) else {
        return;
    };
    for (key, value) in next {
        match (last.get_mut(key), value) {
            (Some(Value::String(old)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "thinking") =>
            {
                old.push_str(more);
            }
            (Some(old), value) if old.is_null() || old == "" => *old = value.clone(),
            (Some(_), _) => {}
            (None, value) => {
                let _old: Option<Value> = last.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Takes `<think>…</think>` (or `<thought>…</thought>`) at the very start of the text apart, however it is
/// cut. Later tags are text: a model may well write about them.
#[derive(Debug, Default)]
pub(super) struct Tags {
    state: TagState,
    /// Text that may still turn out to be a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TagState {
    #[default]
    Start,
    Inside(&'static str),
    Idle,
}

const TAGS: [(&str, &str); 5] = [
    ("<think>", "</think>"),
    ("<thought>", "</thought>"),
    ("<thinking>", "</thinking>"),
    // Mistral's reasoning models on servers that do not take it apart, and Seed's
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
];

/// White space before a tag, in bytes, that is still waited for.
const MAX_INDENT: usize = 64;

impl Tags {
    /// True once no tag can come any more.
    pub(super) fn is_idle(&self) -> bool {
        self.state == TagState::Idle
    }

    /// Pieces of text, true for a thought.
    pub(super) fn feed(&mut self, text: &str) -> Vec<(bool, String)> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        if self.state == TagState::Start {
            let start = self.held.trim_start();
            let opened = TAGS
                .iter()
                .find_map(|(open, close)| Some((start.strip_prefix(open)?, close)));
            if let Some((inside, close)) = opened {
                self.held = inside.to_owned();
                self.state = TagState::Inside(close);
            } else if self.held.len() > MAX_INDENT
                || !TAGS.iter().any(|(open, _)| open.starts_with(start))
            {
                self.state = TagState::Idle;
            }
        }
        if let TagState::Inside(close) = self.state {
            if let Some((thought, rest)) = self.held.split_once(close) {
                pieces.push((true, thought.to_owned()));
                self.held = rest.to_owned();
                self.state = TagState::Idle;
            } else {
                let keep = longest_start(&self.held, close);
                let rest = self.held.split_off(self.held.len() - keep);
                pieces.push((true, std::mem::replace(&mut self.held, rest)));
            }
        }
        if self.state == TagState::Idle {
            pieces.push((false, std::mem::take(&mut self.held)));
        }
        pieces.retain(|(_, piece)| !piece.is_empty());
        pieces
    }

    /// What was held back and is no tag after all; true for a thought.
    pub(super) fn flush(&mut self) -> Option<(bool, String)> {
        let thought = matches!(self.state, TagState::Inside(_));
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then_some((thought, held))
    }
}

/// How many bytes at the end of `text` could be the start of `tag`.
fn longest_start(text: &str, tag: &str) -> usize {
    (1..tag.len().min(text.len() + 1))
        .rev()
        .find(|length| text.as_bytes().ends_with(&tag.as_bytes()[..*length]))
        .unwrap_or(0)
}
