//! Branches of a session: which messages are on one, what forks, which turns there are.

use serde_json::json;

use super::super::told;
use super::*;
use crate::protocol::{FileStatus, IdMint, Role};

/// A tree that is built message by message.
struct Grove {
    mint: IdMint,
    messages: Vec<Message>,
    parts: Vec<Part>,
}

impl Grove {
    fn new() -> Self {
        Self {
            mint: IdMint::new(7, 0),
            messages: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn message(&mut self, parent: Option<MessageId>, role: Role, body: PartBody) -> MessageId {
        let into = (&mut self.messages, &mut self.parts);
        told::add(&mut self.mint, into, (parent, role), body)
    }

    fn prompt(&mut self, parent: Option<MessageId>, text: &str) -> MessageId {
        self.message(parent, Role::User, told::said(text))
    }

    /// An answer that changes a file.
    fn answer(&mut self, parent: MessageId, path: &str, added: u32) -> MessageId {
        let body = PartBody::Patch {
            from: crate::protocol::SnapshotId("a".to_owned()),
            to: crate::protocol::SnapshotId("b".to_owned()),
            files: vec![PatchFile {
                path: path.to_owned(),
                added,
                removed: 1,
                status: FileStatus::Modified,
            }],
        };
        self.message(Some(parent), Role::Assistant, body)
    }

    fn turns(&self, path: &[MessageId]) -> Vec<TreeTurn> {
        turns(self.messages.clone(), self.parts.clone(), path)
    }
}

#[test]
fn turns_hang_under_the_turn_they_follow_and_count_their_files() {
    let mut grove = Grove::new();
    let one = grove.prompt(None, "one");
    let a = grove.answer(one, "x.rs", 2);
    let b = grove.answer(a, "x.rs", 3);
    let two = grove.prompt(Some(b), "two");
    let c = grove.answer(two, "y.rs", 1);
    let other = grove.prompt(Some(b), "two, edited");
    let d = grove.answer(other, "y.rs", 4);
    let path = Parents::of(&grove.messages).path(Some(d));
    assert_eq!(path, [one, a, b, other, d]);
    let turns = grove.turns(&path);
    let shape: Vec<_> = turns
        .iter()
        .map(|t| (t.prompt, t.parent, t.current))
        .collect();
    assert_eq!(
        shape,
        [
            (one, None, true),
            (two, Some(one), false),
            (other, Some(one), true)
        ]
    );
    assert_eq!((turns[0].last, turns[0].tip), (b, d));
    assert_eq!((turns[1].last, turns[1].tip), (c, c));
    assert_eq!((turns[0].files[0].added, turns[0].files[0].removed), (5, 2));
    assert_eq!(turns[0].files.len(), 1);
}

#[test]
fn the_written_tip_holds_until_something_newer_is_said() {
    let mut grove = Grove::new();
    let one = grove.prompt(None, "one");
    let a = grove.answer(one, "x", 1);
    let two = grove.prompt(Some(a), "two");
    let newest = Some(two);
    let values = BTreeMap::from([("tip".to_owned(), json!({"tip": a, "newest": newest}))]);
    let ids = |grove: &Grove| -> Vec<MessageId> {
        let (messages, _) = current(grove.messages.clone(), grove.parts.clone(), &values);
        messages.iter().map(|m| m.id).collect()
    };
    assert_eq!(ids(&grove), [one, a]);
    let three = grove.prompt(Some(a), "instead of two");
    assert_eq!(ids(&grove), [one, a, three]);
}

#[test]
fn rings_and_missing_parents_end_the_walk() {
    let mut grove = Grove::new();
    let one = grove.prompt(None, "one");
    let two = grove.prompt(Some(one), "two");
    grove.messages[0].parent = Some(two);
    assert_eq!(Parents::of(&grove.messages).path(Some(two)).len(), 2);
    assert_eq!(grove.turns(&[]).len(), 2);
    grove.messages[0].parent = Some(MessageId::from_raw(99));
    assert_eq!(Parents::of(&grove.messages).path(Some(two)).len(), 2);
}

#[test]
fn messages_without_parents_are_one_line() {
    let mut grove = Grove::new();
    let ids: Vec<MessageId> = ["a", "b", "c"].map(|t| grove.prompt(None, t)).into();
    assert_eq!(Parents::of(&grove.messages).path(ids.last().copied()), ids);
}
