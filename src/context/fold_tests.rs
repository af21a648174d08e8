//! Folding: what leaves a request, what stays, and that it follows from what is stored.

use proptest::prelude::*;

use super::*;
use crate::context::assemble;
use crate::context::overflow;
use crate::context::test_world::World;
use crate::model::request::{Block, RequestMessage};

/// Four turns of two calls each: the first two turns were cleared by a pruning at 100, the third by
/// one at 200, when the fourth turn began.
fn pruned_twice() -> World {
    let mut w = World::new();
    w.conversation.set_folding(true);
    for turn in 1..=4 {
        w.prompt(&format!("prompt {turn}"));
        for call in 1..=2 {
            let id = w.tool(
                ["read", "edit"][call - 1],
                &format!("{{\"file_path\":\"src/{turn}_{call}.rs\"}}"),
                &format!("output {turn}.{call}"),
            );
            w.text(&format!("said {turn}.{call}"));
            match turn {
                1 | 2 => w.prune(id, Some(1_000)),
                3 => w.prune(id, Some(2_000)),
                _ => {}
            }
        }
    }
    w
}

fn sent(w: &mut World) -> Vec<String> {
    let messages = assemble::messages(&mut w.conversation, &|_| None);
    let block = |m: &RequestMessage, b: &Block| {
        let who = if m.assistant { "A" } else { "U" };
        match b {
            Block::Text(text) => format!("{who} {text}"),
            Block::Call { name, .. } => format!("{who} call {name}"),
            Block::Result { output, .. } => format!("{who} {output}"),
            Block::Reasoning { text, .. } => format!("{who} thought {text}"),
            Block::File { .. } => format!("{who} file"),
        }
    };
    let blocks = messages
        .iter()
        .flat_map(|m| m.blocks.iter().map(|b| block(m, b)));
    blocks.collect()
}

#[test]
fn what_an_earlier_pruning_cleared_leaves_with_one_line_per_turn_and_the_texts_stay() {
    let mut w = pruned_twice();
    let all = sent(&mut w);
    let of_turn = |n: usize| {
        let from = all.iter().position(|s| *s == format!("U prompt {n}"));
        let to = all.iter().position(|s| *s == format!("U prompt {}", n + 1));
        all[from.expect("a prompt") + 1..to.unwrap_or(all.len())].to_vec()
    };
    assert_eq!(
        of_turn(1),
        [
            "U [2 earlier tool calls of turn 1 cleared: read 1, edit 1; changed src/1_2.rs (recall turn 1)]",
            "A said 1.1",
            "A said 1.2"
        ]
    );
    assert!(of_turn(2)[0].contains("turn 2"));
    // The newest pruning's own are marked, with their calls.
    let third = of_turn(3);
    assert_eq!(third.iter().filter(|s| s.starts_with("A call")).count(), 2);
    assert!(
        third
            .iter()
            .any(|s| s.starts_with("U [Old tool result content cleared] (recall prt_"))
    );
    assert!(of_turn(4).contains(&"U output 4.2".to_owned()));
    assert_eq!(w.conversation.folds().calls(), 4);
    w.conversation.set_folding(false);
    assert!(sent(&mut w).iter().all(|s| !s.contains("earlier tool")));
}

#[test]
fn the_turns_that_the_newest_pruning_protected_are_not_folded() {
    let mut w = World::new();
    w.conversation.set_folding(true);
    let mut old = Vec::new();
    for turn in 1..=3 {
        w.prompt(&format!("prompt {turn}"));
        old.push(w.tool("read", &format!("{{\"file_path\":\"{turn}\"}}"), "x"));
    }
    // Both were cleared mid-turn long ago; the pruning at the prompt of turn 4 clears nothing of them.
    w.prune(old[0], Some(1_000));
    w.prune(old[2], Some(1_000));
    w.at(2_000);
    w.prompt("prompt 4");
    w.prune(old[1], Some(2_001));
    let folds = w.conversation.folds();
    assert!(folds.holds(1, old[0]), "turn 1 is before the last two");
    assert!(!folds.holds(5, old[2]), "turn 3 was one of the last two");
    // A pruning in the middle of turn 4 protects no turn.
    w.at(3_000);
    let newest = w.tool("read", "{\"file_path\":\"4\"}", "x");
    assert_eq!(
        *w.conversation.folds(),
        *folds,
        "without a pruning nothing changes"
    );
    w.prune(newest, Some(4_000));
    let folds = w.conversation.folds();
    assert!(folds.holds(5, old[2]) && folds.holds(3, old[1]) && !folds.holds(7, newest));
}

#[test]
fn errors_protected_tools_and_signed_calls_stay_and_thoughts_go_with_their_last_call() {
    let mut w = World::new();
    w.conversation.set_folding(true);
    w.prompt("one");
    let alone = w.tool("read", "{\"file_path\":\"a\"}", "x");
    w.thought("why a");
    let beside = w.tool("read", "{\"file_path\":\"b\"}", "x");
    w.thought("why b");
    w.failed("bash", "no such file");
    let signed = w.tool("read", "{\"file_path\":\"c\"}", "x");
    w.sign(signed);
    w.failed("bash", "no such thing");
    for part in [alone, beside, signed] {
        w.prune(part, Some(1_000));
    }
    w.prompt("two");
    let newer = w.tool("read", "{\"file_path\":\"d\"}", "x");
    w.prompt("three");
    w.at(1_500);
    w.prompt("four");
    w.prune(newer, Some(2_000));
    let all = sent(&mut w);
    assert!(all.iter().all(|s| s != "A thought why a"), "{all:?}");
    assert!(all.contains(&"A thought why b".to_owned()));
    assert!(all.contains(&"U no such file".to_owned()));
    let calls: Vec<_> = all.iter().filter(|s| s.starts_with("A call")).collect();
    assert_eq!(
        calls,
        ["A call bash", "A call read", "A call bash", "A call read"],
        "the call with a signature stays with the one that failed"
    );
    assert!(all[1].contains("[2 earlier tool calls of turn 1 cleared: read 2 (recall turn 1)]"));
}

