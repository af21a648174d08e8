//! A session open elsewhere is read, not written, and can be followed while it grows.
//!
//! The lock is per open file, so two handles of one process stand for two processes; that death
//! frees it is what the kill tests rely on in every round.

use std::sync::Arc;
use std::time::Duration;

use dunlin::protocol::Role;
use dunlin::session::{Commit, Record, StoreError};

use super::support::{
    Heard, Model, World, assert_sound, commit, count, heard_from, message, part, records,
    session_id, text, told,
};

#[test]
fn the_second_one_reads_with_a_clear_sentence_and_cannot_write() {
    let world = World::new();
    let id = session_id(1);
    let owner = world.start(id);
    for n in 1..=40 {
        owner.commit(commit(id, n));
    }
    owner.page(None, 1).expect("written");

    let heard = Heard::new();
    let second = world
        .project
        .open_session(id, Arc::<Heard>::clone(&heard))
        .expect("open");
    assert!(!second.writable);
    assert!(
        second.notices[0].contains("open in"),
        "{:?}",
        second.notices
    );
    assert_eq!(assert_sound(&second.history), 40);
    second.store.commit(commit(id, 41));
    assert!(heard.numbers().is_empty());
    assert!(heard.faults()[0].message.contains("reading only"));
    let refused = [
        world.project.delete(id).expect_err("open"),
        world.project.rename(id, "x").expect_err("open"),
        world.project.archive(id).expect_err("open"),
    ];
    for error in refused {
        assert!(matches!(error, StoreError::OpenElsewhere { .. }), "{error}");
    }
    // reading does not disturb the owner
    owner.commit(commit(id, 41));
    owner.page(None, 1).expect("written");
    let page = second.store.page(None, usize::MAX).expect("page");
    assert_eq!(page.messages.len(), Model::after(id, 41).messages.len());
    second.store.close_blocking();
    owner.close_blocking();
    let third = world.project.open_session(id, Heard::new()).expect("open");
    assert!(third.writable);
    assert_eq!(count(&third.history), 41);
    third.store.close_blocking();
}

#[test]
fn a_listing_says_which_sessions_are_open() {
    let world = World::new();
    world.session(session_id(1), 8);
    let opened = world
        .project
        .open_session(session_id(1), Heard::new())
        .expect("open");
    opened.store.page(None, 1).expect("the view has started");
    assert!(world.project.list().expect("list")[0].open_elsewhere);
    opened.store.close_blocking();
    assert!(!world.project.list().expect("list")[0].open_elsewhere);
}

/// Nothing takes so long, whatever else the machine does.
const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_follower_sees_every_record_in_order_as_it_is_written() {
    let world = World::new();
    let id = session_id(1);
    let owner = world.start(id);
    for n in 1..=10 {
        owner.commit(commit(id, n));
    }
    owner.page_async(None, 1).await.expect("written");
    let second = world.project.open_session(id, Heard::new()).expect("open");
    let before = count(&second.history);
    let mut follower = second.store.follow().expect("a reader");
    let mut seen = Vec::new();
    let expected: Vec<Record> = (before + 1..=200).flat_map(|n| records(id, n)).collect();
    for n in before + 1..=200 {
        // for most of them it waits already when they are written
        if n % 4 != 0 {
            let mut wait = std::pin::pin!(follower.changed());
            let early = futures_util::poll!(wait.as_mut());
            owner.commit(commit(id, n));
            if early.is_pending() {
                let woken = tokio::time::timeout(LONG, wait).await;
                woken.expect("it hears of a write");
            }
        } else {
            owner.commit(commit(id, n));
        }
        seen.extend(follower.read().expect("read"));
    }
    let all = async {
        while seen.len() < expected.len() {
            follower.changed().await;
            seen.extend(follower.read().expect("read"));
        }
    };
    tokio::time::timeout(LONG, all).await.expect("everything");
    assert!(seen == expected);
    // nothing new: nobody is woken, but for what the kernel still has to tell of the last writes
    let mut woken = 0;
    let silence = Duration::from_millis(700);
    while tokio::time::timeout(silence, follower.changed())
        .await
        .is_ok()
    {
        woken += 1;
        assert_eq!(follower.read().expect("read"), []);
        assert!(woken < 10, "it is woken again and again");
    }
    second.store.close().await;
    owner.close().await;
}

#[tokio::test]
async fn half_a_line_wakes_a_follower_once_and_its_other_half_again() {
    use std::io::Write;
    let world = World::new();
    let id = session_id(1);
    let owner = world.start(id);
    for n in 1..=9 {
        owner.commit(commit(id, n));
    }
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    let mut follower = opened.store.follow().expect("a reader");
    let path = world.folder(id).join("journal");
    let mut journal = std::fs::OpenOptions::new()
        .append(true)
        .open(path)
        .expect("journal");
    let json = r#"{"v":2,"n":999,"r":[{"value":{"name":"x","value":1}}]}"#;
    let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
    let (half, rest) = line.as_bytes().split_at(20);
    journal.write_all(half).expect("half a line");
    follower.changed().await;
    assert_eq!(follower.read().expect("read"), []);
    let again = tokio::time::timeout(Duration::from_millis(50), follower.changed()).await;
    assert!(again.is_err(), "it must not look again and again");
    journal.write_all(rest).expect("the rest");
    let found = async {
        loop {
            follower.changed().await;
            let records = follower.read().expect("read");
            if !records.is_empty() {
                return records;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), found).await;
    assert_eq!(found.expect("the whole line").len(), 1);
    opened.store.close().await;
    owner.close().await;
}

#[test]
fn two_sessions_of_one_project_do_not_disturb_each_other() {
    let world = World::new();
    let stores: Vec<_> = (1..=4).map(|n| world.start(session_id(n))).collect();
    for n in 1..=100 {
        for store in &stores {
            store.commit(commit(store.id(), n));
        }
    }
    for store in &stores {
        store.close_blocking();
    }
    for n in 1..=4 {
        let history = world.project.open_session_all(session_id(n)).expect("all");
        assert_eq!(assert_sound(&history), 100);
    }
}

#[test]
fn events_without_records_keep_their_place_in_the_order() {
    let world = World::new();
    let id = session_id(1);
    let (store, heard) = heard_from(&world.project, id);
    let head = message(id, 1, Role::User);
    let prompt = part(id, head.id, 1, text("hi"));
    store.commit(Commit::written(
        vec![Record::Message(head), Record::Part(prompt)],
        vec![told(1)],
    ));
    store.commit(Commit::written(vec![], vec![told(2)]));
    store.commit(Commit::soon(records(id, 8), vec![told(3)]));
    store.close_blocking();
    assert_eq!(heard.numbers(), [1, 2, 3]);
}
