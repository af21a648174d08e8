//! Lines that stand in a journal twice, byte for byte: what a tool that copies or joins files leaves behind.
//!
//! Nothing is lost by them, so `image` and `db` pass over them without a word. What stood before is read only
//! when a line comes whose number was there already, which in a sound journal never happens.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::Arc;

use super::journal::{Found, Lines};

/// What is known of the lines before some place.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    /// Lines that begin before this offset are known.
    upto: u64,
    /// Checksum and length of each.
    known: HashSet<(u32, usize)>,
}

impl Repeats {
    /// True if the line with this JSON, which begins at `start`, stands somewhere before it too.
    pub(super) fn has(&mut self, journal: &Arc<File>, json: &[u8], start: u64) -> io::Result<bool> {
        let mut lines = Lines::of(Arc::clone(journal), self.upto, Some(start));
        while let Some(found) = lines.next()? {
            match found {
                Found::Line { json, end, .. } => {
                    self.known.insert(key(json));
                    self.upto = end;
                }
                Found::Damaged { end } => self.upto = end,
            }
        }
        Ok(self.known.contains(&key(json)))
    }
}

/// The number of the commit is in the JSON, so equal sums mean equal lines.
fn key(json: &[u8]) -> (u32, usize) {
    (crc32fast::hash(json), json.len())
}
