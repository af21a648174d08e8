//! A turn at work in a replay, and what stands in for the driver: calls are allowed and get the
//! results that the session holds; disk, snapshots and time are passed over.

use std::collections::BTreeMap;

use crate::agent::effect::{Durability, Effect};
use crate::agent::input::{Input, Judgement, StreamId, Timer};
use crate::agent::turn::{Setup, Turn};
use crate::context::Conversation;
use crate::protocol::{MessageId, Millis, Part, PartBody, PartId, ToolState};
use crate::tools::{Access, Failure, Success};

/// The turn at work.
pub(super) struct Live {
    pub(super) turn: Turn,
    setup: Setup,
    pub(super) now: Millis,
    /// The stored message that its newest one stands for (the one before, while it asks).
    pub(super) tip: MessageId,
    /// The stream that it waits for.
    pub(super) asked: Option<StreamId>,
    /// The wait before the next attempt.
    pub(super) timer: Option<Timer>,
}

impl Live {
    /// A turn over `conversation` that begins a step after the message `tip`.
    pub(super) fn new(
        setup: Setup,
        conversation: Conversation,
        tip: MessageId,
        now: Millis,
    ) -> Self {
        let mut turn = Turn::new(setup.clone(), conversation, &BTreeMap::new());
        let effects = turn.begin_again(now);
        let mut live = Self {
            turn,
            setup,
            now,
            tip,
            asked: None,
            timer: None,
        };
        live.perform(effects, &[]);
        live
    }

    pub(super) fn give(&mut self, input: Input, stored: &[Part]) {
        let effects = self.turn.apply(self.now, input);
        self.perform(effects, stored);
    }

    /// Does what the driver would do, without model, tools, disk or time.
    pub(super) fn perform(&mut self, effects: Vec<Effect>, stored: &[Part]) {
        for effect in effects {
            let input = match effect {
                Effect::Ask { stream, .. } => {
                    self.asked = Some(stream);
                    continue;
                }
                Effect::Sleep { timer, .. } => {
                    // nobody is shown the queue
                    if timer != Timer::Queue {
                        self.timer = Some(timer);
                    }
                    continue;
                }
                Effect::Judge { part, .. } => Some(Input::Judged {
                    part,
                    judgement: Judgement::Allow(Access {
                        title: self.stored_call(part, stored).map_or("", title).to_owned(),
                        needs: Vec::new(),
                        writes: Vec::new(),
                        can_write: false,
                        says: String::new(),
                    }),
                }),
                Effect::Run { part, .. } => self
                    .stored_call(part, stored)
                    .and_then(result)
                    .map(|result| Input::ToolEnded { part, result }),
                Effect::Commit {
                    sync: Durability::Barrier(part),
                    ..
                } => Some(Input::Synced {
                    part,
                    result: Ok(()),
                }),
                _ => None,
            };
            if let Some(input) = input {
                self.give(input, stored);
            }
        }
    }

    /// The stored call that a call of the turn stands for: the same one in order.
    fn stored_call<'s>(&self, part: PartId, stored: &'s [Part]) -> Option<&'s ToolState> {
        let message = self.turn.conversation().part(part)?.message;
        let entry = self.turn.conversation().entry(message)?;
        let is_call = |p: &&Part| matches!(p.body, PartBody::Tool(_));
        let nth = entry
            .parts
            .iter()
            .filter(is_call)
            .position(|p| p.id == part)?;
        match &stored.iter().filter(is_call).nth(nth)?.body {
            PartBody::Tool(tool) => Some(&tool.state),
            _ => None,
        }
    }

    /// What the next process does with what a dead one left open.
    pub(super) fn recover(&mut self) {
        let conversation = self.turn.conversation().clone();
        self.setup.seed += 1;
        self.turn = Turn::new(self.setup.clone(), conversation, &BTreeMap::new());
        drop(self.turn.recover(self.now));
    }
}

fn title(state: &ToolState) -> &str {
    match state {
        ToolState::Completed { title, .. }
        | ToolState::Error { title, .. }
        | ToolState::Running { title, .. } => title,
        ToolState::Pending { .. } => "",
    }
}

/// The recorded result of a call; none for one that was cut.
fn result(state: &ToolState) -> Option<Result<Success, Failure>> {
    match state {
        ToolState::Completed {
            output,
            title,
            metadata,
            attachments,
            truncated,
            ..
        } => Some(Ok(Success {
            output: output.clone(),
            title: title.clone(),
            metadata: metadata.clone(),
            attachments: attachments.clone(),
            truncated: truncated.clone(),
            wrote: Vec::new(),
        })),
        ToolState::Error {
            error,
            title,
            metadata,
            interrupted: false,
            ..
        } => Some(Err(Failure {
            message: error.clone(),
            title: title.clone(),
            metadata: metadata.clone(),
            ..Failure::default()
        })),
        _ => None,
    }
}
