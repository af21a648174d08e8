//! Sessions that leave, come back and branch: export, import, fork, search, archive, gc, delete.

use std::fs::{self, File};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dunlin::protocol::{
    FilePart, FileSource, OutputRef, PartBody, PartId, Role, SessionId, ToolPart, ToolState,
};
use dunlin::session::{
    Commit, ExportFormat, Fork, GcPolicy, History, Record, Redactor, SearchQuery, StoreError,
};
use serde_json::{Value, json};

use super::support::{Heard, Model, World, assert_sound, commit, message, part, session_id, text};

const SECRET: &str = "correct-horse-battery";

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("clock").as_millis() as i64
}

/// A session with a secret, an image, a truncated output and two branches.
fn rich(world: &World, id: SessionId) {
    let store = world.start(id);
    let blob = store.blobs().put(b"a picture").expect("blob");
    fs::create_dir_all(store.out_dir()).expect("out");
    let full = store.out_dir().join("full");
    fs::write(&full, "the whole output\n").expect("write");
    let first = message(id, 1, Role::User);
    let mut answer = message(id, 2, Role::Assistant);
    answer.parent = Some(first.id);
    let mut left = message(id, 3, Role::User);
    left.parent = Some(answer.id);
    let mut right = message(id, 4, Role::User);
    right.parent = Some(answer.id);
    let said = part(id, answer.id, 1, text("The key is corr"));
    let call = PartBody::Tool(ToolPart {
        call: "call_1".to_owned(),
        tool: "bash".to_owned(),
        state: ToolState::Completed {
            input: json!({"command": "echo $KEY ```"}),
            output: format!("{SECRET}\n```\nGrüße\n"),
            title: "echo".to_owned(),
            metadata: Value::Null,
            attachments: Vec::new(),
            truncated: Some(OutputRef {
                path: full.display().to_string(),
                bytes: 17,
                lines: 1,
            }),
            compacted_at: None,
            start: 1,
            end: 2,
        },
        provider: None,
    });
    let picture = PartBody::File(FilePart {
        mime: "image/png".to_owned(),
        name: "a.png".to_owned(),
        source: FileSource::Blob(blob),
    });
    let growing = said.id;
    store.commit(Commit::written(
        vec![
            Record::Message(first.clone()),
            Record::Part(part(id, first.id, 1, text("what is the key?"))),
            Record::Part(part(id, first.id, 2, picture)),
            Record::Message(answer.clone()),
            Record::Part(said),
        ],
        vec![],
    ));
    // the secret arrives in two pieces
    store.commit(Commit::written(
        vec![
            Record::Append {
                part: growing,
                text: SECRET.trim_start_matches("corr").to_owned(),
            },
            Record::Part(part(id, answer.id, 2, call)),
            Record::Message(left.clone()),
            Record::Part(part(id, left.id, 1, text("the left branch"))),
            Record::Message(right.clone()),
            Record::Part(part(id, right.id, 1, text("the right branch"))),
            Record::Value {
                name: "todo".to_owned(),
                value: json!(["a"]),
            },
            Record::Value {
                name: "queue".to_owned(),
                value: json!({"guidance": [SECRET]}),
            },
        ],
        vec![],
    ));
    store.close_blocking();
}

fn export(world: &World, id: SessionId, format: &str) -> String {
    let redactor = Redactor::with_values([SECRET.to_owned()]);
    let format: ExportFormat = format.parse().expect("format");
    let mut out = Vec::new();
    world
        .project
        .export(id, format, &redactor, &mut out)
        .expect("export");
    String::from_utf8(out).expect("text")
}

/// A history as a session of another id would hold it, without its outputs' paths.
fn comparable(history: &History) -> Value {
    let mut messages = history.messages.clone();
    let mut parts = history.parts.clone();
    for message in &mut messages {
        message.session = session_id(0);
    }
    for part in &mut parts {
        part.session = session_id(0);
        if let PartBody::Tool(tool) = &mut part.body
            && let ToolState::Completed { truncated, .. } = &mut tool.state
        {
            *truncated = None;
        }
    }
    json!({"messages": messages, "parts": parts})
}

#[test]
fn no_export_holds_a_secret_and_all_hold_the_rest() {
    let world = World::new();
    rich(&world, session_id(1));
    for format in ["md", "json", "jsonl"] {
        let said = export(&world, session_id(1), format);
        assert!(!said.contains(SECRET), "{format}: {said}");
        assert!(said.contains("The key is [redacted]"), "{format}: {said}");
        for expected in [
            "what is the key?",
            "the left branch",
            "Grüße",
            "bash",
            "a.png",
        ] {
            assert!(said.contains(expected), "{format} lacks {expected}");
        }
    }
    let markdown = export(&world, session_id(1), "md");
    assert!(
        markdown.contains("````"),
        "a fence ends in the output: {markdown}"
    );
}

