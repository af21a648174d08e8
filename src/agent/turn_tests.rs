//! The turn as tables and by property: a world plays model, judge, tools, store and snapshots in any
//! order, and checks what must hold whatever the order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::agent::effect::{Durability, Purpose};
use crate::agent::input::{Judgement, Timer};
use crate::context::assemble;
use crate::model::{Block, Delta, Usage as Counts};
use crate::protocol::{
    Answer, AskBody, Delivery, Fault, FaultKind, Finish, Mode, ModelRef, Part, PartBody,
    PromptInput, Role, SnapshotId, ToolState,
};
use crate::session::Record;
use crate::tools::{Access, Success};

#[path = "turn_context_tests.rs"]
mod context;
#[path = "turn_odd_tests.rs"]
mod odd;
#[path = "turn_room_tests.rs"]
mod room;
#[path = "turn_steps_tests.rs"]
mod steps;

fn model() -> ModelInfo {
    ModelInfo {
        model: ModelRef {
            provider: "scripted".to_owned(),
            model: "m".to_owned(),
        },
        label: "m".to_owned(),
        context: 200_000,
        max_input: None,
        max_output: 8_000,
        tools: true,
        reasoning: false,
        images: false,
        pdf: false,
        price: None,
        known: true,
    }
}

fn setup() -> Setup {
    let mut mint = IdMint::new(9, 0);
    Setup {
        info: SessionInfo {
            id: mint.session(1),
            parent: None,
            title: String::new(),
            worktree: "/w".to_owned(),
            model: model().model,
            agent: "build".to_owned(),
            mode: Mode::Ask,
            created: 1,
        },
        model: model(),
        turn: TurnSettings::default(),
        context: ContextSettings::default(),
        budget: Budget::default(),
        headless: false,
        overhead: 1_000,
        effort: None,
        sandbox: String::new(),
        seed: 4,
    }
}

