//! Tests of reading in a transcript: selecting, copying, searching, the cell in view.

use super::*;

#[test]
fn a_selection_copies_without_gutters_and_unwrapped() {
    let mut talk = frame_two();
    let rows = talk.screen(120, 31);
    let at = |needle: &str| {
        rows.iter()
            .position(|row| row.contains(needle))
            .expect(needle) as u16
    };
    talk.transcript.select_start(0, at("The reflow runs"));
    talk.transcript.select_end(119, at("short. I'll"));
    assert!(talk.transcript.has_selection());
    assert_eq!(
        talk.transcript.selected_text().as_deref(),
        Some(
            "The reflow runs while replay is still filling the cell list, so the height it measures is short. I'll confirm the ordering, then make reflow wait for replay."
        )
    );
    talk.transcript.select_start(0, at("let cells"));
    talk.transcript.select_end(119, at("if self.replaying"));
    assert_eq!(
        talk.transcript.selected_text().as_deref(),
        Some("let cells = self.cells.len();\nself.reflow(width);\nif self.replaying {")
    );
    talk.transcript.select_start(8, at("Explored"));
    talk.transcript.select_end(8, at("Explored"));
    assert!(!talk.transcript.has_selection());
    assert_eq!(talk.transcript.selected_text(), None);
}

#[test]
fn a_selection_is_shown_reversed_and_may_be_dragged_upwards() {
    let mut talk = frame_two();
    let rows = talk.screen(120, 31);
    let row = rows
        .iter()
        .position(|row| row.contains("Edited"))
        .expect("a row") as u16;
    talk.transcript.select_start(10, row);
    talk.transcript.select_drag(4, row);
    let (_, buffer) = talk.buffer(120, 31);
    let reversed: String = (0..120)
        .filter(|x| buffer[(*x, row)].modifier.contains(Modifier::REVERSED))
        .map(|x| buffer[(x, row)].symbol().to_owned())
        .collect();
    assert_eq!(reversed, "Edited ");
    assert_eq!(talk.transcript.selected_text().as_deref(), Some("Edited"));
}

#[test]
fn search_counts_shows_and_unfolds() {
    let mut talk = long(30);
    talk.done(
        "bash",
        "last",
        &format!(
            "a\n{}needle in a fold\n{}z",
            "x\n".repeat(9),
            "y\n".repeat(9)
        ),
        json!({"exit": 0}),
        9,
    );
    talk.screen(80, 12);
    assert_eq!(talk.transcript.find("answer 7 HAS"), 0, "upper case counts");
    assert_eq!(talk.transcript.find("answer 7 has"), 1);
    assert_eq!(talk.transcript.find_next(), Some(1));
    let (_, buffer) = talk.buffer(80, 12);
    let reversed: String = buffer
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(|cell| cell.symbol().to_owned())
        .collect();
    assert_eq!(reversed, "Answer 7 has");
    assert_eq!(talk.transcript.find("needle"), 1);
    assert_eq!(talk.transcript.find_prev(), Some(1));
    assert!(
        talk.screen(80, 12)
            .iter()
            .any(|row| row.contains("needle in a fold"))
    );
    assert_eq!(talk.transcript.find("prompt"), 30);
    assert_eq!(talk.transcript.find(""), 0);
    assert_eq!(talk.transcript.find_next(), None);
}

#[test]
fn a_search_reads_over_markup_and_row_breaks() {
    let mut talk = Talk::new();
    talk.user("go");
    talk.add(said(
        "The **resize** `test` flakes. And further down the same resize test flakes again, every time it runs.",
    ));
    assert_eq!(talk.transcript.find("resize test"), 2);
    let (_, buffer) = talk.buffer(40, 12);
    let marked = |y: u16| -> String {
        (0..40)
            .filter(|x| buffer[(*x, y)].modifier.contains(Modifier::REVERSED))
            .map(|x| buffer[(x, y)].symbol())
            .collect()
    };
    let marks: Vec<String> = (0..12).map(marked).filter(|row| !row.is_empty()).collect();
    assert_eq!(marks.concat().replace(' ', ""), "resizetestresizetest");
    assert!(marks.len() >= 2, "{marks:?}");
}

#[test]
fn the_cell_in_view_is_the_newest_or_the_first_that_begins_on_screen() {
    let mut talk = Talk::new();
    assert_eq!(talk.transcript.cell_text_in_view(), None);
    for n in 0..8 {
        talk.user(&format!("question {n}"));
        talk.add(said(&format!("answer {n}")));
    }
    talk.screen(80, 6);
    let copied = talk.transcript.cell_text_in_view();
    assert_eq!(copied.as_deref(), Some("answer 7"));
    talk.transcript.to_top();
    talk.screen(80, 6);
    let copied = talk.transcript.cell_text_in_view();
    assert_eq!(copied.as_deref(), Some("question 0"));
}
