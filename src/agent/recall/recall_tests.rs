//! What `recall` finds and fetches, whatever the model is still shown.

#![expect(
    clippy::needless_pass_by_value,
    reason = "questions are written in place"
)]

use serde_json::{Value, json};

use super::search::{LINE_CHARS, around};
use super::*;
use crate::context::test_world::World;
use crate::protocol::PartId;

fn ask(w: &World, input: Value) -> Result<String, String> {
    let mut search = Search::from_json(&input)?;
    // Slices of nothing: each call of `step` looks at one message.
    for _ in 0..10_000 {
        if let Some(answer) = search.step(&w.conversation, 0) {
            return answer;
        }
    }
    panic!("the search never ends");
}

fn found(w: &World, input: Value) -> Vec<String> {
    let text = ask(w, input).expect("an answer");
    let id = |line: &str| {
        line.split(' ')
            .next()
            .filter(|w| w.starts_with("prt_"))
            .map(str::to_owned)
    };
    text.lines().filter_map(id).collect()
}

#[test]
fn what_was_cleared_and_what_was_summarised_is_found_and_fetched() {
    let mut w = World::new();
    w.prompt("one");
    let old = w.tool(
        "bash",
        "{\"command\":\"make\"}",
        "line one\nthe secret is 4711\nend",
    );
    w.compaction(None, "notes without it");
    w.prompt("two");
    let pruned = w.tool_pruned("read", "{\"file_path\":\"src/a.rs\"}", "fn lamp() {}");
    assert_eq!(found(&w, json!({"query": "SECRET is"})), [old.to_string()]);
    assert_eq!(
        found(&w, json!({"query": "fn \\w+\\(", "regex": true})),
        [pruned.to_string()]
    );
    let list = ask(&w, json!({"query": "secret"})).expect("a hit");
    assert!(
        list.contains("turn 1, bash (summarised)") && list.contains("2: the secret is 4711"),
        "{list}"
    );
    let whole = ask(&w, json!({"part": old.to_string()})).expect("the part");
    assert!(
        whole.contains("input: {\"command\":\"make\"}\nline one\nthe secret is 4711\nend"),
        "{whole}"
    );
    let whole = ask(
        &w,
        json!({"part": pruned.to_string().trim_start_matches("prt_")}),
    )
    .expect("the part");
    assert!(
        whole.contains("turn 2, read (cleared)") && whole.contains("fn lamp"),
        "{whole}"
    );
    let paged = ask(
        &w,
        json!({"part": old.to_string(), "offset": 2, "limit": 1}),
    )
    .expect("a line");
    assert!(paged.ends_with("2: the secret is 4711\n"), "{paged}");
    // Lines have the numbers that a search gives them; the arguments are found beside them.
    let lines = ask(&w, json!({"part": old.to_string(), "query": "make 4711"})).expect("lines");
    assert!(
        lines.ends_with("input: {\"command\":\"make\"}\n2: the secret is 4711\n"),
        "{lines}"
    );
}

#[test]
fn tool_file_and_turn_narrow_the_search_and_hits_are_paged() {
    let mut w = World::new();
    w.prompt("one");
    let a = w.tool("read", "{\"file_path\":\"src/a.rs\"}", "alpha beta");
    let b = w.tool("bash", "{\"command\":\"cat src/a.rs\"}", "beta alpha");
    w.prompt("two");
    let c = w.tool("read", "{\"file_path\":\"src/b.rs\"}", "alpha");
    w.tool("recall", "{\"query\":\"alpha\"}", "alpha beta");
    let ids = |parts: &[PartId]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        found(&w, json!({"query": "alpha"})),
        ids(&[c, b, a]),
        "recall itself is left out"
    );
    assert_eq!(
        found(&w, json!({"query": "beta alpha"})),
        ids(&[b, a]),
        "all words, any order"
    );
    assert_eq!(
        found(&w, json!({"query": "alpha", "tool": "bash"})),
        ids(&[b])
    );
    assert_eq!(found(&w, json!({"file": "src/a.rs"})), ids(&[b, a]));
    assert_eq!(found(&w, json!({"turn": 2, "tool": "read"})), ids(&[c]));
    let page = ask(&w, json!({"query": "alpha", "limit": 1, "offset": 1})).expect("a page");
    assert!(
        page.contains(&b.to_string()) && page.contains("offset: 2"),
        "{page}"
    );
    assert!(!page.contains(&a.to_string()) && !page.contains(&c.to_string()));
}