/// What one model call answers.
#[derive(Debug, Clone)]
enum Answers {
    Say(&'static str),
    /// The same, cut by the end of the window.
    Full(&'static str),
    /// Calls of `read` (false) or `bash` (true), by argument.
    Call(Vec<(bool, String)>),
    /// A call whose arguments are this, and no JSON.
    Broken(&'static str),
    Fail(FaultKind),
}

/// Something that will come back to the turn.
#[derive(Debug, Clone)]
enum Due {
    Deltas(u64, Vec<Delta>),
    End(u64),
    Fail(u64, FaultKind),
    Judge(PartId, String),
    Sync(PartId),
    Tool(PartId),
    Snapshot(crate::agent::input::SnapshotTag),
    Timer(Timer),
}

struct World {
    turn: Turn,
    now: Millis,
    script: Vec<Answers>,
    due: Vec<Due>,
    events: Vec<Event>,
    written: HashSet<PartId>,
    states: HashMap<PartId, ToolState>,
    synced: HashSet<PartId>,
    snapshots: usize,
    asks_permission: bool,
    /// The judge refuses commands with this sentence.
    denies: Option<&'static str>,
    /// The judge finds commands to be no calls at all.
    invalid: bool,
    /// Files that each command says it writes.
    writes: Vec<PathBuf>,
    /// When timers run out.
    sleeps: Vec<Millis>,
    requests: usize,
    titles: usize,
    /// Input tokens that the model counts for a step with calls.
    counted: u64,
    /// What summaries are answered with, in turn; then with "the notes".
    summaries: Vec<Answers>,
    /// What tools give back.
    output: String,
    purposes: Vec<Purpose>,
}

impl World {
    fn new(setup: Setup, script: Vec<Answers>) -> Self {
        Self {
            turn: Turn::new(setup, Conversation::default(), &BTreeMap::new()),
            now: 1_000,
            script,
            due: Vec::new(),
            events: Vec::new(),
            written: HashSet::new(),
            states: HashMap::new(),
            synced: HashSet::new(),
            snapshots: 0,
            asks_permission: false,
            denies: None,
            invalid: false,
            writes: Vec::new(),
            sleeps: Vec::new(),
            requests: 0,
            titles: 0,
            counted: 100,
            summaries: Vec::new(),
            output: "out".to_owned(),
            purposes: Vec::new(),
        }
    }

    fn give(&mut self, input: Input) {
        self.now += 1;
        for effect in self.turn.apply(self.now, input) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Commit {
                records,
                announce,
                sync,
            } => {
                for record in records {
                    self.record(record);
                }
                for event in announce {
                    self.announced(&event);
                    self.events.push(event);
                }
                if let Durability::Barrier(part) = sync {
                    self.due.push(Due::Sync(part));
                }
            }
            Effect::Announce(events) => self.events.extend(events),
            Effect::Ask { stream, purpose } => self.answer(stream, &purpose),
            Effect::CancelStream(stream) => self.due.retain(
                |d| !matches!(d, Due::Deltas(s, _) | Due::End(s) | Due::Fail(s, _) if *s == stream),
            ),
            Effect::Judge { part, tool, .. } => self.due.push(Due::Judge(part, tool)),
            Effect::Run { part, tool, .. } => {
                if tool == "bash" {
                    assert!(
                        self.synced.contains(&part),
                        "a writing call ran before it was synced"
                    );
                    assert!(self.snapshots > 0, "a writing call ran before any snapshot");
                }
                self.due.push(Due::Tool(part));
            }
            Effect::CancelTools(parts) => {
                self.due
                    .retain(|d| !matches!(d, Due::Tool(p) if parts.contains(p)));
            }
            Effect::Snapshot { tag, .. } => self.due.push(Due::Snapshot(tag)),
            Effect::Sleep { timer, until } => {
                self.sleeps.push(until);
                self.due.push(Due::Timer(timer));
            }
            Effect::MakeTitle { .. } => self.titles += 1,
            Effect::Difference { .. } | Effect::Grant { .. } => {}
        }
    }

    fn record(&mut self, record: Record) {
        match record {
            Record::Part(part) => {
                self.written.insert(part.id);
                if let PartBody::Tool(tool) = &part.body {
                    if let Some(old) = self.states.get(&part.id) {
                        assert!(
                            old.may_become(&tool.state),
                            "{} became {}",
                            old.name(),
                            tool.state.name()
                        );
                    }
                    self.states.insert(part.id, tool.state.clone());
                }
            }
            Record::Append { part, .. } => assert!(self.written.contains(&part)),
            _ => {}
        }
    }

    fn announced(&self, event: &Event) {
        match event {
            Event::PartUpdated { part } => assert!(self.written.contains(&part.id)),
            Event::PartDelta { part, .. } => assert!(self.written.contains(part)),
            _ => {}
        }
    }

    fn answer(&mut self, stream: u64, purpose: &Purpose) {
        self.requests += 1;
        self.check_request();
        self.purposes.push(purpose.clone());
        if matches!(purpose, Purpose::Summary { .. }) {
            let next = if self.summaries.is_empty() {
                Answers::Say("the notes")
            } else {
                self.summaries.remove(0)
            };
            match next {
                Answers::Fail(kind) => self.due.push(Due::Fail(stream, kind)),
                Answers::Say(text) => {
                    self.due.push(Due::Deltas(stream, say(text)));
                    self.due.push(Due::End(stream));
                }
                Answers::Full(_) | Answers::Call(_) | Answers::Broken(_) => {
                    unreachable!("a summary has no tools")
                }
            }
            return;
        }
        let next = if self.script.is_empty() {
            Answers::Say("done")
        } else {
            self.script.remove(0)
        };
        match next {
            Answers::Say(text) => {
                self.due.push(Due::Deltas(stream, say(text)));
                self.due.push(Due::End(stream));
            }
            Answers::Full(text) => {
                let mut deltas = say(text);
                deltas.pop();
                deltas.push(Delta::Finish {
                    reason: Finish::Length,
                    raw: "model_context_window_exceeded".to_owned(),
                });
                self.due.push(Due::Deltas(stream, deltas));
                self.due.push(Due::End(stream));
            }
            Answers::Call(calls) => {
                self.due.push(Due::Deltas(stream, vec![text(0, "I look.")]));
                for (at, (writes, argument)) in calls.into_iter().enumerate() {
                    self.due
                        .push(Due::Deltas(stream, call(at as u32 + 1, writes, &argument)));
                }
                self.due.push(Due::Deltas(
                    stream,
                    vec![
                        Delta::Usage(Counts {
                            input: Some(self.counted),
                            output: Some(10),
                            ..Counts::default()
                        }),
                        Delta::Finish {
                            reason: Finish::ToolCalls,
                            raw: "tool_use".to_owned(),
                        },
                    ],
                ));
                self.due.push(Due::End(stream));
            }
            Answers::Broken(raw) => {
                self.due.push(Due::Deltas(stream, broken(raw)));
                self.due.push(Due::End(stream));
            }
            Answers::Fail(kind) => {
                self.due.push(Due::Deltas(stream, vec![text(0, "I beg")]));
                self.due.push(Due::Fail(stream, kind));
            }
        }
    }

    /// Every call that is sent has exactly one result, right after it.
    fn check_request(&mut self) {
        let messages = assemble::messages(self.turn.conversation_mut(), &|_| None);
        for (at, message) in messages.iter().enumerate() {
            let calls: Vec<&str> = ids(&message.blocks, true);
            let results: Vec<&str> = match messages.get(at + 1) {
                Some(next) => ids(&next.blocks, false),
                None => Vec::new(),
            };
            if !calls.is_empty() {
                assert_eq!(calls, results, "message {at} of a request");
            }
        }
    }

    /// Lets the thing at `at` (modulo what is due) come back. Deltas of a stream keep their order.
    fn step(&mut self, at: usize) {
        let mut at = at % self.due.len();
        if let Due::Deltas(s, _) | Due::End(s) | Due::Fail(s, _) = self.due[at].clone() {
            at = self
                .due
                .iter()
                .position(
                    |d| matches!(d, Due::Deltas(t, _) | Due::End(t) | Due::Fail(t, _) if *t == s),
                )
                .unwrap_or(at);
        }
        match self.due.remove(at) {
            Due::Deltas(stream, deltas) => self.give(Input::Deltas { stream, deltas }),
            Due::End(stream) => self.give(Input::StreamEnded { stream }),
            Due::Fail(stream, kind) => {
                let retryable = kind != FaultKind::Auth;
                let fault = Fault {
                    retryable,
                    ..Fault::new(kind, "no", "")
                };
                self.give(Input::StreamFailed { stream, fault });
            }
            Due::Judge(part, tool) => {
                let judgement = self.judge(&tool);
                self.give(Input::Judged { part, judgement });
            }
            Due::Sync(part) => {
                self.synced.insert(part);
                self.give(Input::Synced {
                    part,
                    result: Ok(()),
                });
            }
            Due::Tool(part) => {
                let success = Success {
                    output: self.output.clone(),
                    ..Success::default()
                };
                self.give(Input::ToolEnded {
                    part,
                    result: Ok(success),
                });
            }
            Due::Snapshot(tag) => {
                self.snapshots += 1;
                let tree = Some(SnapshotId(format!("{:040x}", self.snapshots)));
                self.give(Input::Snapshot { tag, tree });
            }
            Due::Timer(timer) => self.give(Input::Timer(timer)),
        }
    }

    fn judge(&self, tool: &str) -> Judgement {
        let access = Access {
            title: tool.to_owned(),
            needs: Vec::new(),
            writes: if tool == "bash" {
                self.writes.clone()
            } else {
                Vec::new()
            },
            can_write: tool == "bash",
            says: String::new(),
        };
        if self.invalid && tool == "bash" {
            return Judgement::Invalid("There is no such tool.".to_owned());
        }
        if let Some(reason) = self.denies.filter(|_| tool == "bash") {
            return Judgement::Deny {
                title: tool.to_owned(),
                reason: reason.to_owned(),
            };
        }
        if self.asks_permission && tool == "bash" {
            let body = AskBody::Permission {
                tool: tool.to_owned(),
                heading: String::new(),
                subject: String::new(),
                diff: String::new(),
                says: String::new(),
                sees: Vec::new(),
                place: String::new(),
                pattern: None,
                withheld: String::new(),
                dangerous: false,
            };
            return Judgement::Ask { access, body };
        }
        Judgement::Allow(access)
    }

    /// Runs until nothing is due, oldest first.
    fn run(&mut self) {
        for _ in 0..10_000 {
            if self.due.is_empty() {
                return;
            }
            self.step(0);
        }
        panic!("the turn never ends");
    }

    fn prompt(&mut self, text: &str) {
        self.give(prompt(text, Delivery::Guidance));
    }

    fn ends(&self) -> Vec<TurnEnd> {
        self.events
            .iter()
            .filter_map(|e| match e {
                Event::TurnFinished { reason } => Some(*reason),
                _ => None,
            })
            .collect()
    }

    fn texts(&self, role: Role) -> Vec<String> {
        self.turn
            .conversation()
            .entries()
            .iter()
            .filter(|e| e.message.role == role)
            .map(crate::context::Entry::text)
            .collect()
    }

    fn tools(&self) -> Vec<&Part> {
        let entries = self.turn.conversation().entries();
        entries
            .iter()
            .flat_map(|e| &e.parts)
            .filter(|p| matches!(p.body, PartBody::Tool(_)))
            .collect()
    }
}

fn prompt(text: &str, delivery: Delivery) -> Input {
    Input::Prompt {
        input: PromptInput {
            text: text.to_owned(),
            files: Vec::new(),
        },
        delivery,
    }
}

fn text(block: u32, text: &str) -> Delta {
    Delta::Text {
        block,
        text: text.to_owned(),
    }
}

fn say(what: &str) -> Vec<Delta> {
    vec![
        text(0, what),
        Delta::BlockEnd {
            block: 0,
            provider: None,
        },
        Delta::Usage(Counts {
            input: Some(50),
            output: Some(5),
            ..Counts::default()
        }),
        Delta::Finish {
            reason: Finish::Stop,
            raw: "end_turn".to_owned(),
        },
    ]
}

fn call(block: u32, writes: bool, argument: &str) -> Vec<Delta> {
    let (name, key) = if writes {
        ("bash", "command")
    } else {
        ("read", "file_path")
    };
    let id = Some(format!("call_{block}"));
    vec![
        Delta::CallStart {
            block,
            id: id.clone(),
            name: name.to_owned(),
        },
        Delta::CallEnd {
            block,
            id,
            name: name.to_owned(),
            arguments: Ok(json!({ key: argument })),
            provider: None,
        },
    ]
}

fn broken(raw: &str) -> Vec<Delta> {
    let (id, name) = (Some("c".to_owned()), "bash".to_owned());
    vec![
        Delta::CallStart {
            block: 0,
            id: id.clone(),
            name: name.clone(),
        },
        Delta::CallEnd {
            block: 0,
            id,
            name,
            arguments: Err(raw.to_owned()),
            provider: None,
        },
        Delta::Finish {
            reason: Finish::ToolCalls,
            raw: String::new(),
        },
    ]
}

fn ids(blocks: &[Block], calls: bool) -> Vec<&str> {
    blocks
        .iter()
        .filter_map(|b| match b {
            Block::Call { id, .. } if calls => Some(id.as_str()),
            Block::Result { id, .. } if !calls => Some(id.as_str()),
            _ => None,
        })
        .collect()
}

fn reads(names: &[&str]) -> Answers {
    Answers::Call(names.iter().map(|n| (false, (*n).to_owned())).collect())
}

fn runs(commands: &[&str]) -> Answers {
    Answers::Call(commands.iter().map(|c| (true, (*c).to_owned())).collect())
}
