//! The promises of SPEC §4 over long conversations, short enough for every run; the long campaign
//! prints the table of docs/context.md.

#![expect(
    clippy::print_stderr,
    reason = "measurements are printed where they are looked for"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use dunlin::agent::recall::Search;
use dunlin::config::used::ContextSettings;
use dunlin::protocol::{PartBody, ToolState, TurnEnd};
use serde_json::json;

use super::simulation::{Figures, HEAVY, ORDINARY, Profile, REALISTIC, Simulation, peak_memory};

/// A conversation a quarter as large in everything, so that 30 turns do what 100 do in full.
fn quarter(profile: Profile, turns: usize) -> (Profile, ContextSettings) {
    let small = Profile {
        turns,
        window: profile.window / 4,
        limit: profile.limit / 4,
        ..profile
    };
    let context = ContextSettings {
        prune_protect: 10_000,
        prune_minimum: 5_000,
        output_reserve: 8_000,
        ..ContextSettings::default()
    };
    (small, context)
}

fn never_failed(figures: &Figures, turns: usize) {
    assert_eq!(
        figures.ends,
        vec![TurnEnd::Done; turns],
        "{:?}",
        figures.faults
    );
    assert_eq!((figures.faults.len(), figures.refused), (0, 0));
}

#[test]
fn ordinary_and_heavy_conversations_never_fail_and_never_exceed_the_limit() {
    for (profile, turns) in [(ORDINARY, 30), (HEAVY, 6)] {
        let (profile, context) = quarter(profile, turns);
        let done = Simulation::new(profile, context).run();
        never_failed(&done.figures, turns);
        assert!(
            done.figures.largest() <= profile.limit,
            "{}",
            done.figures.largest()
        );
        assert!(done.figures.prunings > 0);
    }
}

#[test]
fn every_strategy_survives_a_heavy_conversation() {
    for strategy in ["reactive-overflow", "proactive-threshold", "middle-removal"] {
        let (profile, mut context) = quarter(HEAVY, 4);
        context.strategy = strategy.to_owned();
        let done = Simulation::new(profile, context).run();
        never_failed(&done.figures, 4);
        assert!(done.figures.largest() <= profile.limit, "{strategy}");
    }
}

#[test]
fn a_provider_that_takes_less_than_its_model_claims_is_survived() {
    let (mut profile, context) = quarter(HEAVY, 4);
    profile.limit = 36_000;
    let done = Simulation::new(profile, context).run();
    assert_eq!(
        done.figures.ends,
        vec![TurnEnd::Done; 4],
        "{:?}",
        done.figures.faults
    );
    assert!(done.figures.refused > 0 && done.figures.compactions > 0);
}

#[test]
fn requests_are_append_only_between_prunings_and_compactions() {
    let profile = Profile {
        turns: 40,
        ..ORDINARY
    };
    let simulation = Simulation::new(profile, ContextSettings::default());
    let figures = simulation.comparing_bytes().run().figures;
    let (appended, all) = figures.appended;
    assert!(appended * 100 >= all * 90, "{appended} of {all}");
    let breaks = figures.prunings + figures.compactions;
    assert!(
        all - appended <= breaks,
        "{} breaks, {breaks} reasons",
        all - appended
    );
    assert!(figures.hit_rate() > 0.7, "{}", figures.hit_rate());
}

#[test]
fn an_ordinary_conversation_stays_between_50_and_70_thousand_tokens_to_its_end() {
    let figures = Simulation::new(ORDINARY, ContextSettings::default())
        .run()
        .figures;
    never_failed(&figures, ORDINARY.turns);
    for (from, to) in [(25, 100), (25, 50), (51, 75), (76, 100)] {
        let median = figures.quantile(from, to, 0.5);
        assert!(
            (50_000..=70_000).contains(&median),
            "turns {from} to {to}: {median}"
        );
    }
    let (appended, all) = figures.appended;
    assert!(appended * 100 >= all * 90, "{appended} of {all}");
    assert_eq!(figures.compactions, 0);
}

#[test]
fn facts_in_outputs_that_were_pruned_or_compacted_are_all_recalled() {
    let (mut profile, context) = quarter(HEAVY, 40);
    profile.calls = 24;
    let facts: BTreeMap<usize, String> = (1..=40)
        .map(|n| (n, format!("\nFACT-{n}: the {n}. lamp is {}\n", n * 7919)))
        .collect();
    let done = Simulation::new(profile, context)
        .with_facts(facts.clone())
        .run();
    assert!(
        done.figures.compactions >= 5,
        "{} compactions",
        done.figures.compactions
    );
    let conversation = done.turn.conversation();
    let shown = conversation.visible();
    let mut gone = 0;
    for (n, fact) in facts {
        let found = |input: serde_json::Value| {
            let mut search = Search::from_json(&input).expect("a search");
            std::iter::repeat_with(|| search.step(conversation, 1 << 16))
                .take(100_000)
                .find_map(|answer| answer)
                .expect("an end")
                .expect("an answer")
        };
        let hits = found(json!({ "query": format!("FACT-{n}:") }));
        assert!(hits.contains(fact.trim()), "{n}: {hits}");
        let id = hits.split(' ').next().expect("an id").to_owned();
        assert!(found(json!({ "part": id })).contains(fact.trim()), "{id}");
        let in_context = shown.iter().any(|&at| {
            conversation.entries()[at].parts.iter().any(|p| match &p.body {
                PartBody::Tool(tool) => matches!(&tool.state,
                    ToolState::Completed { output, compacted_at: None, .. } if output.contains(fact.trim())),
                _ => false,
            })
        });
        gone += usize::from(!in_context);
    }
    assert!(gone >= 36, "only {gone} facts had left the context");
}

