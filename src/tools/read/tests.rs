//! `read`: text, folders, notebooks, pictures, and files that are none of these.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::protocol::{BlobRef, FileSource};
use crate::tools::blocking::Blocking;
use crate::tools::reads::Freshness;
use crate::tools::test_world::World;
use crate::tools::{BlobSink, Failure, Need, Success, Tool};

async fn read(world: &World, input: serde_json::Value) -> Result<Success, Failure> {
    world.call(&Read::new(Blocking::default()), input).await
}

#[tokio::test]
async fn text_comes_as_numbered_lines_and_is_recorded() {
    let world = World::new();
    let path = world.file("src/a.rs", "fn a() {\r\n\tb();\n}\n");
    let done = read(&world, json!({"path": "src/a.rs"}))
        .await
        .expect("readable");
    assert_eq!(done.output, "   1→fn a() {\n   2→\tb();\n   3→}\n");
    assert_eq!(
        (done.title.as_str(), &done.metadata["total"]),
        ("src/a.rs", &json!(3))
    );
    assert_eq!(world.context.reads.check(&path), Freshness::Fresh);
    let empty = world.file("empty", "");
    assert_eq!(
        read(&world, json!({"path": empty}))
            .await
            .expect("readable")
            .output,
        "empty is empty."
    );
}

