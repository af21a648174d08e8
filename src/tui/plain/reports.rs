//! Reports in lines: what the session cost, what is pinned, which rules hold, how it stands.
//!
//! Made of the agent's answers, printed by `plain`. Pure; a screen reader reads them aloud, so words stand
//! where the screen has columns.

use crate::protocol::event::{PermissionRule, PinChoice};
use crate::protocol::{Spending, SpentOn, Status};
use crate::tui::view::numbers::{context, money, tokens};

/// Parts that are listed for pinning.
const PINS: usize = 30;
/// Turns that are told, the newest ones.
const TURNS: usize = 20;

/// What the session cost.
pub(super) fn spending(spending: &Spending) -> Vec<String> {
    let total = spending.total.map_or_else(
        || "This session: not known, a model has no prices here.".to_owned(),
        |usd| match spending.limit {
            Some(limit) => format!("This session: {} of {}.", money(usd), money(limit)),
            None => format!("This session: {}.", money(usd)),
        },
    );
    let mut lines = vec![total];
    let mut part = |title: &str, rows: &[SpentOn]| {
        if !rows.is_empty() {
            lines.push(format!("By {title}:"));
            lines.extend(rows.iter().map(spent));
        }
    };
    let newest = spending.turns.len().saturating_sub(TURNS);
    part("model", &spending.models);
    part("turn", spending.turns.get(newest..).unwrap_or_default());
    part("subagent", &spending.subagents);
    if let Some(saved) = spending.saved.filter(|usd| *usd >= 0.005) {
        lines.push(format!("The provider's cache saved {}.", money(saved)));
    }
    lines
}

fn spent(on: &SpentOn) -> String {
    let cost = on.cost.map_or_else(|| "cost not known".to_owned(), money);
    let steps = if on.steps == 1 { "step" } else { "steps" };
    let used = tokens(on.tokens.total(), false);
    format!("  {}: {cost}, {} {steps}, {used} tokens", on.name, on.steps)
}

/// What is pinned and what could be.
pub(super) fn pins(pins: &[PinChoice]) -> Vec<String> {
    if pins.is_empty() {
        return vec!["There is nothing to pin yet.".to_owned()];
    }
    let rows = pins.iter().enumerate().take(PINS).map(|(at, pin)| {
        let pinned = if pin.pinned { ", pinned" } else { "" };
        let used = tokens(pin.tokens, false);
        format!(
            "{:>3}  {}: {} ({used} tokens{pinned})",
            at + 1,
            pin.kind,
            pin.name
        )
    });
    let last =
        "/pin NUMBER pins it, or unpins it: what is pinned is said again after every compaction.";
    rows.chain([last.to_owned()]).collect()
}

/// The permission rules in force.
pub(super) fn permissions(rules: &[PermissionRule]) -> Vec<String> {
    if rules.is_empty() {
        return vec!["No rule is set and nothing was granted: the mode alone decides.".to_owned()];
    }
    let rule = |rule: &PermissionRule| {
        format!(
            "  {} {} {} ({})",
            rule.action, rule.tool, rule.pattern, rule.owner
        )
    };
    rules.iter().map(rule).collect()
}

/// How the session stands.
pub(super) fn status(status: Option<&Status>, facts: &[(String, String)]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(status) = status {
        let gauge = status.context;
        let cost = status.cost.map_or_else(|| "not known".to_owned(), money);
        lines.extend([
            format!("model: {} ({})", status.model, status.model_label),
            format!("agent: {}", status.agent),
            format!("mode: {}", status.mode.name()),
            format!("sandbox: {}", status.sandbox),
            format!("context: {}", context(gauge.used, gauge.window)),
            format!("cost: {cost}"),
        ]);
    }
    lines.extend(facts.iter().map(|(name, fact)| format!("{name}: {fact}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PartId;

    #[test]
    fn the_cost_is_told_in_sentences() {
        let mut turn = SpentOn::new("fix it".to_owned());
        turn.steps = 2;
        turn.tokens.input = 1_500;
        turn.cost = Some(0.25);
        let told = spending(&Spending {
            total: Some(0.25),
            limit: Some(5.0),
            turns: vec![turn],
            ..Spending::default()
        });
        assert_eq!(
            told,
            [
                "This session: $0.25 of $5.00.",
                "By turn:",
                "  fix it: $0.25, 2 steps, 1.5k tokens"
            ]
        );
    }

    #[test]
    fn pins_are_numbered_and_say_what_is_pinned() {
        let pin = PinChoice {
            part: PartId::from_raw(1),
            kind: "output".to_owned(),
            name: "bash ls".to_owned(),
            tokens: 12,
            pinned: true,
        };
        assert_eq!(pins(&[pin])[0], "  1  output: bash ls (12 tokens, pinned)");
    }
}
