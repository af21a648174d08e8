//! A run with everything in it, cut at every effect of the turn and of its subagents: by the user, and
//! by a death of the program. Afterwards the history is valid for every wire, nothing that was announced
//! is lost, no process is left, and the next prompt is answered. `DUNLIN_CUTS=1` cuts at every effect;
//! otherwise a sample of them does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::cut::{Blow, Cut};
use super::{Agent, Begin, Ports};
use crate::app::{self, Ground, Wishes};
use crate::config::Config;
use crate::config::paths::Paths;
use crate::context::{Conversation, assemble};
use crate::protocol::link::{self, Inbox, OpSender};
use crate::protocol::{
    Answer, Delivery, Event, Mode, ModelRef, Op, Part, PartBody, PartId, PromptInput, QueueEdit,
    QueueState, TurnEnd,
};
use crate::tools::bash::Jobs;
use crate::tools::registry::{ToolSettings, registry};

/// Patience of a busy machine; the full form runs beside other work, and last in turn.
fn long() -> Duration {
    Duration::from_mins(if every() { 30 } else { 1 })
}

/// True for the full form.
fn every() -> bool {
    std::env::var_os("DUNLIN_CUTS").is_some()
}

/// Cuts of one kind and strategy in the short form.
const SAMPLE: usize = 4;

fn script(context: u64) -> Value {
    let bash = |command: &str| json!({"name": "bash", "input": {"command": command}});
    let read = |from: usize| json!({"name": "read", "input": {"file_path": "big.txt", "offset": from, "limit": 110}});
    json!({
        "model": {"context": context, "max_output": 1_000},
        "branches": [
            {"match": "next please", "steps": [{"text": "as always"}]},
            {"match": "^child", "steps": [
                {"calls": [bash("echo $$ >> pids; echo in the child")]}, {"text": "the child is done"}]}
        ],
        "steps": [
            {"reasoning": "Let me see.", "text": "first some words", "chunk": 6, "calls": [read(1)]},
            {"calls": [bash("echo $$ >> pids; echo a >> ran"), bash("echo $$ >> pids; echo b >> ran"), read(60)]},
            {"text": "tried again", "fault": {"kind": "status", "status": 500, "retry_after_ms": 1},
                "calls": [read(120)]},
            {"text": "I hand it on.", "calls": [{"name": "task", "input":
                {"description": "a child", "prompt": "child", "agent": "general"}}]},
            {"calls": [bash("echo $$ >> pids; sleep 0.02; echo c >> ran"), read(180)]},
            {"calls": [read(240)]},
            {"calls": [read(300), read(360)]},
            {"text": "all is done"}
        ],
        "default": {"text": "that was all"},
        "side": ["what was done before"]
    })
}

/// A folder with a worktree, a script and a store.
pub(super) struct World {
    root: tempfile::TempDir,
    strategy: &'static str,
}

impl World {
    pub(super) fn new(strategy: &'static str) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["work", "data", "config"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        // Room for some steps beside the system prompt and the tools, less or more by what is due when.
        let context = match strategy {
            "proactive-threshold" => 17_000,
            "middle-removal" => 12_000,
            "manual" => 60_000,
            _ => 10_000,
        };
        let text = script(context).to_string();
        std::fs::write(root.path().join("script.json"), text).expect("a script");
        let lines = format!("{}\n", "words of a long line ".repeat(5)).repeat(600);
        std::fs::write(root.path().join("work/big.txt"), lines).expect("a file");
        Self { root, strategy }
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        let root = self.root.path().canonicalize().expect("a folder");
        root.join(name)
    }

    pub(super) fn ports(&self, outbox: link::Outbox, cut: Arc<Cut>) -> Ports {
        let mut config = Config {
            model: Some(ModelRef {
                provider: "scripted".to_owned(),
                model: self.path("script.json").to_string_lossy().into_owned(),
            }),
            mode: Mode::Ask,
            ..Config::default()
        };
        config.context.strategy = self.strategy.to_owned();
        config.sandbox.enabled = false;
        let ground = Ground {
            paths: Paths {
                config_dir: self.path("config"),
                data_dir: self.path("data"),
                home: self.path("config"),
            },
            folder: self.path("work"),
            worktree: self.path("work"),
            config: config.clone(),
            warnings: Vec::new(),
            sources: Vec::new(),
            trusted: false,
        };
        let mut ports = app::ports(ground, &Wishes::default(), outbox).expect("ports");
        // The test binary is no launcher: commands run as they are.
        ports.tools = registry(ToolSettings {
            bash: config.bash.clone(),
            environment: crate::tools::bash::Environment::new(
                std::env::vars_os(),
                &[],
                &config.bash.env,
            ),
            wrapper: None,
            jobs: Arc::new(Jobs::new()),
            skills: Vec::new(),
            web: Arc::new(crate::web::Web::new(
                config.web.clone(),
                Arc::clone(ports.models.http()),
            )),
            blocking: ports.blocking.clone(),
        });
        ports.cut = cut;
        ports
    }
}

