//! A compaction: what is summarised, what is kept, the summary as it streams; then one line.

use super::frame::Cx;
use super::words;
use crate::protocol::Millis;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::wrap::{self, Prefix};
use crate::tui::text::{Row, Styled};

/// Column where the bar begins.
const BAR_AT: usize = 58;

/// Columns of the bar.
const BAR: usize = 30;

/// Tokens that a summary has, about: only the bar goes by it, and it never fills before the end.
const EXPECTED: u64 = 1_800;

/// Rows of the streaming summary that show: the newest.
const SHOWN: usize = 8;

/// A compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// When it began.
    pub start: Millis,
    /// When it was complete.
    pub end: Option<Millis>,
    /// Messages that are summarised; 0 if not known.
    pub messages: u32,
    /// Their tokens, or the tokens of the context before.
    pub before: u64,
    /// Tokens after; 0 until known.
    pub after: u64,
    /// What is kept verbatim, in words; may be empty.
    pub keeping: String,
    /// The summary so far.
    pub summary: String,
    /// Its tokens so far, as the provider counts them; 0 until known.
    pub made: u64,
    /// What the turn had put out when it began.
    pub output_before: Option<u64>,
}

impl Compaction {
    /// True while the summary is being made.
    pub const fn is_running(&self) -> bool {
        self.end.is_none()
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        if self.is_running() {
            self.running(cx)
        } else {
            self.done(cx)
        }
    }

    fn running(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let title = Styled::of(&Safe::fixed("Compacting"), theme.default());
        let mut rows = vec![cx.header((theme.glyphs.compact, theme.accent()), title, &[])];
        let indent = cx.geometry.text + if cx.geometry.narrow { 0 } else { 2 };
        let row = |label: &'static str, words: &str| {
            let mut line = Styled::new();
            line.pad(indent);
            line.fixed(label, theme.dim());
            line.push(&Safe::strip(words), theme.default());
            line
        };
        let mut what = format!("{} tok", words::thousands(self.before));
        if self.messages > 0 {
            what = format!(
                "{}, {what}",
                words::count(self.messages as usize, "message", "messages")
            );
        }
        let mut line = row("summarising   ", &what);
        if !cx.geometry.narrow {
            self.bar(cx, &mut line);
        }
        line.pad(2);
        line.push(&words::running(cx.now - self.start), theme.dim());
        rows.push(Row {
            gutter: indent,
            line: line.fit(cx.geometry.right),
            ..Row::BLANK
        });
        if !self.keeping.is_empty() {
            let line = row("keeping       ", &self.keeping).fit(cx.geometry.right);
            rows.push(Row {
                gutter: indent,
                line,
                ..Row::BLANK
            });
        }
        if !self.summary.trim().is_empty() {
            rows.push(Row::BLANK);
            let begin = rows.len();
            self.text(cx, indent, &mut rows);
            let over = (rows.len() - begin).saturating_sub(SHOWN);
            rows.drain(begin..begin + over);
        }
        rows
    }

    fn bar(&self, cx: &Cx<'_>, line: &mut Styled) {
        let theme = cx.theme;
        line.pad(BAR_AT.saturating_sub(line.columns()).max(2));
        let tokens = self.made.max(self.summary.len() as u64 / 4);
        let done = (tokens * BAR as u64 / EXPECTED).min(BAR as u64 - 1) as usize;
        let sign = |glyph: &str| glyph.chars().next().unwrap_or('-');
        line.repeat(sign(theme.glyphs.used), done, theme.accent());
        line.repeat(sign(theme.glyphs.bar_rest), BAR - done, theme.dim());
    }

    fn text(&self, cx: &Cx<'_>, indent: usize, rows: &mut Vec<Row>) {
        let prefix = Prefix::blank(indent);
        let width = cx.geometry.text + cx.geometry.measure();
        for line in Safe::lines(&self.summary) {
            let line = Styled::of(&line, cx.theme.thought());
            rows.extend(wrap::wrap(&line, &prefix, &prefix, width));
        }
    }

    fn done(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut title = Styled::new();
        title.fixed("Compacted", theme.dim());
        if self.messages > 0 {
            let words = words::count(self.messages as usize, "message", "messages");
            title.pad(1);
            title.push(&Safe::strip(&words), theme.dim());
        }
        if self.after > 0 {
            title.pad(3);
            let words = format!(
                "{} {} {} tok",
                words::thousands(self.before),
                theme.glyphs.arrow,
                words::thousands(self.after)
            );
            title.push(&Safe::strip(&words), theme.dim());
        }
        let took = self.end.map_or(0, |end| end - self.start);
        let right = if took > 0 {
            cx.dim(&words::took(took))
        } else {
            Styled::new()
        };
        let mut rows = vec![cx.header((theme.glyphs.compact, theme.accent()), title, &[right])];
        if cx.unfolded {
            self.text(cx, cx.geometry.text, &mut rows);
        }
        rows
    }
}
