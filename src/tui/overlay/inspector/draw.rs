//! The rows of the context inspector, from the bar at the top to the timeline and what is wrong.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::super::{Frame, draw_rows, footer_of};
use super::{Inspector, Large, Moment};
use crate::protocol::Millis;
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::text::width::fitting;
use crate::tui::view::numbers::{grouped, model, money, percent, when};
use crate::tui::view::row::Row;

/// Outputs that are named.
const NAMED: usize = 3;
/// Columns of a named output's title, and the fewest before the words after it get shorter.
const TITLE: usize = 32;
const SHORT_TITLE: usize = 12;
/// Columns of 100 % in the distribution.
const WHOLE: u64 = 90;

impl Inspector {
    /// Draws it.
    pub fn draw(
        &self,
        state: &State,
        area: Rect,
        buf: &mut Cells,
        now: Millis,
    ) -> Option<Position> {
        let frame = Frame::of(area);
        self.title(state, usize::from(frame.title.width))
            .draw(frame.title, buf);
        let line = Rect {
            height: frame.body.height.min(1),
            ..frame.body
        };
        crate::tui::view::status::context_line(state, self.gauge, line, buf);
        let rest = Rect {
            y: (frame.body.y + 1).min(frame.body.bottom()),
            height: frame.body.height.saturating_sub(1),
            ..frame.body
        };
        let (rows, selected) = self.rows(state, usize::from(rest.width), now);
        let height = usize::from(rest.height);
        let mut top = self.top.min(rows.len().saturating_sub(height));
        if let Some(at) = selected.filter(|_| self.follows) {
            // On a screen without rows for it the two bounds cross.
            let highest = at.saturating_sub(1);
            top = top.max((at + 1).saturating_sub(height)).min(highest);
        }
        draw_rows(rows.iter().skip(top), rest, buf);
        let hints: [(&[Action], &str); 6] = [
            (&[Action::PagerUp, Action::PagerDown], "event"),
            (&[Action::ContextDetails], "details"),
            (&[Action::RestorePruned], "restore"),
            (&[Action::PruneNow], "prune now"),
            (&[Action::CompactNow], "compact now"),
            (&[Action::ContextExport], "export"),
        ];
        footer_of(state, &hints, Action::PagerClose).draw(frame.footer, buf);
        let below = rows.len().saturating_sub(top + height);
        if below > 0 && frame.footer.y > frame.body.bottom() {
            let more = format!("{} {below} more rows", state.theme.glyphs.down);
            let at = Rect {
                y: frame.footer.y - 1,
                ..frame.footer
            };
            Row::new().right(&more, state.theme.dim()).draw(at, buf);
        }
        None
    }

    fn title(&self, state: &State, width: usize) -> Row {
        let theme = &state.theme;
        let gauge = self.gauge;
        let name = model(&self.model);
        let mut right = vec![name.split(' ').next().unwrap_or_default().to_owned()];
        if gauge.window > 0 {
            right.push(format!("{} window", grouped(gauge.window)));
        }
        if gauge.compact_at > 0 {
            let share = percent(gauge.compact_at, gauge.window);
            right.push(format!("auto-compact at {share}%"));
        }
        // The point of compaction stays longest.
        while right.len() > 1 && "Context".len() + 4 + right.join("   ").len() > width {
            right.remove(0);
        }
        Row::new()
            .fixed("Context", theme.bold())
            .right(&right.join("   "), theme.dim())
    }

    fn legend(&self, state: &State) -> Row {
        let theme = &state.theme;
        let gauge = self.gauge;
        let share = |n| format!("{:.1}%", n as f64 * 100.0 / gauge.window.max(1) as f64);
        let used = format!(" in context {}  {}", grouped(gauge.used), share(gauge.used));
        let pruned = format!(
            " pruned since compaction {}  {}",
            grouped(gauge.pruned),
            share(gauge.pruned)
        );
        let mut legend = Row::new()
            .fixed(theme.glyphs.used, theme.accent())
            .text(&used, theme.dim());
        if gauge.pruned > 0 {
            legend = legend
                .gap(5)
                .fixed(theme.glyphs.pruned, theme.dim())
                .text(&pruned, theme.dim());
        }
        if gauge.compact_at > 0 {
            let text = format!(" compacts at {}", grouped(gauge.compact_at));
            legend = legend
                .gap(5)
                .fixed(theme.glyphs.compact_at, theme.dim())
                .text(&text, theme.dim());
        }
        legend
    }

