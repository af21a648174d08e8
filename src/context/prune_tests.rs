//! What a pruning takes, what it spares, and in which order it walks.

use super::*;
use crate::context::test_world::World;

fn settings() -> ContextSettings {
    ContextSettings {
        prune_protect: 1_000,
        prune_minimum: 500,
        ..ContextSettings::default()
    }
}

#[test]
fn what_lies_beyond_the_newest_outputs_is_pruned_but_not_the_last_two_turns() {
    let mut w = World::new();
    w.prompt("one");
    let old = w.tool("bash", "{\"command\":\"a\"}", &"x".repeat(4_000));
    let mid = w.tool("bash", "{\"command\":\"b\"}", &"x".repeat(3_600));
    w.prompt("two");
    let in_last_two = w.tool("bash", "{\"command\":\"c\"}", &"x".repeat(120));
    w.prompt("three");
    let newest = w.tool("bash", "{\"command\":\"d\"}", &"x".repeat(120));
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("enough to prune");
    assert_eq!(
        plan.parts,
        [old],
        "{mid} is within the newest 1,000 tokens, turns 2 and 3 are safe"
    );
    assert_eq!(plan.saved, 1_000);
    let large = w.tool("bash", "{\"command\":\"e\"}", &"x".repeat(40_000));
    let plan = super::plan(&w.conversation, &settings(), Moment::Between).expect("as before");
    assert_eq!(
        plan.parts,
        [mid, old],
        "the newest 1,000 are the last turn's now"
    );
    let plan = super::plan(&w.conversation, &settings(), Moment::Overflow).expect("mid-turn");
    assert_eq!(
        plan.parts,
        [newest, in_last_two, mid, old],
        "no model has seen {large} yet"
    );
    let last = super::plan(&w.conversation, &settings(), Moment::LastResort).expect("all of it");
    assert_eq!(last.parts, [large, newest, in_last_two, mid, old]);
    // What the user says meanwhile goes out with the same request.
    w.prompt("guidance");
    let plan = super::plan(&w.conversation, &settings(), Moment::Overflow).expect("mid-turn");
    assert_eq!(plan.parts[0], newest, "{large} goes out with the guidance");
    w.message(Role::Assistant, false);
    w.text("an answer");
    let plan = super::plan(&w.conversation, &settings(), Moment::Overflow).expect("mid-turn");
    assert_eq!(plan.parts[0], large, "it was seen");
}

#[test]
fn less_than_the_minimum_is_not_worth_a_cache_miss() {
    let mut w = World::new();
    w.prompt("one");
    w.tool("bash", "{\"command\":\"a\"}", &"x".repeat(1_900));
    w.tool("bash", "{\"command\":\"b\"}", &"x".repeat(4_000));
    w.prompt("two");
    w.prompt("three");
    assert_eq!(plan(&w.conversation, &settings(), Moment::Between), None);
}

#[test]
fn it_stops_at_pruned_parts_and_summaries_and_skips_protected_tools() {
    let mut w = World::new();
    w.prompt("one");
    let behind = w.tool("bash", "{\"command\":\"0\"}", &"x".repeat(40_000));
    w.tool_pruned("bash", "{\"command\":\"1\"}", &"x".repeat(40_000));
    let kept = w.tool("task", "{}", &"x".repeat(40_000));
    let pruned = w.tool("bash", "{\"command\":\"2\"}", &"x".repeat(40_000));
    w.prompt("two");
    w.prompt("three");
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("something");
    assert_eq!(plan.parts, [pruned]);
    assert!(!plan.parts.contains(&kept) && !plan.parts.contains(&behind));
}

