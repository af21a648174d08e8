//! What the turn keeps of the user's rules and pins, when it prunes, and what a summary is made of.

use super::*;
use crate::agent::turn::FolderRules;
use crate::context::compact;

fn rules(label: &str, text: &str) -> Input {
    Input::Rules(vec![FolderRules {
        label: label.to_owned(),
        text: text.to_owned(),
    }])
}

fn texts_sent(w: &mut World) -> Vec<String> {
    let messages = assemble::messages(w.turn.conversation_mut(), &|_| None);
    let blocks = messages.iter().flat_map(|m| &m.blocks);
    blocks
        .filter_map(|b| match b {
            Block::Text(text) => Some(text.clone()),
            Block::Result { output, .. } => Some(output.clone()),
            _ => None,
        })
        .collect()
}

fn pruned(w: &World) -> usize {
    let is = |e: &&Event| matches!(e, Event::Pruned { .. });
    w.events.iter().filter(is).count()
}

/// Lets things come back until a request with this number goes out.
fn until_request(w: &mut World, number: usize) {
    while w.requests < number && !w.due.is_empty() {
        w.step(0);
    }
}

#[test]
fn rules_of_a_folder_are_said_once_before_the_next_step_and_again_after_a_compaction() {
    let mut w = World::new(
        setup(),
        vec![reads(&["src/a"]), reads(&["src/b"]), Answers::Say("fine")],
    );
    w.prompt("the task");
    until_request(&mut w, 1);
    w.give(rules("src/AGENTS.md", "Use tabs.\n"));
    w.give(rules("src/AGENTS.md", "Use tabs.\n"));
    let said = "Instructions from src/AGENTS.md, for everything in src/:\nUse tabs.";
    assert!(
        !texts_sent(&mut w).contains(&said.to_owned()),
        "not in the middle of a step"
    );
    until_request(&mut w, 2);
    assert!(w.turn.is_running());
    let before = texts_sent(&mut w);
    assert_eq!(
        before.iter().filter(|t| *t == said).count(),
        1,
        "{before:?}"
    );
    w.give(rules("src/AGENTS.md", "Use tabs.\n"));
    w.run();
    assert_eq!(w.ends(), [TurnEnd::Done]);
    let after = texts_sent(&mut w);
    assert_eq!(after[..before.len()], before[..], "append-only");
    assert_eq!(after.iter().filter(|t| *t == said).count(), 1);
    assert_eq!(
        w.turn.conversation().prompts().len(),
        1,
        "they are no prompt"
    );
    // Twice compacted, still said once.
    for _ in 0..2 {
        w.give(Input::Compact {
            focus: String::new(),
        });
        w.run();
        w.prompt("go on");
        w.run();
        let all = texts_sent(&mut w);
        assert_eq!(all.iter().filter(|t| *t == said).count(), 1, "{all:?}");
    }
    w.give(rules("src/AGENTS.md", "Use tabs.\n"));
    w.prompt("more");
    w.run();
    let all = texts_sent(&mut w);
    assert_eq!(all.iter().filter(|t| *t == said).count(), 1, "{all:?}");
}

#[test]
fn rules_that_a_rewind_took_away_are_said_again() {
    let mut w = World::new(setup(), vec![reads(&["a"]), Answers::Say("fine")]);
    w.prompt("one");
    until_request(&mut w, 1);
    w.give(rules("src/AGENTS.md", "Use tabs."));
    w.run();
    let label = "src/AGENTS.md";
    assert!(compact::says_rules(w.turn.conversation(), label));
    let first = w.turn.conversation().entries()[0].message.id;
    w.turn.take_back(first);
    assert!(!compact::says_rules(w.turn.conversation(), label));
    w.script = vec![reads(&["a"]), Answers::Say("fine")];
    w.prompt("two");
    let now = w.requests;
    until_request(&mut w, now);
    w.give(rules(label, "Use tabs."));
    w.run();
    assert!(compact::says_rules(w.turn.conversation(), label));
}

