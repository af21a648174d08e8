//! One fuzzy list for models, themes, commands and choices.
//!
//! The entries carry what choosing them does, so a picker needs no code per use but its making.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::{Frame, Intent, Outcome, draw_field, edit_line, footer};
use crate::protocol::event::ModelChoice;
use crate::protocol::{Effort, Op};
use crate::tui::composer::buffer::Buffer;
use crate::tui::fuzzy::{self, Hit};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::theme::ThemeChoice;
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// What a picker is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Models.
    Models,
    /// Themes; the one to go back to when nothing is chosen.
    Themes(String),
    /// Anything else.
    Other,
}

/// One entry.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What is searched and shown.
    pub label: String,
    /// Shown at the right.
    pub detail: String,
    /// What choosing it does; empty: it cannot be chosen.
    pub intents: Vec<Intent>,
}

/// A list, a query, a choice.
#[derive(Debug, Clone)]
pub struct Picker {
    kind: Kind,
    title: &'static str,
    query: Buffer,
    entries: Vec<Entry>,
    hits: Vec<Hit>,
    selected: usize,
    waiting: bool,
    /// The reasoning effort, beside the models.
    effort: Option<Effort>,
}

impl Picker {
    /// A list of anything.
    pub fn new(kind: Kind, title: &'static str, entries: Vec<Entry>) -> Self {
        let mut picker = Self {
            kind,
            title,
            query: Buffer::default(),
            entries,
            hits: Vec::new(),
            selected: 0,
            waiting: false,
            effort: None,
        };
        picker.filter();
        picker
    }

    fn waiting(kind: Kind, title: &'static str) -> Self {
        Self {
            waiting: true,
            ..Self::new(kind, title, Vec::new())
        }
    }

    /// Models, usable ones first.
    pub fn models(effort: Option<Effort>) -> Self {
        Self {
            effort,
            ..Self::waiting(Kind::Models, "Models")
        }
    }

    /// The next effort: the model's own, then from none to the most.
    fn next_effort(&self) -> Option<Effort> {
        let at = |effort| Effort::ALL.iter().position(|(e, _)| *e == effort);
        let next = self.effort.and_then(at).map_or(0, |at| at + 1);
        Effort::ALL.get(next).map(|(effort, _)| *effort)
    }

    /// Themes with a live preview.
    pub fn themes(now: &str, own: &[(String, ThemeChoice)]) -> Self {
        let built_in = ThemeChoice::BUILT_IN.iter().map(|(name, _)| *name);
        let names = built_in.chain(own.iter().map(|(name, _)| name.as_str()));
        let entries = names.map(|name| Entry {
            label: name.to_owned(),
            detail: if name == now {
                "now".to_owned()
            } else {
                String::new()
            },
            intents: vec![Intent::Theme(name.to_owned())],
        });
        let mut picker = Self::new(Kind::Themes(now.to_owned()), "Themes", entries.collect());
        let chosen = picker.entries.iter().position(|entry| entry.label == now);
        picker.selected = chosen.unwrap_or(0);
        picker
    }

    /// The theme to go back to if nothing is chosen.
    pub fn theme_before(&self) -> Option<&str> {
        match &self.kind {
            Kind::Themes(name) => Some(name),
            _ => None,
        }
    }

    /// Models were listed.
    pub fn models_came(&mut self, models: &[ModelChoice]) {
        if self.kind != Kind::Models {
            return;
        }
        self.waiting = false;
        self.entries = models.iter().map(model_entry).collect();
        self.filter();
    }

    fn filter(&mut self) {
        let searched: Vec<&str> = self.entries.iter().map(|e| e.label.as_str()).collect();
        self.hits = fuzzy::rank(self.query.text(), &searched, 5_000);
        self.selected = self.selected.min(self.hits.len().saturating_sub(1));
    }

    /// The choice moves, around the ends.
    pub fn step(&mut self, delta: isize) {
        let count = self.hits.len().cast_signed();
        if count > 0 {
            self.selected = (self.selected.cast_signed() + delta)
                .rem_euclid(count)
                .cast_unsigned();
        }
    }

    fn page(&mut self, delta: isize) {
        let last = self.hits.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(delta).min(last);
    }

