//! Tables: columns as wide as their text, the widest give way first, cells wrap.
//!
//! Used by the Markdown writer only.

use pulldown_cmark::Alignment;

use crate::tui::text::row::Styled;
use crate::tui::text::wrap;
use crate::tui::theme::Theme;

/// Columns between two columns.
const GAP: usize = 3;

/// Columns below which no column is made narrower.
const NARROWEST: usize = 4;

/// A table being read; the first row is the head.
#[derive(Debug)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Styled>>,
}

impl Table {
    pub(super) const fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    /// The table's rows, at most `room` columns wide unless there are too many columns; then they
    /// are cut. `headless`: without the head.
    pub(super) fn lay_out(&self, room: usize, theme: &Theme, headless: bool) -> Vec<Styled> {
        let widths = self.widths(room);
        let mut lines = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            if n == 0 && headless {
                continue;
            }
            self.row(row, &widths, &mut lines);
            if n == 0 {
                let mut rule = Styled::new();
                let sign = super::first_char(theme.glyphs.free);
                let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
                rule.repeat(sign, total.min(room.max(1)), theme.dim());
                lines.push(rule);
            }
        }
        lines
            .into_iter()
            .map(|line| line.fit(room.max(1)))
            .collect()
    }

    fn widths(&self, room: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; count];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.columns().max(*width);
            }
        }
        let space = room.saturating_sub(GAP * count.saturating_sub(1));
        let mut total: usize = widths.iter().sum();
        while total > space {
            // Bring the widest down to the next one at a time, not column by column.
            let Some(widest) = widths.iter().copied().max().filter(|w| *w > NARROWEST) else {
                break;
            };
            let next = widths
                .iter()
                .copied()
                .filter(|w| *w < widest)
                .max()
                .unwrap_or(NARROWEST);
            let many = widths.iter().filter(|w| **w == widest).count();
            let step = (widest - next.max(NARROWEST))
                .min((total - space).div_ceil(many))
                .max(1);
            for width in &mut widths {
                if *width == widest {
                    *width -= step;
                }
            }
            total = widths.iter().sum();
        }
        widths
    }

    fn row(&self, row: &[Styled], widths: &[usize], lines: &mut Vec<Styled>) {
        let cells: Vec<Vec<Styled>> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| {
                wrap::pieces(cell.as_str(), *width, *width)
                    .into_iter()
                    .map(|piece| {
                        let mut part = Styled::new();
                        part.extend_part(cell, piece.range);
                        part
                    })
                    .collect()
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for n in 0..height {
            let mut line = Styled::new();
            let mut due = 0;
            for (column, width) in widths.iter().enumerate() {
                let nothing = Styled::new();
                let part = cells.get(column).and_then(|c| c.get(n)).unwrap_or(&nothing);
                let free = width.saturating_sub(part.columns());
                let before = match self.alignments.get(column) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                if part.is_empty() {
                    due += width + GAP;
                } else {
                    line.pad(due + before);
                    line.extend(part);
                    due = free - before + GAP;
                }
            }
            lines.push(line);
        }
    }
}
