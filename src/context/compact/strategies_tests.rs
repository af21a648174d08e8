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
    assert!(!due("middle-removal", 134_400) && due("middle-removal", 134_401));
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
        .into_iter()
        .map(|at| w.conversation.entries()[at].text())
        .collect();
    assert_eq!(texts, ["", "the notes", "three", "", "four"]);
}

#[test]
fn a_gain_of_less_than_a_tenth_is_no_gain() {
    let strategy = by_name("reactive-overflow").expect("known");
    assert!(strategy.validate(1_000, 899));
    assert!(!strategy.validate(1_000, 901));
    assert!(!strategy.validate(1_000, 1_200));
}
