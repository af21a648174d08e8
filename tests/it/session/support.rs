//! A deterministic stream of commits, a model of what they add up to, and a listener.
//!
//! Commit `n` is a function of `n` alone, so a test that killed the writer can tell exactly what a
//! session that holds `k` commits must look like.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use dunlin::protocol::{
    Event, Fault, Finish, Message, MessageId, Mode, ModelRef, NoticeLevel, Part, PartBody, PartId,
    Role, SessionId, SessionInfo, Tokens, ToolPart, ToolState,
};
use dunlin::session::{
    Announce, Arrival, Commit, FaultPoints, History, Opened, Project, Record, SessionStore,
};
use serde_json::{Value, json};

pub(super) fn session_id(n: u128) -> SessionId {
    SessionId::from_raw((1_700_000_000_000_u128 << 80) + n)
}

pub(super) fn info(id: SessionId, worktree: &Path) -> SessionInfo {
    SessionInfo {
        id,
        parent: None,
        title: String::new(),
        worktree: worktree.display().to_string(),
        model: model(),
        agent: "build".to_owned(),
        mode: Mode::Ask,
        created: 1_700_000_000_000,
    }
}

/// An import that takes nothing for a secret.
pub(super) fn arrival(id: SessionId, worktree: &Path) -> Arrival<'_> {
    Arrival {
        id,
        worktree,
        now: 5,
        is_secret: |_| false,
    }
}

pub(super) fn model() -> ModelRef {
    "scripted/demo".parse().expect("model")
}

pub(super) fn message(session: SessionId, n: u64, role: Role) -> Message {
    Message {
        id: MessageId::from_raw((1_700_000_000_000_u128 << 80) + u128::from(n) * 1_000),
        session,
        parent: None,
        role,
        agent: "build".to_owned(),
        model: model(),
        summary: false,
        finish: None,
        error: None,
        tokens: Tokens::default(),
        cost: None,
        created: 1_700_000_000_000,
        completed: None,
    }
}

pub(super) fn part(session: SessionId, message: MessageId, k: u64, body: PartBody) -> Part {
    Part {
        id: PartId::from_raw(message.raw() + u128::from(k)),
        message,
        session,
        start: 1_700_000_000_000,
        end: None,
        body,
    }
}

pub(super) fn text(text: impl Into<String>) -> PartBody {
    PartBody::Text {
        text: text.into(),
        synthetic: false,
        ignored: false,
    }
}

fn tool(n: u64, state: ToolState) -> PartBody {
    PartBody::Tool(ToolPart {
        call: format!("call_{n}"),
        tool: "bash".to_owned(),
        state,
        provider: None,
    })
}

fn output(n: u64) -> String {
    let lines = (n * 7919) % 300;
    let mut text = String::new();
    for line in 0..lines {
        writeln!(text, "line {line} of {n}: grüße \"quoted\" \\ \u{1f426}").expect("a string");
    }
    text
}

/// The records of commit `n` (from 1). Eight commits make one exchange.
pub(super) fn records(session: SessionId, n: u64) -> Vec<Record> {
    let turn = n / 8;
    let user = message(session, turn * 2, Role::User);
    let mut assistant = message(session, turn * 2 + 1, Role::Assistant);
    let said = part(session, assistant.id, 1, text(""));
    let call = |state| part(session, assistant.id, 2, tool(n, state));
    let append = |id: PartId, text: String| Record::Append { part: id, text };
    let mut records = match n % 8 {
        0 => vec![
            Record::Message(user.clone()),
            Record::Part(part(
                session,
                user.id,
                1,
                text(format!("prompt {turn}\nmore")),
            )),
        ],
        1 => vec![Record::Message(assistant)],
        2 => vec![Record::Part(said)],
        3 => vec![append(said.id, format!("Hello {n}, "))],
        4 => vec![append(said.id, output(n))],
        5 => vec![
            append(said.id, "the end.".to_owned()),
            Record::Part(call(ToolState::Pending {
                raw: "{\"com".to_owned(),
            })),
            append(
                call(ToolState::Pending { raw: String::new() }).id,
                "mand\":1}".to_owned(),
            ),
        ],
        6 => vec![Record::Part(call(ToolState::Running {
            input: json!({"command": 1}),
            title: String::new(),
            metadata: Value::Null,
            tail: String::new(),
            start: 1,
        }))],
        _ => {
            let done = Record::Part(call(ToolState::Completed {
                input: json!({"command": 1}),
                output: output(n),
                title: "done".to_owned(),
                metadata: Value::Null,
                attachments: Vec::new(),
                truncated: None,
                compacted_at: None,
                start: 1,
                end: 2,
            }));
            assistant.finish = Some(Finish::ToolCalls);
            assistant.cost = Some(0.25);
            assistant.tokens.output = 10;
            vec![done, Record::Message(assistant)]
        }
    };
    records.push(Record::Value {
        name: "n".to_owned(),
        value: json!(n),
    });
    records
}

