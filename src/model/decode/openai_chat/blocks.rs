//! The text and reasoning blocks of a chat answer: which one grows, and when it ends.
//!
//! `super` gives it what stands in a chunk; `thoughts` knows where reasoning hides. Nothing of calls.

use serde_json::{Value, json};

use super::thoughts::{self, Details, Source, Tags};
use crate::model::decode::json;
use crate::model::decode::out::Out;

/// The blocks of one answer.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Open,
    tags: Tags,
    /// Where the visible reasoning comes from; the same text often comes twice.
    source: Option<Source>,
    /// True once there was any text.
    spoke: bool,
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
        kept: Box<Kept>,
    },
}

/// What goes back with reasoning.
#[derive(Debug, Default)]
struct Kept {
    details: Details,
    /// LiteLLM's `thinking_blocks`.
    blocks: Details,
    /// Copilot's `reasoning_opaque`.
    opaque: Option<Value>,
    extra: Option<Value>,
}

impl Blocks {
    /// True once there was any text.
    pub(super) const fn spoke(&self) -> bool {
        self.spoke
    }

    /// Text that may begin with a `<think>`.
    pub(super) fn content(&mut self, text: &str, out: &mut Out) {
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

    /// Content in a list of items, or one item alone.
    pub(super) fn content_items(&mut self, items: &[Value], out: &mut Out) {
        for item in items {
            if let Some(thinking) = item.get("thinking") {
                let text = json::joined_text(thinking);
                if !text.is_empty() {
                    self.grow_reasoning("thinking", &text, out);
                }
            } else if let Some(refusal) = json::text(item, "refusal") {
                self.refusal(refusal, out);
            } else {
                self.content(&json::joined_text(item), out);
            }
        }
    }

    fn text(&mut self, text: &str, out: &mut Out) {
        self.spoke = true;
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

    /// A refusal, which is text of its own kind.
    pub(super) fn refusal(&mut self, text: &str, out: &mut Out) {
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

    /// Reasoning of a chunk: visible text from the first field that has any, and what goes back.
    pub(super) fn reasoning(&mut self, delta: &Value, out: &mut Out) {
        let details = json::items(delta, "reasoning_details");
        let blocks = json::items(delta, "thinking_blocks");
        if let Some((field, text)) = thoughts::field_text(delta) {
            self.field_reasoning(field, &text, out);
        } else if self.source != Some(Source::Field) {
            let mut text = thoughts::detail_text(details);
            if text.is_empty() {
                text = thoughts::detail_text(blocks);
            }
            if !text.is_empty() {
                self.source = Some(Source::Details);
                self.grow_reasoning("reasoning_details", &text, out);
            }
        }
        let opaque = json::text(delta, "reasoning_opaque");
        if details.is_empty() && blocks.is_empty() && opaque.is_none() {
            return;
        }
        self.open_reasoning("", out);
        if let Open::Reasoning { kept, .. } = &mut self.open {
            kept.details.take(details);
            kept.blocks.take(blocks);
            kept.opaque = opaque.map(Value::from).or(kept.opaque.take());
        }
    }

    /// Reasoning from the named field; not again if it came in details already.
    pub(super) fn field_reasoning(&mut self, field: &'static str, text: &str, out: &mut Out) {
        if self.source == Some(Source::Details) {
            return;
        }
        self.source = Some(Source::Field);
        self.grow_reasoning(field, text, out);
    }

    /// Reasoning that came in this field or between these tags.
    pub(super) fn grow_reasoning(&mut self, field: &'static str, text: &str, out: &mut Out) {
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
                kept: Box::default(),
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
    pub(super) fn message_extra(&mut self, delta: &Value, out: &mut Out) {
        let extra = delta
            .get("extra_content")
            .filter(|extra| extra.pointer("/google/thought_signature").is_some());
        if let Some(said) = extra {
            self.open_reasoning("", out);
            if let Open::Reasoning { kept, .. } = &mut self.open {
                kept.extra = Some(said.clone());
            }
        }
    }

    /// Ends the block that grows.
    fn end_block(&mut self, out: &mut Out) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => {}
            Open::Text(block) => out.end(block, None),
            Open::Refusal(block) => {
                let provider = json!({"wire": "openai-chat", "type": "refusal"});
                out.end(block, Some(provider));
            }
            Open::Reasoning { block, field, kept } => {
                let mut provider =
                    json!({"wire": "openai-chat", "type": "reasoning", "field": field});
                for (key, value) in [
                    ("reasoning_details", kept.details.into_value()),
                    ("thinking_blocks", kept.blocks.into_value()),
                    ("reasoning_opaque", kept.opaque),
                    ("extra_content", kept.extra),
                ] {
                    if let Some(value) = value {
                        provider[key] = value;
                    }
                }
                out.end(block, Some(provider));
            }
        }
    }

    /// Gives out what was held back and ends the block that grows.
    pub(super) fn close(&mut self, out: &mut Out) {
        match self.tags.flush() {
            Some((true, held)) => self.grow_reasoning("think", &held, out),
            Some((false, held)) => self.text(&held, out),
            None => {}
        }
        self.end_block(out);
    }
}
