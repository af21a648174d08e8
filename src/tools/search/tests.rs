//! `grep`, `glob` and `list`: what is searched, in which order, within which bounds.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::*;
use crate::config::used::OutputLimits;
use crate::tools::blocking::Blocking;
use crate::tools::test_world::World;
use crate::tools::{Need, Tool};

/// Files with an ignore file; `newest` changed last.
fn world(limits: OutputLimits) -> World {
    let world = World::with(limits);
    let files = [
        (".gitignore", "target/\n*.log\n"),
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("src/deep/lib.rs", "pub fn run() {}\n// TODO(x): more\n"),
        ("target/out.rs", "fn run() {}\n"),
        ("build.log", "run run run\n"),
        (".github/ci.yml", "run: cargo test\n"),
        (".env", "KEY=run\n"),
        ("bin.dat", "run\0\u{1}"),
        (".git/config", "run\n"),
        ("docs/newest.md", "how to run\nRUN\n"),
    ];
    for (index, (name, content)) in files.iter().enumerate() {
        let path = world.file(name, content);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + index as u64);
        fs::File::options()
            .append(true)
            .open(path)
            .expect("open")
            .set_modified(time)
            .expect("time");
    }
    world
}

async fn call(world: &World, tool: &dyn Tool, input: Value) -> String {
    match world.call(tool, input).await {
        Ok(done) => done.output,
        Err(failure) => failure.message,
    }
}

#[tokio::test]
async fn glob_finds_names_newest_first_without_ignored_files() {
    let world = world(OutputLimits::default());
    let glob = Glob::new(Blocking::default());
    let find = |pattern: &'static str| call(&world, &glob, json!({"pattern": pattern}));
    assert_eq!(find("*.rs").await, "src/deep/lib.rs\nsrc/main.rs\n");
    assert_eq!(find("src/*.rs").await, "src/main.rs\n");
    assert_eq!(
        find("./src/**/*.{rs,md}").await,
        "src/deep/lib.rs\nsrc/main.rs\n"
    );
    assert_eq!(find(".github/**").await, ".github/ci.yml\n");
    assert!(find("*.zig").await.starts_with("No file matches *.zig."));
    assert!(find("[").await.contains("is not valid"));
    let absolute = world
        .path("src")
        .join("*.rs")
        .to_string_lossy()
        .into_owned();
    assert_eq!(
        call(&world, &glob, json!({"pattern": absolute})).await,
        "src/main.rs\n"
    );
    assert_eq!(
        call(
            &world,
            &glob,
            json!({"pattern": "*.rs", "path": "src/deep"})
        )
        .await,
        "src/deep/lib.rs\n"
    );
    assert!(
        call(&world, &glob, json!({"pattern": "*", "path": "srcs"}))
            .await
            .contains("Did you mean src?")
    );
}

#[tokio::test]
async fn grep_shows_lines_by_file_and_leaves_out_what_it_should() {
    let world = world(OutputLimits::default());
    let grep = Grep::new(Blocking::default());
    let done = call(&world, &grep, json!({"pattern": "\\brun\\b"})).await;
    assert_eq!(
        done,
        "docs/newest.md\n  1: how to run\n\n.github/ci.yml\n  1: run: cargo test\n\nsrc/deep/lib.rs\n  1: pub fn run() {}\n\n\
         src/main.rs\n  2:     run();\n\n\n(1 files that may hold secrets were not searched.)"
    );
    let done = call(
        &world,
        &grep,
        json!({"pattern": "RUN", "-i": true, "glob": "*.md", "output_mode": "count"}),
    )
    .await;
    assert_eq!(done, "docs/newest.md: 2\n");
    let done = call(
        &world,
        &grep,
        json!({"pattern": "TODO(", "literal": true, "mode": "files_with_matches"}),
    )
    .await;
    assert!(done.starts_with("src/deep/lib.rs\n"), "{done}");
    // what is named is searched, ignored or not
    assert_eq!(
        call(
            &world,
            &grep,
            json!({"pattern": "run", "path": "build.log"})
        )
        .await,
        "build.log\n  1: run run run\n\n"
    );
    let done = call(
        &world,
        &grep,
        json!({"pattern": "run", "path": "src/main.rs", "context": 1}),
    )
    .await;
    assert_eq!(
        done,
        "src/main.rs\n  1- fn main() {\n  2:     run();\n  3- }\n\n"
    );
    let done = call(
        &world,
        &grep,
        json!({"pattern": "\\{\\s+run", "path": "src", "multiline": true}),
    )
    .await;
    assert!(done.contains("1: fn main() {\n  2:     run();"), "{done}");
    assert!(
        call(&world, &grep, json!({"pattern": "(", "path": "src"}))
            .await
            .contains("not a valid regular expression")
    );
    assert!(
        call(&world, &grep, json!({"pattern": "nowhere"}))
            .await
            .starts_with("Nothing matches \"nowhere\".")
    );
}

