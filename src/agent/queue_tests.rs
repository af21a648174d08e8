//! The queue: what is stored of it, what comes back, and when it is told.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::protocol::IdMint;

fn say(text: &str) -> PromptInput {
    PromptInput {
        text: text.to_owned(),
        files: Vec::new(),
    }
}

fn add(queue: &mut Queue, mint: &mut IdMint, kind: QueueKind, text: &str) -> QueueId {
    let id = mint.queue(1);
    queue.push(QueueItem {
        id,
        kind,
        input: say(text),
        created: 1,
    });
    id
}

fn guided(texts: &[&str]) -> (Queue, Vec<QueueId>) {
    let (mut queue, mut mint) = (Queue::default(), IdMint::new(1, 0));
    let ids = texts
        .iter()
        .map(|text| add(&mut queue, &mut mint, QueueKind::Guidance, text))
        .collect();
    (queue, ids)
}

fn texts(items: &[QueueItem]) -> Vec<&str> {
    items.iter().map(|i| i.input.text.as_str()).collect()
}

/// Session values as the store keeps them.
fn store(values: &mut BTreeMap<String, Value>, queue: &mut Queue) -> usize {
    let written = queue.unwritten();
    let count = written.len();
    for (name, value) in written {
        if value == Value::Null {
            values.remove(&name);
        } else {
            values.insert(name, value);
        }
    }
    count
}

#[test]
fn one_is_used_as_is_two_and_more_are_labelled() {
    let said = |texts: &[&str]| coalesce(&guided(texts).0.state().guidance).text;
    assert_eq!(said(&["a"]), "a");
    assert_eq!(said(&["a", "b"]), "First: a\n\nAlso: b");
    assert_eq!(said(&["a", "b", "c"]), "[1]: a\n\n[2]: b\n\n[3]: c");
}

#[test]
fn items_can_be_moved_replaced_and_removed_until_they_are_gone() {
    let (mut queue, ids) = guided(&["a", "b", "c"]);
    assert!(queue.edit(QueueEdit::Move(ids[2], 0)));
    assert!(queue.edit(QueueEdit::Remove(ids[0])));
    assert!(queue.edit(QueueEdit::Replace(ids[1], say("B"))));
    assert_eq!(texts(&queue.state().guidance), ["c", "B"]);
    assert!(!queue.edit(QueueEdit::Remove(ids[0])), "it is gone already");
    assert!(!queue.edit(QueueEdit::Move(ids[0], 0)));
}

#[test]
fn one_more_writes_one_value_however_many_wait() {
    let (mut queue, mut mint) = (Queue::default(), IdMint::new(1, 0));
    let mut values = BTreeMap::new();
    for n in 0..500 {
        add(&mut queue, &mut mint, QueueKind::FollowUp, &n.to_string());
        assert_eq!(store(&mut values, &mut queue), 1);
    }
    assert_eq!(values.len(), 500);
    let first = queue.take_follow_up().expect("one");
    assert_eq!(first.input.text, "0");
    assert_eq!(store(&mut values, &mut queue), 1);
    assert_eq!(values.len(), 499);
}

#[test]
fn the_lists_of_an_earlier_dunlin_come_back_and_are_stored_by_item_with_the_next_change() {
    let (mut old, _) = guided(&["a", "b"]);
    let mut mint = IdMint::new(9, 0);
    add(&mut old, &mut mint, QueueKind::FollowUp, "later");
    old.set_paused(true);
    let as_one = json!(old.state());
    let mut values = BTreeMap::from([("queue".to_owned(), as_one)]);
    let mut queue = Queue::restore(&values);
    assert_eq!(queue.state(), old.state());
    assert!(queue.edit(QueueEdit::Remove(queue.state().guidance[0].id)));
    store(&mut values, &mut queue);
    assert!(!values.contains_key("queue"));
    let again = Queue::restore(&values);
    assert_eq!(again.state(), queue.state());
    assert_eq!(texts(&again.state().guidance), ["b"]);
    assert!(again.state().paused);
    // and one that was damaged is left out, the others stay
    let item = values.keys().find(|name| name.starts_with("queue/que_"));
    let item = item.expect("an item").clone();
    values.insert(item, json!({"place": "?"}));
    values.insert("queue/nothing".to_owned(), json!(7));
    let state = Queue::restore(&values).state().clone();
    assert_eq!(state.guidance.len() + state.follow_ups.len(), 1);
}

