//! Deltas → parts: what the model streams becomes part writes, in the order of the blocks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{State, Turn};
use crate::agent::input::StreamId;
use crate::model::Delta;
use crate::protocol::{Finish, MessageId, Millis, PartBody, PartId, ToolPart, ToolState};

/// Arguments that stream are written whenever they grew by so much.
const ARGUMENTS_STEP: usize = 2_048;
/// Status is announced at most so often while text streams, in milliseconds.
const STATUS_EVERY: Millis = 250;

/// The blocks of an answer that were seen so far, by number.
#[derive(Debug, Default)]
pub(super) struct Blocks(BTreeMap<u32, Block>);

#[derive(Debug, Clone)]
struct Block {
    part: PartId,
    open: bool,
    /// Raw arguments of a call that still streams.
    raw: String,
    written: usize,
}

impl Blocks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Turn {
    /// Takes what came off the network together.
    pub(super) fn deltas(&mut self, now: Millis, stream: StreamId, deltas: Vec<Delta>) {
        match &self.state {
            State::Step(step) if step.stream == stream => {}
            State::Compacting(compacting) if compacting.stream() == stream => {
                self.summary_deltas(now, deltas);
                return;
            }
            _ => return,
        }
        let was_waiting = matches!(&self.state, State::Step(s) if s.blocks.is_empty());
        let mut grown: Option<(PartId, MessageId, String)> = None;
        for delta in deltas {
            let more = self.text_of(now, &delta);
            if let Some((part, message, text)) = more {
                match &mut grown {
                    Some((last, _, all)) if *last == part => all.push_str(&text),
                    _ => {
                        self.flush(grown.take());
                        grown = Some((part, message, text));
                    }
                }
                continue;
            }
            self.flush(grown.take());
            self.delta(now, delta);
        }
        self.flush(grown.take());
        if was_waiting || now - self.last_status >= STATUS_EVERY {
            self.announce_status(now);
        }
    }

    fn flush(&mut self, grown: Option<(PartId, MessageId, String)>) {
        if let Some((part, message, text)) = grown {
            self.append_text(message, part, text);
        }
    }

    /// Text to append to an open block; none if the delta is anything else or opens a block.
    fn text_of(&mut self, _now: Millis, delta: &Delta) -> Option<(PartId, MessageId, String)> {
        let (Delta::Text { block, text } | Delta::Reasoning { block, text }) = delta else {
            return None;
        };
        let State::Step(step) = &mut self.state else {
            return None;
        };
        let known = step.blocks.0.get(block)?;
        step.streamed += text.len() as u64;
        Some((known.part, step.message, text.clone()))
    }