#[test]
fn an_export_comes_back_as_it_was() {
    for format in ["json", "jsonl"] {
        let world = World::new();
        let (id, copy) = (session_id(1), session_id(2));
        rich(&world, id);
        let open = Redactor::with_values([]);
        let mut out = Vec::new();
        let kind = format.parse().expect("format");
        world
            .project
            .export(id, kind, &open, &mut out)
            .expect("export");

        let other = World::new();
        let info = other
            .project
            .import(&out, copy, &other.worktree(), 5)
            .expect("import");
        assert_eq!(info.worktree, other.worktree().display().to_string());
        let before = world.project.open_session_all(id).expect("all");
        let after = other.project.open_session_all(copy).expect("all");
        assert_eq!(comparable(&before), comparable(&after), "{format}");
        // what waits to be sent, what was permitted and what was spent stays where it was
        let kept: Vec<&str> = after.values.keys().map(String::as_str).collect();
        assert_eq!(kept, ["todo"]);
        assert_eq!(before.values["todo"], after.values["todo"]);
        assert_eq!(after.info.mode, dunlin::protocol::Mode::Ask);
        let PartBody::File(FilePart {
            source: FileSource::Blob(blob),
            ..
        }) = &after.parts[1].body
        else {
            panic!("no picture in {:?}", after.parts);
        };
        assert_eq!(other.project.blobs().get(blob).expect("blob"), b"a picture");
        assert_eq!(other.project.list().expect("list")[0].messages, 4);
        let opened = other
            .project
            .open_session(copy, Heard::new())
            .expect("open");
        assert!(opened.writable);
        opened.store.close_blocking();
    }
}

#[test]
fn what_is_no_export_is_refused_and_leaves_nothing() {
    let world = World::new();
    rich(&world, session_id(1));
    let good = export(&world, session_id(1), "jsonl");
    let newer = good.replacen(":1}", ":7}", 1);
    let cut = good.get(..good.len() - 9).expect("ends in ASCII");
    for bad in [
        "",
        "{}",
        "[1]",
        "hello\nworld",
        "{\"dunlin_export\":1}",
        &newer,
        cut,
    ] {
        let error = world
            .project
            .import(bad.as_bytes(), session_id(9), &world.worktree(), 5)
            .expect_err("not an export");
        assert!(matches!(error, StoreError::Import(_)), "{error}");
        assert!(!world.folder(session_id(9)).exists());
    }
}

#[test]
fn a_fork_holds_one_branch_up_to_the_message_and_stands_alone() {
    let world = World::new();
    let (id, copy) = (session_id(1), session_id(2));
    rich(&world, id);
    let at = message(id, 4, Role::User).id;
    let info = world
        .project
        .fork(&Fork {
            source: id,
            at: Some(at),
            id: copy,
            now: 77,
            values: vec!["todo".to_owned()],
        })
        .expect("fork");
    assert_eq!((info.id, info.parent, info.created), (copy, Some(id), 77));
    world.project.delete(id).expect("delete");
    let history = world.project.open_session_all(copy).expect("all");
    let numbers: Vec<u128> = history
        .messages
        .iter()
        .map(|m| m.id.raw() % 10_000 / 1_000)
        .collect();
    let expected: Vec<u128> = [1, 2, 4]
        .map(|n| message(copy, n, Role::User).id.raw() % 10_000 / 1_000)
        .to_vec();
    assert_eq!(numbers, expected);
    assert!(history.messages.iter().all(|m| m.session == copy));
    assert!(history.parts.iter().all(|p| p.session == copy));
    assert_eq!(history.values["todo"], json!(["a"]));
    assert!(!history.values.contains_key("queue"));
    // the full output survived its first session
    let output = history.parts.iter().find_map(|part| match &part.body {
        PartBody::Tool(ToolPart {
            state: ToolState::Completed { truncated, .. },
            ..
        }) => truncated.clone(),
        _ => None,
    });
    let path = output.expect("a full output").path;
    assert!(path.contains(&copy.to_string()), "{path}");
    assert_eq!(
        fs::read_to_string(path).expect("read"),
        "the whole output\n"
    );
    // a fork can be gone on with, unlike a subagent's session, which has a parent too
    assert_eq!(world.project.newest().expect("newest"), Some(copy));
}

