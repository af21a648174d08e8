//! A diff side by side: the old lines at the left, the new ones at the right.
//!
//! Used by the diff overlay. Removed lines face the added lines that follow them; the longer side
//! has blanks for its partner.

use super::{Layout, Paint};
use crate::protocol::{DiffLine, Hunk, LineKind};
use crate::tui::text::row::{Row, Styled};
use crate::tui::text::wrap::{self, Prefix};

/// Columns of the rule between the sides.
const RULE: usize = 3;

/// The lines that face each other, by their places in the hunk.
fn pairs(lines: &[DiffLine]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairs = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.kind == LineKind::Context {
            pairs.push((Some(at), Some(at)));
            at += 1;
            continue;
        }
        let run = |from: usize, kind| {
            let rest = lines.get(from..).unwrap_or_default();
            rest.iter().take_while(|line| line.kind == kind).count()
        };
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        for n in 0..removed.max(added) {
            let old = (n < removed).then_some(at + n);
            let new = (n < added).then_some(at + removed + n);
            pairs.push((old, new));
        }
        at += (removed + added).max(1);
    }
    pairs
}

impl Layout<'_> {
    /// Pairs of lines, from the one that holds line `from` on, until there are so many rows.
    pub(super) fn facing(&self, hunk: &Hunk, (from, most): (usize, usize), rows: &mut Vec<Row>) {
        let paint = Paint::of(self, hunk);
        let half = self.page.room.saturating_sub(RULE) / 2;
        for (old, new) in pairs(&hunk.lines) {
            if rows.len() >= most {
                return;
            }
            if old.max(new).is_some_and(|last| last < from) {
                continue;
            }
            let left = self.side(hunk, (old, true), half, &paint);
            let right = self.side(hunk, (new, false), half, &paint);
            for n in 0..left.len().max(right.len()) {
                rows.push(self.both(left.get(n), right.get(n), half));
            }
        }
    }

    fn side(
        &self,
        hunk: &Hunk,
        (at, old): (Option<usize>, bool),
        half: usize,
        paint: &Paint,
    ) -> Vec<Styled> {
        let Some((at, line)) = at.and_then(|at| Some((at, hunk.lines.get(at)?))) else {
            return Vec::new();
        };
        let (sign, ink, tint) = self.sign(line.kind);
        let mut gutter = Styled::new();
        self.number(&mut gutter, if old { line.old } else { line.new });
        gutter.pad(1);
        gutter.fixed(sign, ink);
        gutter.pad(1);
        let code = paint.code(self, hunk, at);
        let code = if self.shape.broken {
            code
        } else {
            code.fit(half.saturating_sub(gutter.columns()))
        };
        let rest = Prefix::blank(gutter.columns());
        wrap::chop(&code, &Prefix::gutter(gutter), &rest, half)
            .into_iter()
            .map(|row| {
                let mut line = row.line;
                line.pad(half.saturating_sub(line.columns()));
                line.patched(tint)
            })
            .collect()
    }

    fn both(&self, left: Option<&Styled>, right: Option<&Styled>, half: usize) -> Row {
        let theme = self.page.theme;
        let mut line = Styled::new();
        line.pad(self.page.left);
        match left {
            Some(left) => line.extend(left),
            None => line.pad(half),
        }
        line.pad(1);
        line.fixed(theme.glyphs.column, theme.dim());
        line.pad(1);
        if let Some(right) = right {
            line.extend(right);
        }
        Row { line, ..Row::BLANK }
    }
}
