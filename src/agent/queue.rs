//! Guidance and follow-ups: what was typed while the session was busy. Pure.
//!
//! Each item is a session value of its own (`queue/<id>`), so that what one more costs does not depend on how many
//! wait; its place is a number that leaves room on both sides. The turn asks here for what is to be written and
//! when the lists are to be announced.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::{
    FilePart, Millis, PromptInput, QueueEdit, QueueId, QueueItem, QueueKind, QueueState,
};

/// Session values that hold an item begin so.
const ITEM: &str = "queue/";
/// Session value that is true while nothing goes on by itself.
const PAUSED: &str = "queue/paused";
/// Where an earlier dunlin kept both lists as one value.
const AS_ONE: &str = "queue";
/// Room between the places of two items when nothing was moved.
const ROOM: i64 = 1 << 20;
/// The lists are announced at most once in so many milliseconds while messages wait.
const TELL_EVERY: Millis = 100;
/// Bytes that may wait at most, files not counted: they are kept apart.
pub const MOST_BYTES: usize = 64 << 20;

/// An item as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    /// Those with lower numbers come first in their list.
    place: i64,
    #[serde(flatten)]
    item: QueueItem,
}

/// When the lists are to be announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// At once.
    Now,
    /// At this time, by a timer that is to be set.
    At(Millis),
    /// A timer that runs already will do it, or nothing changed.
    Later,
}

/// What waits, how it is stored, and what was told of it.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    state: QueueState,
    places: HashMap<QueueId, i64>,
    /// Changes that are not written yet; null removes a value.
    unwritten: Vec<(String, Value)>,
    told: Told,
}

#[derive(Debug, Clone, Default)]
struct Told {
    at: Option<Millis>,
    paused: bool,
    /// Something changed since.
    stale: bool,
    /// A timer runs.
    timer: bool,
}

impl Queue {
    /// From a session's stored values. What an earlier dunlin stored as one value is stored by item with the next
    /// change.
    pub fn restore(values: &std::collections::BTreeMap<String, Value>) -> Self {
        let mut queue = Self::default();
        let parse = |value: &Value| serde_json::from_value::<QueueState>(value.clone()).ok();
        let old = values.get(AS_ONE).and_then(parse).unwrap_or_default();
        if values.contains_key(AS_ONE) {
            queue.unwritten.push((AS_ONE.to_owned(), Value::Null));
        }
        let of_items = values.range(ITEM.to_owned()..);
        for (name, value) in of_items.take_while(|(name, _)| name.starts_with(ITEM)) {
            queue.mirror(name, value.clone());
        }
        for item in old.guidance.into_iter().chain(old.follow_ups) {
            if !queue.places.contains_key(&item.id) {
                queue.append(item);
            }
        }
        if old.paused {
            queue.set_paused(true);
        }
        queue
    }

    /// Takes over a stored value; false if it is none of the queue's.
    pub fn mirror(&mut self, name: &str, value: Value) -> bool {
        if name == AS_ONE {
            self.state = serde_json::from_value(value).unwrap_or_default();
            self.places.clear();
            return true;
        }
        if name == PAUSED {
            self.state.paused = value == Value::Bool(true);
            return true;
        }
        let Some(id) = name.strip_prefix(ITEM).and_then(|id| id.parse().ok()) else {
            return false;
        };
        self.forget(id);
        // one that cannot be read is none
        if let Ok(Stored { place, item }) = serde_json::from_value(value)
            && item.id == id
        {
            self.places.insert(id, place);
            let places = &self.places;
            let key = |item: &QueueItem| (places.get(&item.id).copied(), item.id);
            let list = list(&mut self.state, item.kind);
            let at = list.partition_point(|other| key(other) < key(&item));
            list.insert(at, item);
        }
        true
    }

    /// Both lists.
    pub const fn state(&self) -> &QueueState {
        &self.state
    }

