//! A simulated conversation of many turns: a model that always calls tools, tools whose outputs have
//! the sizes of a profile, a provider that counts characters over four and caches prefixes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin::agent::effect::{Durability, Effect, Purpose};
use dunlin::agent::input::{Input, Judgement};
use dunlin::agent::turn::{Setup, Turn};
use dunlin::config::used::{Budget, ContextSettings, TurnSettings};
use dunlin::context::{Conversation, assemble};
use dunlin::model::decode::Wire;
use dunlin::model::encode::{Encoder, Quirks};
use dunlin::model::{Block, Delta, Messages, ModelInfo, Request, RequestMessage, Usage};
use dunlin::protocol::{
    Delivery, Event, Fault, FaultKind, Finish, IdMint, Mode, ModelRef, PartId, PromptInput,
    SessionInfo, TurnEnd,
};
use dunlin::tools::{Access, Success};
use serde_json::{Value, json};

/// Estimated tokens of system prompt and tool schemas: what dunlin's own are, about.
pub(super) const OVERHEAD: u64 = 5_000;

/// What a conversation is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profile {
    pub(super) turns: usize,
    /// Calls of a turn.
    pub(super) calls: usize,
    /// Most calls of one step.
    pub(super) together: usize,
    /// Bytes of an output.
    pub(super) size: fn(&mut Rng) -> usize,
    /// The tool and the arguments of the call with this number.
    pub(super) call: fn(&mut Rng, usize) -> (&'static str, Value),
    pub(super) window: u64,
    /// What the provider really takes; a larger request is refused.
    pub(super) limit: u64,
}

/// 10 calls a turn, outputs of median 2 KB, up to 50 KB.
pub(super) const ORDINARY: Profile = Profile {
    turns: 100,
    calls: 10,
    together: 3,
    size: log_normal,
    call: something_new,
    window: 200_000,
    limit: 200_000,
};

/// The same with what people really do: the same files read again and edited, the same commands run.
pub(super) const REALISTIC: Profile = Profile {
    call: something_again,
    ..ORDINARY
};

/// 50 calls a turn, outputs of 1 to 50 KB.
pub(super) const HEAVY: Profile = Profile {
    turns: 100,
    calls: 50,
    together: 5,
    size: uniform,
    call: something_new,
    window: 200_000,
    limit: 200_000,
};

fn log_normal(rng: &mut Rng) -> usize {
    let normal = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
    ((2_048.0 * normal.exp()) as usize).clamp(64, 51_200)
}

fn uniform(rng: &mut Rng) -> usize {
    1_024 + (rng.unit() * (51_200.0 - 1_024.0)) as usize
}

/// No call repeats or supersedes another.
fn something_new(_rng: &mut Rng, number: usize) -> (&'static str, Value) {
    let argument = format!("src/module_{}/part_{number}.rs", number % 7);
    let (name, key) = [
        ("read", "file_path"),
        ("bash", "command"),
        ("grep", "pattern"),
    ][number % 3];
    (name, json!({ key: argument }))
}

/// Of ten calls four read one of thirty files, two edit one, two run one of six commands, two search.
fn something_again(rng: &mut Rng, number: usize) -> (&'static str, Value) {
    let of = |rng: &mut Rng, most: f64| (rng.unit() * most) as usize;
    let file = of(rng, 30.0);
    let file = format!("src/module_{}/part_{file}.rs", file % 7);
    match of(rng, 10.0) {
        0..4 => ("read", json!({ "file_path": file })),
        4..6 => (
            "edit",
            json!({ "file_path": file, "old_string": format!("let before = {number};"),
                "new_string": format!("let after = {number};") }),
        ),
        6..8 => (
            "bash",
            json!({ "command": format!("cargo test module_{}", of(rng, 6.0)) }),
        ),
        _ => ("grep", json!({ "pattern": format!("part_{number}") })),
    }
}

/// Numbers that are the same every time.
#[derive(Debug)]
pub(super) struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Turn and tokens of each request for a step.
    pub(super) requests: Vec<(usize, u64)>,
    pub(super) summary_tokens: u64,
    pub(super) refused: usize,
    pub(super) ends: Vec<TurnEnd>,
    pub(super) faults: Vec<String>,
    pub(super) prunings: usize,
    pub(super) compactions: usize,
    /// Requests that were byte extensions of the one before; and of how many.
    pub(super) appended: (usize, usize),
    pub(super) cached: u64,
    /// Turn and time of each step: the turn machine, assembling, encoding.
    pub(super) times: Vec<(usize, Duration)>,
}

