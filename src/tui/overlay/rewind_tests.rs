//! Tests of the tree of turns: which branch runs straight, where the others hang, odd parents.

use super::*;

fn turn(n: u128, parent: Option<u128>, current: bool, tip: u128) -> TreeTurn {
    TreeTurn {
        prompt: MessageId::from_raw(n),
        parent: parent.map(MessageId::from_raw),
        text: format!("t{n}"),
        at: 0,
        last: MessageId::from_raw(n),
        tip: MessageId::from_raw(tip),
        files: Vec::new(),
        current,
    }
}

/// The lines as text: rails and prompt.
fn shape(turns: &[TreeTurn]) -> Vec<String> {
    lay_out(turns)
        .iter()
        .map(|line| {
            let rails: String = line
                .rails
                .iter()
                .map(|rail| match rail {
                    Rail::On => '│',
                    Rail::Begins => '├',
                })
                .collect();
            format!("{rails}{}", turns[line.turn].text)
        })
        .collect()
}

#[test]
fn the_current_branch_runs_straight_and_others_hang_beside_it() {
    let turns = [
        turn(1, None, true, 6),
        turn(2, Some(1), false, 5),
        turn(3, Some(2), false, 3),
        turn(4, Some(1), true, 6),
        turn(5, Some(2), false, 5),
        turn(6, Some(4), true, 6),
    ];
    assert_eq!(shape(&turns), ["t1", "├t2", "│├t3", "│t5", "t4", "t6"]);
}

#[test]
fn the_turn_that_was_sought_is_chosen_and_else_the_newest_of_the_branch() {
    let turns = [
        turn(1, None, true, 3),
        turn(2, Some(1), false, 2),
        turn(3, Some(1), true, 3),
    ];
    let chosen = |sought: Option<u128>| {
        let view = Rewind::new(turns.to_vec(), sought.map(MessageId::from_raw));
        view.chosen().map(|turn| turn.prompt.raw())
    };
    assert_eq!(chosen(Some(2)), Some(2));
    assert_eq!(chosen(None), Some(3));
    assert_eq!(chosen(Some(9)), Some(3));
}

#[test]
fn several_first_prompts_are_branches_too() {
    let turns = [turn(1, None, false, 1), turn(2, None, true, 2)];
    assert_eq!(shape(&turns), ["├t1", "t2"]);
}

#[test]
fn a_turn_that_names_itself_or_a_later_one_as_parent_is_still_shown_once() {
    let turns = [turn(1, Some(2), true, 2), turn(2, Some(2), true, 2)];
    assert_eq!(shape(&turns).len(), 2);
}
