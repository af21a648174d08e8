//! The four strategies: when each is due, what it keeps, how a head is cut into chunks.

use super::*;
use crate::config::used::ContextSettings;
use crate::context::compact::View;
use crate::context::overflow::{Usage, Window};
use crate::context::test_world::World;

fn view<'a>(w: &'a World, settings: &'a ContextSettings, next: u64) -> View<'a> {
    View {
        conversation: &w.conversation,
        usage: Usage {
            actual: None,
            added: 0,
            estimate: next,
        },
        window: Window {
            size: 200_000,
            usable: 168_000,
        },
        settings,
    }
}

fn three_turns() -> (World, Vec<crate::protocol::MessageId>) {
    let mut w = World::new();
    let mut prompts = Vec::new();
    for turn in ["one", "two", "three"] {
        prompts.push(w.prompt(turn));
        w.tool("bash", "{\"command\":\"x\"}", &"x".repeat(8_000));
    }
    (w, prompts)
}

#[test]
fn each_strategy_is_due_at_its_own_point() {
    let (w, _) = three_turns();
    let s = ContextSettings::default();
    let due = |name: &str, next| by_name(name).expect("known").is_due(&view(&w, &s, next));
    assert!(!due("reactive-overflow", 168_000) && due("reactive-overflow", 168_001));
    assert!(!due("proactive-threshold", 100_000) && due("proactive-threshold", 100_001));
    assert!(!due("middle-removal", 160_000) && due("middle-removal", 160_001));
    assert!(!due("manual", 900_000));
    assert!(by_name("magic").is_none());
}

#[test]
fn the_last_two_turns_are_kept_when_they_fit() {
    let (w, prompts) = three_turns();
    let s = ContextSettings::default();
    let plan = by_name("reactive-overflow")
        .expect("known")
        .plan(&view(&w, &s, 170_000));
    let plan = plan.expect("a head to summarise");
    assert_eq!(plan.tail, Some(prompts[1]));
    assert_eq!(plan.messages, 2);
    assert!(plan.summarise);
}

#[test]
fn a_tail_that_is_too_large_is_summarised_too() {
    let mut w = World::new();
    w.prompt("one");
    w.tool("bash", "{}", &"x".repeat(400_000));
    let s = ContextSettings::default();
    let plan = by_name("manual")
        .expect("known")
        .plan(&view(&w, &s, 100_000))
        .expect("all of it");
    assert_eq!(plan.tail, None);
    assert_eq!(plan.messages, 2);
}

#[test]
fn after_a_compaction_the_model_sees_request_summary_tail_and_what_is_new() {
    let (mut w, prompts) = three_turns();
    w.compaction(Some(prompts[2]), "the notes");
    w.prompt("four");
    let texts: Vec<String> = w
        .conversation
        .visible()
        .iter()
        .map(|&at| w.conversation.entries()[at].text())
        .collect();
    assert_eq!(texts, ["", "the notes", "three", "", "four"]);
}

#[test]
fn a_summary_must_be_smaller_and_one_that_frees_less_than_a_tenth_was_not_worth_it() {
    let strategy = by_name("reactive-overflow").expect("known");
    assert!(strategy.validate(1_000, 999) && !strategy.validate(1_000, 1_000));
    assert!(super::super::is_worth(1_000, 900) && !super::super::is_worth(1_000, 901));
}

#[test]
fn a_second_compaction_folds_the_first_summary_in_and_never_summarises_it_alone() {
    let (mut w, prompts) = three_turns();
    w.compaction(Some(prompts[1]), "the notes");
    let s = ContextSettings::default();
    let strategy = by_name("reactive-overflow").expect("known");
    // Turns two and three fit the tail: then all of it is summarised, not the summary by itself.
    let plan = strategy.plan(&view(&w, &s, 170_000)).expect("a plan");
    assert_eq!((plan.tail, plan.head), (None, 6));
    w.prompt("four");
    let plan = strategy.plan(&view(&w, &s, 170_000)).expect("a plan");
    assert_eq!((plan.tail, plan.head), (Some(prompts[2]), 4));
    // After it the tail begins before the first summary, which is not shown again.
    w.compaction(plan.tail, "newer notes");
    let texts: Vec<String> = w
        .conversation
        .visible()
        .iter()
        .map(|&at| w.conversation.entries()[at].text())
        .collect();
    assert_eq!(texts, ["", "newer notes", "three", "", "four"]);
    assert!(strategy.plan(&view(&World::new(), &s, 170_000)).is_none());
}

#[test]
fn thresholds_keep_the_newest_steps_of_one_long_turn_and_turns_are_kept_whole_otherwise() {
    let mut w = World::new();
    w.prompt("one");
    for n in 0..20 {
        w.tool(
            "bash",
            &format!("{{\"command\":\"{n}\"}}"),
            &"x".repeat(8_000),
        );
    }
    let s = ContextSettings::default();
    let plan = |name: &str| by_name(name).expect("known").plan(&view(&w, &s, 40_000));
    let kept = plan("proactive-threshold").expect("a plan");
    assert_eq!(
        kept.head, 16,
        "five steps of 2,009 tokens are the newest 12,000"
    );
    assert_eq!(plan("reactive-overflow").expect("a plan").tail, None);
}

#[test]
fn an_oversize_head_is_cut_into_chunks_and_an_oversize_message_is_clipped() {
    let mut w = World::new();
    w.prompt("one");
    for size in [4_000, 4_000, 4_000, 400_000, 4_000] {
        w.tool("bash", "{}", &"x".repeat(size));
    }
    let chunks = super::super::chunks(&w.conversation, 0..6, 2_500);
    let places: Vec<_> = chunks.iter().map(|c| c.places.clone()).collect();
    assert_eq!(places, [0..3, 3..4, 4..5, 5..6]);
    assert_eq!(chunks[2].clip, Some(7_500));
    assert!(
        chunks
            .iter()
            .enumerate()
            .all(|(at, c)| at == 2 || c.clip.is_none())
    );
    let clipped =
        crate::context::assemble::messages_in(&mut w.conversation, 4..5, chunks[2].clip, &|_| None);
    let crate::model::request::Block::Result { output, .. } =
        &clipped.get(1).expect("two").blocks[0]
    else {
        panic!("the result follows its call");
    };
    assert!(output.len() < 7_600 && output.contains("bytes left out"));
}