/// Commit `n`, announced as a notice that says `n`.
pub(super) fn commit(session: SessionId, n: u64) -> Commit {
    Commit::written(records(session, n), vec![told(n)])
}

pub(super) fn told(n: u64) -> Event {
    Event::Notice {
        level: NoticeLevel::Info,
        text: n.to_string(),
    }
}

/// What a session holds after the first `n` commits.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Model {
    pub(super) messages: BTreeMap<MessageId, Message>,
    pub(super) parts: BTreeMap<(MessageId, PartId), Part>,
}

impl Model {
    pub(super) fn after(session: SessionId, n: u64) -> Self {
        let mut model = Self::default();
        for n in 1..=n {
            model.add(session, n);
        }
        model
    }

    pub(super) fn add(&mut self, session: SessionId, n: u64) {
        for record in records(session, n) {
            match record {
                Record::Message(m) => drop(self.messages.insert(m.id, m)),
                Record::Part(p) => drop(self.parts.insert((p.message, p.id), p)),
                Record::Append { part, text } => {
                    let grown = self.parts.values_mut().rev().find(|p| p.id == part);
                    match grown.map(|p| &mut p.body) {
                        Some(PartBody::Text { text: old, .. }) => old.push_str(&text),
                        Some(PartBody::Tool(ToolPart {
                            state: ToolState::Pending { raw },
                            ..
                        })) => raw.push_str(&text),
                        // the first exchange begins at commit 1, without its commit 0
                        other => panic!("commit {n} appends to {other:?}"),
                    }
                }
                Record::Compacted { .. } | Record::Value { .. } | Record::Info(_) => {}
            }
        }
    }

    pub(super) fn of(history: &History) -> Self {
        Self {
            messages: history.messages.iter().map(|m| (m.id, m.clone())).collect(),
            parts: history
                .parts
                .iter()
                .map(|p| ((p.message, p.id), p.clone()))
                .collect(),
        }
    }
}

/// How many commits a history holds.
pub(super) fn count(history: &History) -> u64 {
    history.values.get("n").and_then(Value::as_u64).unwrap_or(0)
}

/// Asserts that a whole history is exactly what its number of commits makes; returns that number.
pub(super) fn assert_sound(history: &History) -> u64 {
    assert!(history.complete);
    let n = count(history);
    let expected = Model::after(history.info.id, n);
    let found = Model::of(history);
    assert!(found == expected, "a session of {n} commits differs");
    let ids: Vec<_> = history.messages.iter().map(|m| m.id).collect();
    assert!(ids.is_sorted(), "messages are out of order");
    let keys: Vec<_> = history.parts.iter().map(|p| (p.message, p.id)).collect();
    assert!(keys.is_sorted(), "parts are out of order");
    n
}

/// Collects what the store says and lets a test wait for it.
#[derive(Debug, Default)]
pub(super) struct Heard {
    state: Mutex<(Vec<Event>, Vec<Fault>)>,
    changed: Condvar,
}

impl Announce for Heard {
    fn announce(&self, events: Vec<Event>) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .extend(events);
        self.changed.notify_all();
    }

    fn failed(&self, fault: Fault) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .push(fault);
        self.changed.notify_all();
    }
}

impl Heard {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Waits until `enough` holds and returns its answer.
    pub(super) fn wait<T>(&self, enough: impl Fn(&[Event], &[Fault]) -> Option<T>) -> T {
        let until = Instant::now() + Duration::from_secs(30);
        let mut state = self.state.lock().expect("lock");
        loop {
            if let Some(answer) = enough(&state.0, &state.1) {
                return answer;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "nothing happened in 30 s");
            state = self.changed.wait_timeout(state, left).expect("wait").0;
        }
    }

    /// Numbers of the commits announced so far, in order.
    pub(super) fn numbers(&self) -> Vec<u64> {
        numbers(&self.state.lock().expect("lock").0)
    }

