//! Makes `assets/models.json` from collected facts about models.
//!
//! Called by `examples/build-models.rs` when the facts change, never by the program itself. The facts'
//! format: per provider and model `max_input`, `max_output`, `price`, `tiered_price` (USD per million
//! tokens), abilities and a deprecation date.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Collected {
    providers: BTreeMap<String, BTreeMap<String, Model>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Model {
    max_input: Option<u64>,
    max_output: Option<u64>,
    price: BTreeMap<String, f64>,
    tiered_price: BTreeMap<String, f64>,
    tools: bool,
    reasoning: bool,
    vision: bool,
    pdf: bool,
    deprecation: Option<String>,
    endpoints: Option<Vec<String>>,
}

/// The text of `assets/models.json`. `today` (`YYYY-MM-DD`) decides which models are gone.
///
/// # Errors
///
/// The sentence says where the facts could not be read.
pub fn build(facts: &str, today: &str) -> Result<String, String> {
    let collected: Collected = serde_json::from_str(facts)
        .map_err(|error| format!("The collected facts could not be read: {error}."))?;
    let mut out = String::from("{\"providers\": {");
    for (index, (provider, models)) in collected.providers.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&json!(provider).to_string());
        out.push_str(": {");
        let lines: Vec<String> = models
            .iter()
            .filter_map(|(name, model)| {
                let line = entry(provider, model, today)?;
                Some(format!("\n  {}: {line}", json!(name)))
            })
            .collect();
        out.push_str(&lines.join(","));
        out.push_str("\n}");
    }
    out.push_str("\n}}\n");
    Ok(out)
}

fn entry(provider: &str, model: &Model, today: &str) -> Option<String> {
    let speaks = |path: &str| {
        let endpoints = model.endpoints.as_ref();
        endpoints.is_none_or(|list| list.iter().any(|e| e.contains(path)))
    };
    if !speaks("chat/completions") && !speaks("responses") && provider != "google" {
        return None;
    }
    let input = model.max_input.filter(|n| *n > 0)?;
    let output = model.max_output.filter(|n| *n > 0).unwrap_or(8_192);
    let mut can = String::new();
    for (has, letter) in [
        (model.tools, 't'),
        (model.reasoning, 'r'),
        (model.vision, 'i'),
        (model.pdf, 'p'),
    ] {
        if has {
            can.push(letter);
        }
    }
    let mut line = serde_json::Map::new();
    limits(&mut line, provider, input, output);
    line.insert("can".to_owned(), json!(can));
    let price = &model.price;
    if let (Some(input), Some(output)) = (price.get("input"), price.get("output")) {
        let base = [
            *input,
            *output,
            // No price of its own: cached tokens cost what others cost.
            *price.get("cache_read").unwrap_or(input),
            *price.get("cache_write").unwrap_or(input),
        ];
        line.insert("price".to_owned(), json!(base));
        let tiers = tiers(&model.tiered_price, base);
        if !tiers.is_empty() {
            line.insert("tiers".to_owned(), json!(tiers));
        }
    }
    if model
        .deprecation
        .as_deref()
        .is_some_and(|date| date < today)
    {
        line.insert("gone".to_owned(), json!(true));
    }
    Some(Value::Object(line).to_string())
}

/// Collected facts name the largest prompt. Where a provider limits it apart from the output the
/// window is the sum of both; else it is the window.
fn limits(line: &mut serde_json::Map<String, Value>, provider: &str, input: u64, output: u64) {
    // OpenAI's windows of 400,000 and 1,050,000 tokens are told as 272,000 and 922,000 of input.
    let apart = provider == "openai" && matches!(input + output, 400_000 | 1_050_000);
    let context = if apart { input + output } else { input };
    line.insert("context".to_owned(), json!(context));
    if apart || (provider == "google" && input > 1_000_000) {
        line.insert("max_input".to_owned(), json!(input));
    }
    // "As much as the window" is no limit that could be asked for beside a prompt.
    let output = if output > context / 2 {
        output.min((context / 4).max(4_096))
    } else {
        output
    };
    line.insert("max_output".to_owned(), json!(output));
}

/// Price tiers by the size of the prompt. Others (audio, one-hour caches, service tiers) are left
/// out: they do not apply to our requests.
fn tiers(prices: &BTreeMap<String, f64>, base: [f64; 4]) -> Vec<(u64, [f64; 4])> {
    const KINDS: [&str; 4] = [
        "input_cost_per_token_above_",
        "output_cost_per_token_above_",
        "cache_read_input_token_cost_above_",
        "cache_creation_input_token_cost_above_",
    ];
    let mut found: BTreeMap<u64, [f64; 4]> = BTreeMap::new();
    for (name, price) in prices {
        for (index, kind) in KINDS.iter().enumerate() {
            let above = name
                .strip_prefix(kind)
                .and_then(|rest| rest.strip_suffix("k_tokens"))
                .and_then(|number| number.parse::<u64>().ok());
            if let Some(above) = above {
                found.entry(above * 1_000).or_insert(base)[index] = *price;
            }
        }
    }
    found.into_iter().collect()
}
