//! The plan: all of it while it is the newest, one line after that.

use serde_json::Value;

use super::frame::Cx;
use super::tool::{Outcome, ToolFacts};
use crate::tui::term::sanitise::Safe;
use crate::tui::text::wrap::{self, Prefix};
use crate::tui::text::{Row, Styled};

/// Where a step of the plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// Not begun.
    Open,
    /// In progress.
    Active,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

/// The plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Todo {
    /// The call.
    pub facts: ToolFacts,
    /// Its steps in order.
    pub steps: Vec<(String, Stand)>,
    /// True once a newer plan took its place.
    pub superseded: bool,
}

impl Todo {
    /// A plan, from the call, its arguments and its metadata.
    pub fn of(facts: ToolFacts, input: Option<&Value>, metadata: &Value) -> Self {
        let list = |value: &Value| {
            if value.is_array() {
                return Some(value.clone());
            }
            ["todos", "items", "plan", "steps"]
                .iter()
                .find_map(|n| value.get(n).filter(|v| v.is_array()).cloned())
        };
        let steps = list(metadata).or_else(|| input.and_then(list));
        let steps = steps
            .as_ref()
            .and_then(Value::as_array)
            .map(|all| all.iter().filter_map(step).collect());
        Self {
            facts,
            steps: steps.unwrap_or_default(),
            superseded: false,
        }
    }

    /// Steps done and steps in all.
    pub fn progress(&self) -> (usize, usize) {
        (
            self.steps.iter().filter(|(_, s)| *s == Stand::Done).count(),
            self.steps.len(),
        )
    }

    pub(super) fn text(&self) -> String {
        let lines: Vec<&str> = self.steps.iter().map(|(text, _)| text.as_str()).collect();
        lines.join("\n")
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let (done, all) = self.progress();
        let mut title = Styled::new();
        title.fixed("Plan  ", theme.dim());
        title.push(&Safe::strip(&format!("{done} of {all} done")), theme.dim());
        // The newest plan shows unless the user folds it, older ones the other way round.
        let open = cx.unfolded == self.superseded;
        let glyph = match self.facts.outcome {
            Outcome::Failed => (theme.glyphs.failed, theme.bad()),
            _ if open => (theme.glyphs.open, theme.dim()),
            _ => (theme.glyphs.folded, theme.dim()),
        };
        let mut rows = vec![cx.header(glyph, title, &[])];
        if !open {
            return rows;
        }
        for (text, stand) in &self.steps {
            let (sign, ink, style) = match stand {
                Stand::Done => (theme.glyphs.done, theme.good(), theme.dim()),
                Stand::Active => (theme.glyphs.active, theme.accent(), theme.bold()),
                Stand::Open => (theme.glyphs.boxes.0, theme.dim(), theme.default()),
                Stand::Dropped => (theme.glyphs.failed, theme.dim(), theme.dim()),
            };
            let mut first = Styled::new();
            first.pad(cx.geometry.text);
            first.fixed(sign, ink);
            first.pad(1);
            let first = Prefix::gutter(first);
            let rest = Prefix::blank(cx.geometry.text + 2);
            let line = Styled::of(&Safe::strip(text), style);
            rows.extend(wrap::wrap(&line, &first, &rest, cx.geometry.right));
        }
        rows
    }
}

fn step(value: &Value) -> Option<(String, Stand)> {
    if let Some(text) = value.as_str() {
        return Some((text.to_owned(), Stand::Open));
    }
    let text = ["content", "text", "title", "step", "task"]
        .iter()
        .find_map(|n| value.get(n)?.as_str())?;
    let stand = match value
        .get("status")
        .or_else(|| value.get("state"))
        .and_then(Value::as_str)
    {
        Some("completed" | "done") => Stand::Done,
        Some("in_progress" | "in-progress" | "active" | "doing") => Stand::Active,
        Some("cancelled" | "canceled" | "dropped") => Stand::Dropped,
        _ => Stand::Open,
    };
    Some((text.to_owned(), stand))
}
