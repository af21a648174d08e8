//! Tests that nothing a terminal obeys gets through.

use super::*;
use proptest::prelude::*;
use ratatui::style::{Color, Modifier};

fn strip(text: &str) -> String {
    Safe::strip(text).as_str().to_owned()
}

#[test]
fn sequences_go_and_text_stays() {
    for (raw, shown) in [
        ("plain", "plain"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}after", "after"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}P1$r\u{1b}\\dcs", "dcs"),
        ("\u{1b}_apc\u{1b}\\apc", "apc"),
        ("\u{1b}[2J\u{1b}[Hcleared", "cleared"),
        ("\u{9b}31mc1\u{9b}m", "c1"),
        ("bell\u{7}\u{0}nul", "bellnul"),
        ("a\tb", "a   b"),
        ("one\r\ntwo", "one two"),
        ("10%\r50%\r100%", "100%"),
        ("abcdef\rXY", "XYcdef"),
        ("long line\r\u{1b}[Kx", "x"),
        ("ab\u{8}c", "ac"),
        ("a\u{202e}b\u{2066}c", "abc"),
        ("z\u{200b}w\u{200d}\u{feff}", "zw"),
        ("tag\u{e0041}\u{e007f}", "tag"),
        ("x\u{2028}y", "xy"),
        ("nb\u{a0}sp", "nb sp"),
        ("日本\rX", "X 本"),
        ("ﾊﾞ", "ﾊﾞ"),
    ] {
        assert_eq!(strip(raw), shown, "{raw:?}");
    }
}

#[test]
fn combining_marks_are_capped_and_never_lead() {
    let zalgo = format!("a{}", "\u{301}".repeat(40));
    assert_eq!(strip(&zalgo).chars().count(), 4);
    assert_eq!(strip("\u{301}a"), "a");
    assert_eq!(strip("e\u{301}te\u{301}"), "e\u{301}te\u{301}");
}

#[test]
fn a_sequence_that_never_ends_hides_its_own_line_only() {
    let lines = Safe::strip_styled("a\u{1b}]0;swallowed\nshown\n");
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0][0].0.as_str(), "a");
    assert_eq!(lines[1][0].0.as_str(), "shown");
}

#[test]
fn colour_goes_on_over_lines_until_it_is_reset() {
    let lines = Safe::strip_styled("\u{1b}[1;32mok\nstill\u{1b}[0m plain\n");
    let green = Style::new()
        .fg(Color::Indexed(2))
        .add_modifier(Modifier::BOLD);
    assert_eq!(lines[0], vec![(Safe::fixed("ok"), green)]);
    assert_eq!(
        lines[1],
        vec![
            (Safe::fixed("still"), green),
            (Safe::fixed(" plain"), Style::new())
        ]
    );
}

#[test]
fn reveal_spells_what_would_be_hidden() {
    assert_eq!(
        Safe::reveal("rm a\u{202e}b"),
        vec![
            (Safe::fixed("rm a"), false),
            (Safe::fixed("⟨U+202E⟩"), true),
            (Safe::fixed("b"), false)
        ]
    );
    for hidden in [
        "\u{1b}",
        "\r",
        "\n",
        "\u{200b}",
        "\u{a0}",
        "\u{e0041}",
        "\u{9b}",
        "\u{3164}",
    ] {
        let pieces = Safe::reveal(hidden);
        assert!(pieces.len() == 1 && pieces[0].1, "{hidden:?}");
    }
    assert!(
        Safe::reveal("cargo test --all é 日本")
            .iter()
            .all(|(_, marked)| !marked)
    );
}

/// Text that leans towards what hurts.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{0,8}",
        "\u{1b}\\[[0-9;:]{0,6}[a-zA-Z]",
        "\u{1b}[\\]P_X^][ -~]{0,6}",
        Just("\u{1b}\\".to_owned()),
        "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{300}-\u{36f}\u{80}-\u{9f}]{1,4}",
        "[\r\n\t\u{8}]{1,3}",
        "[\u{1f600}-\u{1f64f}\u{1f3fb}-\u{1f3ff}\u{fe0f}\u{200d}\u{4e00}-\u{4e20}]{1,4}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn assert_clean(text: &str) {
    for c in text.chars() {
        assert!(
            !c.is_control() && !charset::is_hidden(c),
            "{c:?} in {text:?}"
        );
    }
    let marks = |c: &char| !c.is_ascii() && unicode_width::UnicodeWidthChar::width(*c) == Some(0);
    assert!(
        !text.chars().collect::<Vec<_>>().windows(4).any(|w| w
            .iter()
            .all(|c| marks(c) && !matches!(c, '\u{ff9e}' | '\u{ff9f}'))),
        "{text:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_dangerous_survives(text in nasty()) {
        assert_clean(&strip(&text));
        for (piece, _) in Safe::reveal(&text) {
            assert_clean(piece.as_str());
        }
        for (piece, _) in Safe::strip_styled(&text).into_iter().flatten() {
            assert_clean(piece.as_str());
        }
    }

    #[test]
    fn stripping_twice_changes_nothing(text in nasty()) {
        let once = strip(&text);
        prop_assert_eq!(strip(&once), once);
    }

    #[test]
    fn plain_text_is_kept_byte_for_byte(text in "[ -~éß日本]{0,40}") {
        prop_assert_eq!(strip(&text), text.clone());
    }
}