#[test]
fn a_list_that_has_no_room_between_two_places_gets_new_ones() {
    let (mut queue, ids) = guided(&["a", "b", "c"]);
    let mut values = BTreeMap::new();
    store(&mut values, &mut queue);
    let mut most = 0;
    for n in 0..60 {
        // always the last one into the middle
        let last = queue.state().guidance[2].id;
        assert!(queue.edit(QueueEdit::Move(last, 1)), "{n}");
        most = most.max(store(&mut values, &mut queue));
        assert_eq!(Queue::restore(&values).state(), queue.state(), "{n}");
    }
    assert_eq!(most, ids.len(), "at some time all were numbered anew");
}

#[test]
fn the_lists_are_told_ten_times_a_second_and_the_last_state_always() {
    let (mut queue, mut mint) = (Queue::default(), IdMint::new(1, 0));
    let mut told = 0;
    let mut timer = None;
    for now in 1_000..2_000 {
        if timer.is_some_and(|at| at <= now) {
            timer = None;
            told += u32::from(queue.timer_ended(now));
        }
        add(&mut queue, &mut mint, QueueKind::Guidance, "x");
        queue.unwritten();
        match queue.tell(now) {
            Tell::Now => told += 1,
            Tell::At(at) => {
                assert!(timer.replace(at).is_none(), "one timer at a time");
            }
            Tell::Later => assert!(timer.is_some()),
        }
    }
    assert!((9..=11).contains(&told), "{told}");
    assert!(
        timer.is_some() && queue.timer_ended(2_099),
        "the last state"
    );
    assert!(!queue.timer_ended(2_300), "nothing changed since");
    // what stops or empties it is told at once, and a clock that went back holds nothing back
    queue.set_paused(true);
    assert_eq!(queue.tell(2_100), Tell::Now);
    queue.take_guidance();
    assert_eq!(queue.tell(2_101), Tell::Now);
    add(&mut queue, &mut mint, QueueKind::Guidance, "x");
    assert_eq!(queue.tell(50), Tell::Now);
}

#[test]
fn there_is_room_for_so_many_items_and_bytes() {
    let (queue, _) = guided(&["a", "b"]);
    assert!(queue.has_room(&say("c"), 3));
    assert!(!queue.has_room(&say("c"), 2));
    let (queue, _) = guided(&[&"x".repeat(MOST_BYTES - 10)]);
    assert!(queue.has_room(&say("0123456789"), 3));
    assert!(!queue.has_room(&say("0123456789a"), 3));
}

proptest! {
    #[test]
    fn what_was_written_is_what_waits_after_any_changes(
        changes in prop::collection::vec((0_u8..7, any::<prop::sample::Index>(), 0_usize..12), 0..60)
    ) {
        let (mut queue, mut mint) = (Queue::default(), IdMint::new(1, 0));
        let mut values = BTreeMap::new();
        for (n, (what, which, to)) in changes.into_iter().enumerate() {
            let state = queue.state();
            let ids: Vec<QueueId> =
                state.guidance.iter().chain(&state.follow_ups).map(|i| i.id).collect();
            let id = (!ids.is_empty()).then(|| *which.get(&ids));
            match (what, id) {
                (0, Some(id)) => prop_assert!(queue.edit(QueueEdit::Remove(id))),
                (1, Some(id)) => prop_assert!(queue.edit(QueueEdit::Replace(id, say("new")))),
                (2, Some(id)) => prop_assert!(queue.edit(QueueEdit::Move(id, to))),
                (3, _) => drop(queue.take_guidance()),
                (4, _) => drop(queue.take_follow_up()),
                (5, _) => queue.set_paused(!queue.state().paused),
                (kind, _) => {
                    let kind = if kind % 2 == 0 { QueueKind::Guidance } else { QueueKind::FollowUp };
                    add(&mut queue, &mut mint, kind, &n.to_string());
                }
            }
            store(&mut values, &mut queue);
            let again = Queue::restore(&values);
            prop_assert_eq!(again.state(), queue.state());
        }
    }
}
