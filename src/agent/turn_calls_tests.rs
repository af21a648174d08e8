//! Which calls of a step run at the same time.

use super::*;
use crate::protocol::Effort;
use crate::tools::ProgressUpdate;

/// Lets everything come back but results of calls; gives the calls that run.
fn running(w: &mut World) -> Vec<PartId> {
    loop {
        let at = w.due.iter().position(|d| !matches!(d, Due::Tool(_)));
        match at {
            Some(at) => w.step(at),
            None => break,
        }
    }
    let parts = w.due.iter().filter_map(|d| match d {
        Due::Tool(part) => Some(*part),
        _ => None,
    });
    parts.collect()
}

fn end(w: &mut World, part: PartId) {
    let at = w
        .due
        .iter()
        .position(|d| matches!(d, Due::Tool(p) if *p == part));
    w.step(at.expect("it runs"));
}

#[test]
fn eight_calls_of_a_step_run_at_once_and_the_next_starts_when_one_has_ended() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let mut w = World::new(setup(), vec![reads(&names)]);
    w.prompt("go");
    let first = running(&mut w);
    assert_eq!(first.len(), 8);
    end(&mut w, first[3]);
    let second = running(&mut w);
    assert_eq!(second.len(), 8);
    assert!(!first.contains(&second[7]), "the ninth has started");
    w.run();
    assert_eq!((w.tools().len(), w.ends()), (11, vec![TurnEnd::Done]));
    let mut two = setup();
    two.turn.parallel_tools = 2;
    let mut w = World::new(two, vec![runs(&names)]);
    w.prompt("go");
    assert_eq!(
        running(&mut w).len(),
        2,
        "it is a setting, and holds for commands"
    );
}

#[test]
fn calls_that_write_the_same_file_run_one_after_the_other_in_call_order() {
    let mut w = World::new(setup(), vec![runs(&["a", "b", "c"])]);
    w.writes = vec![PathBuf::from("/w/same")];
    w.prompt("go");
    let order: Vec<PartId> = {
        let mut order = Vec::new();
        while let [only] = running(&mut w).as_slice() {
            order.push(*only);
            end(&mut w, *only);
        }
        order
    };
    let calls: Vec<PartId> = w.tools().iter().map(|p| p.id).collect();
    assert_eq!(order, calls);
    assert_eq!(w.ends(), [TurnEnd::Done]);
}

#[test]
fn results_are_recorded_with_their_own_calls_in_whatever_order_they_come() {
    let mut w = World::new(setup(), vec![reads(&["a", "b", "c"])]);
    w.prompt("go");
    let parts = running(&mut w);
    for part in parts.iter().rev() {
        w.output = format!("of {part}");
        end(&mut w, *part);
    }
    w.run();
    for part in w.tools() {
        let PartBody::Tool(tool) = &part.body else {
            continue;
        };
        let ToolState::Completed { output, .. } = &tool.state else {
            panic!("{} is {}", part.id, tool.state.name());
        };
        assert_eq!(*output, format!("of {}", part.id));
    }
}

#[test]
fn what_a_cut_command_had_put_out_is_kept() {
    let mut w = World::new(setup(), vec![runs(&["a", "b"])]);
    w.prompt("go");
    let parts = running(&mut w);
    let update = ProgressUpdate {
        tail: "tick 1\ntick 2\n".to_owned(),
        ..ProgressUpdate::default()
    };
    w.give(Input::Progress {
        part: parts[0],
        update,
    });
    w.give(Input::Interrupt);
    let error = |part| match w.states.get(part) {
        Some(ToolState::Error {
            error,
            interrupted: true,
            ..
        }) => error.as_str(),
        other => panic!("{other:?}"),
    };
    let cut = crate::protocol::tool::INTERRUPTED_OUTPUT;
    assert_eq!(error(&parts[0]), format!("tick 1\ntick 2\n\n{cut}"));
    assert_eq!(error(&parts[1]), cut);
}

#[test]
fn the_chosen_effort_is_part_of_the_status_at_once() {
    let mut w = World::new(setup(), Vec::new());
    assert_eq!(w.turn.status().model_label, "m");
    w.give(Input::SetEffort(Some(Effort::High)));
    let told = w.events.iter().rev().find_map(|event| match event {
        Event::Status(status) => Some(status.model_label.clone()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("m high"));
    w.give(Input::SetEffort(None));
    assert_eq!(w.turn.status().model_label, "m");
}