    /// All rows below the bar, and which of them is the selected event.
    fn rows(&self, state: &State, width: usize, now: Millis) -> (Vec<Row>, Option<usize>) {
        let theme = &state.theme;
        let mut rows = vec![self.legend(state), Row::new()];
        rows.extend(self.facts(state, width));
        rows.push(Row::new());
        self.distribution(state, width, &mut rows);
        if !self.report.largest.is_empty() {
            rows.push(Row::new());
            let shown = self.report.largest.iter().take(NAMED);
            rows.extend(
                shown
                    .enumerate()
                    .map(|(at, large)| output(state, large, (at == 0, width))),
            );
        }
        let chart = self.chart(state, width);
        if !chart.is_empty() {
            rows.push(Row::new());
            rows.push(Row::new().fixed("Tokens per request", theme.default()));
            rows.extend(chart);
        }
        let mut selected = None;
        if !self.report.timeline.is_empty() {
            rows.push(Row::new());
            for (at, moment) in self.report.timeline.iter().enumerate() {
                if at == self.event {
                    selected = Some(rows.len());
                }
                rows.push(event(state, moment, at == self.event, now));
            }
        }
        self.further(state, &mut rows);
        (rows, selected)
    }

    fn facts(&self, state: &State, width: usize) -> Vec<Row> {
        let theme = &state.theme;
        let report = &self.report;
        let mut facts = vec![
            ("Messages", grouped(report.messages)),
            ("Parts", grouped(report.parts)),
            ("Total tokens", grouped(report.total_tokens)),
        ];
        if let Some(rate) = report.cache_hit_rate {
            facts.push(("Cached", format!("{:.0}%", rate * 100.0)));
        }
        if report.reclaimed > 0 {
            facts.push(("Reclaimed this session", grouped(report.reclaimed)));
        }
        let mut rows = vec![Row::new().gap(2)];
        for (at, (label, value)) in facts.into_iter().enumerate() {
            let wanted = label.len() + 1 + value.len();
            let full = rows
                .last()
                .is_some_and(|row| row.width() + 5 + wanted > width);
            if at > 0 && full {
                rows.push(Row::new().gap(2));
            }
            let Some(row) = rows.pop() else { continue };
            let row = if row.width() > 2 { row.gap(5) } else { row };
            rows.push(
                row.fixed(label, theme.dim())
                    .gap(1)
                    .text(&value, theme.bold()),
            );
        }
        rows
    }

    fn distribution(&self, state: &State, width: usize, rows: &mut Vec<Row>) {
        let theme = &state.theme;
        let d = self.report.distribution;
        let kinds = [
            ("System prompt", d.system),
            ("Tool schemas", d.tools),
            ("Project instructions", d.instructions),
            ("Your messages", d.user),
            ("Assistant text", d.assistant),
            ("Reasoning", d.reasoning),
            ("Tool results", d.tool_results),
        ];
        let total: u64 = kinds.iter().map(|(_, n)| *n).sum::<u64>().max(1);
        let longest = kinds.iter().map(|(_, n)| *n).max().unwrap_or(0).max(1);
        // One scale for all, on which the longest bar still fits: a cut bar would lie.
        let room = width.saturating_sub(22 + 20) as u64;
        let whole = WHOLE.min(room * total / longest);
        for (label, count) in kinds {
            let share = format!("{:.1}%", count as f64 * 100.0 / total as f64);
            let numbers = format!("{:>10}{share:>8}  ", grouped(count));
            let row = Row::new()
                .gap(2)
                .fixed(label, theme.default())
                .to(22)
                .text(&numbers, theme.dim());
            let bar = (count * whole + total / 2) / total;
            let room = width.saturating_sub(row.width());
            let bar = theme.glyphs.used.repeat((bar as usize).min(room));
            rows.push(row.text(&bar, theme.accent()));
        }
    }

