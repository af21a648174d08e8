//! The two queues between a front end and the agent: `Op`s in, `Event`s out.
//!
//! The event queue never blocks the sender (the writer thread sends) and never grows without bound:
//! deltas of one part merge, and beyond `SOFT_LIMIT` a newer state of a part replaces the older one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{Event, Op, PartId};

/// Events that may wait before newer states replace older ones of the same part.
pub const SOFT_LIMIT: usize = 1_024;

/// Sends `Op`s to the agent. Never blocks.
pub type OpSender = tokio::sync::mpsc::UnboundedSender<Op>;
/// Receives `Op`s in the agent.
pub type OpReceiver = tokio::sync::mpsc::UnboundedReceiver<Op>;

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<VecDeque<Event>>,
    wake: Notify,
}

/// The agent's end: announces events.
#[derive(Debug, Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
}

/// The front end's end: receives events in order.
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
}

/// A new event queue.
pub fn events() -> (Outbox, Inbox) {
    let shared = Arc::new(Shared::default());
    (
        Outbox {
            shared: Arc::clone(&shared),
        },
        Inbox { shared },
    )
}

impl Outbox {
    /// Announces events, in order. Never blocks for long: only a short lock.
    pub fn send(&self, events: impl IntoIterator<Item = Event>) {
        let mut queue = lock(&self.shared.queue);
        for event in events {
            push(&mut queue, event);
        }
        drop(queue);
        self.shared.wake.notify_one();
    }
}

impl Inbox {
    /// Waits for at least one event and takes up to `most`, in order.
    pub async fn recv(&mut self, most: usize) -> Vec<Event> {
        loop {
            let taken = self.try_recv(most);
            if !taken.is_empty() {
                return taken;
            }
            self.shared.wake.notified().await;
        }
    }

    /// Takes up to `most` waiting events without waiting. If some are left, the next `recv` returns
    /// at once.
    pub fn try_recv(&mut self, most: usize) -> Vec<Event> {
        let mut queue = lock(&self.shared.queue);
        let count = queue.len().min(most);
        queue.drain(..count).collect()
    }
}

fn lock(queue: &Mutex<VecDeque<Event>>) -> MutexGuard<'_, VecDeque<Event>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The event itself, or what a watched subagent announced.
fn bare(event: &Event) -> &Event {
    match event {
        Event::Subagent { event, .. } => event,
        event => event,
    }
}

/// The part and the text of a delta that may still grow.
fn growing(event: &mut Event) -> Option<(PartId, &mut String)> {
    match event {
        Event::PartDelta { part, delta, .. } => Some((*part, delta)),
        Event::Subagent { event, .. } => growing(event),
        _ => None,
    }
}

fn push(queue: &mut VecDeque<Event>, event: Event) {
    if let Some(last) = queue.back_mut()
        && merge(last, &event)
    {
        return;
    }
    if queue.len() >= SOFT_LIMIT
        && let Event::PartUpdated { part } = bare(&event)
    {
        drop_older(queue, part.id);
    }
    queue.push_back(event);
}

/// Takes the event into the one that waits before it, if they are of a kind. Ids of parts differ
/// between sessions, so a subagent's deltas meet only their own.
fn merge(last: &mut Event, event: &Event) -> bool {
    if matches!((&*last, event), (Event::Status(_), Event::Status(_))) {
        *last = event.clone();
        return true;
    }
    match (growing(last), bare(event)) {
        (Some((waiting, text)), Event::PartDelta { part, delta, .. }) if waiting == *part => {
            text.push_str(delta);
            true
        }
        _ => false,
    }
}

/// Takes out earlier states of a part: a later whole state says all that they did.
fn drop_older(queue: &mut VecDeque<Event>, id: PartId) {
    queue.retain(|event| match bare(event) {
        Event::PartUpdated { part } => part.id != id,
        Event::PartDelta { part, .. } => *part != id,
        _ => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{IdMint, MessageId};

    fn delta(part: PartId, text: &str) -> Event {
        Event::PartDelta {
            part,
            message: MessageId::from_raw(1),
            delta: text.to_owned(),
        }
    }

    #[test]
    fn deltas_of_one_part_merge_and_order_is_kept() {
        let mut mint = IdMint::new(1, 0);
        let (a, b) = (mint.part(1), mint.part(1));
        let (out, mut inbox) = events();
        out.send([delta(a, "x"), delta(a, "y"), delta(b, "z"), delta(a, "w")]);
        assert_eq!(
            inbox.try_recv(10),
            vec![delta(a, "xy"), delta(b, "z"), delta(a, "w")]
        );
        assert_eq!(inbox.try_recv(10), vec![]);
    }

    #[test]
    fn a_reader_that_sleeps_costs_bounded_memory() {
        let mut mint = IdMint::new(1, 0);
        let parts = [mint.part(1), mint.part(1)];
        let session = mint.session(1);
        let (out, mut inbox) = events();
        for round in 0..20_000_i64 {
            for id in parts {
                out.send([Event::PartUpdated {
                    part: crate::protocol::Part {
                        id,
                        message: MessageId::from_raw(1),
                        session,
                        start: round,
                        end: None,
                        body: crate::protocol::PartBody::Text {
                            text: String::new(),
                            synthetic: false,
                            ignored: false,
                        },
                    },
                }]);
            }
        }
        let left = inbox.try_recv(usize::MAX);
        assert!(left.len() <= SOFT_LIMIT + 2, "{} events wait", left.len());
        assert!(matches!(left.last(), Some(Event::PartUpdated { part }) if part.start == 19_999));
    }
}
