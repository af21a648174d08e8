//! What the model thought: one line, unfolds.

use super::frame::Cx;
use super::words;
use crate::protocol::Millis;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// What the model thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// The visible text so far.
    pub text: String,
    /// When it began.
    pub start: Millis,
    /// When it was complete.
    pub end: Option<Millis>,
}

impl Thought {
    /// A few words of it: while it grows the newest line, then the first one.
    fn summary(&self) -> Safe {
        let said = |line: &&str| !line.trim().is_empty();
        let line = if self.end.is_none() {
            self.text.lines().rev().find(said)
        } else {
            self.text.lines().find(said)
        };
        let line = line.unwrap_or_default().trim();
        let line = line.trim_start_matches(['#', '>', '-', ' ']);
        Safe::strip(&line.replace("**", "").replace('`', "")).cut(300)
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut title = Styled::new();
        let (word, time) = match self.end {
            // Less than half a second is no time worth a word.
            Some(end) if end - self.start < 500 => ("Thought", Safe::default()),
            Some(end) => ("Thought ", words::running(end - self.start + 500)),
            None => ("Thinking ", words::running(cx.now - self.start)),
        };
        title.fixed(word, theme.dim());
        title.push(&time, theme.dim());
        let mut rows = Vec::new();
        if cx.unfolded {
            rows.push(cx.header((theme.glyphs.thought, theme.dim()), title, &[]));
            cx.prose(&self.text, theme.thought(), &mut rows);
        } else {
            title.pad(3);
            title.push(&self.summary(), theme.thought());
            rows.push(cx.header((theme.glyphs.thought, theme.dim()), title, &[]));
        }
        rows
    }
}