impl Figures {
    /// A quantile of the requests from a turn on.
    pub(super) fn quantile(&self, from: usize, to: usize, at: f64) -> u64 {
        let in_range = |(turn, _): &&(usize, u64)| *turn >= from && *turn <= to;
        let mut sizes: Vec<u64> = self
            .requests
            .iter()
            .filter(in_range)
            .map(|(_, t)| *t)
            .collect();
        sizes.sort_unstable();
        let last = sizes.len().saturating_sub(1);
        sizes.get((last as f64 * at) as usize).copied().unwrap_or(0)
    }

    pub(super) fn largest(&self) -> u64 {
        self.quantile(0, usize::MAX, 1.0)
    }

    /// What a step of these turns computes: the lower quartile, because caches are shared with others.
    pub(super) fn step_time(&self, from: usize, to: usize) -> Duration {
        let in_range = self
            .times
            .iter()
            .filter(|(turn, _)| (from..=to).contains(turn));
        let mut times: Vec<Duration> = in_range.map(|(_, time)| *time).collect();
        times.sort_unstable();
        times.get(times.len() / 4).copied().unwrap_or_default()
    }

    pub(super) fn hit_rate(&self) -> f64 {
        let all: u64 = self.requests.iter().map(|(_, tokens)| tokens).sum();
        self.cached as f64 / all.max(1) as f64
    }
}

/// The conversation under way.
pub(super) struct Simulation {
    pub(super) turn: Turn,
    pub(super) figures: Figures,
    profile: Profile,
    now: i64,
    rng: Rng,
    words: String,
    number: usize,
    in_turn: usize,
    calls_left: usize,
    queue: VecDeque<Input>,
    last: Messages,
    /// Compares the encoded bytes too; slow, so only where it is the subject.
    bytes: Option<(Encoder, Bytes)>,
    /// Encodes each request and measures; not with `bytes`.
    timed: Option<Encoder>,
    /// Time since the last request.
    spent: Duration,
    /// Facts that outputs of the turn with this number hold.
    facts: BTreeMap<usize, String>,
}

fn model(window: u64) -> ModelInfo {
    ModelInfo {
        model: ModelRef {
            provider: "simulated".to_owned(),
            model: "m".to_owned(),
        },
        label: "m".to_owned(),
        context: window,
        max_input: None,
        max_output: window * 16 / 100,
        tools: true,
        reasoning: false,
        images: false,
        pdf: false,
        price: None,
        known: true,
    }
}

impl Simulation {
    pub(super) fn new(profile: Profile, context: ContextSettings) -> Self {
        let model = model(profile.window);
        let setup = Setup {
            info: SessionInfo {
                id: IdMint::new(7, 0).session(1),
                parent: None,
                title: String::new(),
                worktree: "/w".to_owned(),
                model: model.model.clone(),
                agent: "build".to_owned(),
                mode: Mode::Auto,
                created: 1,
            },
            model,
            turn: TurnSettings {
                loop_repeats: u32::MAX,
                ..TurnSettings::default()
            },
            context,
            budget: Budget::default(),
            headless: true,
            overhead: OVERHEAD,
            effort: None,
            sandbox: String::new(),
            seed: 11,
        };
        let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
        let words = (0..8_192)
            .map(|_| format!("{:07x} ", rng.next() & 0x0fff_ffff))
            .collect();
        Self {
            turn: Turn::new(setup, Conversation::default(), &BTreeMap::new()),
            figures: Figures::default(),
            profile,
            now: 1_000,
            rng,
            words,
            number: 0,
            in_turn: 0,
            calls_left: 0,
            queue: VecDeque::new(),
            last: Messages::default(),
            bytes: None,
            timed: None,
            spent: Duration::ZERO,
            facts: BTreeMap::new(),
        }
    }

    pub(super) fn comparing_bytes(mut self) -> Self {
        let encoder = Encoder::new(Quirks::plain(Wire::Anthropic));
        self.bytes = Some((encoder, Bytes::new()));
        self
    }