#[test]
fn an_output_that_is_brought_back_is_shown_again_with_its_call() {
    let mut w = pruned_twice();
    let before = overflow::estimate(&w.conversation);
    let part = w.conversation.entries()[1].parts[0].id;
    w.prune(part, None);
    let all = sent(&mut w);
    assert_eq!(all[1..4], ["A call read", "A said 1.1", "U output 1.1"]);
    assert!(
        all[4].starts_with("U [1 earlier tool call of turn 1"),
        "{}",
        all[4]
    );
    assert!(overflow::estimate(&w.conversation) > before);
}

#[test]
fn what_is_folded_is_not_counted() {
    let mut w = pruned_twice();
    let folded = overflow::estimate(&w.conversation);
    let real: usize = sent(&mut w).iter().map(String::len).sum();
    w.conversation.set_folding(false);
    assert!(folded < overflow::estimate(&w.conversation));
    assert!(folded.abs_diff(real as u64 / 4) < 60, "{folded} of {real}");
}

/// What a generated turn is made of.
#[derive(Debug, Clone)]
enum Bit {
    Prompt,
    Call(u8),
    Failed,
    Text,
    Thought,
    Prune(u8),
    Restore,
    Compact,
}

fn bit() -> impl Strategy<Value = Bit> {
    prop_oneof![
        3 => Just(Bit::Prompt),
        6 => (0..3_u8).prop_map(Bit::Call),
        1 => Just(Bit::Failed),
        2 => Just(Bit::Text),
        1 => Just(Bit::Thought),
        3 => (1..6_u8).prop_map(Bit::Prune),
        1 => Just(Bit::Restore),
        1 => Just(Bit::Compact),
    ]
}

/// Plays bits; after each the request is looked at.
fn play(bits: &[Bit], mut look: impl FnMut(&mut World, bool)) -> World {
    let mut w = World::new();
    w.conversation.set_folding(true);
    w.prompt("begin");
    let mut open: Vec<PartId> = Vec::new();
    let mut cleared: Vec<PartId> = Vec::new();
    for (at, bit) in bits.iter().enumerate() {
        w.at(1_000 * (at as i64 + 1));
        let mut rewrites = true;
        match bit {
            Bit::Prompt => {
                w.prompt("next");
                rewrites = false;
            }
            Bit::Call(n) => {
                let name = ["read", "edit", "bash"][usize::from(*n)];
                let input = format!("{{\"file_path\":\"f{at}\"}}");
                open.push(w.tool(name, &input, &"output ".repeat(20)));
                rewrites = false;
            }
            Bit::Failed => w.failed("bash", "it failed"),
            Bit::Text => drop(w.text("more words")),
            Bit::Thought => w.thought("hm"),
            Bit::Prune(count) => {
                let now = 1_000 * (at as i64 + 1);
                let oldest = usize::from(*count).min(open.len());
                for part in open.drain(..oldest) {
                    w.prune(part, Some(now));
                    cleared.push(part);
                }
            }
            Bit::Restore => {
                if let Some(part) = cleared.pop() {
                    w.prune(part, None);
                }
            }
            Bit::Compact => w.compaction(None, "notes"),
        }
        look(&mut w, rewrites);
    }
    w
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any history, folded: every wire's rules hold, and each call that is sent has its result.
    #[test]
    fn folded_histories_are_valid_for_every_wire(bits in prop::collection::vec(bit(), 1..40)) {
        let mut w = play(&bits, |_, _| {});
        let messages = assemble::messages(&mut w.conversation, &|_| None);
        let mut calls = std::collections::BTreeSet::new();
        for block in messages.iter().flat_map(|m| &m.blocks) {
            match block {
                Block::Call { id, .. } => prop_assert!(calls.insert(id.clone())),
                Block::Result { id, .. } => prop_assert!(calls.remove(id)),
                _ => {}
            }
        }
        prop_assert!(calls.is_empty());
        if let Err(broken) = crate::model::encode::check_every_wire(&messages) {
            prop_assert!(false, "{broken}");
        }
    }

    /// The same bytes after reopening, whatever was asked for in between; and nothing but a pruning,
    /// a restoring or a compaction changes what was sent before.
    #[test]
    fn what_is_folded_follows_from_what_is_stored(bits in prop::collection::vec(bit(), 1..40)) {
        let mut before: Vec<String> = Vec::new();
        let mut problem = None;
        let mut w = play(&bits, |w, rewrites| {
            let now = sent(w);
            // The newest message may still grow.
            let settled = before.len().saturating_sub(1);
            if !rewrites && before[..settled] != now[..settled] {
                problem = Some(format!("{before:?}\n{now:?}"));
            }
            before = now;
        });
        prop_assert!(problem.is_none(), "{}", problem.unwrap_or_default());
        let entries = w.conversation.entries();
        let messages = entries.iter().map(|e| e.message.clone()).collect();
        let parts = entries.iter().flat_map(|e| e.parts.clone()).collect();
        let mut again = Conversation::from_history(messages, parts);
        again.set_folding(true);
        prop_assert_eq!(&*again.folds(), &*w.conversation.folds());
        prop_assert_eq!(
            assemble::messages(&mut again, &|_| None),
            assemble::messages(&mut w.conversation, &|_| None)
        );
    }
}
