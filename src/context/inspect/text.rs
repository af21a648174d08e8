//! The report as lines for a terminal, and token counts as people read them.
//!
//! Used by `dunlin inspect`; the screen draws its own from the JSON form.

use super::Report;

/// The report as lines, for a terminal.
pub fn as_text(report: &Report) -> String {
    let percent = |part: u64| {
        let all = report.total_tokens.max(1);
        format!("{:>5.1}%", part as f64 * 100.0 / all as f64)
    };
    let d = &report.distribution;
    let mut text = format!(
        "Context of {}: {} of {} tokens, compacts at {} ({})\n\
         {} messages, {} parts, {} outputs pruned ({}), {} truncated, {} summaries\n",
        report.model,
        report.total_tokens,
        report.window,
        report.compact_at,
        report.strategy,
        report.messages,
        report.parts,
        report.pruned_parts,
        short(report.pruned_tokens),
        report.truncated_outputs,
        report.summaries,
    );
    if report.folded_calls > 0 {
        text.push_str(&format!("{} old calls folded\n", report.folded_calls));
    }
    if let Some(rate) = report.cache_hit_rate {
        text.push_str(&format!("Cached {:.0}%\n", rate * 100.0));
    }
    match report.cost {
        Some(usd) => text.push_str(&format!("Cost ${usd:.2}\n\n")),
        None => text.push_str("Cost unknown\n\n"),
    }
    for (name, tokens) in [
        ("System prompt", d.system),
        ("Tool schemas", d.tools),
        ("Project instructions", d.instructions),
        ("Your messages", d.user),
        ("Assistant text", d.assistant),
        ("Reasoning", d.reasoning),
        ("Tool results", d.tool_results),
    ] {
        text.push_str(&format!("  {name:<22}{tokens:>10} {}\n", percent(tokens)));
    }
    for large in &report.largest {
        let stale = match large.changed_in {
            Some(turn) => format!("   stale: file changed in turn {turn}"),
            None if large.superseded => "   superseded".to_owned(),
            None => String::new(),
        };
        text.push_str(&format!(
            "  {:>8}  {:<6} {}   turn {}{stale}\n",
            large.tokens, large.tool, large.title, large.turn
        ));
    }
    let sizes = report.request_sizes;
    if !report.requests.is_empty() {
        text.push_str(&format!(
            "Requests {}: median {}, 95 % up to {}, largest {}\n",
            report.requests.len(),
            short(sizes.median),
            short(sizes.p95),
            short(sizes.largest)
        ));
    }
    for miss in &report.cache_misses {
        let cost = miss
            .cost
            .map_or_else(String::new, |usd| format!(" (${usd:.3})"));
        text.push_str(&format!(
            "  cache missed {}{cost}: {}\n",
            short(miss.missed),
            miss.changed
        ));
    }
    for moment in &report.timeline {
        text.push_str(&format!("  turn {}: {}\n", moment.turn, moment.text));
    }
    for warning in &report.warnings {
        text.push_str(&format!("! {warning}\n"));
    }
    text
}

/// `23K`, `1.2M`, or the number itself below a thousand.
pub fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}K", (tokens + 500) / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1_000_000.0),
    }
}
