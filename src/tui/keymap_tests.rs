//! Tests of the key table: contexts, own keys, conflicts that are reported.

use super::*;
use crate::tui::input::{Code, Mods};

#[test]
fn every_default_key_is_a_key_and_unique_in_its_context() {
    let mut seen = BTreeMap::new();
    for row in TABLE {
        for name in row.keys.split_whitespace() {
            let key: Key = name.parse().unwrap_or_else(|e| panic!("{}: {e}", row.name));
            // Two actions on ctrl+e and ctrl+f in the composer: one comes when nothing is written.
            let shared = matches!(row.action, Action::Unfold | Action::Find);
            if let Some(other) = seen.insert((row.context, key), row.name) {
                assert!(
                    shared,
                    "{key} does `{other}` and `{}` in {:?}",
                    row.name, row.context
                );
            }
        }
    }
}

#[test]
fn the_users_keys_win_and_what_they_take_is_said() {
    let changes = BTreeMap::from([
        ("editor".to_owned(), vec!["ctrl+r".to_owned()]),
        ("edtor".to_owned(), vec!["f5".to_owned()]),
        ("help".to_owned(), vec!["hyper+q".to_owned()]),
    ]);
    let places = BTreeMap::from([("edtor".to_owned(), "keys.toml line 7".to_owned())]);
    let map = Keymap::new(&changes, &places);
    let key = Key::new(Code::Char('r'), Mods::CTRL);
    assert_eq!(map.action(&[Context::Composer], key), Some(Action::Editor));
    let problems = map.problems().join("\n");
    for word in [
        "search-history",
        "closest is `editor`",
        "hyper+q",
        "keys.toml line 7",
    ] {
        assert!(problems.contains(word), "{word} is not in:\n{problems}");
    }
}

#[test]
fn inner_contexts_are_asked_first() {
    let map = Keymap::default();
    let enter = Key::plain(Code::Enter);
    assert_eq!(
        map.action(&[Context::Popup, Context::Composer], enter),
        Some(Action::PopupRun)
    );
    assert_eq!(
        map.action(&[Context::Composer], enter),
        Some(Action::Submit)
    );
}

#[test]
fn the_key_document_is_made_from_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/keys.md");
    if std::env::var_os("DUNLIN_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("docs/");
        std::fs::write(&path, document()).expect("docs/keys.md is written");
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        on_disk,
        document(),
        "run the tests once with DUNLIN_WRITE_DOCS=1"
    );
}

#[test]
fn a_key_of_everywhere_that_the_composer_keeps_is_told_and_lines_are_in_order() {
    let changes = BTreeMap::from([
        ("submit".to_owned(), vec!["ctrl+s".to_owned()]),
        ("help".to_owned(), vec!["ctrl+y".to_owned()]),
        ("nosuch".to_owned(), vec!["f5".to_owned()]),
    ]);
    let at = |name: &str, line: &str| (name.to_owned(), format!("keys.toml line {line}"));
    let places = BTreeMap::from([at("submit", "1"), at("help", "2"), at("nosuch", "10")]);
    let map = Keymap::new(&changes, &places);
    let [first, second, third] = map.problems() else {
        panic!("{:?}", map.problems())
    };
    assert!(first.contains("line 1: ctrl+s does `submit`"), "{first}");
    assert!(second.contains("ctrl+y stays `yank`"), "{second}");
    assert_eq!(
        third,
        "keys.toml line 10: `nosuch` is not an action. F1 lists them all."
    );
    assert_eq!(map.key_while_writing(Action::Sessions), "", "it submits");
    assert_eq!(
        Keymap::default().key_while_writing(Action::Sessions),
        "ctrl+s"
    );
}
