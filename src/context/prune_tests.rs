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
    let in_last_two = w.tool("bash", "{\"command\":\"c\"}", &"x".repeat(40_000));
    w.prompt("three");
    let newest = w.tool("bash", "{\"command\":\"d\"}", &"x".repeat(40_000));
    let plan = plan(&w.conversation, &settings(), Moment::Between).expect("enough to prune");
    assert_eq!(
        plan.parts,
        [old],
        "{mid} is within the newest 1,000 tokens, turns 2 and 3 are safe"
    );
    assert_eq!(plan.saved, 1_000);
    let plan = super::plan(&w.conversation, &settings(), Moment::Overflow).expect("mid-turn");
    assert!(plan.parts.contains(&in_last_two) && plan.parts.contains(&newest));
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
