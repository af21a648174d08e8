//! What is whose where two sessions wrote, over any order of their writes.

use proptest::prelude::*;

use super::super::tree::{Id, PLAIN};
use super::*;

fn blob(number: u8) -> State {
    (number > 0).then_some(Blob {
        id: Id([number; 20]),
        mode: PLAIN,
    })
}

fn known(at: i64, before: u8, after: u8, whose: Whose) -> Known {
    Known {
        at,
        before: blob(before),
        after: blob(after),
        whose,
        early: false,
        late: false,
        claim: false,
    }
}

/// Before, after and whose, gaps as `None`.
fn told(parts: &[Part]) -> Vec<(u8, u8, Option<Whose>)> {
    let number = |state: State| state.map_or(0, |blob| blob.id.0[0]);
    let one = |part: &Part| (number(part.before), number(part.after), part.whose);
    parts.iter().map(one).collect()
}

#[test]
fn a_change_is_cut_at_the_writes_that_are_known() {
    let theirs = [known(5, 2, 3, Whose::Theirs)];
    let parts = chain(blob(1), blob(4), &theirs);
    let right = [(1, 2, None), (2, 3, Some(Whose::Theirs)), (3, 4, None)];
    assert_eq!(told(&parts), right);
    assert_eq!((parts[0].since, parts[0].until), (None, Some(5)));
    assert_eq!((parts[2].since, parts[2].until), (Some(5), None));
    let parts = chain(blob(2), blob(3), &theirs);
    assert_eq!(told(&parts), [(2, 3, Some(Whose::Theirs))]);
    // a file that they made, and one that they removed
    let made = [known(5, 0, 3, Whose::Theirs)];
    let parts = chain(blob(0), blob(3), &made);
    assert_eq!(told(&parts), [(0, 3, Some(Whose::Theirs))]);
    let gone = [known(5, 3, 0, Whose::Theirs)];
    let parts = chain(blob(3), blob(0), &gone);
    assert_eq!(told(&parts), [(3, 0, Some(Whose::Theirs))]);
}

#[test]
fn only_what_comes_after_a_claim_is_trusted() {
    let claim = |at, before, after| Known {
        claim: true,
        ..known(at, before, after, Whose::Theirs)
    };
    assert!(!is_broken(&chain(blob(1), blob(3), &[claim(5, 1, 2)])));
    assert!(is_broken(&chain(blob(1), blob(3), &[claim(5, 2, 3)])));
    let two = [claim(5, 1, 2), claim(9_000_000_000, 3, 4)];
    assert!(is_broken(&chain(blob(1), blob(4), &two)));
    // a tool saw what it wrote over
    let tool = [known(5, 2, 3, Whose::Theirs)];
    assert!(!is_broken(&chain(blob(1), blob(4), &tool)));
}

#[test]
fn what_is_in_the_first_snapshot_already_or_not_in_the_second_is_left_out() {
    let mut had = known(1, 7, 1, Whose::Theirs);
    had.early = true;
    assert_eq!(told(&chain(blob(1), blob(2), &[had])), [(1, 2, None)]);
    // somebody wrote between it and the snapshot
    assert_eq!(told(&chain(blob(5), blob(2), &[had])), [(5, 2, None)]);
    // also where others go on from what is there
    let ours = [
        had,
        known(3, 1, 2, Whose::Ours),
        known(4, 2, 3, Whose::Theirs),
    ];
    let right = [(1, 2, Some(Whose::Ours)), (2, 3, Some(Whose::Theirs))];
    assert_eq!(told(&chain(blob(1), blob(3), &ours)), right);
    // told just before the snapshot, made just after it
    let mut came = known(1, 1, 2, Whose::Theirs);
    came.early = true;
    let parts = chain(blob(1), blob(3), &[came]);
    assert_eq!(told(&parts), [(1, 2, Some(Whose::Theirs)), (2, 3, None)]);
    let mut coming = known(9, 2, 3, Whose::Theirs);
    coming.late = true;
    assert_eq!(told(&chain(blob(1), blob(2), &[coming])), [(1, 2, None)]);
    let parts = chain(blob(1), blob(4), &[coming]);
    let right = [(1, 2, None), (2, 3, Some(Whose::Theirs)), (3, 4, None)];
    assert_eq!(told(&parts), right, "it may have been overwritten");
}