/// A step of the turns 3 to 8 and one of the turns 93 to 98: the machine, assembling, encoding. The two
/// take turns, so that a machine that is busy elsewhere slows both down.
fn step_times() -> (Duration, Duration) {
    let simulation = || Simulation::new(ORDINARY, ContextSettings::default()).timed();
    let (mut early, mut late) = (simulation(), simulation());
    early.play(1..=2);
    late.play(1..=92);
    for turn in 3..=8 {
        early.play(turn..=turn);
        late.play(turn + 90..=turn + 90);
    }
    (
        early.figures.step_time(3, 8),
        late.figures.step_time(93, 98),
    )
}

#[test]
fn a_step_at_turn_100_costs_what_one_at_turn_5_costs() {
    let mut seen = Vec::new();
    // Caches are shared with whatever else runs: the best of a few tries is what the code costs.
    for _ in 0..4 {
        let (early, late) = step_times();
        assert!(!early.is_zero());
        eprintln!(
            "a step takes {early:?} in turns 3 to 8, {late:?} in turns 93 to 98; {} MiB at most",
            peak_memory()
        );
        if late * 10 <= early * 13 {
            return;
        }
        seen.push((early, late));
    }
    panic!("steps grow: {seen:?}");
}

/// `cargo test --release --test it context::campaign::long -- --ignored --nocapture`
#[test]
#[ignore = "the long campaign of docs/context.md: minutes in a debug build"]
#[expect(clippy::print_stdout, reason = "its table is what it is for")]
fn long_campaign_prints_its_table() {
    println!(
        "| profile | strategy, tiers | median t≥25 | t 25–50 | t 51–75 | t 76–100 | p95 | largest | prunings | compactions | summaries' input | cache hits | appended | failed turns | refused |"
    );
    println!("|{}", " --- |".repeat(15));
    // Both for one row alone: DUNLIN_PROFILE=heavy DUNLIN_ROW=reactive-overflow
    let unwanted =
        |variable: &str, name: &str| std::env::var(variable).is_ok_and(|only| only != name);
    for (name, profile) in [("ordinary", ORDINARY), ("heavy", HEAVY)] {
        for (label, context) in rows() {
            if unwanted("DUNLIN_PROFILE", name) || unwanted("DUNLIN_ROW", label) {
                continue;
            }
            let figures = Simulation::new(profile, context).run().figures;
            println!("{}", row(name, label, &figures));
            if label == "reactive-overflow" {
                never_failed(&figures, profile.turns);
            }
        }
    }
    let figures = Simulation::new(REALISTIC, ContextSettings::default())
        .run()
        .figures;
    println!("{}", row("realistic", "reactive-overflow", &figures));
    never_failed(&figures, REALISTIC.turns);
}

/// The strategies, and the tiers switched off one by one.
fn rows() -> Vec<(&'static str, ContextSettings)> {
    let with = |change: fn(&mut ContextSettings)| {
        let mut context = ContextSettings::default();
        change(&mut context);
        context
    };
    let strategy = |name: &str| ContextSettings {
        strategy: name.to_owned(),
        ..ContextSettings::default()
    };
    vec![
        ("reactive-overflow", strategy("reactive-overflow")),
        ("proactive-threshold", strategy("proactive-threshold")),
        ("middle-removal", strategy("middle-removal")),
        ("manual", strategy("manual")),
        ("pruning without folding", with(|c| c.prune_fold = false)),
        ("pruning only", with(|c| c.compact = false)),
        ("compaction only", with(|c| c.prune = false)),
        (
            "neither",
            with(|c| {
                c.prune = false;
                c.compact = false;
            }),
        ),
        (
            "protect 24K, minimum 10K",
            with(|c| {
                c.prune_protect = 24_000;
                c.prune_minimum = 10_000;
            }),
        ),
    ]
}

fn row(profile: &str, label: &str, figures: &Figures) -> String {
    let k = |tokens: u64| format!("{:.1}K", tokens as f64 / 1_000.0);
    let median = |from, to| k(figures.quantile(from, to, 0.5));
    let failed = figures.ends.iter().filter(|end| **end != TurnEnd::Done);
    let (appended, all) = figures.appended;
    format!(
        "| {profile} | {label} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} % | {:.0} % | {} | {} |",
        median(25, 100),
        median(25, 50),
        median(51, 75),
        median(76, 100),
        k(figures.quantile(25, 100, 0.95)),
        k(figures.largest()),
        figures.prunings,
        figures.compactions,
        k(figures.summary_tokens),
        figures.hit_rate() * 100.0,
        appended as f64 * 100.0 / all.max(1) as f64,
        failed.count(),
        figures.refused,
    )
}