    /// What is wrong, and the figures that have no place above.
    fn further(&self, state: &State, rows: &mut Vec<Row>) {
        let theme = &state.theme;
        let report = &self.report;
        if !report.warnings.is_empty() {
            rows.push(Row::new());
        }
        for warning in &report.warnings {
            let row = Row::new().fixed(theme.glyphs.warn, theme.amber()).gap(1);
            rows.push(row.text(warning, theme.amber()));
        }
        let mut facts = Vec::new();
        if !report.strategy.is_empty() {
            facts.push(format!("strategy {}", report.strategy));
        }
        if report.truncated_outputs > 0 {
            facts.push(format!("truncated outputs {}", report.truncated_outputs));
        }
        if report.summaries > 0 {
            let cost = report.summary_cost.filter(|usd| *usd > 0.0);
            let cost = cost.map_or_else(String::new, |usd| format!(" for {}", money(usd)));
            facts.push(format!("summaries {}{cost}", report.summaries));
        }
        if let Some(usd) = report.cost.filter(|usd| *usd > 0.0) {
            facts.push(format!("cost {}", money(usd)));
        }
        if !facts.is_empty() {
            rows.push(Row::new());
            rows.push(Row::new().gap(2).text(&facts.join("   "), theme.dim()));
        }
        for miss in &report.cache_misses {
            let cost = miss
                .cost
                .map_or_else(String::new, |usd| format!(", {}", money(usd)));
            let text = format!(
                "cache missed {} tok{cost}: {}",
                grouped(miss.missed),
                miss.changed
            );
            rows.push(Row::new().gap(2).text(&text, theme.dim()));
        }
    }
}

/// `Largest        7,402  read  src/session/processor.rs          turn 3    stale: …`. In a narrow
/// window the title gives way first, then the turn: that an output is stale is what matters.
fn output(state: &State, large: &Large, (first, width): (bool, usize)) -> Row {
    let theme = &state.theme;
    let label = if first { "Largest" } else { "" };
    let why = match large.changed_in {
        Some(turn) => format!("stale: file changed in turn {turn}"),
        None if large.superseded => "superseded".to_owned(),
        None => String::new(),
    };
    let row = Row::new()
        .gap(2)
        .text(label, theme.default())
        .to(12)
        .text(&format!("{:>10}", grouped(large.tokens)), theme.bold())
        .gap(2)
        .text(&large.tool, theme.dim());
    let column = (row.width() + 2).max(30);
    let after = if why.is_empty() { 9 } else { 12 + why.len() };
    let (room, why) = match width.saturating_sub(column + after) {
        room if room >= SHORT_TITLE => (room.min(TITLE), why),
        _ => {
            let word = why.split(':').next().unwrap_or_default().to_owned();
            let after = if word.is_empty() { 9 } else { 12 + word.len() };
            (width.saturating_sub(column + after).clamp(4, TITLE), word)
        }
    };
    row.to(column)
        .text(&shortened(&clean(&large.title), room), theme.default())
        .to(column + room + 2)
        .text(&format!("turn {}", large.turn), theme.dim())
        .to(column + room + 12)
        .text(&why, theme.amber())
}

/// A title in so many columns.
fn shortened(title: &str, room: usize) -> String {
    let (bytes, _) = fitting(title, room);
    if bytes == title.len() {
        return title.to_owned();
    }
    let (bytes, _) = fitting(title, room.saturating_sub(1));
    format!("{}…", title.get(..bytes).unwrap_or_default())
}

/// A title may have several lines; one is shown.
fn clean(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `❯ ╍ 14:40  pruned 4 tool results         −3,976 tok   restorable`.
fn event(state: &State, moment: &Moment, selected: bool, now: Millis) -> Row {
    let theme = &state.theme;
    let compaction = moment.is_compaction();
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let row = if selected {
        Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
    } else {
        Row::new().gap(2)
    };
    let (glyph, ink): (_, Style) = if compaction {
        (theme.glyphs.compact, theme.accent())
    } else {
        (theme.glyphs.pruned, theme.dim())
    };
    let (what, one, many) = if compaction {
        ("compacted", "message", "messages")
    } else {
        ("pruned", "tool result", "tool results")
    };
    let noun = if moment.count == 1 { one } else { many };
    let row = row
        .fixed(glyph, ink)
        .gap(1)
        .text(&when(moment.at, now, &state.zone), theme.dim())
        .to(11)
        .text(&format!("{what} {} {noun}", moment.count), style);
    if compaction {
        let column = row.width().max(38);
        let from = format!("{:>8}", grouped(moment.before));
        let to = format!(" {} {} tok", theme.glyphs.arrow, grouped(moment.after));
        return row
            .to(column)
            .text(&from, theme.default())
            .text(&to, theme.default())
            .gap(3)
            .text(&moment.note, theme.dim());
    }
    let freed = format!("{}{}", theme.glyphs.minus, grouped(moment.freed));
    let column = row.width().max(38);
    let row = row
        .to(column)
        .text(&format!("{freed:>9} tok"), theme.default());
    let row = if moment.parts.is_empty() {
        row
    } else {
        row.gap(3).fixed("restorable", theme.dim())
    };
    if moment.note.is_empty() {
        row
    } else {
        row.gap(3).text(&format!("({})", moment.note), theme.dim())
    }
}
