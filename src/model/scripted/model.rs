//! A script as a model: what it claims to be, what it remembers, how large requests are. The registry
//! builds it; the driver asks it like any other. What a step plays is in `play`, which one in `position`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::position;
use super::script::{Script, Step, Text};
use super::{PROVIDER, play};
use crate::model::{Answer, Block, Model, ModelInfo, Place, Price, Request, Said};
use crate::protocol::{Fault, FaultKind, ModelRef, SessionId};

/// A model that plays a script.
#[derive(Debug)]
pub struct ScriptedModel {
    script: Arc<Script>,
    info: ModelInfo,
    idle_timeout: Duration,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    faults: HashMap<(SessionId, Option<usize>, usize), u32>,
    sides: usize,
}

impl ScriptedModel {
    /// A model `scripted/NAME` that plays `script`. One instance may serve many sessions.
    pub fn new(script: Arc<Script>, name: &str) -> Self {
        let a = script.model;
        let info = ModelInfo {
            model: ModelRef {
                provider: PROVIDER.to_owned(),
                model: name.to_owned(),
            },
            label: if script.name.is_empty() {
                name.to_owned()
            } else {
                script.name.clone()
            },
            context: a.context,
            max_input: None,
            max_output: a.max_output,
            tools: a.tools,
            reasoning: true,
            images: a.images,
            pdf: a.images,
            price: Some(Price {
                input: a.input_price,
                output: a.output_price,
                cache_read: a.input_price / 10.0,
                cache_write: a.input_price * 1.25,
                tiers: Vec::new(),
            }),
            known: true,
        };
        Self {
            script,
            info,
            idle_timeout: Duration::from_mins(5),
            memory: Mutex::default(),
        }
    }

    /// Ends stalls after `timeout`, as the configuration says for real streams.
    #[must_use]
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    fn side(&self) -> Step {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let text = if self.script.side.is_empty() {
            "Scripted session".to_owned()
        } else {
            let text = self.script.side[memory.sides % self.script.side.len()].clone();
            memory.sides += 1;
            text
        };
        Step {
            text: Some(Text::Plain(text)),
            ..Step::default()
        }
    }

    fn step(&self, request: &Request) -> (Step, Place) {
        let place = request
            .place
            .unwrap_or_else(|| position::find_in(&self.script, request));
        let mut step = position::step(place, &self.script)
            .cloned()
            .or_else(|| self.script.default.clone())
            .unwrap_or_else(|| Step {
                text: Some(Text::Plain("The script is over.".to_owned())),
                ..Step::default()
            });
        if let Some(fault) = &step.fault {
            let key = (request.session, place.branch, place.played);
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            let count = memory.faults.entry(key).or_default();
            if *count < fault.times {
                *count += 1;
            } else {
                step.fault = None;
            }
        }
        (step, place)
    }
}

impl Model for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn place(&self, newest_first: &mut dyn Iterator<Item = Said<'_>>) -> Option<Place> {
        Some(position::find(&self.script, newest_first))
    }

    fn ask(&self, request: Arc<Request>) -> Answer {
        if self.script.model.enforce_limit && estimate(&request) > self.info.context {
            let fault = overflow();
            return Box::pin(futures_util::stream::once(async move { Err(fault) }));
        }
        let (step, prefix) = if request.tools.is_empty() {
            (self.side(), "scr_side".to_owned())
        } else {
            let (step, place) = self.step(&request);
            (step, position::id_prefix(place))
        };
        play::play(play::Plan {
            deltas: play::deltas(&step, &prefix, &request),
            delay: Duration::from_millis(step.delay_ms),
            pace: step.pace,
            fault: step.fault,
            idle_timeout: self.idle_timeout,
        })
    }
}

pub(super) fn overflow() -> Fault {
    let mut fault = Fault::new(
        FaultKind::ContextOverflow,
        "The request is larger than the window of the scripted model.",
        "Compact the conversation with /compact.",
    );
    fault.status = Some(400);
    fault
}

/// Characters / 4 of all that a request holds.
pub(super) fn estimate(request: &Request) -> u64 {
    let mut bytes = request.system_stable.len() + request.system_dynamic.len();
    for tool in request.tools.iter() {
        bytes += tool.name.len() + tool.description.len() + 400;
    }
    for message in request.messages.iter() {
        bytes += message.blocks.iter().map(block_size).sum::<usize>();
    }
    (bytes / 4) as u64
}

fn block_size(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Reasoning { text, .. } => text.len(),
        // About 1,500 tokens, whatever its size on disk.
        Block::File { .. } => 6_000,
        Block::Call { name, input, .. } => name.len() + value_size(input),
        Block::Result { output, files, .. } => {
            output.len() + files.iter().map(block_size).sum::<usize>()
        }
    }
}

fn value_size(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 6,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|v| value_size(v) + 1).sum(),
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + value_size(v) + 4).sum(),
    }
}
