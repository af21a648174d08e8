//! Asking models: the request is assembled here, its stream runs in a task of its own.

use std::sync::Arc;

use futures_util::StreamExt;
use tokio_util::task::AbortOnDropHandle;

use super::media::Bytes;
use super::{Agent, Back, Streamed};
use crate::agent::budget::Spent;
use crate::agent::effect::Purpose;
use crate::agent::input::{Input, StreamId};
use crate::context::{assemble, compact, prompt, said};
use crate::model::{Block, Delta, Messages, Model, Request, RequestMessage, Usage};
use crate::protocol::{Fault, FaultKind, FilePart};

/// Longest title.
const TITLE_CHARS: usize = 60;
/// Most output tokens of a title, reasoning included.
const TITLE_TOKENS: u64 = 1_000;
/// Most output tokens of a summary.
const SUMMARY_TOKENS: u64 = 16_000;

impl Agent {
    /// Sends a request; a model that cannot be had is a failed stream.
    pub(super) fn ask_model(&mut self, stream: StreamId, purpose: &Purpose) -> Option<Input> {
        if self.waits_for_servers(stream, purpose) {
            return None;
        }
        let model = match self.model_for(purpose) {
            Ok(model) => model,
            Err(fault) => return Some(Input::StreamFailed { stream, fault }),
        };
        let request = Arc::new(self.request(purpose, model.as_ref()));
        if matches!(purpose, Purpose::Step { .. }) {
            self.active.ledger.sent(self.ports.now(), &request);
        }
        if !request.tools.is_empty() && !model.info().tools {
            let message = format!(
                "{} cannot call tools, and this agent needs them.",
                model.info().model
            );
            let hint = "Choose another model with /model.";
            let fault = Fault::new(FaultKind::Config, message, hint);
            return Some(Input::StreamFailed { stream, fault });
        }
        let sender = self.active.stream_sender.clone();
        let tape = self.start_tape(stream);
        let task = tokio::spawn(async move {
            let mut answer = match tape {
                Some(tape) => model.ask_taped(request, tape),
                None => model.ask(request),
            };
            while let Some(batch) = answer.next().await {
                let (sent, failed) = match batch {
                    Ok(deltas) => (Streamed::Deltas(stream, deltas), false),
                    Err(fault) => (Streamed::End(stream, Err(fault)), true),
                };
                if sender.send(sent).await.is_err() || failed {
                    return;
                }
            }
            drop(sender.send(Streamed::End(stream, Ok(()))).await);
        });
        self.active
            .streams
            .insert(stream, AbortOnDropHandle::new(task));
        None
    }

    fn model_for(&mut self, purpose: &Purpose) -> Result<Arc<dyn Model>, Fault> {
        if let (Purpose::Summary { .. }, Some(other)) = (purpose, self.ports.summarizer()) {
            return self.ports.models.model(other);
        }
        let wanted = &self.active.turn.info().model;
        if let Some(model) = &self.active.model
            && model.info().model == *wanted
        {
            return Ok(Arc::clone(model));
        }
        if *wanted == super::active::no_model() {
            return Err(Fault::new(
                FaultKind::Auth,
                "No model can be asked: no API key is set.",
                "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, run `dunlin auth login`, or \
                 try `dunlin demo`.",
            ));
        }
        let model = self.ports.models.model(wanted)?;
        self.active.model = Some(Arc::clone(&model));
        Ok(model)
    }