#[tokio::test]
async fn results_are_bounded_and_say_so() {
    let world = world(OutputLimits {
        grep_matches: 5,
        glob_paths: 3,
        ..OutputLimits::default()
    });
    world.file("many.txt", "hit\n".repeat(100));
    world.file("wide.txt", format!("hit {}\n", "é".repeat(5_000)));
    let grep = Grep::new(Blocking::default());
    let done = world
        .call(&grep, json!({"pattern": "hit"}))
        .await
        .expect("found");
    assert!(done.output.contains("(5 of 101 shown"), "{}", done.output);
    assert_eq!(
        (&done.metadata["matches"], &done.metadata["shown"]),
        (&json!(101), &json!(5))
    );
    let wide = call(&world, &grep, json!({"pattern": "hit", "path": "wide.txt"})).await;
    assert!(wide.chars().count() < 700 && wide.contains('…'));
    assert!(wide.contains("more than 500 characters are cut"), "{wide}");
    let glob = Glob::new(Blocking::default());
    let done = world
        .call(&glob, json!({"pattern": "**"}))
        .await
        .expect("found");
    assert!(done.output.contains("(3 of 9 files"), "{}", done.output);
}

#[tokio::test]
async fn list_draws_a_tree() {
    let world = world(OutputLimits::default());
    let list = List::new(Blocking::default());
    let done = call(&world, &list, json!({"path": "src"})).await;
    assert_eq!(done, "src/\n  deep/\n    lib.rs\n  main.rs\n");
    let done = call(&world, &list, json!({"depth": 1})).await;
    assert!(
        done.contains("  src/\n")
            && !done.contains("target")
            && !done.contains("main.rs")
            && !done.contains(".git/"),
        "{done}"
    );
    assert!(
        call(&world, &list, json!({"path": "src/main.rs"}))
            .await
            .contains("is a file")
    );
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let world = world(OutputLimits::default());
    world.context.cancel.cancel();
    let grep = Grep::new(Blocking::default());
    let failure = world
        .call(&grep, json!({"pattern": "run"}))
        .await
        .expect_err("cancelled");
    assert_eq!(failure.message, crate::protocol::tool::INTERRUPTED_OUTPUT);
}

#[tokio::test]
async fn access_is_reading_the_folder_and_a_saved_output_needs_none() {
    let world = world(OutputLimits::default());
    let grep = Grep::new(Blocking::default());
    let access = grep
        .access(&json!({"pattern": "a", "path": "src"}), &world.context)
        .expect("fine");
    assert_eq!(access.needs, [Need::Read(world.path("src"))]);
    assert_eq!(access.title, "\"a\" in src");
    let out = world
        .dir
        .path()
        .join("out/x.txt")
        .to_string_lossy()
        .into_owned();
    assert_eq!(
        grep.access(&json!({"pattern": "a", "path": out}), &world.context)
            .expect("fine")
            .needs,
        []
    );
}
