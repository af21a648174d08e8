//! Streamed Markdown of every kind against the same text laid out at once, by property.
//!
//! `stream_tests` holds the single cases; here whole documents are made of blocks that open, nest and
//! never close, with signs that take two columns or none, and come in deltas cut between any two
//! characters, at any width.

use proptest::prelude::*;

use super::tests::{layout_at, shown};
use super::*;

/// Something within a line.
fn inline() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z]{1,9} ",
        1 => "[a-z]{30,60}",
        2 => Just("日本語の文章、".to_owned()),
        1 => Just("👩‍👩‍👧‍👦 ".to_owned()),
        1 => Just("🇩🇪🇯🇵 ".to_owned()),
        1 => Just("👍🏽e\u{301}\u{323} ñ ".to_owned()),
        1 => Just("☑\u{fe0f}1\u{fe0f}\u{20e3}".to_owned()),
        1 => Just("한국어 עברית ".to_owned()),
        1 => Just("**bold**".to_owned()),
        1 => Just("*it* __b__ ~~gone~~".to_owned()),
        1 => Just("`a | b`".to_owned()),
        1 => Just("``x ` y``".to_owned()),
        1 => Just("`open".to_owned()),
        1 => Just("[text](https://example.org/a_b)".to_owned()),
        1 => Just("[text][ref] [ref] [ref][]".to_owned()),
        1 => Just("![alt](p.png \"t\")".to_owned()),
        1 => Just("<https://a.b/c>".to_owned()),
        1 => Just("https://example.org/very/long/address?with=query".to_owned()),
        1 => Just("<b>x</b><br/><!-- c -->".to_owned()),
        1 => Just("note[^1] and[^long]".to_owned()),
        1 => Just("&amp;&#x41;&nbsp;\\*\\_".to_owned()),
        1 => Just("$x^2$ ".to_owned()),
    ];
    proptest::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

/// The lines of a block.
fn block() -> impl Strategy<Value = Vec<String>> {
    let line = |text: &str| vec![text.to_owned()];
    prop_oneof![
        4 => proptest::collection::vec(inline(), 1..4),
        1 => (1_usize..7, inline()).prop_map(|(n, text)| vec![format!("{} {text}", "#".repeat(n))]),
        1 => (inline(), prop_oneof![Just("==="), Just("---")])
            .prop_map(|(text, rule)| vec![text, rule.to_owned()]),
        3 => fence(),
        2 => table(),
        1 => html(),
        1 => inline().prop_map(|text| vec![format!("    {text}"), String::new(), "\tmore".to_owned()]),
        1 => Just(line("* * *")),
        1 => Just(line("[ref]: https://example.org 'title'")),
        1 => Just(vec!["[ref]:".to_owned(), "/url".to_owned()]),
        1 => inline().prop_map(|text| vec![format!("[^1]: {text}"), "    more of it".to_owned()]),
        1 => Just(line("")),
    ]
}

/// Fences of every kind, some never closed.
fn fence() -> impl Strategy<Value = Vec<String>> {
    let sign = prop_oneof![Just('`'), Just('~')];
    let info = prop_oneof![
        Just(""),
        Just("rust"),
        Just(" py {1,2}"),
        Just("no`pe"),
        Just("text")
    ];
    let line = prop_oneof![
        3 => "[ -~]{0,30}",
        1 => Just(String::new()),
        1 => Just("\tlet x = \"日本\";  ".to_owned()),
        1 => Just("``".to_owned()),
        1 => Just("  ```".to_owned()),
        1 => Just("~~~".to_owned()),
        1 => Just("# | - > 1.".to_owned()),
    ];
    let lines = proptest::collection::vec(line, 0..5);
    (sign, 3_usize..6, info, 0_usize..5, lines, any::<bool>()).prop_map(
        |(sign, length, info, indent, mut lines, closed)| {
            let rail = " ".repeat(indent) + &sign.to_string().repeat(length);
            lines.insert(0, format!("{rail}{info}"));
            if closed {
                lines.push(rail);
            }
            lines
        },
    )
}

fn table() -> impl Strategy<Value = Vec<String>> {
    let cell = prop_oneof![
        3 => "[a-z ]{0,9}",
        1 => Just("日本 👩‍👩‍👧‍👦".to_owned()),
        1 => Just("`a \\| b`".to_owned()),
        1 => Just("[l](http://x.y)".to_owned()),
        1 => "[a-z]{20,40}",
    ];
    let row = proptest::collection::vec(cell, 1..5)
        .prop_map(|cells| format!("| {} |", cells.join(" | ")));
    let rule = prop_oneof![
        Just("|---|:-:|"),
        Just("|:--|--:|---|"),
        Just("-|-"),
        Just("| - |")
    ];
    (row.clone(), rule, proptest::collection::vec(row, 0..4)).prop_map(|(head, rule, rows)| {
        let mut lines = vec![head, rule.to_owned()];
        lines.extend(rows);
        lines
    })
}

