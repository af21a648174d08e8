//! One fuzzy list for models, themes, commands and choices.
//!
//! The entries carry what choosing them does, so a picker needs no code per use but its making.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::SeenRows;
use super::{Frame, Intent, Outcome, draw_field, edit_line, footer, sample};
use crate::protocol::event::{ModelChoice, PinChoice};
use crate::protocol::{Effort, ModelRef, Op, PartId};
use crate::tui::composer::buffer::Buffer;
use crate::tui::fuzzy::{self, Hit};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::text::width::columns;
use crate::tui::theme::ThemeChoice;
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// Columns under which the models' figures give way.
const NARROW: u16 = 76;

/// What a picker is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Models.
    Models,
    /// Themes; the one to go back to when nothing is chosen.
    Themes(String),
    /// Anything else.
    Other,
    /// Something that opens layers: it stays below them.
    Layers,
    /// What is pinned and what could be: choosing changes it, and the list stays.
    Pins,
}

/// One entry.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What is searched and shown.
    pub label: String,
    /// What it does, in a column of its own.
    pub says: String,
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
    /// The reasoning effort, beside the models, and whether it was changed here.
    effort: Option<Effort>,
    new_effort: bool,
    /// The model in use, and those of the newest sessions.
    model: Option<ModelRef>,
    recent: Vec<ModelRef>,
    /// Rows of the last frame.
    seen: SeenRows,
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
            new_effort: false,
            model: None,
            recent: Vec::new(),
            seen: SeenRows::default(),
        };
        picker.filter();
        picker
    }

    /// The same, opened on the entry that is set now, which says so.
    #[must_use]
    pub fn on(mut self, now: &str) -> Self {
        let at = self.entries.iter().position(|entry| entry.label == now);
        if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
            let gap = if entry.detail.is_empty() { "" } else { "   " };
            entry.detail = format!("{}{gap}now", entry.detail);
        }
        self.selected = at.unwrap_or(0);
        self
    }

    fn waiting(kind: Kind, title: &'static str) -> Self {
        Self {
            waiting: true,
            ..Self::new(kind, title, Vec::new())
        }
    }

    /// Models: the one in use, those used lately, then those that have a key.
    pub fn models(effort: Option<Effort>, now: Option<ModelRef>, recent: Vec<ModelRef>) -> Self {
        Self {
            effort,
            model: now,
            recent,
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
            says: String::new(),
            detail: String::new(),
            intents: vec![Intent::Theme(name.to_owned())],
        });
        Self::new(Kind::Themes(now.to_owned()), "Themes", entries.collect()).on(now)
    }

    /// What is pinned and what could be; what is pinned comes first.
    pub fn pins(pins: &[PinChoice]) -> Self {
        let mut pins: Vec<&PinChoice> = pins.iter().collect();
        pins.sort_by_key(|pin| !pin.pinned);
        Self::new(
            Kind::Pins,
            "Pinned: said again after every compaction",
            pins.into_iter().map(pin_entry).collect(),
        )
    }

    /// True if it lists what is pinned.
    pub fn lists_pins(&self) -> bool {
        self.kind == Kind::Pins
    }

    /// Pins changed; every entry keeps its place, so that the choice stays under the eye.
    pub fn pins_came(&mut self, pins: &[PinChoice]) {
        let place = |pin: &&PinChoice| {
            let is = |entry: &Entry| part_of(entry) == Some(pin.part);
            self.entries.iter().position(is).unwrap_or(usize::MAX)
        };
        let mut pins: Vec<&PinChoice> = pins.iter().collect();
        pins.sort_by_key(place);
        self.entries = pins.into_iter().map(pin_entry).collect();
        self.filter();
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
        // Local models may join a list that is read already: the choice stays where it is.
        let chosen = self.chosen().map(|entry| entry.label.clone());
        self.waiting = false;
        let mut models: Vec<&ModelChoice> = models.iter().collect();
        let lately = |model: &ModelRef| {
            let at = self.recent.iter().position(|recent| recent == model);
            at.unwrap_or(usize::MAX)
        };
        models.sort_by_key(|choice| {
            let now = self.model.as_ref() == Some(&choice.model);
            (!now, !choice.usable, lately(&choice.model))
        });
        let entry = |choice: &&ModelChoice| {
            let now = self.model.as_ref() == Some(&choice.model);
            model_entry(choice, now)
        };
        self.entries = models.iter().map(entry).collect();
        // One that no registry knows is in use all the same.
        let listed = models.iter().any(|c| self.model.as_ref() == Some(&c.model));
        if let Some(model) = self.model.as_ref().filter(|_| !listed) {
            let choice = ModelChoice {
                model: model.clone(),
                context: 0,
                input_price: None,
                output_price: None,
                usable: true,
            };
            self.entries.insert(0, model_entry(&choice, true));
        }
        self.filter();
        let labels = self
            .hits
            .iter()
            .filter_map(|hit| self.entries.get(hit.index));
        let at = labels
            .map(|entry| &entry.label)
            .position(|label| Some(label) == chosen.as_ref());
        self.selected = at.unwrap_or(self.selected);
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

    /// Chooses what a row shows; none if it shows nothing. A theme is tried on.
    pub fn click(&mut self, row: u16) -> Option<Vec<Intent>> {
        self.selected = self.seen.at(row)?;
        Some(match (&self.kind, self.chosen()) {
            (Kind::Themes(_), Some(entry)) => entry.intents.clone(),
            _ => Vec::new(),
        })
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let contexts: &[Context] = match self.kind {
            Kind::Models => &[Context::Models, Context::List],
            _ => &[Context::List],
        };
        match keys.action(contexts, key) {
            Some(Action::EffortNext) => {
                // It counts once a model is chosen with it; Esc leaves it as it was.
                self.effort = self.next_effort();
                self.new_effort = true;
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
            Some(entry) if entry.intents.is_empty() => Outcome::Consumed,
            Some(entry) if matches!(self.kind, Kind::Layers | Kind::Pins) => {
                Outcome::Emit(entry.intents.clone())
            }
            Some(entry) => {
                let mut intents = entry.intents.clone();
                if self.new_effort {
                    let now = self.model.as_ref().map(ModelRef::to_string);
                    intents.retain(|_| now.as_ref() != Some(&entry.label));
                    intents.push(Intent::Op(Op::SetEffort(self.effort)));
                }
                Outcome::Close(intents)
            }
            None => Outcome::Consumed,
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
        let list = if matches!(self.kind, Kind::Themes(_)) {
            sample::draw(state, list, self.entries.len() as u16, buf)
        } else {
            list
        };
        self.draw_list(state, list, buf);
        let pinned = self.kind == Kind::Pins && self.chosen().is_some_and(is_pinned);
        let does = match self.kind {
            Kind::Pins if pinned => "unpin",
            Kind::Pins => "pin",
            _ => "choose",
        };
        let mut hints = Vec::new();
        if self.chosen().is_some_and(|entry| !entry.intents.is_empty()) {
            hints.push((Action::ListAccept, does));
        }
        if self.kind == Kind::Models {
            hints.push((Action::EffortNext, "effort"));
        }
        if self.hits.len() > usize::from(list.height) {
            hints.push((Action::ListDown, "down"));
        }
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        cursor
    }

    /// What stands at the right: names of models need the room of a narrow window for themselves.
    fn detail<'a>(&self, entry: &'a Entry, width: u16) -> &'a str {
        let detail = entry.detail.as_str();
        if self.kind != Kind::Models || width >= NARROW {
            return detail;
        }
        detail.rsplit("  ").next().unwrap_or_default().trim()
    }

    fn draw_list(&self, state: &State, list: Rect, buf: &mut Cells) {
        let theme = &state.theme;
        let height = usize::from(list.height);
        let first = (self.selected + 1).saturating_sub(height.max(1));
        let labels = self.entries.iter().filter(|entry| !entry.says.is_empty());
        let widest = labels.map(|entry| columns(&entry.label)).max();
        let says_at = widest.unwrap_or(0).min(usize::from(list.width) / 2) + 5;
        self.seen.begin();
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
            let mut row = row.marked(&entry.label, &hit.marks, style, theme.reverse());
            if !entry.says.is_empty() {
                row = row.to(says_at).text(&entry.says, theme.dim());
            }
            let y = list.y + (at - first) as u16;
            self.seen.shows(y, at);
            row.right(self.detail(entry, list.width), theme.dim()).draw(
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

/// `fix the parser                                   prompt     12 tok   pinned`
fn pin_entry(pin: &PinChoice) -> Entry {
    let stands = if pin.pinned { "pinned" } else { "" };
    let tokens = numbers::tokens(pin.tokens, false);
    let (part, on) = (pin.part, !pin.pinned);
    Entry {
        label: pin.name.clone(),
        says: String::new(),
        detail: format!("{:<6} {tokens:>7} tok   {stands:<6}", pin.kind),
        intents: vec![Intent::Op(Op::Pin { part, on }), Intent::Op(Op::Pins)],
    }
}

/// The part that an entry pins or unpins.
fn part_of(entry: &Entry) -> Option<PartId> {
    match entry.intents.first() {
        Some(Intent::Op(Op::Pin { part, .. })) => Some(*part),
        _ => None,
    }
}

/// True if choosing it unpins.
fn is_pinned(entry: &Entry) -> bool {
    let first = entry.intents.first();
    matches!(first, Some(Intent::Op(Op::Pin { on: false, .. })))
}

/// A model with window, prices and how it stands, in columns.
fn model_entry(choice: &ModelChoice, now: bool) -> Entry {
    let window = if choice.context > 0 {
        numbers::tokens(choice.context, true)
    } else {
        String::new()
    };
    let price =
        |usd: Option<f64>, word| usd.map_or_else(String::new, |usd| format!("${usd} {word}"));
    let (input, output) = (
        price(choice.input_price, "in"),
        price(choice.output_price, "out"),
    );
    let stands = match (now, choice.usable) {
        (true, _) => "now",
        (false, false) => "no key",
        (false, true) => "",
    };
    Entry {
        label: choice.model.to_string(),
        says: String::new(),
        detail: format!("{window:>5}  {input:>9}  {output:>10}  {stands:<6}"),
        intents: vec![Intent::Op(Op::SetModel(choice.model.clone()))],
    }
}
