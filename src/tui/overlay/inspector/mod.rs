//! The context inspector: what fills the window, what was pruned and compacted, what it cost.
//!
//! Here are the report as the agent sends it (JSON of docs/context.md), the selected event and the
//! keys; `draw` makes rows of it. Fields that are missing are nothing, not an error: an older agent
//! may know less.

mod chart;
mod draw;

use std::cell::Cell as Measured;

use serde::Deserialize;
use serde_json::Value;

use super::pager::Pager;
use super::{Intent, Outcome, Overlay};
use crate::protocol::{ContextGauge, Op, PartId};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};

/// A report and the place in it.
#[derive(Debug, Clone)]
pub struct Inspector {
    gauge: ContextGauge,
    model: String,
    report: Report,
    /// The selected event of the timeline.
    event: usize,
    top: usize,
    /// The selected event is to be on screen.
    follows: bool,
    /// The largest `top` that the last frame had a use for.
    last: Measured<usize>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Report {
    messages: u64,
    parts: u64,
    total_tokens: u64,
    cache_hit_rate: Option<f64>,
    reclaimed: u64,
    strategy: String,
    truncated_outputs: u64,
    summaries: u64,
    cost: Option<f64>,
    summary_cost: Option<f64>,
    distribution: Distribution,
    largest: Vec<Large>,
    requests: Vec<u64>,
    timeline: Vec<Moment>,
    cache_misses: Vec<Miss>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Distribution {
    system: u64,
    tools: u64,
    instructions: u64,
    user: u64,
    assistant: u64,
    reasoning: u64,
    tool_results: u64,
}

impl Distribution {
    /// Makes the kinds add up to what the provider counted: they are estimated one by one.
    fn scale(&mut self, total: u64) {
        let mut kinds = [
            &mut self.system,
            &mut self.tools,
            &mut self.instructions,
            &mut self.user,
            &mut self.assistant,
            &mut self.reasoning,
            &mut self.tool_results,
        ];
        let sum: u64 = kinds.iter().map(|kind| **kind).sum();
        if sum == 0 || total == 0 {
            return;
        }
        for kind in &mut kinds {
            **kind = **kind * total / sum;
        }
        // What rounding lost belongs to the largest.
        let left = total - kinds.iter().map(|kind| **kind).sum::<u64>();
        if let Some(largest) = kinds.into_iter().max_by_key(|kind| **kind) {
            *largest += left;
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Large {
    tool: String,
    title: String,
    tokens: u64,
    turn: u64,
    superseded: bool,
    changed_in: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Moment {
    at: i64,
    kind: String,
    request: u64,
    count: u64,
    before: u64,
    after: u64,
    freed: u64,
    note: String,
    parts: Vec<PartId>,
    details: Vec<String>,
}

impl Moment {
    fn is_compaction(&self) -> bool {
        self.kind == "compacted"
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Miss {
    missed: u64,
    changed: String,
    cost: Option<f64>,
}

impl Inspector {
    /// From the agent's answer.
    pub fn new(report: &Value, gauge: ContextGauge, model: String) -> Self {
        let mut report: Report = Report::deserialize(report).unwrap_or_default();
        report.distribution.scale(report.total_tokens);
        Self {
            gauge,
            model,
            event: report.timeline.len().saturating_sub(1),
            report,
            top: 0,
            follows: false,
            last: Measured::new(0),
        }
    }

    /// A newer report in place of this one; the place stays.
    pub fn show(&mut self, report: &Value, gauge: ContextGauge, model: String) {
        let newer = Self::new(report, gauge, model);
        let same = newer.report.timeline.len() == self.report.timeline.len();
        *self = Self {
            event: if same { self.event } else { newer.event },
            top: self.top,
            ..newer
        };
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        self.follows = false;
        let to = self.top.saturating_add_signed(delta);
        self.top = to.min(self.last.get());
    }

    fn step(&mut self, delta: isize) {
        let last = self.report.timeline.len().saturating_sub(1);
        if self.report.timeline.is_empty() {
            return self.scroll(delta);
        }
        self.event = self.event.saturating_add_signed(delta).min(last);
        self.follows = true;
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        // What was changed is asked for again, so the figures stay true.
        let then = |op| Outcome::Emit(vec![Intent::Op(op), Intent::Op(Op::Context)]);
        match keys.action(&[Context::Inspector, Context::Pager, Context::Global], key) {
            Some(Action::PruneNow) => return then(Op::Prune),
            Some(Action::CompactNow) => {
                return Outcome::Close(vec![Intent::Op(Op::Compact {
                    focus: String::new(),
                })]);
            }
            Some(Action::RestorePruned) => {
                return match self.report.timeline.get(self.event) {
                    Some(moment) if moment.is_compaction() => Outcome::Consumed,
                    Some(moment) => then(Op::Restore {
                        parts: moment.parts.clone(),
                    }),
                    None => then(Op::Restore { parts: Vec::new() }),
                };
            }
            Some(Action::ContextExport) => {
                return Outcome::Emit(vec![Intent::Op(Op::Export {
                    format: "context".to_owned(),
                    path: None,
                })]);
            }
            Some(Action::ContextDetails) => return self.details(),
            Some(Action::PagerUp) => self.step(-1),
            Some(Action::PagerDown) => self.step(1),
            Some(Action::LineUp) => self.scroll(-1),
            Some(Action::LineDown) => self.scroll(1),
            Some(Action::PageUp) => self.scroll(-20),
            Some(Action::PageDown) => self.scroll(20),
            Some(Action::PagerClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// The pruned outputs or the summary of the selected event.
    fn details(&self) -> Outcome {
        let Some(moment) = self.report.timeline.get(self.event) else {
            return Outcome::Consumed;
        };
        let (title, none) = if moment.is_compaction() {
            (
                "Summary",
                "No summary was made: older messages were left out.",
            )
        } else {
            ("Pruned outputs", "All of them are back.")
        };
        let text = if moment.details.is_empty() {
            none.to_owned()
        } else {
            moment.details.join("\n")
        };
        let pager = Overlay::Pager(if moment.is_compaction() {
            Pager::prose(title, &text)
        } else {
            Pager::output(title, &text)
        });
        Outcome::Emit(vec![Intent::Open(Box::new(pager))])
    }
}