    fn request(&mut self, purpose: &Purpose, model: &dyn Model) -> Request {
        let active = &mut self.active;
        let files = Bytes::new(active.store.as_ref(), &self.ports.worktree);
        let bytes = |file: &FilePart| files.of(file);
        let info = model.info();
        let session = active.turn.info().id;
        let base = Request {
            model: info.model.clone(),
            system_stable: Arc::clone(&active.system_stable),
            system_dynamic: Arc::clone(&active.system_dynamic),
            messages: Messages::default(),
            tools: Arc::clone(&active.specs),
            max_output: info
                .max_output
                .min(self.ports.config.context.output_reserve),
            effort: self.ports.config.effort,
            session,
            place: None,
        };
        let request = match purpose {
            Purpose::Step { tools, instruction } => {
                let mut messages = assemble::messages(active.turn.conversation_mut(), &bytes);
                if !instruction.is_empty() {
                    messages.push(user_says(&info.model, instruction.clone()));
                }
                let tools = if *tools {
                    Arc::clone(&base.tools)
                } else {
                    Arc::from([])
                };
                let place = model.place(&mut said::newest_first(active.turn.conversation()));
                Request {
                    messages,
                    tools,
                    place,
                    ..base
                }
            }
            Purpose::Summary {
                chunk,
                notes,
                focus,
            } => {
                let mut messages = Messages::default();
                if !notes.is_empty() {
                    messages.push(user_says(&info.model, compact::notes_so_far(notes)));
                }
                let conversation = active.turn.conversation_mut();
                let places = chunk.places.clone();
                let head = assemble::messages_in(conversation, places, chunk.clip, &bytes);
                messages.extend(head.iter().map(Arc::clone));
                messages.push(user_says(&info.model, compact::summary_request(focus)));
                let own = self.ports.agent_named("compaction");
                let system = own.and_then(|a| a.prompt.as_deref());
                Request {
                    messages,
                    tools: Arc::from([]),
                    system_stable: system.unwrap_or(compact::SUMMARY_SYSTEM).into(),
                    system_dynamic: "".into(),
                    max_output: base.max_output.min(SUMMARY_TOKENS),
                    ..base
                }
            }
        };
        self.tell_missing(files.missing());
        request
    }

    /// A title for the first prompt, once the first answer streams: it must not stand in its way.
    pub(super) fn start_title(&mut self) {
        let Some(text) = self.active.wants_title.take() else {
            return;
        };
        let named = self.ports.config.small_model.clone();
        let wanted = named.unwrap_or_else(|| self.active.turn.info().model.clone());
        let Ok(model) = self.ports.models.model(&wanted) else {
            return;
        };
        let clipped: String = text.chars().take(4_000).collect();
        let request = Arc::new(Request {
            model: wanted.clone(),
            system_stable: prompt::TITLE.into(),
            system_dynamic: "".into(),
            messages: vec![user_says(&wanted, clipped)].into(),
            tools: Arc::from([]),
            max_output: TITLE_TOKENS,
            effort: None,
            session: self.active.turn.info().id,
            place: None,
        });
        let back = self.active.back.clone();
        tokio::spawn(async move {
            let mut usage = Usage::default();
            let title = read_title(model.as_ref(), request, &mut usage).await;
            let used = usage.tokens();
            if used.total() > 0 {
                let price = model.info().price.as_ref();
                let spent = Spent::of_title(&used, price.map(|p| p.cost(&used)));
                drop(back.send(Back::Input(Input::Spent(spent))));
            }
            // A failure is silent: the first line of the prompt stays the title.
            if let Some(title) = title {
                drop(back.send(Back::Input(Input::Titled(title))));
            }
        });
    }
}

/// Asks for a title; what it took is in `usage`, also when none came.
async fn read_title(model: &dyn Model, request: Arc<Request>, usage: &mut Usage) -> Option<String> {
    let mut answer = model.ask(request);
    let mut text = String::new();
    while let Some(batch) = answer.next().await {
        for delta in batch.ok()? {
            match delta {
                Delta::Text { text: more, .. } => text.push_str(&more),
                Delta::Usage(counted) => *usage = counted,
                _ => {}
            }
        }
    }
    let line = text.lines().map(str::trim).find(|l| !l.is_empty())?;
    let title: String = line
        .trim_matches(['"', '\'', '#', ' ', '.'])
        .chars()
        .take(TITLE_CHARS)
        .collect();
    (!title.is_empty()).then_some(title)
}

/// A user message that is never stored.
fn user_says(model: &crate::protocol::ModelRef, text: String) -> Arc<RequestMessage> {
    Arc::new(RequestMessage {
        assistant: false,
        blocks: vec![Block::Text(text)],
        model: model.clone(),
    })
}