#[tokio::test]
async fn a_window_says_how_to_go_on() {
    let world = World::new();
    let lines: Vec<String> = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    world.file("long", lines.concat());
    let done = read(&world, json!({"path": "long"}))
        .await
        .expect("readable");
    assert!(done.output.starts_with("   1→line 1\n") && done.output.contains("2000→line 2000\n"));
    assert!(
        done.output
            .ends_with("(Lines 1-2000 of 5000. Go on with offset=2001.)")
    );
    let done = read(
        &world,
        json!({"path": "long", "offset": "4999", "limit": 10}),
    )
    .await
    .expect("readable");
    assert_eq!(done.output, "4999→line 4999\n5000→line 5000\n");
    assert_eq!(done.title, "long:4999-5008");
    let failure = read(&world, json!({"path": "long", "offset": 5001}))
        .await
        .expect_err("beyond");
    assert!(
        failure.message.contains("only 5000 lines"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn long_lines_and_many_bytes_are_cut() {
    let world = World::new();
    world.file("wide", format!("{}\nnext\n", "é".repeat(3_000)));
    let done = read(&world, json!({"path": "wide"}))
        .await
        .expect("readable");
    let first = done.output.lines().next().expect("a line");
    assert!(first.ends_with(&format!("{}… (line cut, 6000 bytes long)", "é".repeat(10))));
    assert_eq!(first.matches('é').count(), 2_000);
    world.file("fat", format!("{}\n", "x".repeat(1_000)).repeat(200));
    let done = read(&world, json!({"path": "fat"}))
        .await
        .expect("readable");
    assert!(done.output.len() <= 51_200 + 100, "{}", done.output.len());
    assert!(done.output.contains("of 200. Go on with offset="));
}

#[tokio::test]
async fn a_huge_file_is_streamed() {
    let world = World::new();
    let path = world.file(
        "huge.log",
        "0123456789abcdef0123456789abcdef\n".repeat(600_000),
    );
    let done = read(
        &world,
        json!({"path": "huge.log", "offset": 300_000, "limit": 2}),
    )
    .await
    .expect("readable");
    assert!(
        done.output.starts_with("300000→0123456789"),
        "{}",
        done.output
    );
    assert!(done.output.contains("goes on. Go on with offset=300002"));
    assert_eq!(world.context.reads.check(&path), Freshness::Fresh);
    assert_eq!(world.context.reads.state()[0].hash, None);
    let failure = read(&world, json!({"path": "huge.log", "offset": 900_000}))
        .await
        .expect_err("beyond");
    assert!(
        failure.message.contains("only 600000 lines"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn what_is_missing_gets_suggestions() {
    let world = World::new();
    world.file("src/parser.rs", "x");
    world.file("deep/down/config.toml", "x");
    let message = |done: Result<Success, Failure>| done.expect_err("missing").message;
    let near = message(read(&world, json!({"path": "src/praser.rs"})).await);
    assert_eq!(
        near,
        "src/praser.rs does not exist. Did you mean src/parser.rs?"
    );
    let elsewhere = message(read(&world, json!({"path": "config.toml"})).await);
    assert_eq!(
        elsewhere,
        "config.toml does not exist. Did you mean deep/down/config.toml?"
    );
    let nothing = message(read(&world, json!({"path": "zzz/qqq"})).await);
    assert!(
        nothing.contains("Find the right path with glob or list"),
        "{nothing}"
    );
    let below = message(read(&world, json!({"path": "src/parser.rs/x"})).await);
    assert!(below.contains("is a file, not a folder"), "{below}");
}

#[tokio::test]
async fn binaries_pipes_and_folders_get_a_useful_answer() {
    let world = World::new();
    let elf = [
        b"\x7fELF\x02\x01\x01".as_slice(),
        &[0; 9],
        &[2, 0],
        &[0; 60],
    ]
    .concat();
    world.file("a.out", elf);
    let failure = read(&world, json!({"path": "a.out"}))
        .await
        .expect_err("binary");
    assert!(
        failure
            .message
            .contains("binary file (application/x-executable)"),
        "{}",
        failure.message
    );
    assert_eq!(
        world.context.reads.check(&world.path("a.out")),
        Freshness::NeverRead
    );
    rustix::fs::mkfifoat(rustix::fs::CWD, world.path("pipe"), rustix::fs::Mode::RWXU)
        .expect("a pipe");
    let failure = read(&world, json!({"path": "pipe"}))
        .await
        .expect_err("a pipe");
    assert!(
        failure.message.contains("pipe or socket"),
        "{}",
        failure.message
    );
    world.file("dir/b.txt", "");
    world.file("dir/sub/c.txt", "");
    let listing = read(&world, json!({"path": "dir"}))
        .await
        .expect("a folder");
    assert_eq!(
        listing.output,
        "dir is a folder with 2 entries:\nb.txt\nsub/\n"
    );
}

#[tokio::test]
async fn other_encodings_are_read_and_named() {
    let world = World::new();
    world.file("latin.txt", b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6n\n");
    let done = read(&world, json!({"path": "latin.txt"}))
        .await
        .expect("readable");
    assert!(
        done.output.contains("Grüße aus München") && done.output.contains("windows-1252"),
        "{}",
        done.output
    );
}

#[tokio::test]
async fn notebooks_come_as_cells() {
    let world = World::new();
    let notebook = json!({"cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": "1 + 1", "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["2"], "image/png": "AAAA"}}]},
    ]});
    world.file("n.ipynb", notebook.to_string());
    let done = read(&world, json!({"path": "n.ipynb"}))
        .await
        .expect("readable");
    assert!(
        done.output.contains(
            "→# Cell 2 (code)\n   6→1 + 1\n   7→## Output\n   8→2\n   9→(image/png, not shown)"
        ),
        "{}",
        done.output
    );
    assert!(!done.output.contains("AAAA"));
}

#[derive(Debug, Default)]
struct Blobs(Mutex<Vec<(String, Vec<u8>)>>);

impl BlobSink for Blobs {
    fn keep(&self, mime: &str, bytes: &[u8]) -> Result<FileSource, String> {
        self.0
            .lock()
            .expect("lock")
            .push((mime.to_owned(), bytes.to_vec()));
        Ok(FileSource::Blob(BlobRef("blob:1".to_owned())))
    }
}

#[cfg(feature = "images")]
#[tokio::test]
async fn images_are_attached_and_large_ones_scaled() {
    let mut world = World::new();
    let blobs = Arc::new(Blobs::default());
    world.context.blobs = Some(Arc::clone(&blobs) as Arc<dyn BlobSink>);
    let png = |width, height| {
        let mut out = std::io::Cursor::new(Vec::new());
        let picture = image::DynamicImage::new_rgba8(width, height);
        picture
            .write_to(&mut out, image::ImageFormat::Png)
            .expect("encodes");
        out.into_inner()
    };
    let small = png(10, 10);
    world.file("small.png", &small);
    world.file("large.png", png(4_000, 1_000));
    let done = read(&world, json!({"path": "small.png"}))
        .await
        .expect("readable");
    assert_eq!(
        (
            done.attachments[0].mime.as_str(),
            done.attachments[0].name.as_str()
        ),
        ("image/png", "small.png")
    );
    let done = read(&world, json!({"path": "large.png"}))
        .await
        .expect("readable");
    assert!(
        done.output.contains("scaled to 2000×500"),
        "{}",
        done.output
    );
    let kept = blobs.0.lock().expect("lock");
    assert_eq!(kept[0].1, small);
    assert!(kept[1].1.len() > 8);
}

#[tokio::test]
async fn a_pdf_is_attached_by_path_where_there_is_no_store() {
    let world = World::new();
    world.file("doc.pdf", b"%PDF-1.7\n%\xff\n");
    let done = read(&world, json!({"path": "doc.pdf"}))
        .await
        .expect("readable");
    assert_eq!(
        done.attachments[0].source,
        FileSource::Path("doc.pdf".to_owned())
    );
}

#[tokio::test]
async fn saved_outputs_need_no_permission_and_all_else_does() {
    let world = World::new();
    let tool = Read::new(Blocking::default());
    let needs = |path: String| {
        tool.access(&json!({"path": path}), &world.context)
            .expect("fine")
            .needs
    };
    let out = world.dir.path().join("out/bash-1.txt");
    fs::create_dir_all(out.parent().expect("a parent")).expect("folders");
    fs::write(&out, "x").expect("a file");
    let out = fs::canonicalize(out).expect("exists");
    assert_eq!(needs(out.to_string_lossy().into_owned()), []);
    assert_eq!(needs("a.rs".to_owned()), [Need::Read(world.path("a.rs"))]);
}
