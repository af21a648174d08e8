//! The report of `/context` and `dunlin inspect`: figures, timeline, warnings.

use super::*;
use crate::context::test_world::World;
use crate::protocol::{CacheTokens, Finish, Tokens, ToolState};

fn step(w: &mut World, input: u64, cached: u64) {
    w.part(PartBody::StepFinish {
        reason: Finish::Stop,
        snapshot: None,
        tokens: Tokens {
            input,
            cache: CacheTokens {
                read: cached,
                write: 0,
            },
            ..Tokens::default()
        },
        cost: Some(0.5),
    });
    let mut message = w.conversation.tip().expect("a message").message.clone();
    message.tokens.input = input;
    message.cost = Some(0.5);
    w.conversation.put_message(message);
}

fn made(w: &World) -> Report {
    report(&Source {
        conversation: &w.conversation,
        usage: Usage::default(),
        window: Window::default(),
        model: "p/m",
        strategy: "manual",
        overhead: Overhead {
            system: 1,
            instructions: 2,
            tools: 3,
        },
        misses: Vec::new(),
        cost: cost_of(&w.conversation),
    })
}

#[test]
fn figures_timeline_and_superseded_outputs_are_reported() {
    let mut w = World::new();
    w.prompt("one");
    let old = w.tool("read", "{\"file_path\":\"a\"}", &"x".repeat(8_000));
    step(&mut w, 100, 900);
    let new = w.tool("read", "{\"file_path\":\"a\"}", &"x".repeat(4_000));
    step(&mut w, 200, 1_800);
    w.prompt("two");
    step(&mut w, 300, 2_700);
    let report = made(&w);
    assert_eq!(
        (report.requests.clone(), report.request_sizes.median),
        (vec![1_000, 2_000, 3_000], 2_000)
    );
    assert_eq!(report.cache_hit_rate, Some(0.9));
    assert_eq!(report.cost, Some(1.5));
    let large: Vec<_> = report
        .largest
        .iter()
        .map(|l| (l.part, l.superseded))
        .collect();
    assert_eq!(large, [(old, true), (new, false)]);
    assert_eq!(
        (
            report.distribution.system,
            report.distribution.instructions,
            report.distribution.tools
        ),
        (1, 2, 3)
    );
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert!(as_text(&report).contains("turn 1   superseded"));
}

#[test]
fn a_pruning_stands_in_the_turn_that_it_happened_in() {
    let mut w = World::new();
    w.prompt("one");
    let pruned = w.tool("bash", "{}", &"x".repeat(92_000));
    w.prompt("two");
    let at = w
        .conversation
        .entries()
        .last()
        .expect("a prompt")
        .message
        .created;
    let mut part = w.conversation.part(pruned).expect("there").clone();
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Completed { compacted_at, .. } = &mut tool.state
    {
        *compacted_at = Some(at);
    }
    w.conversation.put_part(part);
    let report = made(&w);
    assert_eq!(report.timeline.len(), 1);
    assert!(
        as_text(&report).contains("turn 2: pruned 23K"),
        "{}",
        as_text(&report)
    );
}

#[test]
fn frequent_overflow_a_cold_cache_and_dear_summaries_are_warned_of() {
    let mut w = World::new();
    for turn in 0..6 {
        w.prompt("go");
        step(&mut w, 1_000, 100);
        if turn % 2 == 0 {
            w.compaction(None, "notes");
        }
    }
    // `compaction` of the test world leaves its figures open: fill them as the turn does.
    let ids: Vec<_> = w
        .conversation
        .entries()
        .iter()
        .flat_map(|e| e.parts.clone())
        .collect();
    for mut part in ids {
        if let PartBody::Compaction { before, after, .. } = &mut part.body {
            (*before, *after) = (190_000, 45_000);
            w.conversation.put_part(part);
        }
    }
    let mut summary = w
        .conversation
        .entries()
        .iter()
        .find(|e| e.message.summary)
        .expect("one")
        .message
        .clone();
    summary.tokens.input = 1;
    summary.cost = Some(3.0);
    w.conversation.put_message(summary);
    let report = made(&w);
    let all = report.warnings.join("\n");
    assert!(all.contains("overflowed in 3 of 6 turns"), "{all}");
    assert!(
        all.contains("Only 9 %") && all.contains("$12.00 an hour"),
        "{all}"
    );
    assert!(as_text(&report).contains("compacted 190K → 45K"));
}

