//! What the user said: `❯ text`, on a tint.

use super::frame::Cx;
use super::words;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::wrap::{self, Prefix};
use crate::tui::text::{Row, Styled};

/// Rows of a prompt that show while it is folded.
const SHOWN: usize = 12;

/// What the user said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The text, verbatim.
    pub text: String,
    /// True if dunlin said it in the user's place.
    pub synthetic: bool,
}

impl Prompt {
    /// True if folding hides some of it.
    pub fn is_long(&self) -> bool {
        self.synthetic || self.text.len() > 600 || self.text.lines().count() > SHOWN
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        if self.synthetic && !cx.unfolded {
            let mut title = Styled::new();
            title.fixed("Told the model   ", theme.dim());
            title.push(
                &Safe::strip(self.text.lines().next().unwrap_or_default()),
                theme.thought(),
            );
            return vec![cx.header((theme.glyphs.later, theme.dim()), title, &[])];
        }
        // What dunlin told the model is not the user's: neither the sign nor the tint.
        let (glyph, ink, style) = if self.synthetic {
            (theme.glyphs.later, theme.dim(), theme.thought())
        } else {
            (theme.glyphs.prompt, theme.accent(), theme.default())
        };
        let mut first = Styled::new();
        first.pad(cx.geometry.glyph);
        first.fixed(glyph, ink);
        first.pad(1);
        if self.synthetic {
            first.fixed("Told the model   ", theme.dim());
        }
        let first = Prefix::gutter(first);
        let rest = Prefix::blank(cx.geometry.text);
        let mut rows: Vec<Row> = Vec::new();
        for line in Safe::lines(&self.text) {
            let line = Styled::of(&line, style);
            let prefix = if rows.is_empty() { &first } else { &rest };
            rows.extend(wrap::wrap(&line, prefix, &rest, cx.geometry.right));
        }
        if rows.len() > SHOWN && !cx.unfolded {
            let hidden = rows.len() - SHOWN + 1;
            rows.truncate(SHOWN - 1);
            let words = cx.dim(&Safe::strip(&words::count(hidden, "more row", "more rows")));
            rows.push(cx.hidden(&words, true));
        }
        for row in rows.iter_mut().filter(|_| !self.synthetic) {
            row.fill = Some(theme.tint_user());
        }
        rows
    }
}