    /// Waits until so many complaints came.
    pub(super) fn until_faults(&self, count: usize) {
        self.wait(|_, faults| (faults.len() >= count).then_some(()));
    }

    /// Notices that are sentences, not numbers of commits.
    pub(super) fn sentences(&self) -> Vec<String> {
        let state = self.state.lock().expect("lock");
        let texts = state.0.iter().filter_map(|event| match event {
            Event::Notice { text, .. } if text.parse::<u64>().is_err() => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }

    pub(super) fn faults(&self) -> Vec<Fault> {
        self.state.lock().expect("lock").1.clone()
    }
}

pub(super) fn numbers(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Notice { text, .. } => text.parse().ok(),
            _ => None,
        })
        .collect()
}

/// Everything through the view of an opened session.
pub(super) fn through_view(opened: &Opened) -> Model {
    let page = opened.store.since(None).expect("since");
    Model {
        messages: page.messages.into_iter().map(|m| (m.id, m)).collect(),
        parts: page
            .parts
            .into_iter()
            .map(|p| ((p.message, p.id), p))
            .collect(),
    }
}

/// True with `DUNLIN_DAMAGE=1`: every cut and every bit is tried (docs/durability.md), which takes long.
pub(super) fn long_campaign() -> bool {
    std::env::var_os("DUNLIN_DAMAGE").is_some()
}

/// Commits number `n` and waits until it is safe from a power cut.
pub(super) fn synced(store: &SessionStore, n: u64) -> Result<(), Fault> {
    let (now, safe) = Commit::now(records(store.id(), n), vec![told(n)]);
    store.commit(now);
    safe.blocking_recv().expect("an answer")
}

/// A line for whoever reads the output of a campaign.
pub(super) fn note(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("print");
}

/// Panics that the store catches are not printed: with a backtrace each takes seconds.
pub(super) fn quiet_contained_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !dunlin::session::panic_is_contained(std::thread::current().name()) {
                usual(panic);
            }
        }));
    });
}

/// A project in a temporary folder.
pub(super) struct World {
    pub(super) home: tempfile::TempDir,
    pub(super) project: Project,
}

impl World {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().expect("temp");
        std::fs::create_dir(home.path().join("work")).expect("work");
        let project = project(home.path());
        Self { home, project }
    }

    /// One in which no index counts as hanging because the machine is busy.
    pub(super) fn patient() -> Self {
        let mut world = Self::new();
        let patience = if long_campaign() {
            Duration::from_hours(2)
        } else {
            Duration::from_mins(3)
        };
        let faults = Arc::new(FaultPoints::new(patience));
        world.project = world.project.with_faults(faults);
        world
    }

    /// A closed session large enough to be opened through sled, with its view; returns its commits.
    pub(super) fn large_session(&self, id: SessionId) -> u64 {
        self.session(id, 1_600);
        // the first opening builds the view
        let opened = self.project.open_session(id, Heard::new()).expect("open");
        assert!(!opened.history.complete, "too small to test sled");
        opened.store.close_blocking();
        assert!(self.folder(id).join("db/db").exists());
        1_600
    }

    pub(super) fn worktree(&self) -> std::path::PathBuf {
        self.home.path().join("work")
    }

    pub(super) fn folder(&self, id: SessionId) -> std::path::PathBuf {
        self.project.folder().join("sessions").join(id.to_string())
    }

    /// A closed session of `n` commits.
    pub(super) fn session(&self, id: SessionId, n: u64) {
        let store = self.start(id);
        for n in 1..=n {
            store.commit(commit(id, n));
        }
        store.close_blocking();
    }

    pub(super) fn start(&self, id: SessionId) -> SessionStore {
        self.project
            .create(&info(id, &self.worktree()), Heard::new())
            .expect("create")
    }
}

/// A new session of a project, and what is told of it.
pub(super) fn heard_from(project: &Project, id: SessionId) -> (SessionStore, Arc<Heard>) {
    let heard = Heard::new();
    let info = info(id, Path::new("/home/me/project"));
    let store = project.create(&info, Arc::<Heard>::clone(&heard));
    (store.expect("create"), heard)
}

/// The project of the worktree `home/work` with its data in `home/data`.
pub(super) fn project(home: &Path) -> Project {
    Project::open(&home.join("data"), &home.join("work")).expect("project")
}

pub(super) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folder");
    for entry in std::fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copy");
        }
    }
}
