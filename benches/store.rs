//! How fast the session store accepts, syncs, opens and lists. Figures: docs/durability.md.
//!
//! `cargo bench --bench store`; a name as argument runs only what it matches.
#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use dunlin::protocol::{
    Event, Fault, Message, MessageId, Mode, NoticeLevel, Part, PartBody, PartId, Role, SessionId,
    SessionInfo, Tokens,
};
use dunlin::session::{Announce, Commit, Project, Record, SearchQuery, SessionStore};

/// Counts announced commits; the last one stamps the clock.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Announce for Counter {
    fn announce(&self, events: Vec<Event>) {
        self.0.fetch_add(events.len() as u64, Ordering::Release);
    }

    fn failed(&self, fault: Fault) {
        eprint(&fault);
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a failing store makes the figures worthless"
)]
fn eprint(fault: &Fault) {
    eprintln!("{fault}");
}

impl Counter {
    fn wait_for(&self, n: u64) {
        while self.0.load(Ordering::Acquire) < n {
            std::hint::spin_loop();
        }
    }
}

fn session(n: u128) -> SessionId {
    SessionId::from_raw((1_700_000_000_000_u128 << 80) + n)
}

fn info(id: SessionId, worktree: &Path) -> SessionInfo {
    SessionInfo {
        id,
        parent: None,
        title: "A session".to_owned(),
        worktree: worktree.display().to_string(),
        model: "scripted/demo".parse().expect("model"),
        agent: "build".to_owned(),
        mode: Mode::Ask,
        created: 1_700_000_000_000,
    }
}

fn message(session: SessionId, n: u64) -> Message {
    Message {
        id: MessageId::from_raw((1_700_000_000_000_u128 << 80) + u128::from(n) * 1_000),
        session,
        parent: None,
        role: if n.is_multiple_of(2) {
            Role::User
        } else {
            Role::Assistant
        },
        agent: "build".to_owned(),
        model: "scripted/demo".parse().expect("model"),
        summary: false,
        finish: None,
        error: None,
        tokens: Tokens::default(),
        cost: None,
        created: 1_700_000_000_000,
        completed: None,
    }
}

/// Part `k` of message `n`, about 1 KB.
fn part(session: SessionId, n: u64, k: u64) -> Part {
    let message = message(session, n).id;
    Part {
        id: PartId::from_raw(message.raw() + 1 + u128::from(k)),
        message,
        session,
        start: 1_700_000_000_000,
        end: Some(1_700_000_000_001),
        body: PartBody::Text {
            text: format!("part {k} of message {n}. ").repeat(40),
            synthetic: false,
            ignored: false,
        },
    }
}

fn told() -> Vec<Event> {
    vec![Event::Notice {
        level: NoticeLevel::Info,
        text: String::new(),
    }]
}

struct World {
    _home: tempfile::TempDir,
    project: Project,
    worktree: std::path::PathBuf,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("temp");
        let worktree = home.path().join("work");
        std::fs::create_dir(&worktree).expect("work");
        let project = Project::open(&home.path().join("data"), &worktree).expect("project");
        Self {
            _home: home,
            project,
            worktree,
        }
    }

    fn start(&self, n: u128) -> (SessionStore, Arc<Counter>) {
        let heard = Arc::<Counter>::default();
        let store = self
            .project
            .create(
                &info(session(n), &self.worktree),
                Arc::<Counter>::clone(&heard),
            )
            .expect("create");
        store.commit(Commit::written(
            vec![Record::Message(message(session(n), 1))],
            vec![],
        ));
        (store, heard)
    }

    /// A closed session of so many parts, ten to a message.
    fn session(&self, n: u128, parts: u64) {
        let (store, _) = self.start(n);
        for m in 2..2 + parts / 10 {
            let mut records = vec![Record::Message(message(session(n), m))];
            records.extend((0..10).map(|k| Record::Part(part(session(n), m, k))));
            store.commit(Commit::written(records, vec![]));
        }
        store.close_blocking();
    }
}