    fn delta(&mut self, now: Millis, delta: Delta) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        let message = step.message;
        match delta {
            Delta::Text { block, text } => {
                step.streamed += text.len() as u64;
                let body = PartBody::Text {
                    text,
                    synthetic: false,
                    ignored: false,
                };
                self.open(now, message, block, body);
            }
            Delta::Reasoning { block, text } => {
                step.streamed += text.len() as u64;
                let body = PartBody::Reasoning {
                    text,
                    provider: None,
                    ignored: false,
                };
                self.open(now, message, block, body);
            }
            Delta::BlockEnd { block, provider } => self.block_end(now, block, provider),
            Delta::CallStart { block, id, name } => self.call_start(now, block, id, name),
            Delta::CallArguments { block, json } => self.call_arguments(block, &json),
            Delta::CallEnd {
                block,
                id,
                name,
                arguments,
                provider,
            } => {
                self.call_end(now, block, (id, name), arguments, provider);
            }
            Delta::Usage(usage) => step.usage = usage,
            Delta::Finish { reason, raw } => step.answered = Some((reason, raw)),
        }
    }

    fn open(&mut self, now: Millis, message: MessageId, block: u32, body: PartBody) {
        let part = self.create_part(now, message, body, false);
        if let State::Step(step) = &mut self.state {
            let opened = Block {
                part,
                open: true,
                raw: String::new(),
                written: 0,
            };
            step.blocks.0.insert(block, opened);
        }
    }

    /// A block is complete; a reasoning block may exist for its opaque data alone.
    fn block_end(&mut self, now: Millis, block: u32, provider: Option<Value>) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        let message = step.message;
        let Some(known) = step.blocks.0.get_mut(&block) else {
            if provider.is_some() {
                let body = PartBody::Reasoning {
                    text: String::new(),
                    provider,
                    ignored: false,
                };
                self.create_part(now, message, body, true);
            }
            return;
        };
        known.open = false;
        let part = known.part;
        self.update_part(part, |p| {
            p.end = Some(now);
            match &mut p.body {
                PartBody::Reasoning { provider: kept, .. } => *kept = provider,
                PartBody::Tool(tool) if provider.is_some() => tool.provider = provider,
                _ => {}
            }
        });
    }

    fn call_start(&mut self, now: Millis, block: u32, id: Option<String>, name: String) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        let message = step.message;
        let call = id.unwrap_or_default();
        let state = ToolState::Pending { raw: String::new() };
        let body = PartBody::Tool(ToolPart {
            call,
            tool: name,
            state,
            provider: None,
        });
        self.open(now, message, block, body);
    }

    fn call_arguments(&mut self, block: u32, json: &str) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        step.streamed += json.len() as u64;
        let Some(known) = step.blocks.0.get_mut(&block) else {
            return;
        };
        known.raw.push_str(json);
        if known.raw.len() - known.written < ARGUMENTS_STEP {
            return;
        }
        known.written = known.raw.len();
        let (part, so_far) = (known.part, known.raw.clone());
        self.update_part(part, |p| set_pending(&mut p.body, so_far));
    }

    fn call_end(
        &mut self,
        now: Millis,
        block: u32,
        (id, name): (Option<String>, String),
        arguments: Result<Value, String>,
        provider: Option<Value>,
    ) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        if !step.blocks.0.contains_key(&block) {
            self.call_start(now, block, id.clone(), name.clone());
        }
        let State::Step(step) = &mut self.state else {
            return;
        };
        let Some(known) = step.blocks.0.get_mut(&block) else {
            return;
        };
        known.open = false;
        let part = known.part;
        let call = id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| format!("call_{:032x}", part.raw()));
        let state = match &arguments {
            Ok(input) => ToolState::Running {
                input: input.clone(),
                title: String::new(),
                metadata: Value::Null,
                tail: String::new(),
                start: now,
            },
            Err(raw) => ToolState::Pending { raw: raw.clone() },
        };
        let tool = name.clone();
        self.update_part(part, |p| {
            p.body = PartBody::Tool(ToolPart {
                call,
                tool,
                state,
                provider,
            });
        });
        match arguments {
            Ok(input) => self.call_complete(part, &name, input),
            Err(raw) => self.call_broken(now, part, &name, &raw),
        }
    }

    /// The stream is over: what is open is closed, calls that never became complete are errors.
    pub(super) fn stream_ended(&mut self, now: Millis, stream: StreamId) {
        match &mut self.state {
            State::Step(step) if step.stream == stream => {
                if step.answered.is_none() {
                    step.answered = Some((Finish::Other, String::new()));
                }
            }
            State::Compacting(compacting) if compacting.stream() == stream => {
                self.summary_ended(now);
                return;
            }
            _ => return,
        }
        self.close_blocks(now);
        // Not before: a call that ends while blocks are being closed must not end the step.
        if let State::Step(step) = &mut self.state {
            step.stream = 0;
        }
        self.start_calls(now);
        self.announce_status(now);
        self.finish_if_done(now);
    }

    /// Closes what the stream left open.
    pub(super) fn close_blocks(&mut self, now: Millis) {
        let State::Step(step) = &mut self.state else {
            return;
        };
        let open: Vec<(u32, Block)> = step
            .blocks
            .0
            .iter()
            .filter(|(_, b)| b.open)
            .map(|(n, b)| (*n, b.clone()))
            .collect();
        for (number, block) in open {
            let is_call = matches!(
                self.conversation.part(block.part).map(|p| &p.body),
                Some(PartBody::Tool(_))
            );
            if !is_call {
                self.block_end(now, number, None);
                continue;
            }
            let (id, name) = match self.conversation.part(block.part).map(|p| &p.body) {
                Some(PartBody::Tool(tool)) => (Some(tool.call.clone()), tool.tool.clone()),
                _ => (None, String::new()),
            };
            self.call_end(now, number, (id, name), Err(block.raw), None);
        }
    }
}

fn set_pending(body: &mut PartBody, so_far: String) {
    if let PartBody::Tool(ToolPart {
        state: ToolState::Pending { raw },
        ..
    }) = body
    {
        *raw = so_far;
    }
}

/// What the model reads when its arguments are no JSON object.
pub(super) fn bad_arguments(raw: &str) -> String {
    let problem = match serde_json::from_str::<Value>(raw) {
        Ok(Value::Object(_)) => "they were cut off before the call was complete".to_owned(),
        Ok(other) => format!("they are {} and not a JSON object", kind(&other)),
        Err(error) if error.is_eof() => {
            "they end in the middle of the JSON; the answer may have reached its output limit"
                .to_owned()
        }
        Err(error) => format!("they are not valid JSON: {error}"),
    };
    format!(
        "The call was not run: its arguments could not be read, because {problem}. Call the tool again \
         with one complete JSON object; if the arguments are long, split the work into several calls."
    )
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