#[test]
fn a_fork_of_everything_is_a_copy_and_an_unknown_message_is_named() {
    let world = World::new();
    let (id, copy) = (session_id(1), session_id(2));
    rich(&world, id);
    let mut fork = Fork {
        source: id,
        at: None,
        id: copy,
        now: 77,
        values: vec![],
    };
    world.project.fork(&fork).expect("fork");
    let before = world.project.open_session_all(id).expect("all");
    let after = world.project.open_session_all(copy).expect("all");
    assert_eq!(comparable(&before), comparable(&after));
    fork.id = session_id(3);
    fork.at = Some(message(id, 99, Role::User).id);
    let error = world.project.fork(&fork).expect_err("no such message");
    assert!(error.to_string().contains("msg_"), "{error}");
}

fn search(world: &World, text: &str, regex: bool) -> Vec<dunlin::session::Hit> {
    let query = SearchQuery {
        text: text.to_owned(),
        regex,
        prompts: false,
        limit: 10,
    };
    world
        .project
        .search(&query, &AtomicBool::new(false))
        .expect("search")
}

#[test]
fn search_finds_words_across_pieces_sessions_and_tools_and_points_to_the_part() {
    let world = World::new();
    rich(&world, session_id(1));
    rich(&world, session_id(2));
    let hits = search(&world, "the KEY horse", false);
    assert_eq!(hits.len(), 2, "{hits:?}");
    assert_eq!(
        hits[0].session,
        session_id(2),
        "the session used last comes first"
    );
    let answer = message(session_id(2), 2, Role::Assistant).id;
    assert_eq!(hits[0].message, answer);
    assert_eq!(hits[0].part, PartId::from_raw(answer.raw() + 1));
    assert_eq!((hits[0].kind, hits[0].role), ("text", Role::Assistant));
    assert_eq!(hits[0].title, "what is the key?");
    assert_eq!(hits[0].excerpt.get(hits[0].found.clone()), Some("The"));
    let tools = search(&world, "echo bash", false);
    assert!(tools.iter().all(|hit| hit.kind == "tool"));
    assert_eq!(tools.len(), 2);
    assert_eq!(search(&world, r"(left|right)\s+branch", true).len(), 4);
    assert!(search(&world, "nowhere to be found", false).is_empty());
    assert!(search(&world, "", false).is_empty());
    let broken = SearchQuery {
        text: "(".to_owned(),
        regex: true,
        prompts: false,
        limit: 1,
    };
    let error = world.project.search(&broken, &AtomicBool::new(false));
    assert!(error.expect_err("not a pattern").to_string().contains('('));
    // of prompts the newest of each session counts, and nothing that somebody else said
    for (text, regex) in [("KEY", false), ("(?i)key", true)] {
        let prompts = SearchQuery {
            text: text.to_owned(),
            regex,
            prompts: true,
            limit: 10,
        };
        let hits = world.project.search(&prompts, &AtomicBool::new(false));
        let hits = hits.expect("search");
        assert_eq!(hits.len(), 2, "{hits:?}");
        assert!(hits.iter().all(|h| h.role == Role::User), "{hits:?}");
    }
    assert!(search(&world, "the KEY horse", false)[0].role == Role::Assistant);
}

#[test]
fn an_archived_session_is_small_listed_searchable_and_comes_back() {
    let world = World::new();
    let id = session_id(1);
    world.session(id, 1_200);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    opened.store.page(None, 1).expect("view");
    opened.store.close_blocking();
    let before = world.project.list().expect("list");
    let freed = world.project.archive(id).expect("archive");
    assert!(freed > 1 << 20, "only {freed} bytes became free");
    assert!(!world.folder(id).join("journal").exists());
    assert!(!world.folder(id).join("db").exists());
    let rows = world.project.list().expect("list");
    assert!(rows[0].archived);
    assert_eq!(
        (rows[0].parts, rows[0].updated),
        (before[0].parts, before[0].updated)
    );
    assert!(!search(&world, "prompt", false).is_empty());
    assert_sound(&world.project.open_session_all(id).expect("all"));

    let opened = world.project.open_session(id, Heard::new()).expect("open");
    assert!(opened.writable);
    opened.store.commit(commit(id, 1_201));
    opened.store.close_blocking();
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), 1_201);
    assert!(!world.project.list().expect("list")[0].archived);
    fs::remove_file(world.folder(id).join("meta.json")).expect("remove");
    world.project.archive(id).expect("archive again");
    assert!(world.project.list().expect("list")[0].archived);
}

