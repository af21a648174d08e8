//! The `edit` tool on files: what it refuses, what it answers, what it leaves as it was.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::*;
use crate::tools::test_world::World;
use crate::tools::write::Write as WriteTool;

async fn edit(world: &World, input: Value) -> Result<Success, Failure> {
    world.call(&Edit::new(Blocking::default()), input).await
}

async fn write(world: &World, path: &str, content: &str) -> Result<Success, Failure> {
    world
        .call(
            &WriteTool::new(Blocking::default()),
            json!({"file_path": path, "content": content}),
        )
        .await
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({"filePath": path, "oldString": old, "newString": new})
}

#[tokio::test]
async fn an_edit_changes_the_file_and_tells_what_it_did() {
    let world = World::new();
    let path = world.file("a.txt", "one\r\ntwo\r\nthree");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("mode");
    world.know(&path);
    let done = edit(&world, replace("a.txt", "one\ntwo", "one\nTWO\nmore"))
        .await
        .expect("edited");
    assert_eq!(world.bytes("a.txt"), b"one\r\nTWO\r\nmore\r\nthree");
    assert_eq!(done.output, "Edited a.txt: +2 -1, lines 2-3.");
    assert_eq!(
        (
            &done.metadata["added"],
            &done.metadata["removed"],
            &done.metadata["path"]
        ),
        (&json!(2), &json!(1), &json!("a.txt"))
    );
    assert!(
        done.metadata["diff"]
            .as_str()
            .expect("a diff")
            .contains("@@ -1,3 +1,4 @@")
    );
    assert_eq!(done.metadata["hunks"][0]["lines"][1]["kind"], "removed");
    assert_eq!(done.wrote, std::slice::from_ref(&path));
    assert_eq!(
        fs::metadata(&path).expect("metadata").permissions().mode() & 0o777,
        0o750
    );
    // a second edit needs no new read
    edit(&world, replace("a.txt", "more", "less"))
        .await
        .expect("edited again");
}

#[tokio::test]
async fn what_was_not_read_or_changed_since_is_refused() {
    let world = World::new();
    let path = world.file("a.txt", "one\n");
    let unread = edit(&world, replace("a.txt", "one", "two"))
        .await
        .expect_err("unread");
    assert!(
        unread.message.contains("has not been read"),
        "{}",
        unread.message
    );
    world.know(&path);
    fs::write(&path, "one\nby the user\n").expect("changed");
    let stale = edit(&world, replace("a.txt", "one", "two"))
        .await
        .expect_err("stale");
    assert!(
        stale.message.contains("changed since it was read"),
        "{}",
        stale.message
    );
    assert_eq!(world.bytes("a.txt"), b"one\nby the user\n");
    let overwritten = write(&world, "a.txt", "x").await.expect_err("stale");
    assert!(
        overwritten.message.contains("changed since"),
        "{}",
        overwritten.message
    );
}

#[tokio::test]
async fn a_forgiving_edit_shows_what_is_there_now() {
    let world = World::new();
    let path = world.file("a.py", "class A:\n        def f(self):\n            pass\n");
    world.know(&path);
    let done = edit(
        &world,
        replace(
            "a.py",
            "def f(self):\n    pass",
            "def f(self):\n    return 1",
        ),
    )
    .await
    .expect("edited");
    assert!(
        done.output.contains("ignoring how far it is indented")
            && done.output.contains("3→            return 1"),
        "{}",
        done.output
    );
    assert_eq!(done.metadata["forgiven"], "ignoring how far it is indented");
}

#[tokio::test]
async fn a_link_is_followed_and_stays_a_link() {
    let world = World::new();
    let path = world.file("real.txt", "one\n");
    symlink("real.txt", world.path("link.txt")).expect("a link");
    world.know(&path);
    edit(&world, replace("link.txt", "one", "two"))
        .await
        .expect("edited");
    assert_eq!(world.bytes("real.txt"), b"two\n");
    assert!(
        fs::symlink_metadata(world.path("link.txt"))
            .expect("link")
            .is_symlink()
    );
}

#[tokio::test]
async fn bad_targets_are_named() {
    let world = World::new();
    world.file("dir/b.txt", "x");
    let binary = world.file("b.bin", b"\0\x01\x02\0");
    world.know(&binary);
    for (path, words) in [
        ("dir", "is a folder"),
        ("dir/c.txt", "Did you mean dir/b.txt?"),
        ("b.bin", "binary file"),
    ] {
        let failure = edit(&world, replace(path, "a", "b"))
            .await
            .expect_err("refused");
        assert!(
            failure.message.contains(words),
            "{path}: {}",
            failure.message
        );
        assert_eq!(failure.title, path);
    }
    let missing = edit(&world, json!({"file_path": "a"}))
        .await
        .expect_err("refused");
    assert!(
        missing
            .message
            .contains("`old_string` of `edit` is missing"),
        "{}",
        missing.message
    );
}

