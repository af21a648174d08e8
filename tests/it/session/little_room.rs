//! A disk that refuses a long record and takes the short ones after it: nothing that lacks a piece ends well.

use std::sync::Arc;
use std::time::Duration;

use dunlin::protocol::{Event, Finish, Role, TurnEnd};
use dunlin::session::{Commit, FaultPoints, Record};

use super::support::{Heard, World, info, message, part, session_id, text};

#[test]
fn a_turn_of_which_a_piece_found_no_room_does_not_end_well_and_the_next_one_does() {
    let world = World::new();
    let faults = Arc::new(FaultPoints::new(Duration::from_mins(3)));
    let project = world.project.clone().with_faults(Arc::clone(&faults));
    let (id, heard) = (session_id(1), Heard::new());
    let store = project
        .create(&info(id, &world.worktree()), Arc::<Heard>::clone(&heard))
        .expect("create");
    let done = || Event::TurnFinished {
        reason: TurnEnd::Done,
    };
    let ended = |count: usize| {
        heard.wait(|events, _| {
            let ends = events.iter().filter_map(|event| match event {
                Event::TurnFinished { reason } => Some(*reason),
                _ => None,
            });
            let ends: Vec<TurnEnd> = ends.collect();
            (ends.len() == count).then_some(ends)
        })
    };
    let answer = |n: u64, finish: Option<Finish>| {
        let mut message = message(id, n, Role::Assistant);
        message.finish = finish;
        message
    };
    let said = |n: u64| {
        let of = answer(n, None).id;
        part(id, of, 1, text("what was said"))
    };
    // the text finds no room, what is short does
    store.commit(Commit::written(
        vec![Record::Message(answer(1, None))],
        Vec::new(),
    ));
    faults.refuse_write(0);
    store.commit(Commit::written(vec![Record::Part(said(1))], Vec::new()));
    let end = vec![Record::Message(answer(1, Some(Finish::Stop)))];
    store.commit(Commit::written(end, Vec::new()));
    let value = Record::Value {
        name: "spent".to_owned(),
        value: serde_json::json!(1),
    };
    store.commit(Commit::written(vec![value], vec![done()]));
    assert_eq!(ended(1), [TurnEnd::Error]);
    heard.until_faults(2);
    // added text of which the writer must know whose it is
    store.commit(Commit::written(
        vec![Record::Message(answer(2, None)), Record::Part(said(2))],
        Vec::new(),
    ));
    faults.refuse_write(0);
    let more = Record::Append {
        part: said(2).id,
        text: " and more".to_owned(),
    };
    store.commit(Commit::written(vec![more], Vec::new()));
    let end = vec![Record::Message(answer(2, Some(Finish::Stop)))];
    store.commit(Commit::written(end, vec![done()]));
    assert_eq!(ended(2), [TurnEnd::Error, TurnEnd::Error]);
    // what is written whole after all is there, and so is its end
    for record in [
        Record::Message(answer(2, None)),
        Record::Part(said(2)),
        Record::Message(answer(2, Some(Finish::Stop))),
    ] {
        store.commit(Commit::written(vec![record], Vec::new()));
    }
    store.commit(Commit::written(
        vec![
            Record::Message(answer(3, None)),
            Record::Part(said(3)),
            Record::Message(answer(3, Some(Finish::Stop))),
        ],
        vec![done()],
    ));
    assert_eq!(ended(3), [TurnEnd::Error, TurnEnd::Error, TurnEnd::Done]);
    store.close_blocking();
    let history = project.open_session_all(id).expect("all");
    let finished: Vec<bool> = history
        .messages
        .iter()
        .map(|m| m.finish.is_some())
        .collect();
    assert_eq!(finished, [false, true, true]);
}
