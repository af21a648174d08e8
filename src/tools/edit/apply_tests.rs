//! Finding the place of an edit and keeping everything around it, case by case and at random.

use proptest::prelude::*;

use super::*;

fn edit(before: &str, old: &str, new: &str) -> String {
    apply_edit(before, old, new, false).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(before: &str, old: &str, new: &str) -> String {
    apply_edit(before, old, new, false).expect_err("refused")
}

#[test]
fn a_unique_exact_text_is_replaced() {
    assert_eq!(edit("a\nb\nc\n", "b", "x\ny"), "a\nx\ny\nc\n");
    assert_eq!(edit("a\nb\nc", "b\n", ""), "a\nc");
    assert_eq!(edit("", "", "new\n"), "new\n");
}

#[test]
fn several_places_are_an_error_that_names_them_unless_all_are_meant() {
    let error = refused("x = 1\ny\nx = 1\n", "x = 1", "x = 2");
    assert!(
        error.contains("2 places") && error.contains("lines 1, 3") && error.contains("replace_all"),
        "{error}"
    );
    assert_eq!(
        apply_edit("x\ny\nx\n", "x", "z", true).expect("all"),
        "z\ny\nz\n"
    );
    // overlapping places are two places
    assert!(refused("aaa", "aa", "b").contains("2 places"));
    assert_eq!(apply_edit("aaaa", "aa", "b", true).expect("all"), "bb");
}

#[test]
fn edits_without_effect_and_empty_searches_are_errors() {
    assert!(refused("a", "a", "a").contains("the same"));
    assert!(refused("a", "", "b").contains("empty"));
    assert!(refused("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n").contains("changes nothing"));
}

#[test]
fn crlf_files_stay_crlf() {
    let before = "one\r\ntwo\r\nthree\r\n";
    assert_eq!(
        edit(before, "one\ntwo", "one\nnew\ntwo"),
        "one\r\nnew\r\ntwo\r\nthree\r\n"
    );
    assert_eq!(edit(before, "two", "a\nb"), "one\r\na\r\nb\r\nthree\r\n");
    assert_eq!(edit(before, "two\nthree\n", "x\n"), "one\r\nx\r\n");
    assert_eq!(edit("a\nb\n", "b", "x\r\ny"), "a\nx\ny\n");
}

#[test]
fn mixed_line_ends_stay_where_they_were() {
    let before = "one\r\ntwo\nthree\r\nfour\n";
    assert_eq!(
        edit(before, "one\ntwo\nthree\n", "one\nTWO\nthree\n"),
        "one\r\nTWO\nthree\r\nfour\n"
    );
    assert_eq!(edit(before, "four", "4\n5"), "one\r\ntwo\nthree\r\n4\n5\n");
}

#[test]
fn a_missing_final_line_end_stays_missing() {
    assert_eq!(edit("a\nlast", "last\n", "new\n"), "a\nnew");
    assert_eq!(edit("a\r\nlast", "a\nlast\n", "a\nnew\n"), "a\r\nnew");
    assert_eq!(edit("a\nlast", "last", "new"), "a\nnew");
}

#[test]
fn spaces_at_line_ends_are_forgiven_and_kept_where_nothing_changes() {
    let before = "fn a() {  \n    one();\t\n    two();\n}\n";
    let after = edit(
        before,
        "fn a() {\n    one();\n    two();",
        "fn a() {\n    one();\n    three();",
    );
    assert_eq!(after, "fn a() {  \n    one();\t\n    three();\n}\n");
}

#[test]
fn typographic_characters_are_found_and_kept() {
    let before = "say(“hello – world”); // it’s\nnext\n";
    let after = edit(
        before,
        "say(\"hello - world\"); // it's",
        "say(\"hello - there\"); // it's",
    );
    assert_eq!(after, "say(“hello – there”); // it’s\nnext\n");
    assert_eq!(edit("a\u{a0}= 1\n", "a = 1", "a = 2"), "a\u{a0}= 2\n");
    assert_eq!(edit("wait…\n", "wait...", "stop..."), "stop…\n");
}

#[test]
fn wrong_indentation_is_forgiven_and_the_new_lines_are_fitted() {
    let before = "class A:\n    def f(self):\n        if x:\n            y()\n";
    let after = edit(before, "if x:\n    y()", "if x:\n    z()\n    w()");
    assert_eq!(
        after,
        "class A:\n    def f(self):\n        if x:\n            z()\n            w()\n"
    );
    let tabs = "func a() {\n\tif x {\n\t\ty()\n\t}\n}\n";
    let after = edit(
        tabs,
        "    if x {\n        y()\n    }",
        "    if x {\n        z()\n        if w {\n            v()\n        }\n    }",
    );
    assert_eq!(
        after,
        "func a() {\n\tif x {\n\t\tz()\n\t\tif w {\n\t\t\tv()\n\t\t}\n\t}\n}\n"
    );
}

#[test]
fn white_space_inside_of_lines_is_forgiven() {
    let before = "int  x =   1;\nint y = 2;\n";
    assert_eq!(
        edit(before, "int x = 1;\nint y = 2;", "int x = 1;\nint y = 3;"),
        "int  x =   1;\nint y = 3;\n"
    );
}

#[test]
fn escapes_written_once_too_often_are_undone() {
    let before = "print(\"a\")\nprint(\"b\")\n";
    assert_eq!(
        edit(
            before,
            "print(\\\"a\\\")\\nprint(\\\"b\\\")",
            "print(\\\"c\\\")"
        ),
        "print(\"c\")\n"
    );
    assert_eq!(
        edit(
            "if a < b && c {\n",
            "if a &lt; b &amp;&amp; c",
            "if a &gt; b"
        ),
        "if a > b {\n"
    );
    // an escape that is in the file is no mistake
    assert_eq!(edit("x = \"a\\n\"\n", "a\\n", "b\\n"), "x = \"b\\n\"\n");
}

#[test]
fn line_numbers_of_read_are_forgiven() {
    let before = "fn a() {\n    b();\n}\n";
    assert_eq!(
        edit(before, "1→fn a() {\n2→    b();", "1→fn a() {\n2→    c();"),
        "fn a() {\n    c();\n}\n"
    );
}

#[test]
fn blank_lines_around_the_text_are_forgiven() {
    assert_eq!(edit("a\nb\nc\n", "\n\nb\n\n", "\n\nx\n\n"), "a\nx\nc\n");
    assert_eq!(
        edit("a\nb\nc\n", "\nb", "x"),
        "a\nx\nc\n".replace("a\nx", "ax")
    );
}

#[test]
fn a_block_is_found_by_its_ends_and_keeps_lines_that_were_misremembered() {
    let before = "fn main() {\n    let alpha = load(\"config.toml\");\n    // keep this comment\n    let beta = alpha.len() + 1;\n    println!(\"{beta}\");\n}\n";
    let old = "fn main() {\n    let alpha = load(\"config.tml\");\n    let beta = alpha.len() + 1;\n    println!(\"{beta}\");\n}";
    let new = "fn main() {\n    let alpha = load(\"config.tml\");\n    let beta = alpha.len() + 2;\n    println!(\"{beta}\");\n}";
    let after = edit(before, old, new);
    assert_eq!(after, before.replace("+ 1", "+ 2"));
}

#[test]
fn a_forgiving_match_in_several_places_is_refused() {
    let before = "  if a {\n    b\n  }\n      if a {\n        b\n      }\n";
    let error = refused(before, "if a {\n  b\n}", "c");
    assert!(error.contains("2 places"), "{error}");
    let blocks = "start\n one two three\nend\nstart\n one two four\nend\n";
    assert!(apply_edit(blocks, "start\n one two five\nend", "x", false).is_err());
}

#[test]
fn what_is_not_there_gets_the_closest_place() {
    let before = "fn one() {}\nfn compute_total(items: &[Item]) -> u64 {\n    sum(items)\n}\n";
    let error = refused(before, "fn compute_totals(item: &[Item]) -> u32 {", "x");
    assert!(
        error.contains("line 2") && error.contains("2→fn compute_total("),
        "{error}"
    );
    let error = refused(before, "nothing like this at all 12345", "x");
    assert!(error.contains("Read the file again"), "{error}");
    let error = refused(
        "let value = 2;\n",
        "let value = 1 + one;;;;",
        "let value = 2;",
    );
    assert!(error.contains("already there"), "{error}");
}

#[test]
fn a_byte_order_mark_is_no_obstacle() {
    assert_eq!(
        edit("\u{feff}one\r\ntwo\r\n", "one\ntwo", "one\nthree"),
        "\u{feff}one\r\nthree\r\n"
    );
}

#[test]
fn replace_all_works_on_forgiving_matches_too() {
    let before = "a\r\nb\r\n-\r\na\r\nb\r\n";
    assert_eq!(
        apply_edit(before, "a\nb\n", "c\n", true).expect("all"),
        "c\r\n-\r\nc\r\n"
    );
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        "[ \t]{0,6}[a-d(){};=“”’–äß]{0,12}[ \t]{0,2}",
        Just(String::new())
    ];
    proptest::collection::vec(line, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_input_gives_a_result_or_a_sentence(before in "[ab \n\r\t“\"\\\\]{0,40}", old in "[ab \n\r\t“\"\\\\]{0,12}", new in "[ab \n\r\t“\"\\\\]{0,12}", all in any::<bool>()) {
        match apply_edit(&before, &old, &new, all) {
            Ok(after) => prop_assert_ne!(after, before),
            Err(error) => prop_assert!(error.ends_with('.'), "{}", error),
        }
    }

    #[test]
    fn an_exact_unique_text_is_replaced_and_nothing_else(head in "[a-c\n]{0,20}", old in "[d-f]{1,8}", tail in "[a-c\n]{0,20}", new in "[a-f]{0,8}") {
        prop_assume!(old != new);
        let before = [head.as_str(), &old, &tail].concat();
        prop_assume!(exact_count(&before, &old) == 1);
        let after = apply_edit(&before, &old, &new, false).expect("unique");
        prop_assert_eq!(after, [head, new, tail].concat());
    }

    #[test]
    fn a_forgiving_edit_touches_only_the_line_it_changes(
        lines in lines(), at in any::<prop::sample::Index>(), crlf in any::<bool>(), drift in 0usize..4,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let at = at.index(lines.len());
        let marked: Vec<String> = lines.iter().enumerate().map(|(index, line)| {
            if index == at { format!("{line}MARK") } else { line.clone() }
        }).collect();
        let before: String = marked.iter().flat_map(|line| [line.as_str(), end]).collect();
        // the model's memory of the whole file, drifted in one way
        let remembered: Vec<String> = marked.iter().map(|line| match drift {
            0 => line.clone(),
            1 => line.trim_end().to_owned(),
            2 => super::super::alike::plain(line).into_owned(),
            _ => format!("  {line}"),
        }).collect();
        let old = remembered.join("\n");
        let new = old.replace("MARK", "DONE");
        prop_assume!(!old.trim().is_empty());
        let after = apply_edit(&before, &old, &new, false);
        let after = match after { Ok(after) => after, Err(error) => return Err(TestCaseError::fail(error)) };
        let (before, after): (Vec<&str>, Vec<&str>) = (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
        prop_assert_eq!(before.len(), after.len());
        for (index, (a, b)) in before.iter().zip(&after).enumerate() {
            if index == at {
                prop_assert!(b.contains("DONE") && b.ends_with(end));
                let wanted = a.replace("MARK", "DONE");
                prop_assert_eq!(wanted.trim_end(), b.trim_end());
            } else {
                prop_assert_eq!(a, b);
            }
        }
    }
}

fn exact_count(text: &str, old: &str) -> usize {
    find::exact(text, old).len()
}
