//! The loop of a run: events in, lines out, orders and signals in between. Called by `cli`; what an event means
//! for the run is `play`'s.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::play::Run;
use super::{Clean, Talk, Task, Wanted, exit, orders, printer};
use crate::protocol::link::{Inbox, OpSender};
use crate::protocol::{Event, Op};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The exit code.
    pub code: u8,
    /// The user does not want to wait until everything is closed.
    pub hurried: bool,
}

impl Ended {
    const fn calmly(code: u8) -> Self {
        let hurried = false;
        Self { code, hurried }
    }

    const fn hurried(code: u8) -> Self {
        let hurried = true;
        Self { code, hurried }
    }
}

/// Runs one task and everything queued behind it. With orders it runs until
/// standard input has ended and nothing is left to do. `clean` is what text goes through on its way to
/// a terminal; `wanted` is what the answer must be, if that matters.
pub async fn run(
    task: Task,
    talk: Talk,
    (ops, mut events): (OpSender, Inbox),
    clean: Clean,
    wanted: Option<Wanted>,
) -> Ended {
    let mut printer = printer(talk.format, clean, wanted.is_some());
    let mut orders = talk.orders.then(|| orders::listen(io::stdin()));
    let mut run = Run::new(task, talk, ops);
    run.wanted = wanted;
    let Ok(mut stops) = Stops::new() else {
        return Ended::calmly(exit::ERROR);
    };
    loop {
        let batch = tokio::select! {
            batch = events.recv(256) => batch,
            order = next(&mut orders), if run.listens() => {
                if let Some(complaint) = run.order(order)
                    && printer.event(&Event::Error { error: complaint }).is_err()
                {
                    drop(run.ops.send(Op::Close));
                    return Ended::calmly(exit::ERROR);
                }
                continue;
            }
            () = stops.next() => {
                if run.interrupt() {
                    continue;
                }
                // A turn that is over is told of, even if nobody waits for the rest.
                let Some(last) = run.last.take() else {
                    return Ended::hurried(exit::INTERRUPTED);
                };
                drop(printer.event(&last));
                drop(printer.end());
                return Ended::hurried(run.code);
            }
        };
        for event in batch {
            let is_last = run.follow(&event);
            if is_last {
                drop(run.ops.send(Op::Close));
            }
            if let Some(error) = run.complaint.take() {
                drop(printer.event(&Event::Error { error }));
            }
            // What another process does in that session is not the answer to what was asked here.
            if run.refused && event != Event::Closed {
                continue;
            }
            // What the last step changed may become known after its turn: the end is printed last.
            if is_last && matches!(event, Event::TurnFinished { .. }) {
                run.last = Some(event);
                continue;
            }
            if event == Event::Closed {
                if let Some(last) = run.last.take() {
                    drop(printer.event(&last));
                }
                drop(printer.end());
                return Ended::calmly(run.code);
            }
            // A reader that went away (`| head`) is a wish to stop.
            if printer.event(&event).is_err() {
                drop(run.ops.send(Op::Close));
                return Ended::calmly(exit::ERROR);
            }
        }
    }
}

/// The signals that end a run: Ctrl-C, a plain `kill`, a terminal that is closed, Ctrl-\. They are heard
/// from the beginning to the end, so that none is missed between two events.
struct Stops([Signal; 4]);

impl Stops {
    fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

type Orders = tokio::sync::mpsc::UnboundedReceiver<Result<Op, String>>;

/// The next order; none at the end of the input.
async fn next(orders: &mut Option<Orders>) -> Option<Result<Op, String>> {
    match orders {
        Some(orders) => orders.recv().await,
        None => None,
    }
}
