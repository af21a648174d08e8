//! Finished layouts, the least recently used ones forgotten.
//!
//! Used by the transcript. At most 64 layouts or 8 MiB, but never fewer than a frame needs.

use std::collections::HashMap;
use std::sync::Arc;

use super::row::Row;

/// Layouts that are kept.
const LAYOUTS: usize = 64;

/// Bytes that are kept.
const BYTES: usize = 8 * 1024 * 1024;

/// Which layout: the cell's own number, and which of its layouts.
pub type Key = (u64, u32);

/// All that a layout was made from; another stamp means it is old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Columns.
    pub width: u16,
    /// Which theme.
    pub theme: u32,
    /// Which version of the cell.
    pub revision: u64,
    /// Spinner and seconds, for cells that show them.
    pub tick: u64,
    /// True if all of it is shown.
    pub unfolded: bool,
    /// Which highlighting results.
    pub colours: u64,
}

#[derive(Debug)]
struct Slot {
    rows: Arc<[Row]>,
    stamp: Stamp,
    used: u64,
    bytes: usize,
}

/// Finished layouts.
#[derive(Debug, Default)]
pub struct Cache {
    slots: HashMap<Key, Slot>,
    bytes: usize,
    frame: u64,
}

impl Cache {
    /// A new frame: what it uses stays until the next one.
    pub const fn begin(&mut self) {
        self.frame += 1;
    }

    /// The layout if it is still good.
    pub fn get(&mut self, key: Key, stamp: Stamp) -> Option<Arc<[Row]>> {
        let slot = self
            .slots
            .get_mut(&key)
            .filter(|slot| slot.stamp == stamp)?;
        slot.used = self.frame;
        Some(Arc::clone(&slot.rows))
    }

    /// Keeps a layout.
    pub fn put(&mut self, key: Key, stamp: Stamp, rows: Arc<[Row]>) {
        let bytes = rows.iter().map(Row::weight).sum();
        self.bytes += bytes;
        let slot = Slot {
            rows,
            stamp,
            used: self.frame,
            bytes,
        };
        if let Some(old) = self.slots.insert(key, slot) {
            self.bytes -= old.bytes;
        }
        if self.slots.len() > LAYOUTS + LAYOUTS / 4 || self.bytes > BYTES {
            self.evict();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.bytes = 0;
    }

    /// Layouts and bytes that are kept now.
    pub fn size(&self) -> (usize, usize) {
        (self.slots.len(), self.bytes)
    }

    fn evict(&mut self) {
        let mut ages: Vec<(u64, Key)> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.used < self.frame)
            .map(|(key, slot)| (slot.used, *key))
            .collect();
        ages.sort_unstable();
        for (_, key) in ages {
            if self.slots.len() <= LAYOUTS && self.bytes <= BYTES {
                break;
            }
            if let Some(slot) = self.slots.remove(&key) {
                self.bytes -= slot.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_layouts_go_and_those_of_this_frame_stay() {
        let mut cache = Cache::default();
        for n in 0..200 {
            cache.begin();
            cache.put((n, 0), Stamp::default(), Arc::from([Row::BLANK]));
        }
        assert!(cache.size().0 <= LAYOUTS + LAYOUTS / 4);
        assert!(cache.get((199, 0), Stamp::default()).is_some());
        assert!(cache.get((0, 0), Stamp::default()).is_none());
        cache.begin();
        for n in 1000..1200 {
            cache.put((n, 0), Stamp::default(), Arc::from([Row::BLANK]));
        }
        assert!((1000..1200).all(|n| cache.get((n, 0), Stamp::default()).is_some()));
    }

    #[test]
    fn another_stamp_is_no_hit() {
        let mut cache = Cache::default();
        cache.put((1, 0), Stamp::default(), Arc::from([Row::BLANK]));
        assert!(
            cache
                .get(
                    (1, 0),
                    Stamp {
                        width: 9,
                        ..Stamp::default()
                    }
                )
                .is_none()
        );
    }
}
