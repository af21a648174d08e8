//! A sentence of dunlin.

use super::frame::Cx;
use crate::protocol::NoticeLevel;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::wrap::{self, Prefix};
use crate::tui::text::{Row, Styled};

/// A sentence of dunlin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// The sentence.
    pub text: String,
}

impl Notice {
    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let (glyph, ink, style) = match self.level {
            NoticeLevel::Info => (theme.glyphs.note, theme.dim(), theme.dim()),
            NoticeLevel::Warning => (theme.glyphs.warn, theme.amber(), theme.default()),
            NoticeLevel::Error => (theme.glyphs.failed, theme.bad(), theme.default()),
        };
        let mut first = Styled::new();
        first.pad(cx.geometry.glyph);
        first.fixed(glyph, ink);
        first.pad(1);
        let first = Prefix::gutter(first);
        let rest = Prefix::blank(cx.geometry.text);
        let mut rows: Vec<Row> = Vec::new();
        for line in Safe::lines(&self.text) {
            let prefix = if rows.is_empty() { &first } else { &rest };
            let line = Styled::of(&line, style);
            let width = cx.geometry.text + cx.geometry.measure();
            rows.extend(wrap::wrap(&line, prefix, &rest, width));
        }
        rows
    }
}
