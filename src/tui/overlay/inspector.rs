//! The context inspector: what fills the window, what was pruned, what it cost.
//!
//! The report is the JSON of docs/context.md; numbers and lists in it are shown as they come, so a
//! field this version does not know is shown, not lost.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use serde_json::Value;

use super::{Frame, Intent, Outcome, draw_rows, footer};
use crate::protocol::{ContextGauge, Op};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::view::numbers::{grouped, money, percent};
use crate::tui::view::row::Row;

const BAR: usize = 60;

/// A report, read into rows of label, number and text.
#[derive(Debug, Clone)]
pub struct Inspector {
    gauge: ContextGauge,
    model: String,
    facts: Vec<(String, String)>,
    shares: Vec<(String, u64)>,
    lists: Vec<(String, Vec<String>)>,
    /// Prompt tokens of each request, oldest first.
    requests: Vec<u64>,
    top: usize,
}

impl Inspector {
    /// From the agent's answer.
    pub fn new(report: &Value, gauge: ContextGauge, model: String) -> Self {
        let mut view = Self {
            gauge,
            model,
            facts: Vec::new(),
            shares: Vec::new(),
            lists: Vec::new(),
            requests: Vec::new(),
            top: 0,
        };
        for (key, value) in report.as_object().into_iter().flatten() {
            let label = words(key);
            match value {
                Value::Object(map) => {
                    let numbers: Vec<(String, u64)> = map
                        .iter()
                        .filter_map(|(k, v)| Some((words(k), v.as_u64()?)))
                        .collect();
                    let token_counts = ["distribution", "tokens_by", "breakdown"];
                    if token_counts.iter().any(|name| key.contains(name)) && !numbers.is_empty() {
                        view.shares.extend(numbers);
                    } else {
                        let line =
                            |(k, v): (&String, &Value)| format!("{}  {}", words(k), shown(v));
                        view.lists.push((label, map.iter().map(line).collect()));
                    }
                }
                Value::Array(items) if key == "requests" => {
                    view.requests = items.iter().filter_map(Value::as_u64).collect();
                }
                Value::Array(items) if items.iter().all(is_output) => {
                    view.lists.push((label, items.iter().map(output).collect()));
                }
                Value::Array(items) => {
                    view.lists.push((label, items.iter().map(shown).collect()));
                }
                _ => view.facts.push((label, fact(key, value))),
            }
        }
        view
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        let rows = self.shares.len() + self.lists.iter().map(|(_, l)| l.len() + 2).sum::<usize>();
        self.top = self.top.saturating_add_signed(delta).min(rows);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let op = |op| Outcome::Emit(vec![Intent::Op(op)]);
        match keys.action(&[Context::Inspector, Context::Pager, Context::Global], key) {
            Some(Action::PruneNow) => return op(Op::Prune),
            Some(Action::CompactNow) => {
                return Outcome::Close(vec![Intent::Op(Op::Compact {
                    focus: String::new(),
                })]);
            }
            Some(Action::RestorePruned) => return op(Op::Restore { parts: Vec::new() }),
            Some(Action::PagerUp) => self.scroll(-1),
            Some(Action::PagerDown) => self.scroll(1),
            Some(Action::PageUp) => self.scroll(-20),
            Some(Action::PageDown) => self.scroll(20),
            Some(Action::PagerClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let gauge = self.gauge;
        let mut right = vec![self.model.clone()];
        if gauge.window > 0 {
            right.push(format!("{} window", grouped(gauge.window)));
        }
        if gauge.compact_at > 0 {
            right.push(format!(
                "auto-compact at {}%",
                percent(gauge.compact_at, gauge.window)
            ));
        }
        Row::new()
            .fixed("Context", theme.bold())
            .right(&right.join("   "), theme.dim())
            .draw(frame.title, buf);
        let line = Rect {
            height: frame.body.height.min(1),
            ..frame.body
        };
        crate::tui::view::status::context_line(state, gauge, line, buf);
        let rest = Rect {
            y: (frame.body.y + 1).min(frame.body.bottom()),
            height: frame.body.height.saturating_sub(1),
            ..frame.body
        };
        let rows = self.rows(state);
        draw_rows(rows.iter().skip(self.top), rest, buf);
        let hints = [
            (Action::RestorePruned, "restore"),
            (Action::PruneNow, "prune now"),
            (Action::CompactNow, "compact now"),
        ];
        footer(state, &hints, Action::PagerClose).draw(frame.footer, buf);
        None
    }

    fn legend(&self, state: &State) -> Row {
        let theme = &state.theme;
        let gauge = self.gauge;
        let share = |n| format!("{:.1}%", n as f64 * 100.0 / gauge.window.max(1) as f64);
        let mut legend = Row::new()
            .fixed(theme.glyphs.used, theme.accent())
            .text(
                &format!(" in context {}  {}", grouped(gauge.used), share(gauge.used)),
                theme.dim(),
            )
            .gap(5)
            .fixed(theme.glyphs.pruned, theme.dim());
        let pruned = format!(
            " pruned since compaction {}  {}",
            grouped(gauge.pruned),
            share(gauge.pruned)
        );
        legend = legend.text(&pruned, theme.dim());
        if gauge.compact_at > 0 {
            let text = format!(
                "{} compacts at {}",
                theme.glyphs.compact_at,
                grouped(gauge.compact_at)
            );
            legend = legend.gap(5).text(&text, theme.dim());
        }
        legend
    }

    fn rows(&self, state: &State) -> Vec<Row> {
        let theme = &state.theme;
        let mut rows = vec![self.legend(state), Row::new()];
        for pair in self.facts.chunks(4) {
            let line = pair.iter().fold(Row::new().gap(2), |row, (label, value)| {
                row.text(label, theme.dim())
                    .gap(1)
                    .text(value, theme.bold())
                    .gap(5)
            });
            rows.push(line);
        }
        rows.push(Row::new());
        let total: u64 = self.shares.iter().map(|(_, n)| *n).sum();
        let most = self
            .shares
            .iter()
            .map(|(_, n)| *n)
            .max()
            .unwrap_or(1)
            .max(1);
        for (label, count) in &self.shares {
            let bar = (*count * BAR as u64 / most.max(total / 2).max(1)) as usize;
            let of_total = *count as f64 * 100.0 / total.max(1) as f64;
            let row = Row::new().gap(2).text(label, theme.default());
            let number = format!("{:>8}  {of_total:>5.1}%  ", grouped(*count));
            rows.push(
                row.to(24)
                    .text(&number, theme.dim())
                    .text(&theme.glyphs.used.repeat(bar), theme.accent()),
            );
        }
        if !self.requests.is_empty() {
            rows.push(Row::new());
            rows.push(Row::new().fixed("Tokens per request", theme.bold()));
            rows.push(self.chart(state));
        }
        for (label, lines) in self.lists.iter().filter(|(_, lines)| !lines.is_empty()) {
            rows.push(Row::new());
            rows.push(Row::new().text(label, theme.bold()));
            rows.extend(
                lines
                    .iter()
                    .map(|line| Row::new().gap(2).text(line, theme.dim())),
            );
        }
        rows
    }
}

impl Inspector {
    /// The newest requests as one row of bars, with the first and the last number.
    fn chart(&self, state: &State) -> Row {
        let theme = &state.theme;
        let bars: Vec<char> = if theme.glyphs.used.is_ascii() {
            ".:-=+*#%".chars().collect()
        } else {
            "▁▂▃▄▅▆▇█".chars().collect()
        };
        let shown = &self.requests[self.requests.len().saturating_sub(BAR)..];
        let most = shown.iter().copied().max().unwrap_or(1).max(1);
        let level = |n: &u64| {
            let at = (*n * (bars.len() as u64 - 1)).div_ceil(most);
            bars.get(at as usize).copied().unwrap_or(' ')
        };
        let line: String = shown.iter().map(level).collect();
        let number = |n: Option<&u64>| n.copied().map(grouped).unwrap_or_default();
        Row::new()
            .gap(2)
            .text(&number(shown.first()), theme.dim())
            .gap(2)
            .text(&line, theme.accent())
            .gap(2)
            .text(&number(shown.last()), theme.dim())
            .gap(3)
            .text(&format!("most {}", grouped(most)), theme.dim())
    }
}

/// True for an entry of the largest outputs.
fn is_output(value: &Value) -> bool {
    ["tokens", "tool", "title"]
        .iter()
        .all(|name| value.get(name).is_some())
}

/// `   7,402  read  src/session/processor.rs   turn 3`, then what else is known of it.
fn output(value: &Value) -> String {
    let text = |name: &str| value.get(name).map(shown).unwrap_or_default();
    let mut line = format!(
        "{:>7}  {:<6}  {:<40}  turn {}",
        text("tokens"),
        text("tool"),
        text("title"),
        text("turn")
    );
    let known = ["tokens", "tool", "title", "turn", "part"];
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            _ if known.contains(&name.as_str()) => {}
            Value::Bool(false) | Value::Null => {}
            Value::Bool(true) => line.push_str(&format!("   {}", words(name).to_lowercase())),
            other => line.push_str(&format!("   {}", shown(other))),
        }
    }
    line
}

/// A fact's value as it is said: money as money, rates as percent.
fn fact(key: &str, value: &Value) -> String {
    match value.as_f64() {
        Some(rate) if key.ends_with("rate") => format!("{:.0}%", rate * 100.0),
        Some(usd) if key == "cost" => money(usd),
        _ => shown(value),
    }
}

/// `total_tokens` → `Total tokens`.
fn words(key: &str) -> String {
    let text = key.replace(['_', '-'], " ");
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "unknown".to_owned(),
        Value::Bool(b) => if *b { "yes" } else { "no" }.to_owned(),
        Value::Number(n) => n.as_u64().map_or_else(|| n.to_string(), grouped),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(map) => map
            .iter()
            .map(|(k, v)| format!("{} {}", words(k).to_lowercase(), shown(v)))
            .collect::<Vec<_>>()
            .join("   "),
    }
}
