//! A command: live with its last lines, then one line; on failure its first and last line.

use serde_json::Value;

use super::frame::Cx;
use super::tool::{Outcome, ToolFacts};
use super::words;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// Lines that show while it runs.
const LIVE: usize = 3;

/// Outputs of so many lines are shown whole: a count in their place would hardly be shorter.
const SHORT: usize = 6;
const SHORT_NARROW: usize = 3;

/// A command.
#[derive(Debug, Clone, PartialEq)]
pub struct Exec {
    /// The call.
    pub facts: ToolFacts,
    /// Its exit code, once known.
    pub exit: Option<i64>,
    /// The signal that ended it, or `timed out`; empty for none.
    pub ended_by: String,
    /// True if it runs on in the background.
    pub background: bool,
    /// Its first and last line where the tool names them: what the model reads may have notes at
    /// its ends.
    ends: (Option<String>, Option<String>),
}

impl Exec {
    /// A command, from the call and its metadata.
    pub fn of(mut facts: ToolFacts, metadata: &Value) -> Self {
        let lines = |name: &str| metadata.get(name).and_then(Value::as_array);
        let word = |line: Option<&Value>| line.and_then(Value::as_str).map(str::to_owned);
        let ends = (
            word(lines("first").and_then(|all| all.first())),
            word(lines("last").and_then(|all| all.last())),
        );
        if let Some(total) = metadata.get("lines").and_then(Value::as_u64) {
            facts.output.total = total as usize;
            if let Some(all) = lines("first").filter(|all| all.len() as u64 == total) {
                facts.output.head = all.iter().filter_map(|line| word(Some(line))).collect();
                facts.output.tail.clear();
            }
        }
        let background = metadata
            .get("background")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let exit = ["exit", "exit_code"]
            .iter()
            .find_map(|name| metadata.get(name)?.as_i64());
        let timed_out = metadata
            .get("timed_out")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let ended_by = if timed_out {
            "timed out".to_owned()
        } else {
            match metadata.get("signal") {
                Some(Value::String(name)) => name.clone(),
                Some(Value::Number(number)) => format!("signal {number}"),
                _ => String::new(),
            }
        };
        Self {
            facts,
            exit,
            ended_by,
            background,
            ends,
        }
    }

    /// What ran and how it ended, for a summary.
    pub fn headline(&self) -> (String, String) {
        let ran = format!("Ran {}", self.facts.shown_title().as_str());
        (ran, self.verdict().as_str().to_owned())
    }

    fn failed(&self) -> bool {
        match self.facts.outcome {
            Outcome::Failed | Outcome::Interrupted => true,
            Outcome::Done => self.exit.is_some_and(|code| code != 0) || !self.ended_by.is_empty(),
            Outcome::Pending(_) | Outcome::Running => false,
        }
    }

    fn verdict(&self) -> Safe {
        if self.facts.outcome == Outcome::Interrupted {
            return Safe::fixed("interrupted");
        }
        if !self.ended_by.is_empty() {
            return Safe::strip(&self.ended_by);
        }
        match self.exit {
            Some(code) => Safe::strip(&format!("exit {code}")),
            None if self.background => Safe::fixed("in the background"),
            None if self.facts.outcome == Outcome::Failed => Safe::fixed("failed"),
            None => Safe::default(),
        }
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        if self.facts.outcome.is_running() {
            return self.running(cx);
        }
        if let Some(rows) = self.facts.refusal(cx) {
            return rows;
        }
        let theme = cx.theme;
        let failed = self.failed();
        let style = if failed { theme.default() } else { theme.dim() };
        let mut title = Styled::new();
        title.fixed("Ran ", style);
        title.push(&self.facts.shown_title(), style);
        let glyph = if failed {
            (theme.glyphs.failed, theme.bad())
        } else {
            (theme.glyphs.done, theme.good())
        };
        let verdict = Styled::of(
            &self.verdict(),
            if failed { theme.bad() } else { theme.dim() },
        );
        let took = cx.dim(&words::took(self.facts.took()));
        let mut rows = vec![cx.header(glyph, title, &[verdict, took])];
        self.result(cx, failed, &mut rows);
        rows
    }

    fn running(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut title = Styled::new();
        let glyph = if self.facts.asked {
            title.fixed("Waiting for you  ", theme.default());
            (theme.glyphs.waiting, theme.amber())
        } else if let Outcome::Pending(_) = self.facts.outcome {
            title.fixed("Writing a command", theme.dim());
            cx.spin()
        } else {
            title.fixed("Running ", theme.default());
            cx.spin()
        };
        title.push(&self.facts.shown_title(), theme.default());
        let time = if self.facts.asked && !self.facts.asked_why.is_empty() {
            Styled::of(&Safe::strip(&self.facts.asked_why), theme.amber())
        } else {
            cx.dim(&words::running(cx.now - self.facts.start))
        };
        let mut rows = vec![cx.header(glyph, title, &[time])];
        let live = if cx.geometry.narrow { 1 } else { LIVE };
        let output = &self.facts.output;
        for text in output.last(if cx.unfolded { usize::MAX } else { live }) {
            self.line(text, cx, &mut rows);
        }
        rows
    }

    fn result(&self, cx: &Cx<'_>, failed: bool, rows: &mut Vec<Row>) {
        let output = &self.facts.output;
        let more = |n: usize| cx.dim(&Safe::strip(&words::count(n, "more line", "more lines")));
        if cx.unfolded {
            for text in &output.head {
                self.line(text, cx, rows);
            }
            if output.lost() > 0 {
                rows.push(cx.lost(&more(output.lost())));
            }
            for text in &output.tail {
                self.line(text, cx, rows);
            }
            return;
        }
        let short = if cx.geometry.narrow {
            SHORT_NARROW
        } else {
            SHORT
        };
        if self.facts.outcome == Outcome::Interrupted && output.total > short {
            // What stood on the screen when it was stopped stays there.
            let live = if cx.geometry.narrow { 1 } else { LIVE };
            rows.push(cx.hidden(&more(output.total - live), true));
            for text in output.last(live) {
                self.line(text, cx, rows);
            }
        } else if output.total <= short {
            for text in output.head.iter().take(output.total.max(1)) {
                self.line(text, cx, rows);
            }
        } else if failed {
            let first = self
                .ends
                .0
                .as_deref()
                .or(output.head.first().map(String::as_str));
            let last = self.ends.1.as_deref().or(output.last(1).last().copied());
            if !cx.geometry.narrow {
                self.line(first.unwrap_or_default(), cx, rows);
            }
            self.line(last.unwrap_or_default(), cx, rows);
            let shown = if cx.geometry.narrow { 1 } else { 2 };
            rows.push(cx.hidden(&more(output.total - shown), true));
        } else {
            let words = words::count(output.total, "line", "lines");
            rows.push(cx.hidden(&cx.dim(&Safe::strip(&words)), false));
        }
    }

    #[expect(clippy::unused_self, reason = "belongs to the command's layout")]
    fn line(&self, text: &str, cx: &Cx<'_>, rows: &mut Vec<Row>) {
        let pieces = Safe::strip_styled(text)
            .into_iter()
            .next()
            .unwrap_or_default();
        cx.output(&pieces, rows);
    }
}
