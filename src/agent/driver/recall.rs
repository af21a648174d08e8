//! Answers `recall` from the conversation in memory: the whole branch is there, whatever of it the
//! model is still shown. Long sessions are searched in slices, each between two other inputs.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{Agent, Back};
use crate::agent::recall::{RecallPort, Search};
use crate::protocol::SessionId;

/// Bytes that are searched before something else gets its turn: a few milliseconds.
const SLICE: usize = 2 << 20;

/// A search under way.
#[derive(Debug)]
pub(crate) struct Recalling {
    session: SessionId,
    search: Search,
    answer: oneshot::Sender<Result<String, String>>,
}

/// The tool's end.
#[derive(Debug)]
pub(crate) struct ToDriver {
    back: mpsc::UnboundedSender<Back>,
}

impl ToDriver {
    pub(crate) const fn new(back: mpsc::UnboundedSender<Back>) -> Self {
        Self { back }
    }
}

impl RecallPort for ToDriver {
    fn ask(
        &self,
        session: SessionId,
        search: Search,
    ) -> BoxFuture<'static, Result<String, String>> {
        let (answer, waiting) = oneshot::channel();
        let recalling = Recalling {
            session,
            search,
            answer,
        };
        // A closed channel shows in `waiting`.
        drop(self.back.send(Back::Recall(Box::new(recalling))));
        async move {
            waiting
                .await
                .unwrap_or_else(|_closed| Err("The session was closed.".to_owned()))
        }
        .boxed()
    }
}

impl Agent {
    /// Searches a slice; the rest comes back later. A search whose call was cut is dropped.
    pub(super) fn recall(&self, mut recalling: Box<Recalling>) {
        if recalling.answer.is_closed() {
            return;
        }
        let turn = &self.active.turn;
        let done = if turn.info().id == recalling.session {
            recalling.search.step(turn.conversation(), SLICE)
        } else {
            // Another session was opened while the call was under way.
            let sentence = "The session that this call searches is not open any more.";
            Some(Err(sentence.to_owned()))
        };
        match done {
            // The call may have been cut meanwhile.
            Some(answer) => drop(recalling.answer.send(answer)),
            None => drop(self.active.back.send(Back::Recall(recalling))),
        }
    }
}
