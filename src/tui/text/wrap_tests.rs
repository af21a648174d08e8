//! Tests of wrapping: widths of characters, words longer than a row, positions.

use super::*;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::width::columns;
use proptest::prelude::*;
use ratatui::style::Style;

fn broken(text: &str, width: usize) -> Vec<&str> {
    pieces(text, width, width)
        .into_iter()
        .map(|p| text.get(p.range).expect("a range of it"))
        .collect()
}

#[test]
fn breaks_at_spaces_and_drops_them() {
    assert_eq!(
        broken("the quick brown fox", 10),
        ["the quick", "brown fox"]
    );
    assert_eq!(broken("the quick brown", 9), ["the quick", "brown"]);
    assert_eq!(broken("a    b", 3), ["a", "b"]);
    assert_eq!(broken("", 5), [""]);
    assert_eq!(broken("trailing   ", 20), ["trailing"]);
}

#[test]
fn long_words_are_broken_by_grapheme() {
    assert_eq!(broken("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(broken("a bcdefgh", 3), ["a", "bcd", "efg", "h"]);
    assert_eq!(
        broken("x👨\u{200d}👩\u{200d}👧y", 2),
        ["x", "👨\u{200d}👩\u{200d}👧", "y"]
    );
}

#[test]
fn wide_text_breaks_between_characters() {
    assert_eq!(broken("日本語日本語", 5), ["日本", "語日", "本語"]);
    assert_eq!(broken("ab日本", 4), ["ab日", "本"]);
}

#[test]
fn indentation_is_kept_and_never_makes_an_empty_row() {
    assert_eq!(broken("    indented words", 12), ["    indented", "words"]);
    assert_eq!(broken("      abcdefgh", 8), ["      ab", "cdefgh"]);
}

#[test]
fn joins_tell_spaces_from_broken_words() {
    let joins: Vec<Join> = pieces("ab cdefgh", 3, 3)
        .into_iter()
        .map(|p| p.join)
        .collect();
    assert_eq!(joins, [Join::Line, Join::Space, Join::Nothing]);
}

#[test]
fn prefixes_hang() {
    let line = Styled::of(&Safe::fixed("one two three"), Style::new());
    let mut bullet = Styled::new();
    bullet.fixed("• ", Style::new());
    let rows = wrap(
        &line,
        &Prefix {
            line: bullet,
            gutter: 0,
        },
        &Prefix::blank(2),
        9,
    );
    let texts: Vec<_> = rows.iter().map(|r| r.line.as_str()).collect();
    assert_eq!(texts, ["• one two", "  three"]);
    assert_eq!(rows[1].gutter, 2);
}

#[test]
fn chop_keeps_every_space() {
    let line = Styled::of(&Safe::fixed("a  b  c"), Style::new());
    let rows = chop(&line, &Prefix::default(), &Prefix::default(), 3);
    let texts: Vec<_> = rows.iter().map(|r| r.line.as_str()).collect();
    assert_eq!(texts, ["a  ", "b  ", "c"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn rows_fit_and_nothing_but_spaces_is_lost(
        text in "[a-zA-Z é日本👍\u{301}-]{0,60}",
        width in 1_usize..24,
    ) {
        let parts = pieces(&text, width, width);
        let mut joined = String::new();
        for (n, piece) in parts.iter().enumerate() {
            let shown = text.get(piece.range.clone()).expect("a range of it");
            prop_assert!(columns(shown) <= width || Graphemes::new(shown).count() == 1, "{:?}", shown);
            if n > 0 {
                joined.push_str(if piece.join == Join::Space { " " } else { "" });
            }
            joined.push_str(shown);
        }
        let squeeze = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(squeeze(&joined), squeeze(&text));
    }
}
