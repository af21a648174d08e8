//! A change of files by a tool: `✓ Edited src/x.rs   +4 −1` and the diff, folded beyond a limit.

use serde_json::Value;

use super::frame::Cx;
use super::tool::{Outcome, ToolFacts};
use super::words;
use crate::protocol::Hunk;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::diff::{self, Form, Shape};
use crate::tui::text::{Row, Styled};

/// Diff rows that show while it is folded.
const SHOWN: usize = 16;

/// The same on narrow screens.
const SHOWN_NARROW: usize = 3;

/// Diff lines that are kept; the diff overlay asks the agent for all of them.
const KEPT: usize = 200;

/// A change of files by a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The call.
    pub facts: ToolFacts,
    /// What changed, as far as it is kept.
    pub hunks: Vec<Hunk>,
    /// Diff lines that are not kept.
    pub dropped: usize,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Where each file begins among the hunks, if there are several.
    files: Vec<(usize, char, String)>,
}

impl Edit {
    /// True if this tool changes files.
    pub fn is(tool: &str) -> bool {
        matches!(tool, "edit" | "write" | "apply_patch" | "multi_edit")
    }

    /// A change, from the call and its metadata (`diff` or `hunks`, `added`, `removed`).
    pub fn of(mut facts: ToolFacts, metadata: &Value) -> Self {
        let mut files = Vec::new();
        let (hunks, dropped) = match metadata.get("diff").and_then(Value::as_str) {
            Some(text) => {
                let parsed = diff::parse(text, KEPT);
                files = parsed.files;
                (parsed.hunks, parsed.dropped)
            }
            None => metadata
                .get("hunks")
                .and_then(|hunks| serde_json::from_value::<Vec<Hunk>>(hunks.clone()).ok())
                .map_or((Vec::new(), 0), keep),
        };
        let counted = diff::count(&hunks);
        let number = |name: &str| metadata.get(name).and_then(Value::as_u64);
        if facts.outcome == Outcome::Done {
            // The model reads "done"; the user sees the diff.
            facts.output = super::tool::Kept::default();
        }
        Self {
            added: number("added").unwrap_or_else(|| u64::from(counted.0)),
            removed: number("removed").unwrap_or_else(|| u64::from(counted.1)),
            facts,
            hunks,
            dropped,
            files,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.facts.text();
        for line in self.hunks.iter().flat_map(|hunk| &hunk.lines) {
            text.push('\n');
            text.push_str(&line.text);
        }
        text
    }

    pub(super) fn weight(&self) -> usize {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        self.facts.weight() + lines.map(|line| line.text.len() + 48).sum::<usize>()
    }

    /// What was changed, for a summary.
    pub fn headline(&self) -> String {
        format!("{}{}", self.verb(), self.facts.shown_title().as_str())
    }

    fn verb(&self) -> &'static str {
        match (self.facts.tool == "write", self.facts.outcome) {
            (_, Outcome::Failed | Outcome::Interrupted) => "Did not edit ",
            (true, Outcome::Done) => "Wrote ",
            (false, Outcome::Done) => "Edited ",
            (true, _) => "Writing ",
            (false, _) => "Editing ",
        }
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        if let Some(rows) = self.facts.refusal(cx) {
            return rows;
        }
        let theme = cx.theme;
        let outcome = self.facts.outcome;
        let (glyph, style) = match outcome {
            _ if self.facts.asked => ((theme.glyphs.waiting, theme.amber()), theme.default()),
            Outcome::Pending(_) | Outcome::Running => (cx.spin(), theme.default()),
            Outcome::Done => ((theme.glyphs.done, theme.good()), theme.dim()),
            Outcome::Failed | Outcome::Interrupted => {
                ((theme.glyphs.failed, theme.bad()), theme.default())
            }
        };
        let mut title = Styled::new();
        title.fixed(
            if self.facts.asked {
                "Waiting for you  "
            } else {
                self.verb()
            },
            style,
        );
        let path = self.facts.shown_title();
        let to = cx.links.to_file(path.as_str());
        title.push(&path, style.patch(to));
        let mut rows = vec![cx.header(glyph, title, &[self.right(cx)])];
        if matches!(outcome, Outcome::Failed | Outcome::Interrupted) {
            for text in self
                .facts
                .output
                .head
                .iter()
                .take(if cx.unfolded { usize::MAX } else { 2 })
            {
                cx.output(&[(Safe::strip(text), theme.default())], &mut rows);
            }
        } else {
            self.diff(cx, &mut rows);
        }
        rows
    }