#[test]
fn a_session_is_renamed_and_deleted() {
    let world = World::new();
    let id = session_id(1);
    world.session(id, 16);
    world
        .project
        .rename(id, "  A better name ")
        .expect("rename");
    assert_eq!(
        world.project.list().expect("list")[0].info.title,
        "A better name"
    );
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(history.info.title, "A better name");
    assert!(Model::of(&history) == Model::after(id, 16));
    world.project.delete(id).expect("delete");
    assert!(world.project.list().expect("list").is_empty());
    assert!(!world.folder(id).exists());
    assert!(matches!(
        world.project.delete(id),
        Err(StoreError::NotFound(_))
    ));
}

fn age(path: &std::path::Path, days: u64) {
    let then = SystemTime::now() - Duration::from_hours(24 * days);
    File::open(path)
        .expect("open")
        .set_modified(then)
        .expect("age");
}

#[test]
fn gc_takes_what_is_old_and_unused_and_a_dry_run_only_tells() {
    let world = World::new();
    let (old, young) = (session_id(1), session_id(2));
    rich(&world, old);
    rich(&world, young);
    let blobs = world.project.blobs();
    let unused = blobs.put(b"nobody's picture").expect("put");
    let used = blobs.put(b"a picture").expect("put");
    for blob in [&unused, &used] {
        age(&blobs.path(blob).expect("path"), 3);
    }
    age(&world.folder(old).join("journal"), 20);
    age(&world.folder(old).join("out/full"), 8);
    age(&world.folder(young).join("out/full"), 6);
    let mut policy = GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota: 0,
        dry_run: true,
    };
    let plan = world.project.gc(&policy).expect("gc");
    assert_eq!(
        (plan.outputs, plan.blobs, plan.archived.as_slice()),
        (1, 1, [old].as_slice())
    );
    assert!(plan.freed > 0);
    assert!(world.folder(old).join("out/full").exists());
    assert!(blobs.get(&unused).is_ok());
    assert!(world.folder(old).join("journal").exists());

    policy.dry_run = false;
    let done = world.project.gc(&policy).expect("gc");
    assert_eq!(
        (done.outputs, done.blobs, done.archived.as_slice()),
        (1, 1, [old].as_slice())
    );
    assert_eq!(done.problems, Vec::<String>::new());
    assert!(!world.folder(old).join("out/full").exists());
    assert!(world.folder(young).join("out/full").exists());
    assert!(blobs.get(&unused).is_err());
    assert_eq!(blobs.get(&used).expect("used"), b"a picture");
    assert!(world.folder(old).join("journal.zst").exists());
    let again = world.project.gc(&policy).expect("gc");
    assert_eq!(
        (again.outputs, again.blobs, again.archived.len()),
        (0, 0, 0)
    );
}

#[test]
fn over_its_quota_a_project_gives_up_what_is_least_missed_and_nothing_that_was_said() {
    let world = World::new();
    let ids: Vec<_> = (1..=3).map(session_id).collect();
    for (n, &id) in ids.iter().enumerate() {
        rich(&world, id);
        let store = world.project.open_session(id, Heard::new()).expect("open");
        for n in 1..=200 {
            store.store.commit(commit(id, n));
        }
        store.store.since(None).expect("the index is made");
        store.store.close_blocking();
        fs::write(world.folder(id).join("frames"), vec![1; 200_000]).expect("frames");
        fs::write(world.folder(id).join("out/big"), vec![1; 200_000]).expect("out");
        age(&world.folder(id).join("journal"), 3 - n as u64);
        age(&world.folder(id).join("frames"), 3 - n as u64);
    }
    let open = world
        .project
        .open_session(ids[0], Heard::new())
        .expect("open");
    let policy = |quota| GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota,
        dry_run: false,
    };
    let used = || {
        let used = world.project.disk_use().expect("use");
        used.blobs + used.sessions.iter().map(|(_, bytes)| bytes).sum::<u64>()
    };
    let done = world.project.gc(&policy(used() - 100_000)).expect("gc");
    assert_eq!((done.frames, done.outputs, done.archived.len()), (1, 0, 0));
    assert!(
        !world.folder(ids[1]).join("frames").exists(),
        "the oldest first"
    );
    assert!(world.folder(ids[0]).join("frames").exists(), "it is open");
    let done = world.project.gc(&policy(used() - 250_000)).expect("gc");
    assert_eq!((done.frames, done.archived.len()), (1, 0));
    assert!(done.outputs > 0);
    let done = world.project.gc(&policy(1)).expect("gc");
    assert_eq!(done.archived, ids[1..]);
    assert!(
        done.problems[0].contains("store.quota"),
        "{:?}",
        done.problems
    );
    open.store.close_blocking();
    for &id in &ids {
        let history = world.project.open_session_all(id).expect("all");
        assert!(history.parts.len() > 50);
    }
}

