//! `apply_patch`: the format, all or nothing, what a bad patch is told.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::tools::Tool;
use crate::tools::blocking::Blocking;
use crate::tools::test_world::World;

/// Files in memory.
struct Memory(BTreeMap<String, Vec<u8>>);

impl PatchSource for Memory {
    fn resolve(&self, path: &str) -> Result<String, String> {
        Ok(path.to_owned())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(name).cloned())
    }
}

/// Applies a patch to one file `a`.
fn patched(before: &str, hunks: &str) -> Result<String, String> {
    let patch = format!("*** Begin Patch\n*** Update File: a\n{hunks}\n*** End Patch");
    let memory = Memory(BTreeMap::from([(
        "a".to_owned(),
        before.as_bytes().to_vec(),
    )]));
    let changes = apply_patch(&parse_patch(&patch)?, &memory)?;
    let after = changes[0].after.clone().expect("still there");
    Ok(String::from_utf8(after).expect("text"))
}

fn shared() -> Option<PathBuf> {
    let by_name = std::env::var_os("DUNLIN_SHARED").map(PathBuf::from);
    let folder = by_name.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    folder
        .join("fixtures/patch")
        .is_dir()
        .then(|| folder.join("fixtures/patch"))
}

fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .build()
        .flatten()
    {
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let name = entry
                .path()
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            files.insert(name, fs::read(entry.path()).expect("readable"));
        }
    }
    files
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
#[tokio::test]
async fn every_scenario_of_the_fixtures_ends_as_expected() {
    let Some(fixtures) = shared() else {
        println!("skipped: no fixtures (set DUNLIN_SHARED)");
        return;
    };
    let mut count = 0;
    for group in ["authored", "codex"] {
        let mut folders: Vec<_> = fs::read_dir(fixtures.join(group))
            .expect("folders")
            .flatten()
            .collect();
        folders.sort_by_key(fs::DirEntry::file_name);
        for folder in folders {
            let folder = folder.path();
            let scenario: Value = serde_json::from_slice(
                &fs::read(folder.join("scenario.json")).expect("a scenario"),
            )
            .expect("JSON");
            let input = if folder.join("input").is_dir() {
                tree(&folder.join("input"))
            } else {
                BTreeMap::new()
            };
            let world = World::new();
            for (name, bytes) in &input {
                world.file(name, bytes);
            }
            let patch = fs::read_to_string(folder.join("patch.txt")).expect("a patch");
            let tool = ApplyPatch::new(Blocking::default());
            let done = world.call(&tool, json!({"patch": patch})).await;
            let applies = scenario["applies"] == json!(true);
            assert_eq!(done.is_ok(), applies, "{}: {done:?}", folder.display());
            // a patch that fails changes nothing at all: a deliberate difference to the one scenario
            // that records what Codex leaves behind
            let expected = if applies {
                tree(&folder.join("expected"))
            } else {
                input
            };
            assert_eq!(
                tree(world.context.workspace.root()),
                expected,
                "{}",
                folder.display()
            );
            count += 1;
        }
    }
    assert!(count >= 37, "{count} scenarios");
}

#[test]
fn kept_lines_keep_their_bytes_and_new_ones_take_the_files_line_end() {
    let before = "a \r\nb\r\nc\r\n";
    assert_eq!(
        patched(before, "@@\n a\n-b\n+x\n+y\n c").expect("applies"),
        "a \r\nx\r\ny\r\nc\r\n"
    );
    assert_eq!(
        patched("a\nb", "@@\n a\n+new\n b").expect("applies"),
        "a\nnew\nb"
    );
    assert_eq!(patched("a\nb", "@@\n b\n+c").expect("applies"), "a\nb\nc\n");
    assert_eq!(
        patched("\u{feff}a\nb\n", "@@\n-a\n+x").expect("applies"),
        "\u{feff}x\nb\n"
    );
}