#[tokio::test]
async fn access_shows_the_change_before_it_is_made() {
    let world = World::new();
    let path = world.file("a.txt", "one\n");
    let tool = Edit::new(Blocking::default());
    let access = tool
        .access(&replace("a.txt", "one", "two"), &world.context)
        .expect("fine");
    let [Need::Write { path: at, diff }] = &access.needs[..] else {
        panic!("{access:?}")
    };
    assert!(diff.contains("-one\n+two\n") && *at == path);
    assert_eq!((access.writes, access.can_write), (vec![path], true));
    // what cannot be applied yet may be after an earlier call of the same step
    let access = tool
        .access(&replace("a.txt", "later", "two"), &world.context)
        .expect("fine");
    assert!(matches!(&access.needs[..], [Need::Write { diff, .. }] if diff.is_empty()));
}

#[tokio::test]
async fn write_creates_with_folders_and_replaces_what_is_known() {
    let world = World::new();
    let done = write(&world, "new/deep/a.txt", "one\n")
        .await
        .expect("created");
    assert_eq!(
        (done.output.as_str(), &done.metadata["created"]),
        ("Created new/deep/a.txt (1 lines).", &json!(true))
    );
    let done = write(&world, "new/deep/a.txt", "one\ntwo\n")
        .await
        .expect("known, because written");
    assert_eq!(done.output, "Replaced new/deep/a.txt (2 lines): +1 -0.");
    let same = write(&world, "new/deep/a.txt", "one\ntwo\n")
        .await
        .expect("the same");
    assert!(
        same.output.contains("already had this content"),
        "{}",
        same.output
    );
    world.file("there.txt", "old");
    let refused = write(&world, "there.txt", "new").await.expect_err("unread");
    assert!(
        refused.message.contains("not been read"),
        "{}",
        refused.message
    );
    assert_eq!(world.bytes("there.txt"), b"old");
}

#[tokio::test]
async fn write_keeps_line_ends_mark_and_encoding() {
    let world = World::new();
    let crlf = world.file("crlf.txt", b"\xef\xbb\xbfa\r\nb\r\n");
    let latin = world.file("latin.txt", b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6n\n");
    world.know(&crlf);
    world.know(&latin);
    write(&world, "crlf.txt", "x\ny\n").await.expect("written");
    assert_eq!(world.bytes("crlf.txt"), b"\xef\xbb\xbfx\r\ny\r\n");
    write(&world, "latin.txt", "Köln\n").await.expect("written");
    assert_eq!(world.bytes("latin.txt"), b"K\xf6ln\n");
    let refused = write(&world, "latin.txt", "→\n")
        .await
        .expect_err("not in that encoding");
    assert!(
        refused.message.contains("windows-1252"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn a_file_stays_in_the_encoding_that_it_was_first_taken_for() {
    use crate::tools::read::Read;
    use crate::tools::search::Grep;

    let world = World::new();
    let latin = |text: &str| encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
    world.file("a.txt", latin("café\nnaïve\n"));
    let read = async |world: &World| {
        let read = Read::new(Blocking::default());
        let done = world
            .call(&read, json!({"path": "a.txt"}))
            .await
            .expect("text");
        done.output
    };
    let first = read(&world).await;
    assert!(
        first.contains("→café") && first.contains("→naïve"),
        "{first}"
    );
    // By its bytes alone the new text is taken for another encoding.
    edit(&world, replace("a.txt", "café", "cafés"))
        .await
        .expect("edited");
    let again = read(&world).await;
    assert!(
        again.contains("→cafés") && again.contains("→naïve"),
        "{again}"
    );
    // Without any letter that shows it.
    write(&world, "a.txt", "plain\n").await.expect("written");
    edit(&world, replace("a.txt", "plain", "ça et là"))
        .await
        .expect("edited");
    assert_eq!(world.bytes("a.txt"), latin("ça et là\n"));
    // Searched as it is read: found, and shown with its letters.
    world.file("b.txt", latin("premier\nété à la plage\n"));
    let grep = |pattern: &str| json!({"pattern": pattern, "path": "."});
    for pattern in ["été", "plage", "(?i)ÉTÉ"] {
        let found = world
            .call(&Grep::new(Blocking::default()), grep(pattern))
            .await;
        let found = found.expect("an answer").output;
        assert!(found.contains("2: été à la plage"), "{pattern}: {found}");
    }
    // The user converted it: the bytes speak for themselves.
    world.file("a.txt", "ça et là, déjà\n");
    assert!(read(&world).await.contains("→ça et là, déjà"));
}

#[tokio::test]
async fn lines_that_repeat_without_end_are_searched_in_time() {
    let world = World::new();
    let path = world.file("a.txt", "\n".repeat(250_000));
    world.know(&path);
    let begun = std::time::Instant::now();
    for old in [
        format!("{}x", "\n".repeat(120_000)),
        format!("x\n{}", " \n".repeat(120_000)),
        "\n".repeat(120_000),
    ] {
        let error = edit(&world, replace("a.txt", &old, "y"))
            .await
            .expect_err("refused");
        assert!(error.message.len() < 4_000, "{}", error.message.len());
    }
    // Compared line by line from every line it would take hours.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