    /// Pasted text joins the query.
    pub fn paste(&mut self, text: &str) {
        self.query.insert(text);
        self.filter();
    }

    fn chosen(&self) -> Option<&Entry> {
        self.entries.get(self.hits.get(self.selected)?.index)
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let contexts: &[Context] = match self.kind {
            Kind::Models => &[Context::Models, Context::List],
            _ => &[Context::List],
        };
        match keys.action(contexts, key) {
            Some(Action::EffortNext) => {
                self.effort = self.next_effort();
                return Outcome::Emit(vec![Intent::Op(Op::SetEffort(self.effort))]);
            }
            Some(Action::ListUp) => self.step(-1),
            Some(Action::ListDown) => self.step(1),
            Some(Action::ListPageUp) => self.page(-10),
            Some(Action::ListPageDown) => self.page(10),
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            Some(Action::ListAccept) => return self.accept(),
            _ => {
                edit_line(&mut self.query, key, keys);
                self.filter();
            }
        }
        match (&self.kind, self.chosen()) {
            (Kind::Themes(_), Some(entry)) => Outcome::Emit(entry.intents.clone()),
            _ => Outcome::Consumed,
        }
    }

    fn accept(&self) -> Outcome {
        match self.chosen() {
            Some(entry) if !entry.intents.is_empty() => Outcome::Close(entry.intents.clone()),
            _ => Outcome::Consumed,
        }
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let count = format!("{} of {}", self.hits.len(), self.entries.len());
        let mut title = Row::new()
            .text(self.title, theme.bold())
            .right(&count, theme.dim());
        if self.kind == Kind::Models {
            let named = |effort| Effort::ALL.iter().find(|(e, _)| *e == effort);
            let effort = self
                .effort
                .and_then(named)
                .map_or("default", |(_, name)| name);
            title = title
                .right("   effort ", theme.dim())
                .right(&format!("{effort} ▾"), theme.accent());
        }
        title.draw(frame.title, buf);
        let cursor = draw_field("", &self.query, state, frame.body, buf);
        let list = Rect {
            y: (frame.body.y + 2).min(frame.body.bottom()),
            height: frame.body.height.saturating_sub(2),
            ..frame.body
        };
        self.draw_list(state, list, buf);
        let mut hints = vec![(Action::ListDown, "down"), (Action::ListAccept, "choose")];
        if self.kind == Kind::Models {
            hints.push((Action::EffortNext, "effort"));
        }
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        cursor
    }

    fn draw_list(&self, state: &State, list: Rect, buf: &mut Cells) {
        let theme = &state.theme;
        let height = usize::from(list.height);
        let first = (self.selected + 1).saturating_sub(height.max(1));
        if self.hits.is_empty() {
            let text = if self.waiting {
                "looking"
            } else {
                "nothing matches"
            };
            Row::new().gap(2).fixed(text, theme.dim()).draw(
                Rect {
                    height: list.height.min(1),
                    ..list
                },
                buf,
            );
        }
        for (at, hit) in self.hits.iter().enumerate().skip(first).take(height) {
            let Some(entry) = self.entries.get(hit.index) else {
                continue;
            };
            let selected = at == self.selected;
            let row = if selected {
                Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
            } else {
                Row::new().gap(2)
            };
            let style = match (selected, entry.intents.is_empty()) {
                (true, _) => theme.bold(),
                (_, true) => theme.dim(),
                _ => theme.default(),
            };
            let row = row.marked(&entry.label, &hit.marks, style, theme.reverse());
            let y = list.y + (at - first) as u16;
            row.right(&entry.detail, theme.dim()).draw(
                Rect {
                    y,
                    height: 1,
                    ..list
                },
                buf,
            );
        }
    }
}

fn model_entry(choice: &ModelChoice) -> Entry {
    let mut detail = Vec::new();
    if choice.context > 0 {
        detail.push(numbers::tokens(choice.context, true));
    }
    if let (Some(input), Some(output)) = (choice.input_price, choice.output_price) {
        detail.push(format!("${input} in  ${output} out"));
    }
    if !choice.usable {
        detail.push("no key".to_owned());
    }
    Entry {
        label: choice.model.to_string(),
        detail: detail.join("   "),
        intents: vec![Intent::Op(Op::SetModel(choice.model.clone()))],
    }
}
