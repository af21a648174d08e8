//! Outputs that are cleared from the context and brought back: only the mark is written, and every view
//! and every reader shows it.

use dunlin::protocol::{Part, PartBody, PartId, Role, SessionId, ToolPart, ToolState};
use dunlin::session::{Commit, Record, SessionStore};
use serde_json::{Value, json};

use super::support::{Heard, World, message, part, session_id};

const OUTPUT: usize = 20_000;

fn call(session: SessionId, n: u64) -> Part {
    let owner = message(session, 1, Role::Assistant);
    let state = ToolState::Completed {
        input: json!({"command": "ls"}),
        output: "listed ".repeat(OUTPUT / 7),
        title: "ls".to_owned(),
        metadata: Value::Null,
        attachments: Vec::new(),
        truncated: None,
        compacted_at: None,
        start: 1,
        end: 2,
    };
    let body = PartBody::Tool(ToolPart {
        call: format!("call_{n}"),
        tool: "bash".to_owned(),
        state,
        provider: None,
    });
    part(session, owner.id, n, body)
}

fn mark(part: &Part, at: Option<i64>) -> Commit {
    let record = Record::Compacted {
        message: part.message,
        part: part.id,
        at,
    };
    Commit::written(vec![record], Vec::new())
}

/// Which parts are marked, and that all outputs are there.
fn marks(parts: &[Part]) -> Vec<(PartId, Option<i64>)> {
    let mark = |part: &Part| match &part.body {
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed {
                output,
                compacted_at,
                ..
            } => {
                assert!(output.len() > OUTPUT - 7, "the output is gone");
                (part.id, *compacted_at)
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    parts.iter().map(mark).collect()
}

/// A session of six calls of which the second and third were cleared and the third is back.
fn marked(store: &SessionStore) -> Vec<Part> {
    let id = store.id();
    let calls: Vec<Part> = (1..=6).map(|n| call(id, n)).collect();
    let mut records = vec![Record::Message(message(id, 1, Role::Assistant))];
    records.extend(calls.iter().cloned().map(Record::Part));
    store.commit(Commit::written(records, Vec::new()));
    for part in &calls[1..3] {
        store.commit(mark(part, Some(7)));
    }
    store.commit(mark(&calls[2], None));
    calls
}

#[test]
fn a_mark_costs_a_short_line_and_shows_in_memory_on_disk_and_after_opening() {
    for world in [World::new(), World::patient()] {
        let id = session_id(1);
        let store = world.start(id);
        let calls = marked(&store);
        let expected: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(at, part)| (part.id, (at == 1).then_some(7)))
            .collect();
        let page = store.since(None).expect("since");
        assert_eq!(marks(&page.parts), expected);
        assert_eq!(
            store.part(calls[1].id).expect("part").as_ref(),
            page.parts.get(1)
        );
        store.close_blocking();
        let journal = std::fs::metadata(world.folder(id).join("journal")).expect("journal");
        let outputs = 6 * OUTPUT as u64;
        assert!(journal.len() < outputs + 4_000, "{} bytes", journal.len());
        let history = world.project.open_session_all(id).expect("all");
        assert_eq!(marks(&history.parts), expected);
        let opened = world.project.open_session(id, Heard::new()).expect("open");
        assert_eq!(opened.notices, Vec::<String>::new());
        assert_eq!(marks(&opened.history.parts), expected);
        opened.store.close_blocking();
    }
}

#[test]
fn a_mark_on_what_is_not_there_is_counted_as_damage_and_hides_nothing() {
    for world in [World::new(), World::patient()] {
        let id = session_id(1);
        let store = world.start(id);
        let calls = marked(&store);
        let mut stray = calls[0].clone();
        stray.id = PartId::from_raw(stray.id.raw() + 500);
        store.commit(mark(&stray, Some(9)));
        let page = store.since(None).expect("since");
        assert_eq!(page.parts.len(), 6);
        store.close_blocking();
        let (history, damaged) = world.project.read_all(id).expect("all");
        assert_eq!((history.parts.len(), damaged), (6, 1));
    }
}

#[test]
fn a_follower_hears_of_a_mark_and_exports_and_searches_see_the_part() {
    let world = World::new();
    let id = session_id(1);
    let store = world.start(id);
    let calls = marked(&store);
    store.page(None, 1).expect("written");
    let second = world.project.open_session(id, Heard::new()).expect("open");
    let mut follower = second.store.follow().expect("a reader");
    store.commit(mark(&calls[4], Some(11)));
    store.page(None, 1).expect("written");
    let heard = follower.read().expect("read");
    let expected = Record::Compacted {
        message: calls[4].message,
        part: calls[4].id,
        at: Some(11),
    };
    assert_eq!(heard, [expected]);
    second.store.close_blocking();
    store.close_blocking();
}