#[test]
fn headers_lead_to_the_place_also_for_pure_additions() {
    let before = "class A:\n    def f():\n        pass\nclass B:\n    def f():\n        pass\n";
    let after = patched(
        before,
        "@@ class B:\n@@     def f():\n-        pass\n+        return 1",
    );
    assert_eq!(
        after.expect("applies"),
        before
            .replacen("pass\nclass", "PASS\nclass", 1)
            .replace("pass", "return 1")
            .replace("PASS", "pass")
    );
    let after = patched(before, "@@ class B:\n+    x = 1").expect("applies");
    assert_eq!(after, before.replace("class B:\n", "class B:\n    x = 1\n"));
}

#[test]
fn numbers_of_unified_diffs_are_ignored() {
    assert_eq!(
        patched("a\nb\nc\n", "@@ -2,1 +2,1 @@\n-b\n+B").expect("applies"),
        "a\nB\nc\n"
    );
}

#[test]
fn several_operations_see_each_others_results() {
    let patch = "*** Begin Patch\n*** Add File: n\n+one\n*** Update File: n\n@@\n-one\n+two\n*** Update File: n\n*** Move to: m\n@@\n-two\n+three\n*** End Patch";
    let changes = apply_patch(
        &parse_patch(patch).expect("parses"),
        &Memory(BTreeMap::new()),
    )
    .expect("applies");
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].name.as_str(), changes[0].after.as_deref()),
        ("m", Some(b"three\n".as_slice()))
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (patch, words) in [
        ("", "must begin with"),
        ("hello\n*** Begin Patch\n*** End Patch", "Line 1 (`hello`)"),
        (
            "*** Begin Patch\n*** Add File: a\n+x\noops\n*** End Patch",
            "Line 4 of the patch (`oops`) must begin with `+`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\noops\n*** End Patch",
            "Line 4 of the patch",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y",
            "must end with",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch",
            "has no changes",
        ),
    ] {
        let error = parse_patch(patch).expect_err("refused");
        assert!(error.contains(words), "{patch:?}: {error}");
    }
    let error = patched("a\nb\n", "@@ nowhere\n-b\n+c").expect_err("refused");
    assert!(error.contains("`nowhere`"), "{error}");
    let error = patched("a\nb\n", "@@\n-b\n+c\n@@\n-a\n+d").expect_err("out of order");
    assert!(
        error.contains("after line 2") && error.contains("order"),
        "{error}"
    );
}

#[tokio::test]
async fn encodings_and_modes_survive_and_the_ledger_knows_the_result() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let latin = b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6n\nzwei\n".to_vec();
    let path = world.file("a.txt", &latin);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("mode");
    let tool = ApplyPatch::new(Blocking::default());
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-zwei\n+drei\n*** End Patch";
    let access = tool
        .access(&json!({"input": patch}), &world.context)
        .expect("fine");
    assert!(
        matches!(&access.needs[..], [crate::tools::Need::Write { diff, .. }] if diff.contains("+drei"))
    );
    assert_eq!(access.writes, std::slice::from_ref(&path));
    let done = world
        .call(&tool, Value::String(patch.to_owned()))
        .await
        .expect("applied");
    assert_eq!(done.output, "Applied the patch:\nM a.txt");
    assert_eq!(
        (done.wrote, done.metadata["added"].clone()),
        (vec![path.clone()], json!(1))
    );
    assert_eq!(
        world.bytes("a.txt"),
        b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6n\ndrei\n"
    );
    assert_eq!(
        fs::metadata(&path).expect("metadata").permissions().mode() & 0o777,
        0o755
    );
    assert_eq!(
        world.context.reads.check(&path),
        crate::tools::reads::Freshness::Fresh
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "(\\*\\*\\* (Begin Patch|End Patch|Add File: a|Update File: a|Delete File: b|Move to: c|End of File)|@@( x)?|[-+ ][ab]?|é|)(\n(\\*\\*\\* (End Patch|Update File: a|Add File: n)|@@|[-+ ][ab]|\\+)){0,8}") {
        let memory = Memory(BTreeMap::from([("a".to_owned(), b"a\nb\na\nb".to_vec())]));
        if let Ok(operations) = parse_patch(&text) {
            drop(apply_patch(&operations, &memory));
        }
    }
}
