//! Tests of Markdown laid out in rows: blocks, lists, tables, code, links.

use super::*;
use crate::tui::theme::{ColourDepth, ThemeChoice};

fn shown(text: &str, width: usize) -> String {
    let theme = Theme::new(ThemeChoice::Dark, ColourDepth::Ansi16, None);
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: 0,
        measure: width,
        room: width,
    };
    let mut out = String::new();
    for row in rows(text, &page) {
        out.push_str(row.line.as_str().trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn blocks_stand_apart() {
    assert_eq!(
        shown("# Title\nText that is\nsoft.\n\n---\nEnd", 40),
        "Title\n\nText that is soft.\n\n────────────────────────\n\nEnd\n"
    );
}

#[test]
fn lists_hang_nest_and_count() {
    assert_eq!(
        shown(
            "3. three is long\n4. four\n   - in\n     deep\n   - side\n5. five",
            12
        ),
        "3. three is\n   long\n4. four\n   • in deep\n   • side\n5. five\n"
    );
    assert_eq!(shown("- a\n\n- b\n", 20), "• a\n\n• b\n");
    assert_eq!(
        shown("- [x] done\n- [ ] open\n-", 20),
        "☑ done\n☐ open\n•\n"
    );
    assert_eq!(shown("- a\n\n  more\n- b", 20), "• a\n\n  more\n\n• b\n");
}

#[test]
fn a_numbered_task_keeps_its_number() {
    assert_eq!(
        shown("1. [x] done\n2. [ ] open", 20),
        "1. ☑ done\n2. ☐ open\n"
    );
}

#[test]
fn a_broken_line_of_code_says_that_it_goes_on_and_is_copied_whole() {
    let text = "```\nlet very = long;\nb\n```\n";
    assert_eq!(shown(text, 12), "  let very =\n↳  long;\n  b\n");
    let theme = Theme::new(ThemeChoice::Dark, ColourDepth::Ansi16, None);
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: 0,
        measure: 12,
        room: 12,
    };
    for nested in [
        text.to_owned(),
        format!("> {}", text.trim_end().replace('\n', "\n> ")),
    ] {
        let mut copied = crate::tui::scroll::select::Copied::default();
        for row in rows(&nested, &page) {
            copied.row(&row, 0..usize::MAX);
        }
        let copied = copied.text();
        assert!(!copied.contains('↳'), "{copied:?}");
        assert!(
            copied.replace("│ ", "").contains("let very = long;"),
            "{copied:?}"
        );
    }
}

#[test]
fn quotes_keep_their_bar_through_blank_rows() {
    assert_eq!(shown("> one two\n>\n> - x\n", 9), "│ one two\n│\n│ • x\n");
}

#[test]
fn code_is_kept_as_it_is() {
    assert_eq!(
        shown("Run:\n```sh\nls  -l\n\n\techo a\n```\nDone", 40),
        "Run:\n\n  ls  -l\n\n      echo a\n\nDone\n"
    );
    assert_eq!(
        shown("- a\n  ```\n  x\n  ```\n- b", 20),
        "• a\n    x\n• b\n"
    );
}

#[test]
fn inline_styles_become_style() {
    let theme = <Theme as Default>::default();
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: 2,
        measure: 60,
        room: 60,
    };
    let rows = rows("a **b** *c* `d` ~~e~~", &page);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].gutter, 2);
    let runs: Vec<_> = rows[0]
        .line
        .runs()
        .filter(|(t, _)| !t.trim().is_empty())
        .map(|(t, s)| (t.to_owned(), s.add_modifier))
        .collect();
    assert_eq!(runs[1], ("b".to_owned(), Modifier::BOLD));
    assert_eq!(runs[2].1, Modifier::ITALIC);
    assert_eq!(rows[0].content(), "a b c d e");
}

#[test]
fn links_show_where_they_lead() {
    assert_eq!(
        shown("[docs](https://x.y/z) <https://a.b>", 60),
        "docs (https://x.y/z) https://a.b\n"
    );
    assert_eq!(shown("![alt](p.png)", 60), "◫ alt (p.png)\n");
}

#[test]
fn tables_align_shrink_and_wrap() {
    assert_eq!(
        shown("| a | num |\n|---|---:|\n| long cell | 1 |\n| x | 22 |", 40),
        "a           num\n───────────────\nlong cell     1\nx            22\n"
    );
    assert_eq!(
        shown("|a|b|\n|-|-|\n|one two three|four five|", 14),
        "a       b\n─────────────\none     four\ntwo     five\nthree\n"
    );
}

#[test]
fn nothing_in_markdown_smuggles_controls() {
    for text in [
        "a&#x202e;b",
        "x&#27;[31m&#x1b;[31my",
        "`a\u{1b}[2Jb`",
        "[l](http://a\u{202e}b)",
        "<b\u{200b}>",
    ] {
        for c in shown(text, 60).chars().filter(|c| *c != '\n') {
            assert!(
                !c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}'),
                "{text:?}"
            );
        }
    }
}

#[test]
fn the_last_code_block_and_the_plain_words_are_found() {
    let text = "A **bold** word.\n\n```sh\nls\n```\n\n- two\n\n```rust\nfn x() {}\n```\ntail";
    assert_eq!(last_code(text).as_deref(), Some("fn x() {}\n"));
    assert_eq!(last_code("none"), None);
    assert!(plain(text).starts_with("A bold word.\n"), "{}", plain(text));
}