#[test]
fn the_handle_of_a_cleared_result_fetches_it_and_an_ambiguous_name_is_refused() {
    use crate::context::handle::Handles;
    let mut w = World::new();
    w.prompt("one");
    let mut parts = Vec::new();
    for n in 0..3_000 {
        parts.push((
            w.tool_pruned("bash", &format!("{{\"command\":\"{n}\"}}"), "x"),
            n,
        ));
    }
    let handles = Handles::of(w.conversation.entries());
    let mut names = std::collections::HashSet::new();
    let mut long = 0;
    for (part, n) in parts {
        let name = handles.name(part);
        long += usize::from(name.len() > 9);
        assert!(names.insert(name.clone()), "{name} is taken");
        if n % 100 == 0 || name.len() > 9 {
            let whole = ask(&w, json!({"part": name})).expect("the part");
            assert!(
                whole.contains(&format!("input: {{\"command\":\"{n}\"}}")),
                "{name}: {whole}"
            );
        }
    }
    assert!(
        long > 0 && long < 60,
        "{long} of 3,000 had the same five digits"
    );
    // Ids of one session begin alike.
    let first = w.conversation.entries()[0].parts[0].id.to_string();
    let beginning: String = first.chars().take(12).collect();
    let error = ask(&w, json!({"part": beginning})).expect_err("many parts");
    assert!(
        error.contains("parts are called") && error.contains(&beginning),
        "{error}"
    );
    assert!(
        error.contains("Give the whole id") && error.len() < 400,
        "{error}"
    );
}

#[test]
fn bad_questions_are_answered_with_what_to_do() {
    let w = World::new();
    for (input, says) in [
        (json!({}), "Say what to recall"),
        (
            json!({"query": "(", "regex": true}),
            "not a regular expression",
        ),
        (json!({"part": "prt_0"}), "There is no part"),
        (
            json!({"part": "prt_00000000000000000000000000000000"}),
            "There is no part",
        ),
        (json!({"turn": "x"}), "turn"),
    ] {
        let error = ask(&w, input.clone()).expect_err("refused");
        assert!(error.contains(says), "{input}: {error}");
    }
    let nothing = ask(&w, json!({"query": "x"})).expect("an answer");
    assert!(nothing.starts_with("Nothing in this session matches"));
}

#[test]
fn long_lines_are_shown_around_the_match_at_character_boundaries() {
    let line = format!("{}needle{}", "ä".repeat(5_000), "ö".repeat(5_000));
    let shown = around(&line, 10_000);
    assert!(shown.starts_with("…ä") && shown.contains("needle") && shown.ends_with("ö…"));
    assert_eq!(shown.chars().count(), LINE_CHARS + 2);
}

#[test]
fn a_part_of_megabytes_is_searched_and_paged_through() {
    let mut w = World::new();
    w.prompt("one");
    let lines = format!(
        "{}the fact is here\n{}",
        "\n".repeat(4 << 20),
        "é".repeat(10 << 20)
    );
    let huge = w.tool("mcp__a__b", "{}", &lines);
    assert_eq!(found(&w, json!({"query": "fact here"})), [huge.to_string()]);
    let page = ask(&w, json!({"part": huge.to_string(), "query": "the fact"})).expect("a line");
    assert!(page.ends_with("4194305: the fact is here\n"), "{page}");
    let page = json!({"part": huge.to_string(), "offset": 4_194_305, "limit": 1});
    assert!(
        ask(&w, page)
            .expect("a page")
            .ends_with("the fact is here\n")
    );
    let list = ask(&w, json!({"tool": "mcp__a__b"})).expect("a list");
    assert!(list.len() < 2_000, "{}", list.len());
}

#[test]
fn questions_without_bounds_are_refused_in_a_few_words() {
    let w = World::new();
    for input in [
        json!({"query": "word ".repeat(100)}),
        json!({"query": "(".repeat(1 << 20), "regex": true}),
        json!({"query": "((((", "regex": true}),
        json!({"part": "x".repeat(1 << 20)}),
    ] {
        let error = ask(&w, input).expect_err("refused");
        assert!(error.len() < 600 && error.ends_with('.'), "{error}");
    }
}