#[test]
fn a_clock_that_goes_back_deletes_nothing_and_stops_nothing() {
    let world = World::new();
    let id = session_id(1);
    rich(&world, id);
    let ahead = SystemTime::now() + Duration::from_hours(24 * 3_650);
    for file in ["journal", "out/full", "meta.json"] {
        File::open(world.folder(id).join(file))
            .and_then(|f| f.set_modified(ahead))
            .expect("a file of the future");
    }
    let policy = |now| GcPolicy {
        now,
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota: 0,
        dry_run: false,
    };
    for now in [now(), 0, -1] {
        let done = world.project.gc(&policy(now)).expect("gc");
        assert_eq!(
            (done.outputs, done.blobs, done.leftovers),
            (0, 0, 0),
            "{now}"
        );
        assert!(done.archived.is_empty(), "{now}");
    }
    // the note of the last clean-up lies in the future: it counts as old
    let project = &world.project;
    assert!(project.gc_if_due(&policy(now())).expect("gc").is_some());
    let note = project.folder().join("cleaned");
    assert!(
        project.gc_if_due(&policy(now())).expect("gc").is_none(),
        "done just now"
    );
    File::open(&note)
        .and_then(|f| f.set_modified(ahead))
        .expect("future");
    assert!(project.gc_if_due(&policy(now())).expect("gc").is_some());
    age(&note, 1);
    assert!(
        project.gc_if_due(&policy(now())).expect("gc").is_some(),
        "a day ago"
    );
    // and messages keep the order of their ids, whatever time they were made at
    let opened = project.open_session(id, Heard::new()).expect("open");
    let mut late = message(id, 90, Role::User);
    late.created = -5;
    opened
        .store
        .commit(Commit::written(vec![Record::Message(late.clone())], vec![]));
    let page = opened.store.since(None).expect("since");
    assert_eq!(page.messages.last().map(|m| m.id), Some(late.id));
    opened.store.close_blocking();
    assert_eq!(project.list().expect("list").len(), 1);
}

#[test]
fn the_quick_search_finds_what_reading_everything_finds() {
    let world = World::new();
    for n in 1..=4 {
        rich(&world, session_id(n));
        let id = session_id(n + 10);
        world.session(id, 40 + 111 * n as u64);
    }
    let archived = session_id(12);
    world.project.archive(archived).expect("archive");
    let open = world
        .project
        .open_session(session_id(13), Heard::new())
        .expect("open");
    open.store.commit(commit(session_id(13), 374));
    open.store.page(None, 1).expect("written");
    for text in [
        "grüße",
        "GRÜSSE",
        "line",
        "quoted",
        "\"quoted\"",
        "\\",
        "prompt 7",
        "7 of 9",
        "horse",
        "```",
        "bash",
        "end.",
        "hello 11",
        "nowhere",
        "\u{1f426}",
        "echo $KEY",
        "command",
    ] {
        let words: Vec<String> = text
            .split_whitespace()
            .map(|word| {
                word.chars()
                    .map(|c| format!("[{}]", either_case(c)))
                    .collect()
            })
            .collect();
        // one word as a regular expression takes the slow way
        if let [word] = words.as_slice() {
            let quick: Vec<_> = search(&world, text, false).into_iter().map(key).collect();
            let slow: Vec<_> = search(&world, word, true).into_iter().map(key).collect();
            assert_eq!(quick, slow, "{text}");
        } else {
            for hit in search(&world, text, false) {
                assert!(!hit.excerpt.is_empty());
            }
        }
    }
    let hits = search(&world, "prompt 7", false);
    assert!(!hits.is_empty());
    open.store.close_blocking();
}

fn either_case(c: char) -> String {
    let all = c.to_lowercase().chain(c.to_uppercase()).chain([c]);
    all.map(|c| regex::escape(&c.to_string()).replace('^', "\\^"))
        .collect()
}

fn key(hit: dunlin::session::Hit) -> (SessionId, PartId, Role, String) {
    (hit.session, hit.part, hit.role, hit.excerpt)
}

#[test]
fn gc_leaves_an_open_session_alone() {
    let world = World::new();
    let id = session_id(1);
    rich(&world, id);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    age(&world.folder(id).join("journal"), 30);
    let policy = GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota: 0,
        dry_run: false,
    };
    let done = world.project.gc(&policy).expect("gc");
    assert!(done.archived.is_empty());
    assert!(world.folder(id).join("journal").exists());
    opened.store.close_blocking();
}
