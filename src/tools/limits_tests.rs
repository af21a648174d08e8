//! Tier 1 for every tool: whole at its limit, cut past it, the rest in a file, whatever the bytes are.

use std::fs;
use std::io::{Seek, Write as _};

use serde_json::json;

use super::blocking::Blocking;
use super::output::rules::{Limit, RULES, Rule};
use super::read::Read;
use super::search::{Glob, Grep, List};
use super::test_world::World;
use super::{Failure, Success, Tool};

/// Lines of the full output that was saved; none if nothing was cut.
fn saved(done: &Success) -> Option<usize> {
    let full = done.truncated.as_ref()?;
    assert!(done.output.contains(&full.path), "{}", done.output);
    let text = fs::read_to_string(&full.path).expect("the full output");
    Some(text.lines().count())
}

async fn call(world: &World, tool: &dyn Tool, input: serde_json::Value) -> Success {
    world.call(tool, input).await.expect("an answer")
}

#[tokio::test]
async fn a_thousand_paths_are_whole_and_one_more_is_saved() {
    let world = World::new();
    for n in 0..1_000 {
        world.file(&format!("f/{n}.txt"), "");
    }
    let glob = Glob::new(Blocking::default());
    let all = json!({"pattern": "f/*.txt"});
    let done = call(&world, &glob, all.clone()).await;
    assert_eq!((saved(&done), done.output.lines().count()), (None, 1_000));
    world.file("f/last.txt", "");
    let done = call(&world, &glob, all).await;
    assert_eq!(saved(&done), Some(1_001));
    assert!(done.output.contains("bytes truncated") && done.output.contains("(1000 of 1001 files"));
}

#[tokio::test]
async fn a_thousand_matches_are_whole_and_all_of_more_are_saved() {
    let world = World::new();
    let grep = Grep::new(Blocking::default());
    world.file("a.txt", "hat\n".repeat(1_000));
    let done = call(&world, &grep, json!({"pattern": "hat"})).await;
    assert_eq!(
        (saved(&done), &done.metadata["shown"]),
        (None, &json!(1_000))
    );
    world.file("a.txt", "hat\n".repeat(1_001));
    let done = call(&world, &grep, json!({"pattern": "hat"})).await;
    assert!(
        saved(&done).is_some_and(|lines| lines > 1_001),
        "{:?}",
        done.truncated
    );
    let shown = done.output.lines().filter(|l| l.ends_with("hat")).count();
    assert_eq!((shown, &done.metadata["matches"]), (1_000, &json!(1_001)));
    // Less was asked for: then nothing is saved.
    let done = call(&world, &grep, json!({"pattern": "hat", "limit": 5})).await;
    assert_eq!((saved(&done), &done.metadata["shown"]), (None, &json!(5)));
    // A million matches in one file cost what is kept of them.
    world.file("a.txt", "hat\n".repeat(1_000_000));
    let done = call(&world, &grep, json!({"pattern": "hat"})).await;
    assert_eq!(done.metadata["matches"], 1_000_000);
    assert!(saved(&done).is_some_and(|lines| lines < 30_000));
}

#[tokio::test]
async fn long_lines_and_bytes_that_are_no_text_are_searched_and_cut() {
    let world = World::new();
    let grep = Grep::new(Blocking::default());
    let mut bytes = b"hat \xff\xfe ".to_vec();
    bytes.extend("é".repeat(100_000).bytes());
    world.file("a.txt", bytes);
    let done = call(&world, &grep, json!({"pattern": "hat"})).await;
    assert!(
        done.output.len() < 1_500 && done.output.contains('…'),
        "{}",
        done.output.len()
    );
    assert!(done.output.contains("more than 500 characters"));
}

#[tokio::test]
async fn a_large_or_deep_tree_is_listed_within_its_bounds() {
    let world = World::new();
    let list = List::new(Blocking::default());
    for n in 0..2_100 {
        world.file(&format!("many/{n:04}"), "");
    }
    let done = call(&world, &list, json!({"path": "many"})).await;
    assert_eq!(
        (saved(&done), &done.metadata["entries"]),
        (Some(2_101), &json!(2_100))
    );
    assert!(done.output.lines().count() < 2_010);
    world.file(&format!("deep/{}x", "d/".repeat(300)), "");
    let done = call(&world, &list, json!({"path": "deep", "depth": 1_000})).await;
    assert_eq!(done.metadata["entries"], 301);
    assert!(done.output.len() < 52_000 + 400);
}