    pub(super) fn timed(mut self) -> Self {
        self.timed = Some(Encoder::new(Quirks::plain(Wire::Anthropic)));
        self
    }

    pub(super) fn with_facts(mut self, facts: BTreeMap<usize, String>) -> Self {
        self.facts = facts;
        self
    }

    /// All turns of the profile.
    pub(super) fn run(mut self) -> Self {
        self.play(1..=self.profile.turns);
        self
    }

    /// The turns with these numbers.
    pub(super) fn play(&mut self, turns: RangeInclusive<usize>) {
        for turn in turns {
            self.in_turn = turn;
            self.calls_left = self.profile.calls;
            let text =
                format!("Please go on with part {turn} of the work, and check it as before.");
            self.queue.push_back(Input::Prompt {
                input: PromptInput {
                    text,
                    files: Vec::new(),
                },
                delivery: Delivery::Guidance,
            });
            while let Some(input) = self.queue.pop_front() {
                self.now += 100;
                let begun = cpu_time();
                let effects = self.turn.apply(self.now, input);
                self.spent += cpu_time().saturating_sub(begun);
                for effect in effects {
                    self.perform(effect);
                }
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Commit { announce, sync, .. } => {
                if let Durability::Barrier(part) = sync {
                    self.queue.push_back(Input::Synced {
                        part,
                        result: Ok(()),
                    });
                }
                for event in &announce {
                    self.saw(event);
                }
            }
            Effect::Announce(events) => {
                for event in &events {
                    self.saw(event);
                }
            }
            Effect::Ask { stream, purpose } => self.answer(stream, &purpose),
            Effect::Judge { part, .. } => {
                let access = Access {
                    title: "call".to_owned(),
                    needs: Vec::new(),
                    writes: Vec::new(),
                    can_write: false,
                    says: String::new(),
                };
                self.queue.push_back(Input::Judged {
                    part,
                    judgement: Judgement::Allow(access),
                });
            }
            Effect::Run { part, tool, .. } => self.output(part, &tool),
            Effect::Snapshot { tag, .. } => {
                self.queue.push_back(Input::Snapshot { tag, tree: None });
            }
            Effect::Sleep { timer, .. } => self.queue.push_back(Input::Timer(timer)),
            _ => {}
        }
    }

    fn saw(&mut self, event: &Event) {
        match event {
            Event::Pruned { .. } => self.figures.prunings += 1,
            Event::Compacted { .. } => self.figures.compactions += 1,
            Event::TurnFinished { reason } => self.figures.ends.push(*reason),
            Event::Error { error } => self.figures.faults.push(error.to_string()),
            _ => {}
        }
    }

    fn answer(&mut self, stream: u64, purpose: &Purpose) {
        let begun = cpu_time();
        let messages = match purpose {
            Purpose::Step { .. } => assemble::messages(self.turn.conversation_mut(), &|_| None),
            Purpose::Summary { chunk, .. } => {
                let places = chunk.places.clone();
                assemble::messages_in(self.turn.conversation_mut(), places, chunk.clip, &|_| None)
            }
        };
        if let Some(encoder) = &self.timed {
            let body = encoder.body(&request(&self.turn, messages.clone()));
            self.spent += cpu_time().saturating_sub(begun);
            assert!(!body.is_empty());
            let spent = std::mem::take(&mut self.spent);
            self.figures.times.push((self.in_turn, spent));
        }
        let tokens = OVERHEAD + messages.iter().map(|m| size(m)).sum::<u64>() / 4;
        if tokens > self.profile.limit {
            self.figures.refused += 1;
            let fault = Fault::new(FaultKind::ContextOverflow, "prompt is too long", "");
            self.queue.push_back(Input::StreamFailed { stream, fault });
            return;
        }
        let mut deltas = Vec::new();
        let (said, calls, cached) = match purpose {
            Purpose::Summary { .. } => {
                self.figures.summary_tokens += tokens;
                (
                    format!("## Task\n{}", self.words.get(..6_000).unwrap_or_default()),
                    0,
                    0,
                )
            }
            Purpose::Step { .. } => {
                let cached = self.count(messages, tokens);
                let most = self.profile.together.min(self.calls_left) as f64;
                let calls = (self.rng.unit() * most).ceil() as usize;
                (
                    "I look at the next part of it and at what it uses.".to_owned(),
                    calls,
                    cached,
                )
            }
        };
        let output = (said.len() / 4) as u64 + 20 * calls as u64;
        deltas.push(Delta::Text {
            block: 0,
            text: said,
        });
        self.calls_left -= calls;
        for block in 1..=calls as u32 {
            self.number += 1;
            let id = Some(format!("call_{}", self.number));
            let (name, arguments) = (self.profile.call)(&mut self.rng, self.number);
            let name = name.to_owned();
            deltas.push(Delta::CallStart {
                block,
                id: id.clone(),
                name: name.clone(),
            });
            deltas.push(Delta::CallEnd {
                block,
                id,
                name,
                arguments: Ok(arguments),
                provider: None,
            });
        }
        deltas.push(Delta::Usage(Usage {
            input: Some(tokens - cached),
            output: Some(output),
            reasoning: Some(0),
            cache_read: Some(cached),
            cache_write: Some(0),
        }));
        let reason = if calls > 0 {
            Finish::ToolCalls
        } else {
            Finish::Stop
        };
        deltas.push(Delta::Finish {
            reason,
            raw: String::new(),
        });
        self.queue.push_back(Input::Deltas { stream, deltas });
        self.queue.push_back(Input::StreamEnded { stream });
    }

    /// Notes a request for a step; returns the tokens that the provider's cache has.
    fn count(&mut self, messages: Messages, tokens: u64) -> u64 {
        self.figures.requests.push((self.in_turn, tokens));
        let same =
            |(a, b): &(&Arc<RequestMessage>, &Arc<RequestMessage>)| Arc::ptr_eq(a, b) || a == b;
        let common: Vec<_> = self
            .last
            .iter()
            .zip(messages.iter())
            .take_while(same)
            .collect();
        let appended = match &mut self.bytes {
            None => common.len() == self.last.len(),
            Some((encoder, before)) => {
                let form = encoder.prefix_form(&request(&self.turn, messages.clone()));
                let appended = form.starts_with(before);
                *before = form;
                appended
            }
        };
        let cached = match common.len() {
            0 => 0,
            _ => OVERHEAD + common.iter().map(|(m, _)| size(m)).sum::<u64>() / 4,
        };
        self.figures.appended.0 += usize::from(appended);
        self.figures.appended.1 += 1;
        self.figures.cached += cached;
        self.last = messages;
        cached
    }

    fn output(&mut self, part: PartId, tool: &str) {
        let size = match tool {
            // An edit answers with the lines that it changed.
            "edit" => 400,
            _ => (self.profile.size)(&mut self.rng),
        };
        let from = (self.rng.next() as usize % 1_000) * 8;
        let mut output = self.words.get(from..).unwrap_or_default().to_owned();
        while output.len() < size {
            output.push_str(&self.words);
        }
        output.truncate(size);
        if let Some(fact) = self.facts.remove(&self.in_turn) {
            output.push_str(&fact);
        }
        let success = Success {
            output,
            ..Success::default()
        };
        self.queue.push_back(Input::ToolEnded {
            part,
            result: Ok(success),
        });
    }
}

fn request(turn: &Turn, messages: Messages) -> Request {
    let info = turn.info();
    Request {
        model: info.model.clone(),
        system_stable: "".into(),
        system_dynamic: "".into(),
        messages,
        tools: Arc::from([]),
        max_output: 1_000,
        effort: None,
        session: info.id,
        place: None,
    }
}

/// What this thread has computed so far: other tests of this machine do not count.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The largest resident size of this process so far, in MiB; 0 where the system does not tell.
pub(super) fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) / 1_024
}

/// Characters of a message; all of the simulation's are one byte long.
fn size(message: &RequestMessage) -> u64 {
    let of = |block: &Block| match block {
        Block::Text(text) | Block::Reasoning { text, .. } => text.len(),
        Block::Call {
            id, name, input, ..
        } => id.len() + name.len() + input.to_string().len(),
        Block::Result { id, output, .. } => id.len() + output.len(),
        Block::File { .. } => 6_400,
    };
    message.blocks.iter().map(of).sum::<usize>() as u64
}
