//! Any other tool: one line; its error's first lines if it failed.

use serde_json::Value;

use super::frame::Cx;
use super::tool::{Kept, Outcome, ToolFacts};
use super::words;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// Lines of an error that show.
const SHOWN: usize = 2;
/// Lines of the user's own answer that show.
const ANSWER: usize = 6;

/// Any other tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The call.
    pub facts: ToolFacts,
    /// True for a question that the user left without an answer.
    pub dismissed: bool,
}

impl Call {
    /// A call; of a question that was answered the user's own words are kept.
    pub fn of(mut facts: ToolFacts, metadata: &Value) -> Self {
        if let Some(answer) = metadata.get("answer").and_then(Value::as_str) {
            facts.output = Kept::of(answer);
        }
        let dismissed = metadata.get("dismissed").and_then(Value::as_bool);
        if dismissed == Some(true) {
            // The rest is said for the model.
            facts.output = Kept::default();
        }
        Self {
            facts,
            dismissed: dismissed == Some(true),
        }
    }

    fn is_answered(&self) -> bool {
        self.facts.tool == "question" && self.facts.outcome == Outcome::Done
    }

    /// What is said before the title: done, and doing.
    fn words(&self) -> (&'static str, &'static str) {
        match self.facts.tool.as_str() {
            "web_fetch" => ("Fetched ", "Fetching "),
            "question" => ("Asked ", "Asking "),
            "skill" => ("Loaded skill ", "Loading skill "),
            "recall" => ("Recalled ", "Recalling "),
            "bash_output" => ("Looked at output of ", "Looking at output of "),
            "kill" => ("Stopped ", "Stopping "),
            _ => ("Used ", "Using "),
        }
    }

    /// `mcp__server__tool` reads `server tool`.
    fn name(&self) -> Safe {
        let name = self
            .facts
            .tool
            .strip_prefix("mcp__")
            .unwrap_or(&self.facts.tool);
        Safe::strip(&name.replace("__", " "))
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        if let Some(rows) = self.facts.refusal(cx) {
            return rows;
        }
        let theme = cx.theme;
        let outcome = self.facts.outcome;
        let failed = matches!(outcome, Outcome::Failed | Outcome::Interrupted);
        let (glyph, style) = match outcome {
            _ if self.facts.asked => ((theme.glyphs.waiting, theme.amber()), theme.default()),
            Outcome::Pending(_) | Outcome::Running => (cx.spin(), theme.default()),
            Outcome::Done => ((theme.glyphs.done, theme.good()), theme.dim()),
            Outcome::Failed | Outcome::Interrupted => {
                ((theme.glyphs.failed, theme.bad()), theme.default())
            }
        };
        let (done, doing) = self.words();
        let mut title = Styled::new();
        let word = match outcome {
            _ if self.facts.asked => "Waiting for you  ",
            _ if outcome.is_running() => doing,
            _ => done,
        };
        title.fixed(word, style);
        if done == "Used " || self.facts.title.is_empty() {
            title.push(&self.name(), style);
            title.pad(2);
        }
        title.push(&self.facts.shown_title(), style);
        let time = if outcome.is_running() {
            words::running(cx.now - self.facts.start)
        } else {
            words::took(self.facts.took())
        };
        let right = match outcome {
            Outcome::Interrupted => Styled::of(&Safe::fixed("interrupted"), theme.bad()),
            Outcome::Failed if self.dismissed => cx.dim(&Safe::fixed("not answered")),
            Outcome::Failed => Styled::of(&Safe::fixed("failed"), theme.bad()),
            _ => cx.dim(&time),
        };
        let mut rows = vec![cx.header(glyph, title, &[right])];
        let output = &self.facts.output;
        let shown = match (cx.unfolded, failed) {
            (true, _) => usize::MAX,
            (false, true) => SHOWN,
            (false, false) if self.is_answered() => ANSWER,
            (false, false) => 0,
        };
        for text in output.head.iter().chain(&output.tail).take(shown) {
            cx.output(&[(Safe::strip(text), theme.default())], &mut rows);
        }
        let hidden = if cx.unfolded {
            output.lost()
        } else {
            output.total.saturating_sub(shown)
        };
        if hidden > 0 && (shown > 0 || cx.unfolded) {
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
}
