//! What was edited, so that it can be taken back: steps of changes, not copies of the text.
//!
//! `buffer` records every change here. A step is what one undo takes back: a typed word, a run of
//! deletions, or all that was done while the step was held open (vim's insert mode).

use std::collections::VecDeque;
use std::ops::Range;

/// Text that the steps may hold together; the oldest are forgotten beyond it.
const MOST_BYTES: usize = 8 << 20;

/// Bytes at `at` were put in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    at: usize,
    removed: String,
    inserted: String,
}

/// What one undo takes back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Step {
    changes: Vec<Change>,
    /// The cursor before the first and after the last change.
    before: usize,
    after: usize,
}

impl Step {
    fn bytes(&self) -> usize {
        self.changes
            .iter()
            .map(|c| c.removed.len() + c.inserted.len())
            .sum()
    }
}

/// The steps of one text.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    done: VecDeque<Step>,
    undone: Vec<Step>,
    bytes: usize,
    /// The newest step takes in everything until it is released.
    held: bool,
}

impl Undo {
    /// Begins a step; what follows joins it until the next one begins.
    pub(super) fn begin(&mut self, cursor: usize) {
        if self.held && !self.done.is_empty() {
            return;
        }
        if self.done.back().is_some_and(|step| step.changes.is_empty()) {
            self.done.pop_back();
        }
        self.done.push_back(Step {
            changes: Vec::new(),
            before: cursor,
            after: cursor,
        });
    }

    /// Everything up to `release` is one step.
    pub(super) fn hold(&mut self, cursor: usize) {
        if !self.held {
            self.begin(cursor);
            self.held = true;
        }
    }

    /// Ends what `hold` began.
    pub(super) fn release(&mut self) {
        self.held = false;
        if self.done.back().is_some_and(|step| step.changes.is_empty()) {
            self.done.pop_back();
        }
    }

    /// Takes a change into the newest step.
    pub(super) fn record(&mut self, range: Range<usize>, removed: &str, inserted: &str) {
        self.undone.clear();
        if self.done.is_empty() {
            self.begin(range.start);
        }
        self.bytes += removed.len() + inserted.len();
        let Some(step) = self.done.back_mut() else {
            return;
        };
        step.after = range.start + inserted.len();
        match step.changes.last_mut() {
            // Typed on: one change, however many letters.
            Some(last) if removed.is_empty() && last.at + last.inserted.len() == range.start => {
                last.inserted.push_str(inserted);
            }
            _ => step.changes.push(Change {
                at: range.start,
                removed: removed.to_owned(),
                inserted: inserted.to_owned(),
            }),
        }
        while self.bytes > MOST_BYTES && self.done.len() > 1 {
            self.bytes -= self.done.pop_front().map_or(0, |step| step.bytes());
        }
    }

    /// Takes the newest step back; the cursor of before it.
    pub(super) fn undo(&mut self, text: &mut String) -> Option<usize> {
        self.held = false;
        let step = loop {
            let step = self.done.pop_back()?;
            if !step.changes.is_empty() {
                break step;
            }
        };
        self.bytes -= step.bytes();
        for change in step.changes.iter().rev() {
            let end = change.at + change.inserted.len();
            text.replace_range(change.at..end, &change.removed);
        }
        let cursor = step.before;
        self.undone.push(step);
        Some(cursor)
    }

    /// Does the step that was taken back last again; the cursor of after it.
    pub(super) fn redo(&mut self, text: &mut String) -> Option<usize> {
        self.held = false;
        let step = self.undone.pop()?;
        for change in &step.changes {
            let end = change.at + change.removed.len();
            text.replace_range(change.at..end, &change.inserted);
        }
        self.bytes += step.bytes();
        let cursor = step.after;
        self.done.push_back(step);
        Some(cursor)
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
