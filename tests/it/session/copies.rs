//! Sessions that leave, come back and branch: export, import, fork, search, archive, gc, delete.

use std::fs::{self, File};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use dunlin::protocol::{
    FilePart, FileSource, PartBody, PartId, Role, SessionId, ToolPart, ToolState,
};
use dunlin::session::{
    Commit, ExportFormat, Fork, GcPolicy, History, Record, Redactor, SearchQuery, StoreError,
};
use serde_json::{Value, json};

use super::rich::{SECRET, age, now, rich};
use super::support::{Heard, Model, World, arrival, commit, message, session_id};

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
            .import(&out, &arrival(copy, &other.worktree()))
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
            .import(bad.as_bytes(), &arrival(session_id(9), &world.worktree()))
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

pub(super) fn search(world: &World, text: &str, regex: bool) -> Vec<dunlin::session::Hit> {
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
