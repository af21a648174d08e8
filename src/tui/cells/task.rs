//! A subagent at work: its name, its task, its last lines, its answer's first ones.

use serde_json::Value;

use super::frame::Cx;
use super::tool::{Outcome, ToolFacts};
use super::words;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::markdown::{self, Page};
use crate::tui::text::{Row, Styled};

/// Columns of the bar before an output's lines.
const BAR: usize = 2;

/// Lines that show while it works, and after.
const SHOWN: usize = 3;

/// A subagent at work.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The call.
    pub facts: ToolFacts,
    /// The agent's name.
    pub agent: String,
}

impl Task {
    /// A subagent, from the call, its arguments and its metadata.
    pub fn of(facts: ToolFacts, input: Option<&Value>, metadata: &Value) -> Self {
        let word = |value: &Value| {
            ["agent", "subagent", "subagent_type"]
                .iter()
                .find_map(|n| value.get(n)?.as_str())
                .map(str::to_owned)
        };
        let agent = word(metadata).or_else(|| input.and_then(word));
        Self {
            facts,
            agent: agent.unwrap_or_default(),
        }
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        if let Some(rows) = self.facts.refusal(cx) {
            return rows;
        }
        let theme = cx.theme;
        let outcome = self.facts.outcome;
        let (glyph, style) = match outcome {
            Outcome::Pending(_) | Outcome::Running => (cx.spin(), theme.default()),
            Outcome::Done => ((theme.glyphs.done, theme.good()), theme.dim()),
            Outcome::Failed | Outcome::Interrupted => {
                ((theme.glyphs.failed, theme.bad()), theme.default())
            }
        };
        let mut title = Styled::new();
        title.fixed("Agent ", style);
        if !self.agent.is_empty() {
            title.push(&Safe::strip(&self.agent), style);
            title.pad(2);
        }
        title.push(&self.facts.shown_title(), style);
        let right = match outcome {
            Outcome::Interrupted => Styled::of(&Safe::fixed("interrupted"), theme.bad()),
            _ if outcome.is_running() => cx.dim(&words::running(cx.now - self.facts.start)),
            _ => cx.dim(&words::took(self.facts.took())),
        };
        let mut rows = vec![cx.header(glyph, title, &[right])];
        if outcome == Outcome::Done {
            self.answer(cx, &mut rows);
            return rows;
        }
        let output = &self.facts.output;
        let lines: Vec<&str> = if cx.unfolded {
            output.last(usize::MAX)
        } else if outcome.is_running() {
            output.last(SHOWN)
        } else {
            output.head.iter().take(SHOWN).map(String::as_str).collect()
        };
        let hidden = output.total.saturating_sub(lines.len());
        for text in lines {
            cx.output(&[(Safe::strip(text), theme.default())], &mut rows);
        }
        if hidden > 0 && !outcome.is_running() {
            let words = words::count(hidden, "more line", "more lines");
            let words = cx.dim(&Safe::strip(&words));
            rows.push(if cx.unfolded {
                cx.lost(&words)
            } else {
                cx.hidden(&words, true)
            });
        }
        rows
    }

    /// What it answered: Markdown, behind the bar of outputs.
    fn answer(&self, cx: &Cx<'_>, rows: &mut Vec<Row>) {
        let output = &self.facts.output;
        let text = output.last(usize::MAX).join("\n");
        let bar = cx.bar();
        let page = Page {
            left: 0,
            measure: cx.geometry.measure().saturating_sub(BAR),
            room: cx.geometry.room().saturating_sub(BAR),
            ..cx.page()
        };
        let mut laid_out = markdown::rows(&text, &page);
        if !cx.unfolded {
            laid_out.retain(|row| !row.line.as_str().trim().is_empty());
        }
        let shown = if cx.unfolded { laid_out.len() } else { SHOWN };
        let mut hidden = laid_out.len().saturating_sub(shown);
        hidden += output.lost();
        for row in laid_out.into_iter().take(shown) {
            let mut line = bar.clone();
            let gutter = bar.len() + row.gutter;
            line.extend(&row.line.faded(cx.theme.dim()));
            rows.push(Row {
                line,
                gutter,
                ..row
            });
        }
        if hidden > 0 {
            let words = cx.dim(&Safe::strip(&words::count(
                hidden,
                "more line",
                "more lines",
            )));
            rows.push(if cx.unfolded {
                cx.lost(&words)
            } else {
                cx.hidden(&words, true)
            });
        }
    }
}