#[test]
fn a_provider_without_a_cache_is_not_warned_of_and_one_with_a_cache_is_judged_by_its_own_steps() {
    let mut w = World::new();
    w.prompt("go");
    for _ in 0..5 {
        w.tool("bash", "{}", "x");
        step(&mut w, 1_000, 0);
    }
    let report = made(&w);
    assert_eq!(report.cache_hit_rate, Some(0.0));
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    // A second model with a cache: its own steps decide.
    for cached in [0, 9_000, 9_000] {
        w.tool("bash", "{}", "x");
        let mut message = w.conversation.tip().expect("a message").message.clone();
        message.model.model = "cached".to_owned();
        w.conversation.put_message(message);
        step(&mut w, 1_000, cached);
    }
    let report = made(&w);
    let rate = report.cache_hit_rate.expect("known");
    assert!((rate - 18.0 / 21.0).abs() < 1e-9, "{rate}");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

#[test]
fn the_cost_is_that_of_all_messages_and_not_known_if_one_is_not() {
    let mut w = World::new();
    w.prompt("one");
    w.tool("bash", "{}", "x");
    step(&mut w, 100, 0);
    w.compaction(None, "notes");
    let mut summary = w.conversation.tip().expect("the summary").message.clone();
    summary.tokens.input = 10;
    summary.cost = Some(0.25);
    w.conversation.put_message(summary.clone());
    assert_eq!(made(&w).cost, Some(0.75));
    assert_eq!(made(&w).summary_cost, Some(0.25));
    summary.cost = None;
    w.conversation.put_message(summary);
    assert_eq!((made(&w).cost, made(&w).summary_cost), (None, None));
}

#[test]
fn the_distribution_adds_up_to_what_is_sent_also_with_folded_calls() {
    let mut w = World::new();
    w.conversation.set_folding(true);
    let mut old = Vec::new();
    for turn in ["one", "two", "three", "four"] {
        w.prompt(turn);
        old.push(w.tool(
            "bash",
            "{\"command\":\"make all the things\"}",
            &"x".repeat(400),
        ));
        w.text("some words about it");
    }
    w.prune(old[0], Some(10_000));
    w.at(20_000);
    w.prompt("five");
    w.prune(old[1], Some(20_001));
    let report = made(&w);
    assert_eq!((report.pruned_parts, report.folded_calls), (2, 1));
    let d = &report.distribution;
    let all = d.user + d.assistant + d.reasoning + d.tool_results;
    assert_eq!(all, crate::context::overflow::estimate(&w.conversation));
}

#[test]
fn overflow_in_more_than_a_tenth_of_the_turns_is_warned_of() {
    for (turns, warned) in [(10, false), (9, true)] {
        let mut w = World::new();
        for turn in 0..turns {
            w.prompt("go");
            if turn == 3 {
                w.compaction(None, "notes");
                let request = w
                    .conversation
                    .entries()
                    .iter()
                    .rev()
                    .nth(1)
                    .expect("a request");
                let mut part = request.parts[0].clone();
                if let PartBody::Compaction { before, after, .. } = &mut part.body {
                    (*before, *after) = (190_000, 45_000);
                }
                w.conversation.put_part(part);
            }
        }
        let found = made(&w).warnings.join(" ");
        assert_eq!(
            found.contains("overflowed in 1 of"),
            warned,
            "{turns}: {found}"
        );
    }
}
