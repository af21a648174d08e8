//! `/cost`: what the session cost, by model, by turn, by subagent, and what the cache saved.
//!
//! The agent's answer, laid out for the window as it is: in a narrow one tokens are one figure, in a
//! tiny one there is the money alone.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::scroll::{self, Scroll};
use super::{Frame, Outcome, draw_rows, footer};
use crate::protocol::{Spending, SpentOn};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Keymap};
use crate::tui::state::State;
use crate::tui::theme::Theme;
use crate::tui::view::numbers::{money, tokens};
use crate::tui::view::row::Row;

/// Columns of one figure.
const FIGURE: usize = 10;
/// Columns that the names take at most: beyond them the eye loses the row.
const NAMES: usize = 60;
/// Columns under which the four counts of tokens are one.
const NARROW: usize = 76;
/// Columns under which only the money is told.
const TINY: usize = 36;
/// Less is not worth a word.
const CENT: f64 = 0.005;

/// The report and how far it is scrolled.
#[derive(Debug, Clone)]
pub struct SpendingView {
    spending: Spending,
    scroll: Scroll,
}

impl SpendingView {
    /// From the agent's answer.
    pub fn new(spending: Spending) -> Self {
        Self {
            spending,
            scroll: Scroll::default(),
        }
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        self.scroll.by(delta);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        self.scroll.key(key, keys)
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let rows = self.rows(theme, usize::from(frame.body.width));
        let top = self
            .scroll
            .place(rows.len(), usize::from(frame.body.height));
        self.title(theme).draw(frame.title, buf);
        draw_rows(rows.iter().skip(top), frame.body, buf);
        let hints = scroll::hints(self.scroll.is_long());
        footer(state, hints, Action::PagerClose).draw(frame.footer, buf);
        None
    }

    /// `Cost                                    $0.42 of $5.00   8% of the budget`
    fn title(&self, theme: &Theme) -> Row {
        let row = Row::new().fixed("Cost", theme.bold());
        let Some(total) = self.spending.total else {
            return row.right("not known: a model has no prices here", theme.amber());
        };
        let row = row.right(&money(total), theme.bold());
        let Some(limit) = self.spending.limit.filter(|limit| *limit > 0.0) else {
            return row.right(" this session", theme.dim());
        };
        let share = total * 100.0 / limit;
        let style = if share >= 80.0 {
            theme.amber()
        } else {
            theme.dim()
        };
        row.right(
            &format!(" of {}   {share:.0}% of the budget", money(limit)),
            style,
        )
    }

    fn rows(&self, theme: &Theme, width: usize) -> Vec<Row> {
        let spending = &self.spending;
        let table = Table::new(theme, width);
        let mut rows = Vec::new();
        if spending.models.is_empty() && spending.subagents.is_empty() {
            let text = "Nothing was asked in this session yet.";
            rows.push(Row::new().gap(2).fixed(text, theme.dim()));
        }
        table.part("By model", &spending.models, &mut rows);
        table.part("By turn", &spending.turns, &mut rows);
        table.part("By subagent", &spending.subagents, &mut rows);
        for note in self.notes() {
            rows.push(Row::new().gap(2).text(&note, theme.dim()));
        }
        rows
    }

    /// What the cache did, and what is in no row.
    fn notes(&self) -> Vec<String> {
        let spending = &self.spending;
        let mut notes = Vec::new();
        match spending.saved {
            Some(saved) if saved >= CENT => {
                notes.push(format!("The provider's cache saved {}.", money(saved)));
            }
            Some(saved) if saved <= -CENT => notes.push(format!(
                "Writing the provider's cache cost {} more than reading it saved.",
                money(-saved)
            )),
            _ => {}
        }
        let sum = |rows: &[SpentOn]| rows.iter().map(|row| row.cost).sum::<Option<f64>>();
        if let (Some(all), Some(turns)) = (sum(&spending.models), sum(&spending.turns))
            && all - turns >= CENT
        {
            notes.push(format!("{} of it on other branches.", money(all - turns)));
        }
        notes
    }
}

/// Words or figures, each at the right edge of its column.
fn figures<T: AsRef<str>>(words: &[T]) -> String {
    let mut row = String::new();
    for word in words {
        let word = word.as_ref();
        row.extend(std::iter::repeat_n(' ', FIGURE.saturating_sub(word.len())));
        row.push_str(word);
    }
    row
}

/// Rows of names and figures in columns.
struct Table<'a> {
    theme: &'a Theme,
    names: usize,
    /// What the columns are.
    heads: &'static [&'static str],
}

impl<'a> Table<'a> {
    fn new(theme: &'a Theme, width: usize) -> Self {
        let heads: &[&str] = match width {
            ..TINY => &["cost"],
            TINY..NARROW => &["tokens", "cost"],
            _ => &["steps", "in", "cached", "out", "cost"],
        };
        let figures = heads.len() * FIGURE;
        let names = width.saturating_sub(figures + 2).clamp(4, NAMES);
        Self {
            theme,
            names,
            heads,
        }
    }

    fn part(&self, title: &'static str, spent: &[SpentOn], rows: &mut Vec<Row>) {
        if spent.is_empty() {
            return;
        }
        let theme = self.theme;
        let words = figures(self.heads);
        rows.push(
            Row::new()
                .text(title, theme.bold())
                .to(self.names + 2)
                .text(&words, theme.dim()),
        );
        rows.extend(spent.iter().map(|spent| self.row(spent)));
        rows.push(Row::new());
    }

    fn row(&self, spent: &SpentOn) -> Row {
        let theme = self.theme;
        let used = spent.tokens;
        let counts = match self.heads.len() {
            1 => Vec::new(),
            2 => vec![tokens(used.total(), false)],
            _ => vec![
                spent.steps.to_string(),
                tokens(used.prompt(), false),
                tokens(used.cache.read, false),
                tokens(used.output + used.reasoning, false),
            ],
        };
        let counts = figures(&counts);
        let cost = spent.cost.map_or_else(|| "?".to_owned(), money);
        let name = if spent.name.is_empty() {
            "(no words)"
        } else {
            &spent.name
        };
        Row::new()
            .gap(2)
            .cut(name, self.names - 2, theme.default())
            .to(self.names + 2)
            .text(&counts, theme.dim())
            .text(&format!("{cost:>FIGURE$}"), theme.default())
    }
}
