//! The items of a Responses answer, and which of them an event speaks of.
//!
//! The rule is `output_index`: ids change between events on some servers. Where a server leaves the index
//! out, or gives all items the same, the id or the order tells. An item that is found wrongly would run
//! its call twice, so the final list is matched with great care.

use serde_json::Value;

use super::item::{Item, PartKind};
use crate::model::decode::json;

/// Where an event says that its item is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// At this index.
    pub(super) const fn at(index: u64) -> Self {
        Self {
            index: Some(index),
            id: None,
        }
    }

    /// What this event says.
    pub(super) fn of(event: &'a Value) -> Self {
        Self {
            index: json::number(event, "output_index"),
            id: json::text(event, "item_id").or_else(|| json::text(&event["item"], "id")),
        }
    }
}

/// The items in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Items(Vec<(Option<u64>, Item)>);

impl Items {
    /// True if this very item was announced before.
    pub(super) fn knows(&self, at: Place<'_>, said: &Value) -> bool {
        let here = |index: Option<u64>| at.index.is_none() || index == at.index;
        self.0
            .iter()
            .any(|(index, item)| here(*index) && item.is(said))
    }

    /// Adds an item that the server announced; gives back the unfinished one whose place it takes.
    pub(super) fn add(&mut self, at: Place<'_>, item: Item) -> Option<Item> {
        let old = at
            .index
            .and_then(|_| self.position(at))
            .filter(|old| !self.0[*old].1.is_done())
            .map(|old| self.0.remove(old).1);
        self.0.push((at.index, item));
        old
    }

    /// Adds an item that nothing was heard of before.
    pub(super) fn push(&mut self, at: Place<'_>, item: Item) -> &mut Item {
        let last = self.0.len();
        self.0.push((at.index, item));
        &mut self.0[last].1
    }

    /// The item with this number in order of appearance.
    pub(super) fn get(&mut self, number: usize) -> Option<&mut Item> {
        self.0.get_mut(number).map(|(_, item)| item)
    }

    /// The item at a place.
    pub(super) fn find(&mut self, at: Place<'_>) -> Option<&mut Item> {
        let found = self.position(at)?;
        self.get(found)
    }

    /// The item at a place, provided that it can have such a part.
    pub(super) fn find_for(&mut self, at: Place<'_>, part: PartKind) -> Option<&mut Item> {
        let fits = |item: &Item| item.takes(part);
        let found = match at.index {
            Some(_) => self.position(at),
            None => self
                .by_id(at.id)
                .or_else(|| self.0.iter().rposition(|(_, item)| fits(item))),
        };
        self.get(found?).filter(|item| fits(item))
    }

    fn by_id(&self, id: Option<&str>) -> Option<usize> {
        let id = id?;
        self.0.iter().rposition(|(_, item)| item.id() == Some(id))
    }

    fn position(&self, at: Place<'_>) -> Option<usize> {
        match at.index {
            Some(index) => self.0.iter().rposition(|(known, _)| *known == Some(index)),
            None => self.by_id(at.id).or_else(|| self.0.len().checked_sub(1)),
        }
    }

    /// The item that ends with what is said of it here.
    pub(super) fn ended_by(&self, at: Place<'_>, said: &Value) -> Option<usize> {
        if at.index.is_some() {
            return self.position(at).filter(|found| {
                // the same index for all: what is done already is another one
                let item = &self.0[*found].1;
                !item.is_done() || item.is(said)
            });
        }
        let open = |(_, item): &(Option<u64>, Item)| !item.is_done() && item.is_kind(said);
        self.by_id(at.id).or_else(|| self.0.iter().position(open))
    }

    /// Which items those of the final list are; none for those that nothing was heard of. Some servers
    /// leave numbers out, count from 1 or do not count: as many items as came are the same items in
    /// the same order.
    pub(super) fn places(&self, list: &[Value]) -> Vec<Option<usize>> {
        if self.0.len() == list.len() {
            let mut order: Vec<usize> = (0..list.len()).collect();
            order.sort_by_key(|at| self.0[*at].0.unwrap_or(0));
            return order.into_iter().map(Some).collect();
        }
        let mut free: Vec<bool> = vec![true; self.0.len()];
        let mut take = |found: Option<usize>| {
            let found = found.filter(|at| free[*at])?;
            free[found] = false;
            Some(found)
        };
        (0_u64..)
            .zip(list)
            .map(|(index, said)| {
                let at = Place::at(index);
                let same = |(_, item): &(Option<u64>, Item)| item.is(said);
                let by_index = self.position(at).filter(|at| self.0[*at].1.is_kind(said));
                take(self.0.iter().position(same)).or_else(|| take(by_index))
            })
            .collect()
    }

    /// Calls are no longer known: not even as cut ones, for what belongs to which answer is a guess.
    pub(super) fn forget_calls(&mut self) {
        self.0.retain(|(_, item)| !item.is_open_call());
    }

    /// Takes all items out.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Item> + use<> {
        let mut items = std::mem::take(&mut self.0);
        items.sort_by_key(|(index, _)| index.unwrap_or(0));
        items.into_iter().map(|(_, item)| item)
    }
}