/// Outputs of 2,000 tokens each; 1,000 are protected; a window of 10,000 with 9,000 usable.
fn tight() -> Setup {
    let mut tight = setup();
    tight.model.context = 10_000;
    tight.model.max_output = 1_000;
    tight.overhead = 100;
    tight.context.prune_protect = 1_000;
    tight.context.prune_minimum = 1_000;
    tight.turn.loop_repeats = 99;
    tight
}

#[test]
fn in_the_middle_of_a_turn_nothing_is_pruned_before_the_next_request_would_overflow() {
    let steps = ["a", "b", "c", "d", "e", "f"].map(|name| reads(&[name]));
    let mut setup = tight();
    setup.context.prune_protect = 2_500;
    let mut w = World::new(setup, steps.to_vec());
    w.output = "word ".repeat(1_600);
    w.prompt("the task");
    let mut at_first = 0;
    while !w.due.is_empty() {
        // The provider counts what is there once the result has come that is on its way.
        w.counted = crate::context::overflow::estimate(w.turn.conversation()) + 2_100;
        w.step(0);
        if pruned(&w) > 0 && at_first == 0 {
            at_first = w.requests;
        }
    }
    assert_eq!(w.ends(), [TurnEnd::Done]);
    // Four outputs of 2,000 fit in 9,000, a fifth does not.
    assert_eq!(at_first, 6, "the request after the fifth output");
    let first = w.events.iter().find_map(|e| match e {
        Event::Pruned { count, .. } => Some(*count),
        _ => None,
    });
    assert_eq!(first, Some(4), "the newest of the five stays");
}

#[test]
fn a_pinned_output_is_not_pruned_and_what_the_user_restores_comes_back() {
    let mut w = World::new(tight(), vec![reads(&["a", "b"]), Answers::Say("fine")]);
    w.output = "word ".repeat(1_600);
    w.prompt("one");
    w.run();
    let parts: Vec<PartId> = w.tools().iter().map(|p| p.id).collect();
    w.give(Input::Pin {
        part: parts[0],
        on: true,
    });
    for prompt in ["two", "three"] {
        w.prompt(prompt);
        w.run();
    }
    let shown = |w: &mut World| {
        let all = texts_sent(w);
        all.iter().filter(|t| t.starts_with("word")).count()
    };
    assert_eq!((pruned(&w), shown(&mut w)), (1, 1), "the pinned one stays");
    let used = w.turn.usage().next();
    w.give(Input::Restore {
        parts: vec![parts[1]],
    });
    assert_eq!(shown(&mut w), 2);
    let grown = w.turn.usage().next() - used;
    assert!((1_950..=2_050).contains(&grown), "{grown}");
}

#[test]
fn a_second_summary_is_made_of_the_first_and_what_is_new() {
    let long = |words: &str| -> &'static str { Box::leak(words.repeat(400).into_boxed_str()) };
    let mut w = World::new(setup(), vec![Answers::Say(long("first answer "))]);
    w.prompt("first words");
    w.run();
    for (focus, says) in [("tabs", "the first notes"), ("", "the second notes")] {
        w.summaries = vec![Answers::Say(says)];
        w.give(Input::Compact {
            focus: focus.to_owned(),
        });
        let Some(Purpose::Summary {
            chunk,
            focus: asked,
            ..
        }) = w.purposes.last().cloned()
        else {
            panic!("a summary is asked for");
        };
        assert_eq!(asked, focus);
        let made_of: Vec<String> =
            assemble::messages_in(w.turn.conversation_mut(), chunk.places, chunk.clip, &|_| {
                None
            })
            .iter()
            .flat_map(|m| &m.blocks)
            .filter_map(|b| match b {
                Block::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        let holds = |words: &str| made_of.iter().any(|t| t.contains(words));
        if focus.is_empty() {
            assert!(
                holds("the first notes") && holds("second words"),
                "{made_of:?}"
            );
            assert!(
                !holds("first words"),
                "what is summarised already is not sent again"
            );
        } else {
            assert!(holds("first words"), "{made_of:?}");
        }
        w.run();
        w.prompt(long("second words "));
        w.run();
    }
    let all = texts_sent(&mut w);
    assert!(all.contains(&"the second notes".to_owned()), "{all:?}");
    assert!(!all.contains(&"the first notes".to_owned()), "{all:?}");
}
