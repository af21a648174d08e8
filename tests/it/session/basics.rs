//! What the store does when nothing goes wrong.

use dunlin::protocol::{Role, SessionId};
use dunlin::session::{Commit, Project, Record, StoreError, SummaryPatch};
use serde_json::json;

use super::support::{
    Heard, Model, World, assert_sound, commit, heard_from, info, message, part, records,
    session_id, text, told,
};

#[test]
fn commits_are_announced_in_order_and_come_back() {
    let world = World::new();
    let id = session_id(1);
    let (store, heard) = heard_from(&world.project, id);
    for n in 1..=500 {
        store.commit(commit(id, n));
    }
    store.close_blocking();
    assert_eq!(heard.numbers(), (1..=500).collect::<Vec<_>>());
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), 500);

    let opened = world.project.open_session(id, Heard::new()).expect("open");
    assert!(opened.writable);
    assert_eq!(opened.notices, Vec::<String>::new());
    let all = opened.store.since(None).expect("since");
    assert_eq!(all.messages, history.messages);
    assert_eq!(all.parts, history.parts);
    let last = history.parts.last().expect("part");
    assert_eq!(
        opened.store.part(last.id).expect("part"),
        Some(last.clone())
    );
    opened.store.close_blocking();
}

#[test]
fn a_large_session_opens_with_its_newest_page_and_pages_back_to_its_beginning() {
    let world = World::new();
    let id = session_id(1);
    world.session(id, 4_000);
    let whole = world.project.open_session_all(id).expect("all");
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    assert!(!opened.history.complete);
    assert!(opened.history.parts.len() < whole.parts.len());
    assert_eq!(opened.history.last_id, whole.last_id);
    let (mut messages, mut parts) = (opened.history.messages, opened.history.parts);
    loop {
        let oldest = messages.first().map(|m| m.id);
        let page = opened.store.page(oldest, 100).expect("page");
        assert!(!page.messages.is_empty());
        messages.splice(..0, page.messages);
        parts.splice(..0, page.parts);
        if page.first {
            break;
        }
    }
    assert_eq!(messages, whole.messages);
    assert_eq!(parts, whole.parts);
    let middle = whole.messages[whole.messages.len() / 2].id;
    let since = opened.store.since(Some(middle)).expect("since");
    assert_eq!(since.messages, whole.messages[whole.messages.len() / 2..]);
    opened.store.close_blocking();
    let again = world.project.open_session(id, Heard::new()).expect("again");
    assert_eq!(again.notices, Vec::<String>::new());
    again.store.close_blocking();
}

#[test]
fn an_answer_holds_what_was_committed_before_the_question() {
    let world = World::new();
    let id = session_id(1);
    let store = world.start(id);
    let mut model = Model::default();
    for n in 1..=60 {
        store.commit(commit(id, n));
        model.add(id, n);
        let page = store.page(None, usize::MAX).expect("page");
        assert!(page.first);
        assert_eq!(
            page.messages,
            model.messages.values().cloned().collect::<Vec<_>>()
        );
        assert_eq!(
            page.parts,
            model.parts.values().cloned().collect::<Vec<_>>()
        );
    }
    store.close_blocking();
}

#[tokio::test]
async fn a_synced_commit_tells_when_it_is_safe() {
    let world = World::new();
    let id = session_id(1);
    let store = world.start(id);
    let (commit, safe) = Commit::now(records(id, 1), vec![told(1)]);
    store.commit(commit);
    assert_eq!(safe.await.expect("answer"), Ok(()));
    let page = store.page_async(None, 10).await.expect("page");
    assert_eq!(page.messages.len(), 1);
    store.close().await;
    store.close().await;
}

#[test]
fn a_closed_session_refuses_commits_aloud() {
    let world = World::new();
    let id = session_id(1);
    let (store, heard) = heard_from(&world.project, id);
    store.commit(commit(id, 1));
    store.close_blocking();
    let (late, safe) = Commit::now(records(id, 2), vec![told(2)]);
    store.commit(late);
    assert!(safe.blocking_recv().expect("answer").is_err());
    assert_eq!(heard.numbers(), [1]);
    // Who waits is answered first; the complaint follows.
    heard.until_faults(1);
}

#[test]
fn a_session_without_a_message_leaves_no_trace() {
    let world = World::new();
    let id = session_id(1);
    let store = world.start(id);
    assert!(world.folder(id).exists());
    assert!(world.project.list().expect("list").is_empty());
    store.close_blocking();
    assert!(!world.folder(id).exists());
}

