//! Tests of the catalog: aliases, dated names, tiered prices, unknown models, and how it is built.

use super::*;
use crate::protocol::{CacheTokens, Tokens};

fn find<'a>(catalog: &'a Catalog, section: &str, model: &str) -> &'a Facts {
    catalog.find(section, model).expect(model)
}

#[test]
fn the_embedded_file_is_read_and_knows_the_main_models() {
    let catalog = Catalog::default();
    for section in ["anthropic", "openai", "google", "mistral", "deepseek"] {
        assert!(catalog.section(section).count() > 5, "{section}");
    }
    let sonnet = find(&catalog, "anthropic", "claude-sonnet-4-5");
    assert_eq!((sonnet.context, sonnet.max_output), (200_000, 64_000));
    assert_eq!(sonnet.can, "trip");
}

#[test]
fn dates_and_aliases_lead_to_the_same_model() {
    let catalog = Catalog::default();
    let plain = find(&catalog, "anthropic", "claude-opus-4-6");
    for name in [
        "claude-opus-4-6-20260205",
        "claude-opus-4-6-20991231",
        "claude-opus-4.6",
        "claude-opus-4-6-latest",
    ] {
        assert_eq!(find(&catalog, "anthropic", name), plain, "{name}");
    }
    let five = find(&catalog, "openai", "gpt-5.2-2025-12-11");
    assert_eq!((five.context, five.max_input), (400_000, Some(272_000)));
    assert_eq!(
        catalog.find_elsewhere("anthropic/claude-opus-4.6:beta"),
        Some(plain)
    );
    assert_eq!(catalog.find("anthropic", "claude-nobody"), None);
}

#[test]
fn long_prompts_cost_what_their_tier_says() {
    let catalog = Catalog::default();
    let model: ModelRef = "gemini/gemini-2.5-pro".parse().expect("a model");
    let info = info(&model, catalog.find("google", "gemini-2.5-pro"));
    let price = info.price.expect("known");
    let tokens = |input| Tokens {
        input,
        output: 1_000_000,
        reasoning: 0,
        cache: CacheTokens::default(),
    };
    assert!((price.cost(&tokens(100_000)) - (0.125 + 10.0)).abs() < 1e-9);
    assert!((price.cost(&tokens(300_000)) - (0.75 + 15.0)).abs() < 1e-9);
}

#[test]
fn a_model_that_nobody_knows_has_safe_limits_and_no_price() {
    let model: ModelRef = "ollama/my-model".parse().expect("a model");
    let info = info(&model, None);
    assert_eq!((info.context, info.max_output), (128_000, 8_192));
    assert!(info.tools && !info.known && info.price.is_none());
}

#[test]
fn labels_are_short() {
    for (name, short) in [
        ("claude-sonnet-4-5-20250929", "sonnet-4.5"),
        ("claude-opus-5", "opus-5"),
        ("gpt-5.2-2025-12-11", "gpt-5.2"),
        ("anthropic/claude-haiku-4.5", "haiku-4.5"),
        ("accounts/fireworks/models/kimi-k3", "kimi-k3"),
        ("mock-large", "mock-large"),
        ("gemini-flash-latest", "gemini-flash-latest"),
    ] {
        assert_eq!(label(name), short);
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn the_asset_is_what_the_command_makes_of_the_facts() {
    let shared = std::env::var_os("DUNLIN_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        std::path::PathBuf::from,
    );
    let Ok(facts) = std::fs::read_to_string(shared.join("data/models-facts.json")) else {
        eprintln!("skipped: the collected facts are not here");
        return;
    };
    let built = build::build(&facts, "2026-11-21").expect("good facts");
    assert!(
        built == EMBEDDED,
        "run `cargo run --example build-models`, see docs/providers.md"
    );
}

#[test]
fn facts_without_limits_are_left_out_and_bad_facts_explained() {
    let built = build::build(
        r#"{"providers": {"p": {"a": {"tools": true}, "b": {"max_input": 1000, "max_output": 1000,
            "price": {"input": 1, "output": 2}, "deprecation": "2025-01-01"}}}}"#,
        "2026-01-01",
    )
    .expect("good");
    let value: serde_json::Value = serde_json::from_str(&built).expect("JSON");
    assert!(value["providers"]["p"].get("a").is_none());
    assert_eq!(value["providers"]["p"]["b"]["gone"], true);
    assert!(build::build("[", "").expect_err("bad").contains("facts"));
}
