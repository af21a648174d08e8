//! Earlier prompts: fuzzy search, this project's first, with the whole of the chosen one below.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::SeenRows;
use super::{Frame, Intent, Outcome, draw_field, draw_rows, edit_line, footer};
use crate::tui::composer::buffer::Buffer;
use crate::tui::composer::history::Past;
use crate::tui::fuzzy::{self, Hit};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::text::width::columns;
use crate::tui::view::row::Row;

/// Rows of the chosen prompt that are shown below the list.
const PREVIEW: usize = 8;
/// The list is searched for at most so many matches.
const MOST: usize = 500;

/// Prompts, a query, a choice.
#[derive(Debug, Clone)]
pub struct HistoryView {
    query: Buffer,
    past: Vec<Past>,
    hits: Vec<Hit>,
    selected: usize,
    seen: SeenRows,
}

impl HistoryView {
    /// Of prompts in the order in which they were sent. `draft` is what is written now: it begins
    /// the search.
    pub fn new(past: &[Past], draft: &str) -> Self {
        let mut newest: Vec<Past> = Vec::with_capacity(past.len());
        let mut seen = std::collections::HashSet::new();
        for prompt in past.iter().rev() {
            if seen.insert(&prompt.text) {
                newest.push(prompt.clone());
            }
        }
        // The sort is stable: within a project the newest stay first.
        newest.sort_by_key(|prompt| !prompt.is_here());
        let mut view = Self {
            query: Buffer::default(),
            past: newest,
            hits: Vec::new(),
            selected: 0,
            seen: SeenRows::default(),
        };
        if !draft.contains('\n') {
            view.query.insert(draft);
        }
        view.filter();
        view
    }

    fn filter(&mut self) {
        let texts: Vec<&str> = self.past.iter().map(|past| past.text.as_str()).collect();
        self.hits = fuzzy::rank(self.query.text(), &texts, MOST);
        self.hits
            .sort_by_key(|hit| !self.past.get(hit.index).is_some_and(Past::is_here));
        self.selected = 0;
    }

    /// The choice moves.
    pub fn step(&mut self, delta: isize) {
        let last = self.hits.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(delta).min(last);
    }

    /// Chooses what a row shows; true if it shows a prompt.
    pub fn click(&mut self, row: u16) -> bool {
        self.seen.choose(row, &mut self.selected)
    }

    /// Pasted text joins the query.
    pub fn paste(&mut self, text: &str) {
        self.query.insert(text);
        self.filter();
    }

    fn chosen(&self) -> Option<&Past> {
        self.past.get(self.hits.get(self.selected)?.index)
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::List], key) {
            Some(Action::ListUp) => self.step(-1),
            Some(Action::ListDown) => self.step(1),
            Some(Action::ListPageUp) => self.step(-10),
            Some(Action::ListPageDown) => self.step(10),
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            Some(Action::ListAccept) => {
                let intent = self.chosen().map(|past| Intent::Compose(past.text.clone()));
                return Outcome::Close(intent.into_iter().collect());
            }
            // The key that opened it goes on to older ones, as in a shell.
            _ if keys.action(&[Context::Composer], key) == Some(Action::SearchHistory) => {
                self.step(1);
            }
            _ => {
                edit_line(&mut self.query, key, keys);
                self.filter();
            }
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let count = format!("{} of {}", self.hits.len(), self.past.len());
        Row::new()
            .fixed("Earlier prompts", theme.bold())
            .right(&count, theme.dim())
            .draw(frame.title, buf);
        let cursor = draw_field("", &self.query, state, frame.body, buf);
        let body = Rect {
            y: (frame.body.y + 2).min(frame.body.bottom()),
            height: frame.body.height.saturating_sub(2),
            ..frame.body
        };
        let preview = self.preview(state, usize::from(body.height) / 2);
        let below = if preview.is_empty() {
            0
        } else {
            preview.len() as u16 + 1
        };
        let list = Rect {
            height: body.height.saturating_sub(below),
            ..body
        };
        let rows = self.rows(state, usize::from(list.height));
        self.seen.begin();
        for ((at, _), y) in rows.iter().zip(list.y..) {
            if let Some(at) = at {
                self.seen.shows(y, *at);
            }
        }
        draw_rows(rows.iter().map(|(_, row)| row), list, buf);
        let foot = Rect {
            y: list.bottom(),
            height: below.min(body.height),
            ..body
        };
        let rule = Row::new().text(
            &theme.glyphs.free.repeat(usize::from(body.width)),
            theme.dim(),
        );
        let rows: Vec<Row> = std::iter::once(rule).chain(preview).collect();
        draw_rows(rows.iter(), foot, buf);
        let mut hints = Vec::new();
        if !self.hits.is_empty() {
            hints.push((Action::ListAccept, "take it"));
        }
        if self.selected + 1 < self.hits.len() {
            hints.push((Action::ListDown, "older"));
        }
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        cursor
    }

    /// The prompts that fit, each with its place among the hits.
    fn rows(&self, state: &State, height: usize) -> Vec<(Option<usize>, Row)> {
        let theme = &state.theme;
        if self.hits.is_empty() {
            let none = Row::new().gap(2).fixed("nothing matches", theme.dim());
            return vec![(None, none)];
        }
        let first = (self.selected + 1).saturating_sub(height.max(1));
        let shown = self.hits.iter().enumerate().skip(first).take(height);
        shown
            .filter_map(|(at, hit)| {
                let past = self.past.get(hit.index)?;
                let chosen = at == self.selected;
                let row = if chosen {
                    Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
                } else {
                    Row::new().gap(2)
                };
                let style = if chosen {
                    theme.bold()
                } else {
                    theme.default()
                };
                let line = past.text.lines().next().unwrap_or_default();
                let marks: Vec<usize> = hit
                    .marks
                    .iter()
                    .copied()
                    .filter(|m| *m < line.len())
                    .collect();
                let row = row.marked(line, &marks, style, theme.reverse());
                let lines = match past.text.lines().count() {
                    0 | 1 => String::new(),
                    lines => format!("{lines} lines   "),
                };
                let row = row.right(&lines, theme.dim());
                Some((Some(at), row.right(&past.place, theme.dim())))
            })
            .collect()
    }

    /// The whole of the chosen prompt, if it says more than its row.
    fn preview(&self, state: &State, most: usize) -> Vec<Row> {
        let theme = &state.theme;
        let Some(past) = self.chosen() else {
            return Vec::new();
        };
        let lines: Vec<&str> = past.text.lines().collect();
        let most = most.min(PREVIEW);
        let room = usize::from(state.terminal.size.0).saturating_sub(30);
        let fits = lines.len() == 1 && columns(&past.text) <= room;
        if most < 2 || fits {
            return Vec::new();
        }
        let cut = lines.len() > most;
        let shown = if cut { most - 1 } else { lines.len() };
        let mut rows: Vec<Row> = lines
            .iter()
            .take(shown)
            .map(|line| Row::new().gap(2).text(line, theme.default()))
            .collect();
        if cut {
            let more = format!("{} more lines", lines.len() - shown);
            rows.push(Row::new().gap(2).text(&more, theme.dim()));
        }
        rows
    }
}