#[test]
fn a_listing_shows_what_was_said_counted_and_told() {
    let world = World::new();
    for n in 1..=3 {
        world.session(session_id(n), 40);
    }
    let id = session_id(2);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    let mut named = opened.history.info.clone();
    named.title = "A name".to_owned();
    opened
        .store
        .commit(Commit::written(vec![Record::Info(named)], vec![]));
    opened.store.set_summary(SummaryPatch {
        context_percent: Some(37),
        added: Some(5),
        branch: Some("main".to_owned()),
        ..SummaryPatch::default()
    });
    opened.store.close_blocking();

    let rows = world.project.list().expect("list");
    let ids: Vec<SessionId> = rows.iter().map(|row| row.info.id).collect();
    assert_eq!(ids, [session_id(2), session_id(3), session_id(1)]);
    assert_eq!(world.project.newest().expect("newest"), Some(id));
    let row = &rows[0];
    let whole = world.project.open_session_all(id).expect("all");
    assert_eq!(row.parts, whole.parts.len() as u64);
    assert_eq!(row.messages, whole.messages.len() as u64);
    assert_eq!(row.info.title, "A name");
    assert_eq!(row.first_prompt, "prompt 1");
    assert_eq!(
        (row.context_percent, row.added, row.branch.as_str()),
        (37, 5, "main")
    );
    let cost: f64 = whole.messages.iter().filter_map(|m| m.cost).sum();
    assert!((row.cost.expect("cost") - cost).abs() < 1e-9);
    assert!(!row.open_elsewhere);
    let all = Project::list_all(&world.home.path().join("data")).expect("all");
    assert_eq!(all, rows);
}

#[test]
fn counts_and_facts_are_the_same_from_sled_as_from_the_journal() {
    let world = World::new();
    let id = session_id(1);
    world.session(id, 3_000);
    // the second opening goes through sled, and what it tells is written at the end
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    for n in 3_001..=3_020 {
        opened.store.commit(commit(id, n));
    }
    opened.store.page(None, 1).expect("page");
    opened.store.close_blocking();
    assert!(world.folder(id).join("db").exists());
    let from_sled = world.project.list().expect("list").remove(0);
    std::fs::remove_file(world.folder(id).join("meta.json")).expect("remove");
    let mut from_journal = world.project.list().expect("list").remove(0);
    from_journal.updated = from_sled.updated;
    assert_eq!(from_journal, from_sled);
}

#[test]
fn a_session_of_nobody_and_a_taken_id_are_named() {
    let world = World::new();
    let id = session_id(1);
    assert!(matches!(
        world.project.open_session(id, Heard::new()),
        Err(StoreError::NotFound(missing)) if missing == id
    ));
    world.session(id, 8);
    assert!(matches!(
        world
            .project
            .create(&info(id, &world.worktree()), Heard::new()),
        Err(StoreError::Exists(_))
    ));
}

#[test]
fn values_are_replaced_and_null_removes_them() {
    let world = World::new();
    let id = session_id(1);
    let store = world.start(id);
    let value = |name: &str, value| Record::Value {
        name: name.to_owned(),
        value,
    };
    let long = "x".repeat(30_000);
    let head = message(id, 1, Role::User);
    let prompt = part(id, head.id, 1, text("hi"));
    store.commit(Commit::written(
        vec![
            Record::Message(head),
            Record::Part(prompt),
            value("queue", json!({"a": long})),
            value("queue.more", json!([1])),
            value("gone", json!(1)),
        ],
        vec![],
    ));
    store.page(None, 1).expect("page");
    store.commit(Commit::soon(
        vec![value("queue", json!({"b": 2})), value("gone", json!(null))],
        vec![],
    ));
    store.page(None, 1).expect("page");
    store.close_blocking();
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(history.values.len(), 2);
    assert_eq!(history.values["queue"], json!({"b": 2}));
    assert_eq!(history.values["queue.more"], json!([1]));
}

#[test]
fn worktrees_of_one_repository_share_a_project_and_other_folders_do_not() {
    let home = tempfile::tempdir().expect("temp");
    let data = home.path().join("data");
    let make = |path: &str| std::fs::create_dir_all(home.path().join(path)).expect("folder");
    make("repo/.git/worktrees/side");
    make("repo/src");
    make("side");
    make("other");
    let git = home.path().join("repo/.git");
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("write");
    std::fs::write(git.join("worktrees/side/commondir"), "../..\n").expect("write");
    let link = format!("gitdir: {}\n", git.join("worktrees/side").display());
    std::fs::write(home.path().join("side/.git"), link).expect("write");
    let folder = |path: &str| {
        let project = Project::open(&data, &home.path().join(path)).expect("open");
        project.folder().to_path_buf()
    };
    assert_eq!(folder("repo"), folder("repo/src"));
    assert_eq!(folder("repo"), folder("side"));
    assert_ne!(folder("repo"), folder("other"));
    assert!(!data.exists(), "opening a project must create nothing");
}