fn html() -> impl Strategy<Value = Vec<String>> {
    let open = prop_oneof![
        Just("<div>"),
        Just("<details><summary>x</summary>"),
        Just("<pre>"),
        Just("<script>"),
        Just("<!-- begun"),
        Just("<?php"),
        Just("<![CDATA["),
        Just("</p>"),
        Just("<table><tr><td>"),
    ];
    let close = prop_oneof![
        Just(""),
        Just("</div>"),
        Just("</pre>"),
        Just("-->"),
        Just("?>"),
        Just("]]>")
    ];
    (open, inline(), any::<bool>(), close).prop_map(|(open, text, gap, close)| {
        let mut lines = vec![open.to_owned(), text];
        if gap {
            lines.push(String::new());
        }
        lines.push(close.to_owned());
        lines
    })
}

/// A block within quotes and list items, which deepen, or beside them.
fn nested() -> impl Strategy<Value = Vec<String>> {
    let marker = prop_oneof![
        Just(("", "")),
        Just(("> ", "> ")),
        Just(("> ", "")),
        Just(("- ", "  ")),
        Just(("* [x] ", "  ")),
        Just(("10) ", "    ")),
        Just(("1. ", "   ")),
        Just(("- ", "")),
        Just(("> - ", ">   ")),
    ];
    (
        block(),
        proptest::collection::vec(marker, 0..4),
        any::<bool>(),
    )
        .prop_map(|(mut lines, markers, gap)| {
            for (first, rest) in markers {
                for (n, line) in lines.iter_mut().enumerate() {
                    let before = if n == 0 { first } else { rest };
                    *line = format!("{before}{line}");
                }
            }
            if gap {
                lines.push(String::new());
            }
            lines
        })
}

fn document() -> impl Strategy<Value = String> {
    let end = prop_oneof![9 => Just("\n"), 1 => Just("\r\n")];
    let blocks = proptest::collection::vec((nested(), end), 1..7);
    (blocks, any::<bool>()).prop_map(|(blocks, trim)| {
        let lines = blocks
            .into_iter()
            .flat_map(|(lines, end)| lines.into_iter().map(move |l| l + end));
        let text: String = lines.collect();
        if trim {
            text.trim_end().to_owned()
        } else {
            text
        }
    })
}

/// Streams in pieces of these lengths with a frame after each; what was finished must stay as it was.
fn streamed(text: &str, lengths: &[usize], width: usize) -> Result<Vec<Row>, TestCaseError> {
    let mut stream = Stream::default();
    let mut lengths = lengths.iter().cycle();
    let mut chars = text.chars().peekable();
    let mut finished: Vec<String> = Vec::new();
    while chars.peek().is_some() {
        let n = lengths.next().copied().unwrap_or(1).max(1);
        let delta: String = chars.by_ref().take(n).collect();
        stream.push(&delta);
        layout_at(&mut stream, width);
        for n in 0..stream.blocks.len() {
            match finished.get(n) {
                Some(before) => prop_assert_eq!(before, stream.part(n), "a finished block changed"),
                None => finished.push(stream.part(n).to_owned()),
            }
        }
    }
    Ok(layout_at(&mut stream, width))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn documents_of_every_kind_come_out_as_if_at_once(
        text in document(),
        lengths in proptest::collection::vec(1_usize..24, 1..8),
        width in prop_oneof![Just(20_usize), 1_usize..30, 30_usize..120],
    ) {
        let rows = streamed(&text, &lengths, width)?;
        prop_assert_eq!(&rows, &layout_at(&mut Stream::new(&text), width));
        for row in &rows {
            // A sign of two columns, or the margins of deep nesting, may need more than there is.
            let columns = row.line.columns();
            prop_assert!(width < 20 || columns <= width + 2, "{} columns: {:?}", columns, row.line.as_str());
        }
        prop_assert_eq!(shown(&rows).iter().filter(|row| row.contains('\u{200b}')).count(), 0);
    }
}

/// `DUNLIN_CASES` asks for more of them than a quick run has.
fn cases() -> u32 {
    std::env::var("DUNLIN_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(300)
}
