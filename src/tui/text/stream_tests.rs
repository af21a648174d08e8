//! Tests of text that streams: its layout is the final one however it was split.

use super::*;
use crate::tui::text::highlight::Highlights;
use crate::tui::theme::Theme;
use proptest::prelude::*;

pub(super) fn layout_at(stream: &mut Stream, width: usize) -> Vec<Row> {
    let theme = <Theme as Default>::default();
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: 2,
        measure: width,
        room: width,
    };
    let count = stream.settle();
    (0..count).flat_map(|n| stream.lay_out(n, &page)).collect()
}

pub(super) fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|r| r.line.as_str().to_owned()).collect()
}

/// Streams the text in pieces of these lengths (in characters), with a frame after each.
fn streamed(text: &str, lengths: &[usize]) -> Vec<Row> {
    let mut stream = Stream::default();
    let mut lengths = lengths.iter().cycle();
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        let n = lengths.next().copied().unwrap_or(1).max(1);
        let delta: String = chars.by_ref().take(n).collect();
        stream.push(&delta);
        layout_at(&mut stream, 30);
    }
    layout_at(&mut stream, 30)
}

fn at_once(text: &str) -> Vec<Row> {
    layout_at(&mut Stream::new(text), 30)
}

#[test]
fn the_hard_cases_come_out_the_same_byte_by_byte() {
    for text in [
        "para\n\n-\n---\n",
        "text\n===\nmore",
        "para\n#\nx\n#hash\n",
        "a [foo] b\n\n[foo]: /url\nlater [foo]\n",
        "[foo]:\n/url\n\nx [foo]",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
        "line\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "- a\n\n\n- b\n\n1. c\n   ```\n   x\n   ```\n",
        "```rust\nfn x() {}\n```\nafter\n",
        "```\nunclosed\n``\n",
        "   ~~~~ py\n   a\n  b\n~~~\n~~~~\n",
        "para\n```a`b\n```\nx\n```\n",
        "> quote\nlazy\n\n> two\n",
        "<div>\nhtml\n\n</div>\n\ntext",
        "    code\n\n    more\ntext",
        "a\r\nb\r\n\r\nc\rd",
        "***\n* * *\n__x__\n",
        "\n\n  \n\tx\n",
    ] {
        assert_eq!(
            shown(&streamed(text, &[1])),
            shown(&at_once(text)),
            "{text:?}"
        );
    }
}

#[test]
fn whole_texts_look_as_the_parser_says() {
    // The blocks of the stream together are what one parse of the whole text gives.
    for text in [
        "# T\n\npara one\ntwo\n\n- a\n- b\n\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
        "x\n\n```rs\nlet a;\n\nlet b;\n```\n\ny\n\n    indented\n\n***\nz",
    ] {
        let theme = <Theme as Default>::default();
        let page = Page {
            theme: &theme,
            highlights: &Highlights::default(),
            links: None,
            left: 2,
            measure: 30,
            room: 30,
        };
        let texts = |rows: &[Row]| {
            shown(rows)
                .iter()
                .map(|t| t.trim_end().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&at_once(text)),
            texts(&markdown::rows(text, &page)),
            "{text:?}"
        );
    }
}

#[test]
fn text_comes_back_as_it_went_in() {
    let text = "see [a]: b and ]: x\n[foo]:\n";
    let mut stream = Stream::default();
    for c in text.chars() {
        stream.push(&c.to_string());
    }
    assert_eq!(stream.text(), text);
    assert!(stream.is(text));
}

#[test]
fn no_text_makes_a_large_tail() {
    let line = "word ".repeat(9);
    for text in [
        "x".repeat(100_000),
        "word ".repeat(20_000),
        format!("{line}\n").repeat(2_000),
        format!("```\n{}", format!("{line}\n").repeat(2_000)),
        format!("- {line}\n").repeat(2_000),
        format!("```\n{}", "y".repeat(60_000)),
    ] {
        let mut stream = Stream::new(&text);
        stream.settle();
        let tail = stream.source.len() - stream.tail;
        if !text.ends_with('y') {
            assert!(
                tail <= WINDOW,
                "{tail} of {}",
                text.chars().take(12).collect::<String>()
            );
        }
    }
}

#[test]
fn blocks_beyond_the_window_are_cut_alike_however_they_come() {
    let long = format!(
        "{}\n\n- {}\n\nend",
        "word ".repeat(8_000),
        "item text ".repeat(3_000)
    );
    let whole = at_once(&long);
    for lengths in [[7_000, 1], [20_000, 333], [40_000, 11]] {
        assert_eq!(shown(&streamed(&long, &lengths)), shown(&whole));
    }
}

#[test]
fn a_table_beyond_the_window_stays_a_table() {
    let mut text = "Before.\n\n| name | count |\n|:--|--:|\n".to_owned();
    for n in 0..2_000 {
        text.push_str(&format!("| row of words {n:04} | {n:04} |\n"));
    }
    text.push_str("\nAfter.\n");
    let rows = shown(&at_once(&text));
    assert!(
        rows.iter().all(|row| !row.contains('|')),
        "a row is shown as it was written"
    );
    assert_eq!(
        rows.iter().filter(|row| row.contains("name")).count(),
        1,
        "one head"
    );
    assert_eq!(
        rows.iter()
            .filter(|row| row.contains("row of words"))
            .count(),
        2_000
    );
    assert_eq!(rows[5], "  row of words 0001    0001");
    assert_eq!(rows[1_900], "  row of words 1896    1896");
    assert_eq!(rows.last().map(String::as_str), Some("  After."));
    assert_eq!(shown(&streamed(&text, &[9_000, 777])), rows);
}

/// Markdown-like text, made of lines that open, go on, or close something.
fn markdown_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-z \\[\\]:*_`é日]{0,24}",
        1 => Just("```".to_owned()),
        1 => Just("```rust".to_owned()),
        1 => Just("~~~~".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("===".to_owned()),
        1 => "[-*+] [a-z]{0,6}",
        1 => "[0-9]{1,2}[.)] [a-z]{0,6}",
        1 => "> [a-z]{0,6}",
        1 => "#{1,3} ?[a-z]{0,6}",
        1 => "\\| [a-z] \\| [a-z] \\|",
        1 => Just("|---|:-:|".to_owned()),
        1 => "[ ]{1,5}[a-z`-]{0,6}",
        1 => "\t[a-z]{0,5}",
        1 => "\\[[a-z]\\]: ?/[a-z]{0,3}",
        1 => "</?(div|p|b|!--)>?",
        2 => Just(String::new()),
    ];
    proptest::collection::vec(
        (line, prop_oneof![9 => Just("\n"), 1 => Just("\r\n")]),
        0..18,
    )
    .prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(l, e)| [l, e.to_owned()])
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_streamed_layout_is_the_final_layout(
        text in markdown_text(),
        lengths in proptest::collection::vec(1_usize..12, 1..8),
        trim in any::<bool>(),
    ) {
        let text = if trim { text.trim_end() } else { &text };
        prop_assert_eq!(streamed(text, &lengths), at_once(text));
    }
}
