//! Editing: what each motion and deletion does, and what holds for any sequence of them.

use proptest::prelude::*;

use super::*;

fn buffer(text: &str) -> Buffer {
    let mut buffer = Buffer::default();
    buffer.insert(text);
    buffer
}

#[test]
fn motions_and_deletions_go_by_grapheme() {
    let mut b = buffer("a👨‍👩‍👧日e\u{301}");
    b.delete_back();
    assert_eq!(b.text(), "a👨‍👩‍👧日");
    b.left();
    b.delete_back();
    assert_eq!(b.text(), "a日");
    b.delete_forward();
    assert_eq!(b.text(), "a");
}

#[test]
fn kills_join_and_the_ring_turns() {
    let mut b = buffer("one two three");
    b.kill_word_back();
    b.kill_word_back();
    assert_eq!(b.text(), "one ");
    b.yank();
    assert_eq!(b.text(), "one two three");
    b.home();
    b.kill_to_end();
    b.yank();
    b.yank_pop();
    assert_eq!(b.text(), "two three");
}

#[test]
fn undo_takes_a_group_back_and_redo_brings_it() {
    let mut b = Buffer::default();
    for c in "fix it".chars() {
        b.insert(c.encode_utf8(&mut [0; 4]));
    }
    b.delete_back();
    b.delete_back();
    b.undo();
    assert_eq!(b.text(), "fix it");
    b.undo();
    assert_eq!(b.text(), "fix");
    b.redo();
    assert_eq!(b.text(), "fix it");
}

#[test]
fn up_and_down_keep_the_column() {
    let mut b = buffer("long line here\nx\nanother line");
    let rows = layout(b.text(), 40, grapheme_width);
    assert!(b.up(&rows) && b.up(&rows));
    assert_eq!(b.cursor(), 12);
    assert!(!b.up(&rows));
    assert!(b.down(&rows) && b.down(&rows));
    assert_eq!(b.cursor(), b.text().len());
}

#[test]
fn wrapping_prefers_words_and_breaks_what_is_too_long() {
    let shown = |text: &str, width| -> Vec<String> {
        let rows = layout(text, width, grapheme_width);
        rows.iter()
            .filter_map(|r| text.get(r.range.clone()).map(str::to_owned))
            .collect()
    };
    assert_eq!(shown("one two three", 8), ["one two ", "three"]);
    assert_eq!(shown("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(shown("日本語", 4), ["日本", "語"]);
    assert_eq!(shown("a\n\nb", 4), ["a", "", "b"]);
}

#[test]
fn transpose_swaps_around_the_cursor() {
    let mut b = buffer("teh");
    b.transpose();
    assert_eq!(b.text(), "the");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_edit_leaves_the_cursor_on_a_boundary_inside_the_text(
        text in "[a-c é日👍🇩🇪\u{301}\u{200d}א\n\t]{0,40}",
        edits in prop::collection::vec(0_u8..20, 0..60),
        width in 1_usize..12,
    ) {
        let mut b = buffer(&text);
        for edit in edits {
            let rows = layout(b.text(), width, grapheme_width);
            match edit {
                0 => b.left(), 1 => b.right(), 2 => b.left_word(), 3 => b.right_word(),
                4 => b.home(), 5 => b.end(), 6 => b.delete_back(), 7 => b.delete_forward(),
                8 => b.kill_word_back(), 9 => b.kill_word_forward(), 10 => b.kill_to_end(),
                11 => b.kill_to_start(), 12 => b.yank(), 13 => b.yank_pop(), 14 => b.undo(),
                15 => { b.up(&rows); } 16 => { b.down(&rows); } 17 => b.insert("e\u{301}👩‍👩"), 18 => b.redo(),
                _ => b.transpose(),
            }
            let stands = |at: usize| at == b.text().len() || b.text().grapheme_indices(true).any(|(g, _)| g == at);
            prop_assert!(stands(b.cursor()), "{} is within a grapheme of {:?}", b.cursor(), b.text());
            let rows = layout(b.text(), width, grapheme_width);
            let (row, col) = position(&rows, b.cursor());
            prop_assert!(row < rows.len());
            prop_assert!(col <= width.max(2));
            let joined: String = rows.iter().filter_map(|r| b.text().get(r.range.clone())).collect();
            prop_assert_eq!(joined, b.text().replace('\n', ""));
        }
    }

    #[test]
    fn undoing_everything_gives_the_empty_buffer_and_redoing_it_the_text(
        edits in prop::collection::vec((0_u8..10, "[a-c é日\u{301}\n]{0,5}"), 0..400),
    ) {
        let mut b = Buffer::default();
        for (edit, text) in edits {
            match edit {
                0 => b.left(), 1 => b.left_word(), 2 => b.delete_back(), 3 => b.delete_forward(),
                4 => b.kill_word_back(), 5 => b.yank(), 6 => b.transpose(), 7 => b.set(&text),
                8 => b.hold(),
                _ => b.insert(&text),
            }
        }
        b.release();
        let text = b.text().to_owned();
        (0..500).for_each(|_| b.undo());
        prop_assert_eq!(b.text(), "");
        (0..500).for_each(|_| b.redo());
        prop_assert_eq!(b.text(), text);
    }
}

#[test]
fn a_mark_that_joins_the_letter_before_leaves_the_cursor_behind_both() {
    let mut b = buffer("e\n\u{301}x");
    b.move_to(2);
    b.delete_back();
    assert_eq!(b.text(), "e\u{301}x");
    assert_eq!(b.cursor(), 3, "not between the letter and its accent");
    b.delete_back();
    assert_eq!(b.text(), "x");
}
