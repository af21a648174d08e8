//! A disk that is full for one write only: each write of a turn is refused once in turn. Whatever it is that
//! was refused, the turn is not told as done, what was announced is there, and the next prompt is answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::cut::Cut;
use super::cut_tests::World;
use super::{Agent, Begin};
use crate::protocol::{
    Answer, Delivery, Event, FaultKind, Op, Part, PartBody, PartId, PromptInput, TurnEnd, link,
};
use crate::session::{FaultPoints, Project};

/// Patience of a busy machine.
const LONG: Duration = Duration::from_mins(2);

/// What a front end saw of one turn.
#[derive(Default)]
struct Seen {
    parts: BTreeMap<PartId, Part>,
    end: Option<TurnEnd>,
    /// The store refused something, before or after the end.
    refused: bool,
}

impl Seen {
    /// True at the turn's end.
    fn follow(&mut self, event: Event, ops: &link::OpSender) -> bool {
        match event {
            Event::PartUpdated { part } => drop(self.parts.insert(part.id, part)),
            Event::PartDelta { part, delta, .. } => {
                if let Some(PartBody::Text { text, .. } | PartBody::Reasoning { text, .. }) =
                    self.parts.get_mut(&part).map(|p| &mut p.body)
                {
                    text.push_str(&delta);
                }
            }
            Event::Asked { ask } => drop(ops.send(Op::Answer {
                ask: ask.id,
                answer: Answer::Once,
            })),
            Event::Error { error } => self.refused |= error.kind == FaultKind::Storage,
            Event::TurnFinished { reason } => {
                self.end = Some(reason);
                return true;
            }
            _ => {}
        }
        false
    }
}

/// Says something and waits for the end of everything.
fn turn(world: &World, begin: Begin, faults: &Arc<FaultPoints>, said: &str) -> Seen {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let (ops, receiver) = tokio::sync::mpsc::unbounded_channel();
    let (outbox, mut inbox) = link::events();
    let mut ports = world.ports(outbox, Arc::new(Cut::default()));
    ports.project = ports.project.with_faults(Arc::clone(faults));
    let mut seen = Seen::default();
    runtime.block_on(async {
        let agent = tokio::spawn(async move {
            let agent = Box::pin(Agent::start(ports, receiver, begin)).await;
            Box::pin(agent.run()).await;
        });
        let input = PromptInput {
            text: said.to_owned(),
            files: Vec::new(),
        };
        let delivery = Delivery::Guidance;
        ops.send(Op::Prompt { input, delivery }).expect("heard");
        let all = async {
            loop {
                for event in inbox.recv(256).await {
                    if event == Event::Closed {
                        return;
                    }
                    if seen.follow(event, &ops) {
                        drop(ops.send(Op::Close));
                    }
                }
            }
        };
        tokio::time::timeout(LONG, all).await.expect("it ends");
        agent.await.expect("the agent ends well");
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    seen
}

/// Everything that was announced is there, as it was announced or further on.
fn check(world: &World, seen: &Seen, at: &str) {
    let project = Project::open(&world.path("data"), &world.path("work")).expect("project");
    let id = project.newest().expect("listed");
    let parts = id.map(|id| project.open_session_all(id).expect("read").parts);
    let parts = parts.into_iter().flatten().map(|part| (part.id, part));
    let stored: BTreeMap<PartId, Part> = parts.collect();
    for (id, part) in &seen.parts {
        let there = stored.get(id);
        let there = there.unwrap_or_else(|| panic!("{at}: announced and not there: {part:?}"));
        if let (PartBody::Text { text: told, .. }, PartBody::Text { text: kept, .. }) =
            (&part.body, &there.body)
        {
            assert!(kept.starts_with(told.as_str()), "{at}: {told} / {kept}");
        }
    }
}

#[test]
fn whichever_write_of_a_turn_is_refused_it_is_not_told_as_done_and_work_goes_on() {
    let calls = json!([
        {"name": "bash", "input": {"command": "echo a > made"}},
        {"name": "read", "input": {"file_path": "big.txt", "offset": 1, "limit": 5}}]);
    let script = json!({
        "branches": [{"match": "next please", "steps": [{"text": "as always"}]}],
        "steps": [
            {"reasoning": "Let me see.", "text": "first some words", "calls": calls},
            // more than the writer takes on the driver's own thread
            {"text": "a long answer ".repeat(2_000)}],
    });
    let mut refused = 0;
    for number in 0.. {
        let at = format!("write {number}");
        let world = World::new("manual");
        std::fs::write(world.path("script.json"), script.to_string()).expect("a script");
        let faults = Arc::new(FaultPoints::new(LONG));
        faults.refuse_write(number);
        let seen = turn(&world, Begin::New, &faults, "go");
        if faults.write_is_awaited() {
            // there are no so many writes: this one went undisturbed
            assert_eq!(seen.end, Some(TurnEnd::Done), "{at}");
            check(&world, &seen, &at);
            break;
        }
        refused += 1;
        assert!(seen.refused, "{at}: nothing was said of it");
        // after its end was told there is an error, which `exec` ends with
        let late = seen.end == Some(TurnEnd::Done);
        assert!(!late || number > 8, "{at}: {:?}", seen.end);
        check(&world, &seen, &at);
        let complete = seen
            .parts
            .values()
            .any(|part| matches!(&part.body, PartBody::Text { text, .. } if text.len() >= 28_000));
        assert!(!late || complete, "{at}: done without its answer");
        let again = turn(&world, Begin::Newest, &faults, "next please");
        assert_eq!(again.end, Some(TurnEnd::Done), "{at}");
        assert!(!again.refused, "{at}");
        check(&world, &again, &at);
    }
    assert!(refused > 12, "only {refused} writes");
}