/// What a front end saw.
#[derive(Default)]
struct Seen {
    parts: BTreeMap<PartId, Part>,
    notes: Vec<String>,
    queue: QueueState,
    answered: bool,
    steps: usize,
    /// It is the process after the one that died.
    again: bool,
    compactions: usize,
}

impl Seen {
    /// Plays the user: says something now and then, answers what is asked. True at the end.
    fn follow(&mut self, event: &Event, ops: &OpSender, manual: bool) -> bool {
        let send = |op: Op| drop(ops.send(op));
        match event {
            Event::SessionStarted { cut: true, .. } => send(Op::Continue),
            Event::SessionStarted { .. } if self.again => {
                send(says("next please", Delivery::Guidance));
            }
            Event::SessionStarted { .. } => send(says("go", Delivery::Guidance)),
            Event::PartUpdated { part } => {
                self.answered |= matches!(&part.body,
                    PartBody::Text { text, .. } if text.contains("as always"));
                self.parts.insert(part.id, part.clone());
            }
            Event::PartDelta { part, delta, .. } => {
                if let Some(PartBody::Text { text, .. } | PartBody::Reasoning { text, .. }) =
                    self.parts.get_mut(part).map(|p| &mut p.body)
                {
                    text.push_str(delta);
                }
            }
            Event::Asked { ask } => send(Op::Answer {
                ask: ask.id,
                answer: Answer::Once,
            }),
            Event::StepFinished { .. } => {
                self.steps += 1;
                match self.steps {
                    2 => send(says("a note", Delivery::Guidance)),
                    3 => send(says("a follow-up", Delivery::FollowUp)),
                    5 if manual => send(Op::Compact {
                        focus: String::new(),
                    }),
                    _ => {}
                }
            }
            Event::Compacted { .. } => self.compactions += 1,
            Event::QueueChanged { queue } => {
                let items = queue.guidance.iter().chain(&queue.follow_ups);
                self.notes.extend(items.map(|item| item.input.text.clone()));
                self.queue = queue.clone();
            }
            Event::TurnFinished { reason } => {
                assert_ne!(*reason, TurnEnd::Error, "a turn failed");
                let empty = self.queue.guidance.is_empty() && self.queue.follow_ups.is_empty();
                if self.answered && empty {
                    return true;
                }
                if !empty && self.queue.paused {
                    send(Op::Queue(QueueEdit::Resume));
                } else if empty {
                    send(says("next please", Delivery::Guidance));
                }
            }
            _ => {}
        }
        false
    }
}

fn says(text: &str, delivery: Delivery) -> Op {
    let input = PromptInput {
        text: text.to_owned(),
        files: Vec::new(),
    };
    Op::Prompt { input, delivery }
}

/// How a run ended.
enum End {
    Done,
    Crashed,
}

/// Runs an agent and its user until the next prompt was answered, or the blow falls.
fn run(
    world: &World,
    begin: Begin,
    cut: &dyn Fn(&OpSender) -> Arc<Cut>,
    seen: &mut Seen,
) -> (End, Arc<Cut>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let (ops, receiver) = tokio::sync::mpsc::unbounded_channel();
    let (outbox, inbox) = link::events();
    let cut = cut(&ops);
    let ports = world.ports(outbox, Arc::clone(&cut));
    let end = runtime.block_on(async {
        let agent = tokio::spawn(async move {
            let agent = Box::pin(Agent::start(ports, receiver, begin)).await;
            Box::pin(agent.run()).await;
        });
        let manual = world.strategy == "manual";
        let played = tokio::time::timeout(long(), play(inbox, &ops, &cut, seen, manual)).await;
        let end = played.unwrap_or_else(|_late| {
            let parts: Vec<&Part> = seen.parts.values().rev().take(4).collect();
            panic!(
                "the run hangs after {} effects and {} steps, queue {:?}: {parts:#?}",
                cut.seen(),
                seen.steps,
                seen.queue
            )
        });
        if matches!(end, End::Done) {
            agent.await.expect("the agent ends well");
        }
        end
    });
    die(runtime);
    (end, cut)
}

/// Everything that still runs stops where it is, as when the program dies.
fn die(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(5));
}

async fn play(mut inbox: Inbox, ops: &OpSender, cut: &Cut, seen: &mut Seen, manual: bool) -> End {
    loop {
        let batch = tokio::select! {
            batch = inbox.recv(256) => batch,
            () = cut.struck.notified() => {
                if cut.lets_pass() {
                    continue;
                }
                // What was announced before is seen, as in a pipe that is read to its end.
                for event in inbox.try_recv(usize::MAX) {
                    seen.follow(&event, ops, manual);
                }
                return End::Crashed;
            }
        };
        for event in batch {
            if event == Event::Closed {
                return End::Done;
            }
            if seen.follow(&event, ops, manual) {
                drop(ops.send(Op::Close));
            }
        }
    }
}