    /// True if nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.state.guidance.is_empty() && self.state.follow_ups.is_empty()
    }

    /// True if guidance waits for the next step.
    pub const fn has_guidance(&self) -> bool {
        !self.state.guidance.is_empty()
    }

    /// True if one more fits among at most `most` items and `MOST_BYTES` bytes.
    pub fn has_room(&self, input: &PromptInput, most: u32) -> bool {
        let all = || self.state.guidance.iter().chain(&self.state.follow_ups);
        let bytes: usize = all().map(|item| weight(&item.input)).sum();
        all().count() < most as usize && bytes + weight(input) <= MOST_BYTES
    }

    /// Adds an item; returns its place in its list, from 1.
    pub fn push(&mut self, item: QueueItem) -> usize {
        let kind = item.kind;
        self.append(item);
        list(&mut self.state, kind).len()
    }

    /// Changes what is queued; false if the item is no longer there.
    pub fn edit(&mut self, change: QueueEdit) -> bool {
        match change {
            QueueEdit::Resume => self.set_paused(false),
            QueueEdit::Remove(id) => {
                if !self.forget(id) {
                    return false;
                }
                self.gone(id);
            }
            QueueEdit::Replace(id, input) => {
                let Some((list, at)) = self.find(id) else {
                    return false;
                };
                list[at].input = input;
                let item = list[at].clone();
                self.write(&item);
            }
            QueueEdit::Move(id, to) => {
                let Some((list, at)) = self.find(id) else {
                    return false;
                };
                let item = list.remove(at);
                let to = to.min(list.len());
                list.insert(to, item.clone());
                self.settle(&item, to);
            }
        }
        true
    }

    /// Takes all guidance out.
    pub fn take_guidance(&mut self) -> Vec<QueueItem> {
        let items = std::mem::take(&mut self.state.guidance);
        for item in &items {
            self.gone(item.id);
        }
        items
    }

    /// Takes the first follow-up out.
    pub fn take_follow_up(&mut self) -> Option<QueueItem> {
        if self.state.follow_ups.is_empty() {
            return None;
        }
        let item = self.state.follow_ups.remove(0);
        self.gone(item.id);
        Some(item)
    }

    /// What is paused never goes on by itself.
    pub fn set_paused(&mut self, paused: bool) {
        if self.state.paused != paused {
            self.state.paused = paused;
            let value = if paused {
                Value::Bool(true)
            } else {
                Value::Null
            };
            self.unwritten.push((PAUSED.to_owned(), value));
        }
    }

    /// The values that are to be written, in order. With nothing left there is nothing to pause.
    pub fn unwritten(&mut self) -> Vec<(String, Value)> {
        if self.is_empty() {
            self.set_paused(false);
        }
        self.told.stale = true;
        std::mem::take(&mut self.unwritten)
    }

    /// When a change is to be announced. A queue that was emptied, or is paused or goes on, is told at once.
    pub fn tell(&mut self, now: Millis) -> Tell {
        let told = &mut self.told;
        let next = told.at.map_or(now, |at| at + TELL_EVERY);
        // a clock that went back must not hold it back
        let due = now >= next || told.at.is_some_and(|at| now < at);
        let at_once = self.state.paused != told.paused || self.is_empty();
        let told = &mut self.told;
        if due || at_once {
            told.at = Some(now);
            told.paused = self.state.paused;
            told.stale = false;
            Tell::Now
        } else if told.timer {
            Tell::Later
        } else {
            told.timer = true;
            Tell::At(next)
        }
    }

    /// The timer has ended; true if there is something to announce.
    pub const fn timer_ended(&mut self, now: Millis) -> bool {
        self.told.timer = false;
        let stale = self.told.stale;
        if stale {
            self.told.at = Some(now);
            self.told.stale = false;
        }
        stale
    }

    fn append(&mut self, item: QueueItem) {
        let last = list(&mut self.state, item.kind).last().map(|item| item.id);
        let last = last.and_then(|id| self.places.get(&id)).copied();
        let place = last.map_or(0, |last| last.saturating_add(ROOM));
        self.places.insert(item.id, place);
        self.write(&item);
        list(&mut self.state, item.kind).push(item);
    }

    /// Gives an item that was moved to `at` a place between its neighbours. If there is none, all of its list get
    /// new ones.
    fn settle(&mut self, item: &QueueItem, at: usize) {
        let list = list(&mut self.state, item.kind);
        let place = |at: Option<usize>| -> Option<i64> {
            let id = list.get(at?)?.id;
            self.places.get(&id).copied()
        };
        let (before, after) = (place(at.checked_sub(1)), place(at.checked_add(1)));
        let between = match (before, after) {
            (None, None) => Some(0),
            (Some(before), None) => before.checked_add(ROOM),
            (None, Some(after)) => after.checked_sub(ROOM),
            (Some(before), Some(after)) => {
                let middle = i64::midpoint(before, after);
                (before < middle && middle < after).then_some(middle)
            }
        };
        if let Some(place) = between {
            self.places.insert(item.id, place);
            return self.write(item);
        }
        let items = list.clone();
        for (place, item) in (0..).step_by(ROOM as usize).zip(&items) {
            self.places.insert(item.id, place);
            self.write(item);
        }
    }

    fn write(&mut self, item: &QueueItem) {
        let stored = Stored {
            place: self.places.get(&item.id).copied().unwrap_or_default(),
            item: item.clone(),
        };
        // our own plain types always serialise
        if let Ok(value) = serde_json::to_value(stored) {
            self.unwritten.push((name_of(item.id), value));
        }
    }

    /// An item that is out of its list leaves the store.
    fn gone(&mut self, id: QueueId) {
        self.places.remove(&id);
        self.unwritten.push((name_of(id), Value::Null));
    }

    fn forget(&mut self, id: QueueId) -> bool {
        self.places.remove(&id);
        let found = self.find(id).map(|(list, at)| list.remove(at));
        found.is_some()
    }

    fn find(&mut self, id: QueueId) -> Option<(&mut Vec<QueueItem>, usize)> {
        let state = &mut self.state;
        if let Some(at) = state.guidance.iter().position(|i| i.id == id) {
            return Some((&mut state.guidance, at));
        }
        let at = state.follow_ups.iter().position(|i| i.id == id)?;
        Some((&mut state.follow_ups, at))
    }
}

fn list(state: &mut QueueState, kind: QueueKind) -> &mut Vec<QueueItem> {
    match kind {
        QueueKind::Guidance => &mut state.guidance,
        QueueKind::FollowUp => &mut state.follow_ups,
    }
}

fn name_of(id: QueueId) -> String {
    format!("{ITEM}{id}")
}

/// Bytes that a prompt takes while it waits.
fn weight(input: &PromptInput) -> usize {
    let file = |file: &FilePart| file.name.len() + 100;
    input.text.len() + input.files.iter().map(file).sum::<usize>()
}

/// Joins queued prompts into one: one is used as is; two are prefixed `First: ` and `Also: `; three or
/// more `[1]: `, `[2]: `, …; separated by a blank line. Files keep their order.
pub fn coalesce(items: &[QueueItem]) -> PromptInput {
    let texts: Vec<&str> = items.iter().map(|i| i.input.text.as_str()).collect();
    let files: Vec<FilePart> = items.iter().flat_map(|i| i.input.files.clone()).collect();
    let text = match texts.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first, second] => format!("First: {first}\n\nAlso: {second}"),
        many => many
            .iter()
            .enumerate()
            .map(|(at, text)| format!("[{}]: {text}", at + 1))
            .collect::<Vec<_>>()
            .join("\n\n"),
    };
    PromptInput { text, files }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