#[test]
fn superseded_results_go_with_a_pruning_that_happens_anyway() {
    let mut w = World::new();
    w.prompt("one");
    let stale_read = w.tool("read", "{\"file_path\":\"a.rs\"}", &"r".repeat(2_000));
    w.tool(
        "edit",
        "{\"file_path\":\"a.rs\",\"old_string\":\"x\"}",
        "ok",
    );
    let repeated = w.tool("bash", "{\"command\":\"t\",\"b\":1}", &"x".repeat(2_000));
    let last = w.tool("bash", "{\"b\":1,\"command\":\"t\"}", &"x".repeat(2_000));
    w.prompt("two");
    w.prompt("three");
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("two stale results");
    assert_eq!(plan.parts, [repeated, stale_read]);
    assert_eq!(plan.stale, 2);
    assert!(
        !plan.parts.contains(&last),
        "the newest result of a repeated command stays"
    );
}

#[test]
fn equal_inputs_have_equal_canonical_text_whatever_the_order_of_keys() {
    let a: Value = serde_json::from_str("{\"b\":[1,{\"d\":1,\"c\":2}],\"a\":\"x\"}").expect("json");
    let b: Value = serde_json::from_str("{\"a\":\"x\",\"b\":[1,{\"c\":2,\"d\":1}]}").expect("json");
    assert_eq!(canonical(&a), canonical(&b));
    assert_eq!(canonical(&a), "{\"a\":\"x\",\"b\":[1,{\"c\":2,\"d\":1}]}");
}

#[test]
fn the_newest_outputs_are_counted_from_the_newest_protected_turns_included() {
    let mut w = World::new();
    w.prompt("one");
    let old = w.tool("bash", "{\"command\":\"a\"}", &"x".repeat(2_400));
    w.prompt("two");
    w.tool("bash", "{\"command\":\"b\"}", &"x".repeat(4_000));
    w.prompt("three");
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("something");
    assert_eq!(plan.parts, [old], "the newest 1,000 tokens are turn two's");
}

#[test]
fn a_superseded_output_that_went_early_does_not_hide_what_is_older() {
    let mut w = World::new();
    w.prompt("one");
    let older = w.tool("bash", "{\"command\":\"x\"}", &"x".repeat(4_000));
    w.tool_pruned("read", "{\"file_path\":\"./a.rs\"}", &"r".repeat(4_000));
    let newer = w.tool("bash", "{\"command\":\"y\"}", &"x".repeat(4_000));
    w.tool(
        "read",
        "{\"path\":\"a.rs\",\"offset\":1}",
        &"r".repeat(4_000),
    );
    w.prompt("two");
    w.prompt("three");
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("something");
    assert_eq!(plan.parts, [newer, older]);
    assert_eq!(plan.stale, 0);
}

#[test]
fn the_tail_that_a_compaction_kept_is_pruned_and_what_it_replaced_is_not() {
    let mut w = World::new();
    w.prompt("one");
    let gone = w.tool("bash", "{\"command\":\"a\"}", &"x".repeat(8_000));
    let tail = w.prompt("two");
    let kept = w.tool("bash", "{\"command\":\"b\"}", &"x".repeat(8_000));
    w.compaction(Some(tail), "notes");
    w.prompt("three");
    w.prompt("four");
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("something");
    assert_eq!(plan.parts, [kept]);
    assert!(!plan.parts.contains(&gone));
}

#[test]
fn a_patch_and_a_command_with_another_description_supersede_too() {
    let mut w = World::new();
    w.prompt("one");
    let read = w.tool("read", "{\"file_path\":\"src/a.rs\"}", &"r".repeat(4_000));
    let other = w.tool("read", "{\"file_path\":\"src/b.rs\"}", &"r".repeat(400));
    w.tool(
        "apply_patch",
        "{\"patch\":\"*** Begin Patch\\n*** Update File: src/a.rs\\n@@\\n-x\\n+y\\n*** End Patch\"}",
        "ok",
    );
    let old = w.tool(
        "bash",
        "{\"command\":\"t\",\"description\":\"Test\"}",
        "failed",
    );
    w.tool(
        "bash",
        "{\"command\":\"t\",\"description\":\"Test again\"}",
        "passed",
    );
    let stale = superseded(&w.conversation);
    assert!(stale.contains(&read) && stale.contains(&old) && !stale.contains(&other));
    assert_eq!(stale.len(), 2);
}