proptest! {
    /// Whatever is known, the parts lead from the one state to the other without a break, and a write that
    /// was made in the interval is never taken for part of something else.
    #[test]
    fn parts_lead_from_one_end_to_the_other(
        from in 0_u8..4, to in 0_u8..4,
        writes in proptest::collection::vec((0_i64..50, 0_u8..4, 0_u8..4, any::<bool>(), any::<bool>()), 0..8),
    ) {
        let known: Vec<Known> = writes
            .iter()
            .map(|&(at, before, after, early, late)| Known { early, late, ..known(at, before, after, Whose::Theirs) })
            .collect();
        let parts = chain(blob(from), blob(to), &known);
        let mut at = blob(from);
        for part in &parts {
            prop_assert_eq!(part.before, at);
            prop_assert_ne!(part.before, part.after);
            at = part.after;
        }
        prop_assert_eq!(at, blob(to));
        for one in known.iter().filter(|one| !one.early && !one.late && one.before != one.after) {
            let there = |part: &Part| part.whose.is_some() && (part.before, part.after) == (one.before, one.after);
            prop_assert!(parts.iter().any(there));
        }
    }

    /// A true history, told in full, is divided exactly.
    #[test]
    fn a_history_is_divided_as_it_was(steps in proptest::collection::vec((any::<bool>(), 1_u8..200), 1..12)) {
        let mut at = blob(0);
        let mut theirs = Vec::new();
        let mut ours = Vec::new();
        for (time, (is_ours, number)) in steps.iter().enumerate() {
            let next = blob(*number);
            if next == at {
                continue;
            }
            let time = 10_000_000_000 * time as i64;
            let one = Known { before: at, after: next, ..known(time, 0, 0, Whose::Theirs) };
            if *is_ours { ours.push((at, next)) } else { theirs.push(one) }
            at = next;
        }
        let parts = chain(blob(0), at, &theirs);
        let mut gaps = parts.iter().filter(|part| part.whose.is_none()).peekable();
        // parts of ours that follow each other are one
        let mut joined: Vec<(State, State)> = Vec::new();
        for (before, after) in ours {
            match joined.last_mut() {
                Some(last) if last.1 == before && !theirs.iter().any(|t| t.after == before) => last.1 = after,
                _ => joined.push((before, after)),
            }
        }
        prop_assert!(gaps.all(|gap| joined.iter().any(|(before, _)| *before == gap.before)
            && joined.iter().any(|(_, after)| *after == gap.after)));
    }
}

fn run(begin: i64, end: i64, text: &str) -> Run {
    Run {
        begin: begin * 1_000_000_000,
        end: end * 1_000_000_000,
        text: text.to_owned(),
        job: false,
    }
}

fn judged(own: &[&Run], others: &[&Run], at: i64) -> Whose {
    let runs = Runs {
        own: own.iter().copied().cloned().collect(),
        others: others.iter().copied().cloned().collect(),
    };
    let at = at * 1_000_000_000;
    runs.judge(b"src/a.txt", (at, at), (0, 100_000_000_000))
}

#[test]
fn a_change_goes_to_the_command_in_whose_time_it_lies() {
    let (own, other) = (run(10, 20, "make"), run(15, 30, "make"));
    assert_eq!(judged(&[&own], &[&other], 12), Whose::Ours);
    assert_eq!(judged(&[&own], &[&other], 25), Whose::Theirs);
    assert_eq!(judged(&[&own], &[&other], 17), Whose::Disputed);
    assert_eq!(judged(&[&own], &[], 5), Whose::Theirs, "before it began");
    assert_eq!(judged(&[&own], &[], 25), Whose::Late, "after it had ended");
    assert_eq!(judged(&[], &[], 5), Whose::Theirs, "no command of ours");
    assert_eq!(judged(&[], &[&other], 20), Whose::Theirs);
}

#[test]
fn in_a_dispute_the_command_that_names_the_file_has_it() {
    let (own, other) = (run(10, 20, "echo > a.txt"), run(10, 20, "make"));
    assert_eq!(judged(&[&own], &[&other], 15), Whose::Ours);
    assert_eq!(judged(&[&other], &[&own], 15), Whose::Theirs);
    assert_eq!(judged(&[&own], &[&own], 15), Whose::Disputed);
}

#[test]
fn a_command_that_names_the_file_may_have_written_before_the_last_change() {
    let (early, late) = (run(10, 11, "echo >> a.txt"), run(10, 20, "echo >> a.txt"));
    assert_eq!(judged(&[&late], &[&early], 15), Whose::Disputed);
    assert_eq!(judged(&[&early], &[&late], 15), Whose::Disputed);
}

#[test]
fn a_server_in_the_background_proves_nothing_unless_it_names_the_file() {
    let job = |text: &str| Run {
        job: true,
        ..run(0, 100, text)
    };
    let own = run(10, 20, "make");
    assert_eq!(judged(&[&own], &[&job("npm run dev")], 15), Whose::Ours);
    assert_eq!(
        judged(&[&own], &[&job("tail -f > src/a.txt")], 15),
        Whose::Theirs
    );
}