    fn right(&self, cx: &Cx<'_>) -> Styled {
        let theme = cx.theme;
        let mut right = Styled::new();
        match self.facts.outcome {
            Outcome::Pending(bytes) => {
                right.push(
                    &Safe::strip(&format!("{} bytes", words::thousands(bytes as u64))),
                    theme.dim(),
                );
            }
            Outcome::Running => {
                right.push(&words::running(cx.now - self.facts.start), theme.dim());
            }
            Outcome::Interrupted => right.fixed("interrupted", theme.bad()),
            Outcome::Failed => right.fixed("failed", theme.bad()),
            Outcome::Done => {
                right.fixed(theme.glyphs.plus, theme.good());
                right.push(&Safe::from(self.added), theme.good());
                right.pad(1);
                right.fixed(theme.glyphs.minus, theme.bad());
                right.push(&Safe::from(self.removed), theme.bad());
            }
        }
        right
    }

    fn diff(&self, cx: &Cx<'_>, rows: &mut Vec<Row>) {
        let narrow = cx.geometry.narrow;
        let form = if narrow { Form::Narrow } else { Form::Cell };
        let shape = Shape {
            form,
            broken: cx.unfolded,
        };
        let mut diff = self.diff_rows(shape, cx);
        let limit = if narrow { SHOWN_NARROW } else { SHOWN };
        let mut hidden = self.dropped;
        if !cx.unfolded && diff.len() > limit + 1 {
            hidden += diff.len() - limit;
            diff.truncate(limit);
        }
        rows.extend(diff);
        if hidden > 0 {
            let words = words::count(hidden, "more line", "more lines");
            let words = cx.dim(&Safe::strip(&words));
            rows.push(if cx.unfolded {
                cx.lost(&words)
            } else {
                cx.hidden(&words, true)
            });
        }
    }

    /// The rows of all hunks; of several files each has a row with its name before its own.
    fn diff_rows(&self, shape: Shape, cx: &Cx<'_>) -> Vec<Row> {
        if self.files.len() < 2 {
            let path = self.facts.title.lines().next().unwrap_or_default();
            return diff::rows(&self.hunks, extension(path), shape, &cx.page());
        }
        let mut rows = Vec::new();
        for (n, (from, kind, path)) in self.files.iter().enumerate() {
            let to = self
                .files
                .get(n + 1)
                .map_or(self.hunks.len(), |next| next.0);
            let hunks = self.hunks.get(*from..to).unwrap_or_default();
            let (added, removed) = diff::count(hunks);
            let theme = cx.theme;
            let mut line = Styled::new();
            line.pad(cx.geometry.text);
            let gutter = line.len();
            line.push(&Safe::strip(&format!("{kind} {path}  ")), theme.dim());
            line.push(
                &Safe::strip(&format!("{}{added} ", theme.glyphs.plus)),
                theme.dim(),
            );
            line.push(
                &Safe::strip(&format!("{}{removed}", theme.glyphs.minus)),
                theme.dim(),
            );
            rows.push(Row {
                line: line.fit(cx.geometry.right),
                gutter,
                ..Row::BLANK
            });
            rows.extend(diff::rows(hunks, extension(path), shape, &cx.page()));
        }
        rows
    }
}

/// What the highlighter goes by: the extension, or the name of a file without one.
pub(in crate::tui) fn extension(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => name,
    }
}

fn keep(hunks: Vec<Hunk>) -> (Vec<Hunk>, usize) {
    let (mut kept, mut room, mut dropped) = (Vec::new(), KEPT, 0);
    for mut hunk in hunks {
        dropped += hunk.lines.len().saturating_sub(room);
        hunk.lines.truncate(room);
        room -= hunk.lines.len();
        if !hunk.lines.is_empty() {
            kept.push(hunk);
        }
    }
    (kept, dropped)
}