#[tokio::test]
async fn read_shows_two_thousand_lines_of_two_thousand_characters() {
    let world = World::new();
    let read = Read::new(Blocking::default());
    world.file("a.txt", "x\n".repeat(2_000));
    let done = call(&world, &read, json!({"path": "a.txt"})).await;
    assert_eq!(
        (&done.metadata["shown"], &done.metadata["total"]),
        (&json!(2_000), &json!(2_000))
    );
    world.file("a.txt", "x\n".repeat(2_001));
    let done = call(&world, &read, json!({"path": "a.txt"})).await;
    assert_eq!(
        (&done.metadata["shown"], &done.metadata["total"]),
        (&json!(2_000), &json!(2_001))
    );
    let rest = call(&world, &read, json!({"path": "a.txt", "offset": 2_001})).await;
    assert_eq!(rest.metadata["shown"], 1);
    for (chars, cut) in [(2_000, 0), (2_001, 1)] {
        world.file("w.txt", "é".repeat(chars));
        let done = call(&world, &read, json!({"path": "w.txt"})).await;
        assert_eq!(
            done.metadata["cut_lines"].as_u64().unwrap_or(0),
            cut,
            "{chars}"
        );
    }
}

#[tokio::test]
async fn the_beginning_of_a_file_of_gigabytes_is_read_without_the_rest() {
    let world = World::new();
    let path = world.file("huge.txt", "first line\n".repeat(1_000));
    let mut file = fs::File::options()
        .append(true)
        .open(&path)
        .expect("a file");
    // A hole: no blocks on the disk, but two gigabytes to read for whoever reads all of it.
    file.set_len(2 << 30).expect("a hole");
    file.seek(std::io::SeekFrom::End(0)).expect("the end");
    file.write_all(b"last\n").expect("room");
    let done = world
        .call(
            &Read::new(Blocking::default()),
            json!({"path": "huge.txt", "limit": 3}),
        )
        .await;
    // Shown or refused with a sentence, but answered without reading gigabytes into memory.
    let text = done.map_or_else(|failure| failure.message, |done| done.output);
    assert!(text.len() < 60_000 && !text.is_empty());
}

#[test]
fn every_tool_has_a_limit_that_holds_to_the_line_and_the_byte() {
    let world = World::new();
    let store = &world.context.output;
    let fits = |tool: &str, text: String| store.fit(tool, text).full.is_none();
    for Rule { tool, limit, .. } in RULES {
        match limit {
            Limit::Bash => {
                assert!(
                    fits(tool, "é".repeat(30_000)) && !fits(tool, "é".repeat(30_001)),
                    "{tool}"
                );
                // A limit of its own in place of the general one: neither lines nor bytes count.
                assert!(
                    fits(tool, "\n".repeat(30_000)) && fits(tool, "€".repeat(30_000)),
                    "{tool}"
                );
            }
            Limit::Read => {
                assert!(fits(tool, "x\n".repeat(2_000)) && !fits(tool, "x\n".repeat(2_001)));
                assert!(fits(tool, "é".repeat(2_000)) && !fits(tool, "é".repeat(2_001)));
            }
            Limit::Grep | Limit::Glob => {
                assert!(fits(tool, "x\n".repeat(1_000)) && !fits(tool, "x\n".repeat(1_001)));
            }
            Limit::General => {
                assert!(
                    fits(tool, "x\n".repeat(2_000)) && !fits(tool, "x\n".repeat(2_001)),
                    "{tool}"
                );
            }
        }
        if !matches!(limit, Limit::Bash | Limit::Read) {
            assert!(
                fits(tool, "x".repeat(51_200)) && !fits(tool, "x".repeat(51_201)),
                "{tool}"
            );
        }
    }
    let tool = "mcp__server__tool";
    assert!(fits(tool, "é".repeat(120_000)) && !fits(tool, "é".repeat(120_001)));
}

#[test]
fn a_forgotten_cut_is_made_up_for_before_a_result_is_recorded() {
    let world = World::new();
    let store = &world.context.output;
    let tools = RULES
        .iter()
        .map(|rule| rule.tool)
        .chain(["mcp__server__tool"]);
    for tool in tools {
        let text = "line\n".repeat(60_000);
        let done = Success {
            output: text.clone(),
            ..Success::default()
        };
        let failed = Failure::new(text);
        for mut result in [Ok(done), Err(failed)] {
            store.seal(tool, &mut result);
            let (text, full) = match result {
                Ok(done) => (done.output, done.truncated),
                Err(failed) => (failed.message, failed.truncated),
            };
            let full = full.unwrap_or_else(|| panic!("{tool} is not cut"));
            assert!(
                text.contains("bytes truncated") && text.contains(&full.path),
                "{tool}"
            );
            assert_eq!(
                fs::metadata(full.path).expect("saved").len(),
                300_000,
                "{tool}"
            );
        }
    }
}
