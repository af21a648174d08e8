//! Tests of arguments in fragments.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn closed(fragments: &[&str]) -> bool {
    let mut watch = Watch::default();
    for fragment in fragments {
        watch.feed(fragment);
    }
    watch.is_closed()
}

#[test]
fn an_object_is_closed_only_when_nothing_can_follow() {
    assert!(closed(&[r#"{"a":1}"#]));
    assert!(closed(&[r#"{"a": "}"#, r#"\"}"#, "\"", " } "]));
    assert!(closed(&[r#"{"a":[{"b":{}}]}"#]));
    for open in [
        "",
        "{",
        "{}",
        r#"{"a":"}"#,
        r#"{"a":"\"}"#,
        r#"{"a":[1}"#,
        r#"{"a":1}{"#,
        "[1]",
        "7",
    ] {
        assert!(!closed(&[open]), "{open}");
    }
}

#[test]
fn nothing_means_no_arguments_and_wrapped_objects_are_unwrapped() {
    assert_eq!(parse(""), Ok(json!({})));
    assert_eq!(parse(" null "), Ok(json!({})));
    assert_eq!(parse(r#""{\"a\":1}""#), Ok(json!({"a": 1})));
    assert_eq!(parse(r#""plain""#), Ok(json!("plain")));
    assert_eq!(parse(r#"{"a":"#), Err(r#"{"a":"#.to_owned()));
}

#[test]
fn the_model_is_told_what_is_wrong_and_where() {
    assert!(explain(r#"{"path": "a"#).contains("broke off after 11 characters"));
    let bad = explain(r#"{"path": "a", content: 1}"#);
    assert!(bad.contains("column") && bad.contains("content"), "{bad}");
    assert!(explain("{}").contains("broke off"));
}

#[test]
fn a_growing_call_shows_what_it_says_so_far() {
    for (raw, seen) in [
        ("", json!({})),
        ("{", json!({})),
        (r#"{"pa"#, json!({})),
        (r#"{"path""#, json!({})),
        (r#"{"path":"#, json!({})),
        (r#"{"path": "src/ma"#, json!({"path": "src/ma"})),
        (r#"{"path": "a\"#, json!({"path": "a"})),
        (r#"{"path": "a\u00"#, json!({"path": "a"})),
        (r#"{"path": "a", "n"#, json!({"path": "a"})),
        (r#"{"path": "a", "n": 1"#, json!({"path": "a", "n": 1})),
        (
            r#"{"e": [{"o": "x"}, {"o": "#,
            json!({"e": [{"o": "x"}, {}]}),
        ),
        (r#"{"path": "a"}"#, json!({"path": "a"})),
    ] {
        assert_eq!(preview(raw), seen, "{raw}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_prefix_can_be_previewed_and_only_the_whole_is_closed(
        key in "[a-z\"\\\\\u{e9}]{1,5}", text in ".{0,12}", n in any::<i32>(), cut in 0_usize..80,
    ) {
        let whole = json!({ key: text, "list": [n, {"deep": null}] }).to_string();
        let cut = cut.min(whole.len());
        if let Some(prefix) = whole.get(..cut) {
            prop_assert!(preview(prefix).is_object());
            prop_assert_eq!(closed(&[prefix]), cut == whole.len());
        }
        prop_assert!(closed(&[&whole]));
    }

    #[test]
    fn no_text_makes_them_panic(raw in "[\\PC{}\\[\\]\",:\\\\u0-9]{0,60}") {
        prop_assert!(preview(&raw).is_object());
        closed(&[&raw]);
        if let Err(kept) = parse(&raw) {
            prop_assert!(!explain(&kept).is_empty());
        }
    }
}
