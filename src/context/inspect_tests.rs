use super::*;
use crate::context::test_world::World;
use crate::protocol::{CacheTokens, Finish};

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
