//! Tokens per request as bars over an axis, with the events of the timeline below.
//!
//! Five rows of eight steps; the top is the point where compaction starts, or the largest request if
//! that is far from it.
//! More requests than there is room for share bars: each bar is then the largest of its group.

use super::Inspector;
use crate::tui::state::State;
use crate::tui::view::numbers::tokens;
use crate::tui::view::row::Row;

/// Rows of bars, and steps of one row.
const ROWS: u64 = 5;
const STEPS: u64 = 8;
/// Columns of a bar with the gap after it.
const BAR: usize = 3;
/// Columns left of the axis.
const AXIS: usize = 8;

impl Inspector {
    /// The chart in so many columns; nothing without requests.
    pub(super) fn chart(&self, state: &State, width: usize) -> Vec<Row> {
        let theme = &state.theme;
        let requests = &self.report.requests;
        let room = width.saturating_sub(AXIS + 1) / BAR;
        if requests.is_empty() || room == 0 {
            return Vec::new();
        }
        let group = requests.len().div_ceil(room);
        let bars: Vec<u64> = requests
            .chunks(group)
            .map(|chunk| chunk.iter().copied().max().unwrap_or_default())
            .collect();
        let top = scale(
            bars.iter().copied().max().unwrap_or_default(),
            self.gauge.compact_at,
        );
        let ascii = theme.glyphs.used.is_ascii();
        let (tick, corner) = if ascii { ("|", "+") } else { ("┤", "└") };
        let mut rows = Vec::new();
        for row in (0..ROWS).rev() {
            let label = match row {
                4 => tokens(top, true),
                2 => tokens(top / 2, true),
                0 => "0".to_owned(),
                _ => String::new(),
            };
            let mut line = String::new();
            for value in &bars {
                let level = (value * ROWS * STEPS + top / 2) / top;
                let part = level.saturating_sub(row * STEPS).min(STEPS);
                let sign = block(part as usize, ascii);
                line.extend([sign, sign, ' ']);
            }
            rows.push(
                Row::new()
                    .text(&format!("{label:>7} "), theme.dim())
                    .fixed(tick, theme.dim())
                    .text(line.trim_end(), theme.accent()),
            );
        }
        rows.push(
            Row::new()
                .gap(AXIS)
                .fixed(corner, theme.dim())
                .text(&theme.glyphs.free.repeat(bars.len() * BAR), theme.dim()),
        );
        rows.push(self.events(state, group));
        rows
    }

    /// The events under the requests that followed them; the selected one bold.
    fn events(&self, state: &State, group: usize) -> Row {
        let theme = &state.theme;
        let mut row = Row::new();
        for (at, moment) in self.report.timeline.iter().enumerate() {
            let column = AXIS + 1 + moment.request as usize / group.max(1) * BAR;
            if row.width() > column {
                continue;
            }
            let (glyph, style) = if moment.is_compaction() {
                (theme.glyphs.compact, theme.accent())
            } else {
                (theme.glyphs.pruned, theme.dim())
            };
            let style = if at == self.event {
                theme.bold().patch(style)
            } else {
                style
            };
            row = row.to(column).fixed(glyph, style);
        }
        row
    }
}

/// The value at the top of the chart: where compaction starts (it may be passed a little), or the
/// largest request where that point is not known, far away or left behind.
fn scale(largest: u64, compact_at: u64) -> u64 {
    let near = largest >= compact_at / 5 && largest <= compact_at + compact_at / 20;
    if near { compact_at } else { largest }.max(1)
}

/// A block of so many eighths.
fn block(eighths: usize, ascii: bool) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const SIGNS: [char; 9] = [' ', '.', '.', ':', ':', '=', '=', '#', '#'];
    let signs = if ascii { SIGNS } else { BLOCKS };
    signs.get(eighths).copied().unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_very_large_requests_have_a_scale_of_their_own() {
        assert_eq!(scale(150_000, 160_000), 160_000);
        assert_eq!(scale(161_000, 160_000), 160_000);
        assert_eq!(scale(4_000, 160_000), 4_000);
        assert_eq!(scale(190_000, 160_000), 190_000);
        assert_eq!(scale(9, 0), 9);
        assert_eq!(scale(0, 0), 1);
    }
}
