//! Questions that a tool asks the user: they join the same inbox as permission asks.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{Agent, Back};
use crate::protocol::{Answer, Ask, AskBody, AskId, Event, PartId};
use crate::tools::AskUser;

/// A question on its way to the user.
#[derive(Debug)]
pub(crate) struct Question {
    part: PartId,
    body: AskBody,
    answer: oneshot::Sender<Answer>,
}

/// A tool that waits for its answer.
#[derive(Debug)]
pub(crate) struct Waiting {
    answer: oneshot::Sender<Answer>,
}

/// The tools' end.
#[derive(Debug)]
pub(crate) struct ToolQuestions {
    back: mpsc::UnboundedSender<Back>,
}

impl ToolQuestions {
    pub(crate) const fn new(back: mpsc::UnboundedSender<Back>) -> Self {
        Self { back }
    }
}

impl AskUser for ToolQuestions {
    fn ask(&self, part: PartId, body: AskBody) -> BoxFuture<'static, Option<Answer>> {
        let (sender, answer) = oneshot::channel();
        let asked = Question {
            part,
            body,
            answer: sender,
        };
        let sent = self.back.send(Back::Question(asked)).is_ok();
        async move { if sent { answer.await.ok() } else { None } }.boxed()
    }
}

impl Agent {
    pub(super) fn asked_by_tool(&mut self, question: Question) {
        let now = self.ports.now();
        let id = self.active.turn.mint().ask(now);
        let session = self.active.turn.info().id;
        let Question {
            part,
            mut body,
            answer,
        } = question;
        // A tool does not know what the user is told of the place.
        if let AskBody::Permission { place, .. } = &mut body {
            *place = self.place_line();
        }
        self.active.questions.insert(id, Waiting { answer });
        let ask = Ask {
            id,
            session,
            part: Some(part),
            created: now,
            body,
        };
        self.active
            .announce(&self.ports, vec![Event::Asked { ask }]);
    }

    /// True if the answer was for a tool's question.
    pub(super) fn answer_tool(&mut self, ask: AskId, answer: &Answer) -> bool {
        let Some(waiting) = self.active.questions.remove(&ask) else {
            return false;
        };
        // The tool may have been cut meanwhile.
        drop(waiting.answer.send(answer.clone()));
        self.active
            .announce(&self.ports, vec![Event::AskClosed { ask }]);
        true
    }

    /// An interrupt closes the questions of tools that are being cut.
    pub(super) fn close_questions(&mut self) {
        let open: Vec<AskId> = self.active.questions.drain().map(|(id, _)| id).collect();
        let events = open
            .into_iter()
            .map(|ask| Event::AskClosed { ask })
            .collect();
        self.active.announce(&self.ports, events);
    }
}
