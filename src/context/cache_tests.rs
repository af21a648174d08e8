//! The cache ledger: what is a hit, what is a miss, and what a miss is called.

use super::*;
use crate::context::assemble;
use crate::context::test_world::World;
use crate::protocol::{CacheTokens, IdMint, ModelRef, PartBody, ToolState};

fn request(w: &mut World, system: &str) -> Request {
    Request {
        model: ModelRef {
            provider: "p".to_owned(),
            model: "m".to_owned(),
        },
        system_stable: system.into(),
        system_dynamic: "".into(),
        messages: assemble::messages(&mut w.conversation, &|_| None),
        tools: Arc::from([]),
        max_output: 1,
        effort: None,
        session: IdMint::new(1, 0).session(1),
        place: None,
    }
}

fn counted(prompt: u64, read: u64) -> Tokens {
    Tokens {
        input: prompt - read,
        cache: CacheTokens { read, write: 0 },
        ..Tokens::default()
    }
}

#[test]
fn a_hit_is_none_and_a_miss_names_the_first_piece_that_changed_and_its_cost() {
    let mut w = World::new();
    w.prompt("one");
    w.tool("read", "{}", "first");
    let pruned = w.tool("bash", "{}", "second");
    let mut ledger = Ledger::default();
    ledger.sent(1, &request(&mut w, "s"));
    ledger.answered(&counted(50_000, 10_000), Some(0.000_001));
    w.tool("bash", "{}", "third");
    ledger.sent(2, &request(&mut w, "s"));
    ledger.answered(&counted(60_000, 49_000), Some(0.000_001));
    assert!(ledger.misses().is_empty(), "{:?}", ledger.steps());
    let mut part = w.conversation.part(pruned).expect("there").clone();
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Completed { compacted_at, .. } = &mut tool.state
    {
        *compacted_at = Some(3);
    }
    w.conversation.put_part(part);
    ledger.sent(3, &request(&mut w, "s"));
    ledger.answered(&counted(40_000, 5_000), Some(0.000_001));
    let miss = ledger.misses().remove(0);
    assert_eq!((miss.same, miss.missed), (4, 35_000));
    assert!(
        miss.changed.contains("the result of bash was pruned"),
        "{}",
        miss.changed
    );
    let id = pruned.raw() & 0xf_ffff;
    let handle = format!("(recall prt_{id:05x})");
    assert!(miss.changed.contains(&handle), "{}", miss.changed);
    assert!((miss.cost.expect("known") - 0.035).abs() < 1e-9);
    ledger.sent(4, &request(&mut w, "other"));
    ledger.answered(&counted(40_000, 0), None);
    assert_eq!(ledger.misses()[1].changed, "the system prompt");
    ledger.sent(5, &request(&mut w, "other"));
    ledger.answered(&counted(40_000, 0), None);
    assert!(ledger.misses()[2].changed.contains("no longer had it"));
}

#[test]
fn a_provider_that_never_caches_misses_nothing_and_the_ledger_is_bounded() {
    let mut w = World::new();
    w.prompt("one");
    let mut ledger = Ledger::default();
    for at in 0..500 {
        ledger.sent(at, &request(&mut w, "s"));
        ledger.answered(&counted(50_000, 0), None);
    }
    assert!(ledger.misses().is_empty());
    assert_eq!(ledger.steps().len(), MOST);
}

#[test]
fn a_model_without_a_cache_misses_nothing_after_one_that_has_one() {
    let mut w = World::new();
    w.prompt("one");
    let mut ledger = Ledger::default();
    ledger.sent(1, &request(&mut w, "s"));
    ledger.answered(&counted(50_000, 10_000), None);
    for at in 2..5 {
        let mut other = request(&mut w, "s");
        other.model.model = "local".to_owned();
        ledger.sent(at, &other);
        ledger.answered(&counted(50_000, 0), None);
    }
    assert!(ledger.misses().is_empty(), "{:?}", ledger.misses());
}

#[test]
fn a_miss_at_folded_calls_says_so() {
    let mut w = World::new();
    w.conversation.set_folding(true);
    w.prompt("one");
    let first = w.tool("read", "{}", "first");
    w.prompt("two");
    let second = w.tool("read", "{}", "second");
    w.prompt("three");
    w.prompt("four");
    w.prune(first, Some(10_000));
    let mut ledger = Ledger::default();
    ledger.sent(1, &request(&mut w, "s"));
    ledger.answered(&counted(50_000, 10_000), None);
    w.at(11_000);
    w.prompt("five");
    w.prune(second, Some(12_000));
    ledger.sent(2, &request(&mut w, "s"));
    ledger.answered(&counted(50_000, 10_000), None);
    let changed = ledger.misses().remove(0).changed;
    assert_eq!(changed, "message 2: cleared calls of turn 1 were folded");
}