fn accepting(c: &mut Criterion) {
    let world = World::new();
    let (store, heard) = world.start(1);
    let mut n = 2;
    let mut told_so_far = 0;
    let mut next = || {
        n += 1;
        vec![Record::Part(part(session(1), 1, n))]
    };
    c.bench_function("commit() itself", |b| {
        b.iter_custom(|rounds| {
            let mut took = Duration::ZERO;
            for _ in 0..rounds {
                let commit = Commit::written(next(), told());
                let start = Instant::now();
                store.commit(commit);
                took += start.elapsed();
                told_so_far += 1;
                heard.wait_for(told_so_far);
            }
            took
        });
    });
    c.bench_function("commit() to announce, one at a time", |b| {
        b.iter_custom(|rounds| {
            let mut took = Duration::ZERO;
            for _ in 0..rounds {
                let commit = Commit::written(next(), told());
                told_so_far += 1;
                let start = Instant::now();
                store.commit(commit);
                heard.wait_for(told_so_far);
                took += start.elapsed();
            }
            took
        });
    });
    c.bench_function("commit() to announce, each of a burst", |b| {
        b.iter_custom(|rounds| {
            let commits: Vec<_> = (0..rounds)
                .map(|_| Commit::written(next(), told()))
                .collect();
            told_so_far += rounds;
            let start = Instant::now();
            for commit in commits {
                store.commit(commit);
            }
            heard.wait_for(told_so_far);
            start.elapsed()
        });
    });
    c.bench_function("commit() to synced", |b| {
        b.iter(|| {
            let (commit, safe) = Commit::now(next(), vec![]);
            store.commit(commit);
            safe.blocking_recv().expect("answer").expect("synced");
        });
    });
    store.close_blocking();
}

fn opening(c: &mut Criterion) {
    for parts in [1_000, 10_000, 100_000] {
        let world = World::new();
        world.session(1, parts);
        let open = || {
            world
                .project
                .open_session(session(1), Arc::<Counter>::default())
                .expect("open")
        };
        let start = Instant::now();
        open().store.close_blocking();
        let first = start.elapsed();
        let mut group = c.benchmark_group("open");
        group.sample_size(10);
        group.bench_function(format!("newest page of {parts} parts"), |b| {
            b.iter_custom(|rounds| {
                let mut took = Duration::ZERO;
                for _ in 0..rounds {
                    let start = Instant::now();
                    let opened = black_box(open());
                    took += start.elapsed();
                    opened.store.close_blocking();
                }
                took
            });
        });
        group.finish();
        report(parts, first);
    }
}

#[expect(clippy::print_stdout, reason = "a figure that is measured once")]
fn report(parts: u64, first: Duration) {
    println!("first opening of {parts} parts, view made from the journal: {first:?}");
}

fn creating_and_listing(c: &mut Criterion) {
    let world = World::new();
    let mut n = 10_000;
    c.bench_function("create a session", |b| {
        b.iter_custom(|rounds| {
            let mut took = Duration::ZERO;
            for _ in 0..rounds {
                n += 1;
                let info = info(session(n), &world.worktree);
                let start = Instant::now();
                let store = world.project.create(&info, Arc::<Counter>::default());
                took += start.elapsed();
                store.expect("create").close_blocking();
            }
            took
        });
    });
    for n in 0..2_000 {
        world.session(n, 20);
    }
    c.bench_function("list 2,000 sessions", |b| {
        b.iter(|| black_box(world.project.list().expect("list")));
    });
    c.bench_function("newest of 2,000 sessions", |b| {
        b.iter(|| black_box(world.project.newest().expect("newest")));
    });
}

/// 1 GB of journals: 40 sessions of about 25 MB.
fn searching(c: &mut Criterion) {
    let world = World::new();
    world.session(1, 20_000);
    let folder = world.project.folder().join("sessions");
    let journal = folder.join(session(1).to_string()).join("journal");
    let meta = folder.join(session(1).to_string()).join("meta.json");
    let line = std::fs::read(&journal).expect("journal");
    let mut bytes = 0;
    for n in 2..=41 {
        let copy = folder.join(session(n).to_string());
        std::fs::create_dir(&copy).expect("folder");
        std::fs::copy(&meta, copy.join("meta.json")).expect("meta");
        std::fs::write(copy.join("journal"), &line).expect("journal");
        bytes += line.len();
    }
    let mut group = c.benchmark_group(format!("search {} MB of journals", bytes >> 20));
    group.sample_size(10);
    for (name, text) in [
        ("a word that is nowhere", "zebrafish"),
        ("a word that is everywhere", "message"),
        ("two words, one nowhere", "message zebrafish"),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let query = SearchQuery {
                    text: text.to_owned(),
                    regex: false,
                    prompts: false,
                    limit: 200,
                };
                let cancel = AtomicBool::new(false);
                black_box(world.project.search(&query, &cancel).expect("search"))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, accepting, opening, creating_and_listing, searching);
criterion_main!(benches);
