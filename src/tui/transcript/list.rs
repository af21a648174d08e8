//! The list of cells: in order, found by part, grown at both ends.
//!
//! Used by `apply` (which changes it) and by `render` (which reads it). Each cell has a number that
//! never changes, so a scroll position outlives whatever happens around it.

use std::collections::{HashMap, VecDeque};

use crate::protocol::{MessageId, PartId, Role};
use crate::tui::cells::Cell;

/// A cell and what is known about it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its number.
    pub(super) id: u64,
    /// The part it shows; for a group its first one.
    pub(super) part: Option<PartId>,
    /// The message it belongs to.
    pub(super) message: Option<MessageId>,
    /// What it is.
    pub(super) cell: Cell,
    /// Grows with every change.
    pub(super) revision: u64,
    /// Grows when finished layouts change too.
    pub(super) epoch: u64,
    /// True if the user turned its fold round.
    pub(super) turned: bool,
}

/// What is known about a message.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) role: Role,
    pub(super) summary: bool,
    pub(super) parent: Option<MessageId>,
    /// True once its failure or interrupt is shown.
    pub(super) ended: bool,
    /// True if one of its tools changed files by itself.
    pub(super) edited: bool,
    /// True if it failed and is tried again.
    pub(super) retried: bool,
}

/// The list of cells.
#[derive(Debug, Default)]
pub(super) struct List {
    entries: VecDeque<Entry>,
    /// Part → number of its cell.
    parts: HashMap<PartId, u64>,
    pub(super) heads: HashMap<MessageId, Head>,
    next: u64,
    /// Where a cell was found last.
    hint: std::cell::Cell<usize>,
}

impl List {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Entry> {
        self.entries.get_mut(at)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Where the cell of that number stands.
    pub(super) fn index(&self, id: u64) -> Option<usize> {
        let hint = self.hint.get();
        for at in [
            hint,
            hint.wrapping_sub(1),
            hint + 1,
            self.entries.len().wrapping_sub(1),
        ] {
            if self.entries.get(at).is_some_and(|entry| entry.id == id) {
                self.hint.set(at);
                return Some(at);
            }
        }
        let at = self.entries.iter().position(|entry| entry.id == id)?;
        self.hint.set(at);
        Some(at)
    }

    /// Where the cell of a part stands. New parts are looked up most, so from the end.
    pub(super) fn find(&self, part: PartId) -> Option<usize> {
        let id = *self.parts.get(&part)?;
        let near = self.entries.len().saturating_sub(16);
        (near..self.entries.len())
            .rev()
            .find(|at| self.entries[*at].id == id)
            .or_else(|| self.index(id))
    }

    /// Makes a further part belong to a cell.
    pub(super) fn join(&mut self, part: PartId, at: usize) {
        if let Some(entry) = self.entries.get(at) {
            self.parts.insert(part, entry.id);
        }
    }

    /// Adds a cell where its message is, at the end as a rule; gives its place.
    pub(super) fn add(
        &mut self,
        cell: Cell,
        part: Option<PartId>,
        message: Option<MessageId>,
    ) -> usize {
        self.next += 1;
        let entry = Entry {
            id: self.next,
            part,
            message,
            cell,
            revision: 0,
            epoch: 0,
            turned: false,
        };
        if let Some(part) = part {
            self.parts.insert(part, entry.id);
        }
        let mut at = self.entries.len();
        if let Some(message) = message {
            // A cell of an older message stands before those of newer ones.
            while at > 0
                && self.entries[at - 1]
                    .message
                    .is_some_and(|other| other > message)
            {
                at -= 1;
            }
        }
        self.entries.insert(at, entry);
        at
    }

    /// Puts an older list before this one. Numbers of `older` begin where this one's end.
    pub(super) fn prepend(&mut self, older: Self) {
        self.next = self.next.max(older.next);
        self.parts.extend(older.parts);
        for (id, head) in older.heads {
            self.heads.entry(id).or_insert(head);
        }
        for entry in older.entries.into_iter().rev() {
            self.entries.push_front(entry);
        }
        self.hint.set(0);
    }

    /// An empty list whose numbers follow on this one's.
    pub(super) fn beside(&self) -> Self {
        Self {
            next: self.next,
            ..Self::default()
        }
    }

    /// Keeps the cells that `keep` says; heads of messages without cells stay.
    pub(super) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.entries.retain(keep);
        let left: std::collections::HashSet<u64> = self.entries.iter().map(|e| e.id).collect();
        self.parts.retain(|_, id| left.contains(id));
        self.hint.set(0);
    }

    /// Bytes of memory, about.
    pub(super) fn weight(&self) -> usize {
        self.entries
            .iter()
            .map(|entry| size_of::<Entry>() + entry.cell.weight())
            .sum::<usize>()
            + self.parts.len() * 48
    }

    /// The oldest message that has cells.
    pub(super) fn oldest(&self) -> Option<MessageId> {
        self.entries.iter().find_map(|entry| entry.message)
    }

    /// Drops the cells of the oldest messages until so many are left; always whole messages.
    pub(super) fn drop_oldest(&mut self, left: usize) {
        while self.entries.len() > left {
            let Some(first) = self.oldest() else { break };
            let newest = self.entries.back().and_then(|entry| entry.message);
            if newest == Some(first) {
                break;
            }
            while self
                .entries
                .front()
                .is_some_and(|e| e.message.is_none_or(|m| m == first))
            {
                self.entries.pop_front();
            }
            self.heads.remove(&first);
        }
        let left: std::collections::HashSet<u64> = self.entries.iter().map(|e| e.id).collect();
        self.parts.retain(|_, id| left.contains(id));
        self.hint.set(0);
    }
}
