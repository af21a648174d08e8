//! Search through everything said and done in all sessions; enter goes to the place.
//!
//! The agent searches; every change of the words asks anew, and only the newest answer counts.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::{Listed, SeenRows};
use super::{Frame, Intent, Outcome, draw_field, edit_line, footer};
use crate::protocol::{Millis, Op, Role, SearchHit};
use crate::tui::composer::buffer::Buffer;
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// Fewer letters are not searched: they would be found everywhere.
const LETTERS: usize = 2;

/// The search.
#[derive(Debug, Clone, Default)]
pub struct SearchView {
    words: Buffer,
    everywhere: bool,
    hits: Vec<SearchHit>,
    more: bool,
    waiting: bool,
    generation: u64,
    selected: usize,
    seen: SeenRows,
}

impl SearchView {
    /// A search that begins with these words, and what to ask for.
    pub fn new(words: &str) -> (Self, Option<Op>) {
        let mut view = Self::default();
        view.words.insert(words);
        let op = view.ask();
        (view, op)
    }

    /// Asks for the words as they are now.
    fn ask(&mut self) -> Option<Op> {
        self.generation += 1;
        let text = self.words.text().trim().to_owned();
        if text.chars().count() < LETTERS {
            self.hits.clear();
            self.waiting = false;
            return None;
        }
        self.waiting = true;
        Some(Op::Search {
            text,
            prompts: false,
            all: self.everywhere,
            generation: self.generation,
        })
    }

    /// An answer came; an old one is dropped.
    pub fn found(&mut self, generation: u64, hits: Vec<SearchHit>, more: bool) {
        if generation == self.generation {
            (self.hits, self.more) = (hits, more);
            self.waiting = false;
            self.selected = 0;
        }
    }

    /// The choice moves.
    pub fn step(&mut self, delta: isize) {
        let last = self.hits.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(delta).min(last);
    }

    /// Chooses what a row shows; true if it shows a place.
    pub fn click(&mut self, row: u16) -> bool {
        self.seen.choose(row, &mut self.selected)
    }

    /// Pasted text joins the words; gives what to ask for.
    pub fn paste(&mut self, text: &str) -> Option<Op> {
        self.words.insert(text);
        self.ask()
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let asked = |op: Option<Op>| match op {
            Some(op) => Outcome::Emit(vec![Intent::Op(op)]),
            None => Outcome::Consumed,
        };
        match keys.action(&[Context::Search, Context::List], key) {
            Some(Action::ListUp) => self.step(-1),
            Some(Action::ListDown) => self.step(1),
            Some(Action::ListPageUp) => self.step(-10),
            Some(Action::ListPageDown) => self.step(10),
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            Some(Action::ListAccept) => {
                if let Some(hit) = self.hits.get(self.selected) {
                    let words = self.words.text().trim().to_owned();
                    let open = Op::OpenPart {
                        session: hit.session,
                        part: hit.part,
                    };
                    return Outcome::Close(vec![Intent::LookFor(words), Intent::Op(open)]);
                }
            }
            Some(Action::SearchScope) => {
                self.everywhere = !self.everywhere;
                return asked(self.ask());
            }
            _ => {
                let before = self.words.text().to_owned();
                edit_line(&mut self.words, key, keys);
                if self.words.text() != before {
                    return asked(self.ask());
                }
            }
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(
        &self,
        state: &State,
        area: Rect,
        buf: &mut Cells,
        now: Millis,
    ) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let scope = if self.everywhere {
            "all folders ▾"
        } else {
            "this project ▾"
        };
        let more = if self.more { " and more" } else { "" };
        let count = match self.hits.len() {
            0 => String::new(),
            1 => "1 place   ".to_owned(),
            n => format!("{n}{more} places   "),
        };
        Row::new()
            .fixed("Search all sessions", theme.bold())
            .right(&count, theme.dim())
            .right(scope, theme.accent())
            .draw(frame.title, buf);
        let cursor = draw_field("", &self.words, state, frame.body, buf);
        let list = Rect {
            y: (frame.body.y + 2).min(frame.body.bottom()),
            height: frame.body.height.saturating_sub(2),
            ..frame.body
        };
        self.rows(state, now).draw(list, &self.seen, buf);
        let hints = [
            (Action::ListAccept, "go there"),
            (Action::SearchScope, "scope"),
        ];
        let hints = &hints[usize::from(self.hits.is_empty())..];
        footer(state, hints, Action::ListClose).draw(frame.footer, buf);
        cursor
    }

    /// The hits under their sessions.
    fn rows(&self, state: &State, now: Millis) -> Listed {
        let theme = &state.theme;
        let mut rows = Listed::default();
        if self.hits.is_empty() {
            let short = self.words.text().trim().chars().count() < LETTERS;
            let text = match (self.waiting, short) {
                (true, _) => "searching",
                (_, true) => "words that were said, called or printed in any session",
                _ => "nothing says that",
            };
            rows.plain(Row::new().gap(2).fixed(text, theme.dim()));
        }
        let mut session = None;
        for (at, hit) in self.hits.iter().enumerate() {
            if session != Some(hit.session) {
                if session.is_some() {
                    rows.plain(Row::new());
                }
                session = Some(hit.session);
                let mut head = Row::new().gap(2).text(&hit.title, theme.dim());
                if self.everywhere {
                    head = head
                        .right(&hit.worktree, theme.dim())
                        .right("   ", theme.dim());
                }
                rows.plain(head.right(&numbers::when(hit.at, now, &state.zone), theme.dim()));
            }
            let selected = at == self.selected;
            rows.entry(hit_row(state, hit, selected), at, selected);
        }
        rows
    }
}

/// The excerpt and where its match is, by byte. A control character is taken out on the screen, so the
/// marks are counted without it.
pub(super) fn marked(hit: &SearchHit) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut marks = Vec::new();
    for (at, c) in hit.excerpt.char_indices().filter(|(_, c)| !c.is_control()) {
        if hit.found.contains(&at) {
            marks.push(text.len());
        }
        text.push(c);
    }
    (text, marks)
}

fn hit_row(state: &State, hit: &SearchHit, selected: bool) -> Row {
    let theme = &state.theme;
    let row = if selected {
        Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
    } else {
        Row::new().gap(2)
    };
    let who = match (hit.role, hit.kind.as_str()) {
        (Role::User, "text") => "you",
        (_, "text") => "said",
        (_, "reasoning") => "thought",
        (_, other) => other,
    };
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let (text, marks) = marked(hit);
    row.text(&format!("{who:<9}"), theme.dim())
        .marked(&text, &marks, style, theme.reverse())
}
