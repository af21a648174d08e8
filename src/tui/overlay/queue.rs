//! What waits to be sent: edit, reorder, drop, let go on.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::{Listed, SeenRows};
use super::{Frame, Intent, Outcome, footer};
use crate::protocol::{Op, QueueEdit, QueueItem, QueueKind, QueueState};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::view::row::Row;
use crate::tui::view::status::first_words;

/// The lists as they were when it was opened; changed along with the agent's.
#[derive(Debug, Clone)]
pub struct QueueView {
    items: Vec<QueueItem>,
    selected: usize,
    seen: SeenRows,
}

impl QueueView {
    /// From both lists, guidance first.
    pub fn new(queue: &QueueState) -> Self {
        Self {
            items: queue
                .guidance
                .iter()
                .chain(&queue.follow_ups)
                .cloned()
                .collect(),
            selected: 0,
            seen: SeenRows::default(),
        }
    }

    /// Chooses what a row shows; true if it shows a message.
    pub fn click(&mut self, row: u16) -> bool {
        self.seen.choose(row, &mut self.selected)
    }

    /// The choice moves.
    pub fn step(&mut self, delta: isize) {
        let last = self.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(delta).min(last);
    }

    /// Where the chosen message would go within its list; none at the list's ends.
    fn beside(&self, delta: isize) -> Option<usize> {
        let to = self.selected.checked_add_signed(delta)?;
        let (item, other) = (self.items.get(self.selected)?, self.items.get(to)?);
        (item.kind == other.kind).then_some(to)
    }

    fn moved(&mut self, delta: isize) -> Outcome {
        let (Some(to), Some(item)) = (self.beside(delta), self.items.get(self.selected)) else {
            return Outcome::Consumed;
        };
        let (id, kind) = (item.id, item.kind);
        let start = self.items.iter().position(|i| i.kind == kind).unwrap_or(0);
        self.items.swap(self.selected, to);
        self.selected = to;
        Outcome::Emit(vec![Intent::Op(Op::Queue(QueueEdit::Move(id, to - start)))])
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Queue, Context::List], key) {
            Some(Action::ListUp) => self.step(-1),
            Some(Action::ListDown) => self.step(1),
            Some(Action::QueueEarlier) => return self.moved(-1),
            Some(Action::QueueLater) => return self.moved(1),
            Some(Action::QueueDrop) if self.selected < self.items.len() => {
                let item = self.items.remove(self.selected);
                self.step(0);
                return Outcome::Emit(vec![Intent::Op(Op::Queue(QueueEdit::Remove(item.id)))]);
            }
            Some(Action::QueueResume) => {
                return Outcome::Close(vec![Intent::Op(Op::Queue(QueueEdit::Resume))]);
            }
            Some(Action::ListAccept) => {
                let item = self.items.get(self.selected).cloned();
                return Outcome::Close(item.map(Intent::EditQueued).into_iter().collect());
            }
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let paused = if state.queue.paused { "paused" } else { "" };
        Row::new()
            .fixed("Queue", theme.bold())
            .right(paused, theme.amber())
            .draw(frame.title, buf);
        let mut rows = Listed::default();
        if self.items.is_empty() {
            rows.plain(Row::new().gap(2).fixed("Nothing waits.", theme.dim()));
        }
        for (at, item) in self.items.iter().enumerate() {
            let selected = at == self.selected;
            let row = if selected {
                Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
            } else {
                Row::new().gap(2)
            };
            let word = match item.kind {
                QueueKind::Guidance => "next step",
                QueueKind::FollowUp => "then",
            };
            let text = first_words(&item.input.text);
            let style = if selected {
                theme.bold()
            } else {
                theme.default()
            };
            let row = row.fixed(word, theme.dim()).to(14).text(&text, style);
            rows.entry(row, at, selected);
        }
        rows.draw(frame.body, &self.seen, buf);
        let mut hints = Vec::new();
        if !self.items.is_empty() {
            hints.extend([(Action::ListAccept, "edit"), (Action::QueueDrop, "drop")]);
        }
        let moves = [
            (-1, Action::QueueEarlier, "earlier"),
            (1, Action::QueueLater, "later"),
        ];
        let moves = moves
            .into_iter()
            .filter(|(by, ..)| self.beside(*by).is_some());
        hints.extend(moves.map(|(_, action, says)| (action, says)));
        if state.queue.paused {
            hints.push((Action::QueueResume, "go on"));
        }
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        None
    }
}