/// What must hold after a run that was cut and went on to its end.
fn check(world: &World, seen: &Seen, context: &str) {
    let project = crate::session::Project::open(&world.path("data"), &world.path("work"));
    let project = project.expect("a project");
    let id = project.newest().expect("a list").expect("a session");
    let history = project.open_session_all(id).expect("a history");
    let stored: BTreeMap<PartId, &Part> = history.parts.iter().map(|p| (p.id, p)).collect();
    for (id, part) in &seen.parts {
        let kept = stored
            .get(id)
            .unwrap_or_else(|| panic!("{context}: {id} is lost: {part:?}"));
        if let (PartBody::Text { text, .. }, PartBody::Text { text: kept, .. }) =
            (&part.body, &kept.body)
        {
            assert!(
                kept.starts_with(text.as_str()),
                "{context}: {text:?} became {kept:?}"
            );
        }
        if let (PartBody::Tool(tool), PartBody::Tool(kept)) = (&part.body, &kept.body)
            && part.end.is_some()
        {
            assert_eq!(tool.state.name(), kept.state.name(), "{context}: {id}");
        }
    }
    let said: Vec<&str> = history
        .parts
        .iter()
        .filter_map(|p| match &p.body {
            PartBody::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    for note in &seen.notes {
        assert!(
            said.iter().any(|s| s.contains(note.as_str())),
            "{context}: {note} is lost"
        );
    }
    let mut conversation = Conversation::from_history(history.messages, history.parts);
    let messages = assemble::messages(&mut conversation, &|_| None);
    if let Err(rule) = crate::model::encode::check_every_wire(&messages) {
        panic!("{context}: {rule}");
    }
    assert!(seen.answered, "{context}: the next prompt was not answered");
    nothing_runs(&world.path("work/pids"), context);
}

/// Waits until no command of the run lives.
fn nothing_runs(pids: &Path, context: &str) {
    let text = std::fs::read_to_string(pids).unwrap_or_default();
    let lives = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.trim_start().to_owned());
        state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
    };
    let until = Instant::now() + long();
    while text.lines().any(lives) {
        assert!(Instant::now() < until, "{context}: a command still runs");
        std::thread::yield_now();
    }
}

fn uncut(_: &OpSender) -> Arc<Cut> {
    Arc::new(Cut::default())
}

/// One run that is cut before effect `at`, and what follows.
fn cut_at(strategy: &'static str, at: usize, crash: bool) {
    let context = format!(
        "{strategy}, {} before effect {at}",
        if crash { "crash" } else { "interrupt" }
    );
    let world = World::new(strategy);
    let mut seen = Seen::default();
    let blow = |ops: &OpSender| {
        let blow = if crash {
            Blow::Crash
        } else {
            Blow::Interrupt(ops.clone())
        };
        Arc::new(Cut::before(at, blow))
    };
    let (end, _) = run(&world, Begin::New, &blow, &mut seen);
    if matches!(end, End::Crashed) {
        // Said anew by the process that goes on.
        seen.queue = QueueState::default();
        (seen.again, seen.answered) = (true, false);
        let session = stored_session(&world);
        // Nothing was stored before the first commit: then there is nothing to go on with.
        let begin = session.map_or(Begin::New, |_| Begin::Newest);
        let (end, _) = run(&world, begin, &uncut, &mut seen);
        assert!(matches!(end, End::Done), "{context}");
    }
    check(&world, &seen, &context);
}

fn stored_session(world: &World) -> Option<crate::protocol::SessionId> {
    let project = crate::session::Project::open(&world.path("data"), &world.path("work"));
    project.expect("a project").newest().expect("a list")
}

fn campaign(strategy: &'static str) {
    let world = World::new(strategy);
    let mut seen = Seen::default();
    let (_, cut) = run(&world, Begin::New, &uncut, &mut seen);
    check(&world, &seen, strategy);
    assert!(seen.compactions > 0, "{strategy} compacts");
    let effects = cut.seen();
    assert!(effects > 60, "{effects} effects");
    let every = every();
    let step = if every { 1 } else { effects / SAMPLE };
    for crash in [false, true] {
        // Another sample each time: the process id is chance enough.
        let first = if every {
            0
        } else {
            std::process::id() as usize % step
        };
        for at in (first..effects).step_by(step) {
            cut_at(strategy, at, crash);
        }
    }
}

#[test]
fn a_run_cut_at_any_effect_goes_on_with_reactive_compactions() {
    campaign("reactive-overflow");
}

#[test]
fn a_run_cut_at_any_effect_goes_on_with_proactive_compactions() {
    campaign("proactive-threshold");
}

#[test]
fn a_run_cut_at_any_effect_goes_on_with_removal() {
    campaign("middle-removal");
}

#[test]
fn a_run_cut_at_any_effect_goes_on_with_compactions_by_hand() {
    campaign("manual");
}
