//! Which snapshots open processes hold: trees that no journal names yet, or no more.
//!
//! Each owner notes its newest trees in a small file of its own below `held/` in the store, which it keeps
//! locked as long as it lives: the first tree of a dunlin that was just opened, or has been idle for days, is
//! in no journal, and its objects may be old. Collections mark these trees as well (`gc`), and remove the
//! files of those that died. A collection reads the journals before it marks; so a tree that was replaced
//! within the hour still counts, for a step that is written down meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use super::tree::Id;
use crate::config::private;

/// A tree that was replaced longer ago is in a journal if anybody needs it.
const REPLACED: Duration = Duration::from_hours(1);
/// Where locks do not work, a file that was not touched for so long is of a process that died.
const FORGOTTEN: Duration = Duration::from_hours(24 * 7);
/// What a file is called until it is locked.
const NEW: &str = "new-";
/// So many trees are noted, the oldest is overwritten.
const SLOTS: u64 = 256;
/// Milliseconds in 16 digits, a space, the tree in 40, a newline.
const SLOT: usize = 58;

fn folder(store: &Path) -> PathBuf {
    store.join("held")
}

fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

/// The note of one owner. Goes when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    file: File,
    path: PathBuf,
    noted: u64,
    last: u64,
}

impl Held {
    /// Makes an empty note.
    pub(super) fn begin(store: &Path) -> io::Result<Self> {
        let folder = folder(store);
        private::make_folder(&folder)?;
        // who only ever runs single prompts never collects
        let _others = trees(store, SystemTime::now(), true);
        let name = format!("{}-{}", std::process::id(), uuid::Uuid::now_v7().simple());
        let (fresh, path) = (folder.join(format!("{NEW}{name}")), folder.join(name));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        // where nothing can be locked its age is what counts
        _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        fs::rename(&fresh, &path)?;
        Ok(Self {
            file,
            path,
            noted: 0,
            last: 0,
        })
    }

    /// This tree is the newest now.
    pub(super) fn note(&mut self, tree: Id) -> io::Result<()> {
        // in order, also where the clock goes back
        let at = millis(SystemTime::now()).max(self.last + 1);
        let slot = format!("{at:016} {tree}\n");
        let place = self.noted % SLOTS * SLOT as u64;
        self.file.write_all_at(slot.as_bytes(), place)?;
        self.noted += 1;
        self.last = at;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// The trees that open processes hold, newest first per process. With `clear` the notes of those that died
/// are removed.
pub(super) fn trees(store: &Path, now: SystemTime, clear: bool) -> Vec<Id> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(store)).into_iter().flatten().flatten() {
        let path = entry.path();
        let old = |limit: Duration| {
            let at = entry.metadata().and_then(|facts| facts.modified()).ok();
            at.and_then(|at| now.duration_since(at).ok())
                .is_some_and(|age| age > limit)
        };
        let is_new = entry.file_name().to_string_lossy().starts_with(NEW);
        let dead = if is_new {
            old(REPLACED)
        } else {
            match is_free(&path) {
                Some(free) => free,
                None => old(FORGOTTEN),
            }
        };
        if dead {
            if clear {
                drop(fs::remove_file(&path));
            }
            continue;
        }
        found.extend(noted(&fs::read(&path).unwrap_or_default(), now));
    }
    found
}

/// True if nobody has the file locked; none where that cannot be known.
fn is_free(path: &Path) -> Option<bool> {
    let file = File::open(path).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Some(true),
        Err(error) if io::Error::from(error).kind() == ErrorKind::WouldBlock => Some(false),
        Err(_no_locks) => None,
    }
}

/// The trees of a note that count. A slot that is just being written names nothing that is there, which
/// does no harm: all it shares with the one before is marked with that one.
fn noted(bytes: &[u8], now: SystemTime) -> Vec<Id> {
    let mut slots: Vec<(u64, Id)> = bytes
        .chunks_exact(SLOT)
        .filter_map(|slot| {
            let (at, tree) = std::str::from_utf8(slot).ok()?.trim_end().split_once(' ')?;
            Some((at.parse().ok()?, Id::from_hex(tree)?))
        })
        .collect();
    slots.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
    let since = millis(now).saturating_sub(REPLACED.as_millis() as u64);
    let newest = slots.first().map(|(_, tree)| *tree);
    let replaced = slots.windows(2).filter(|pair| pair[0].0 >= since);
    newest
        .into_iter()
        .chain(replaced.map(|pair| pair[1].1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> Id {
        Id([n; 20])
    }

    #[test]
    fn the_newest_tree_is_held_for_good_and_one_before_for_an_hour() {
        let store = tempfile::tempdir().expect("temp");
        let now = SystemTime::now();
        let mut held = Held::begin(store.path()).expect("begin");
        assert!(trees(store.path(), now, true).is_empty());
        held.note(id(1)).expect("note");
        held.note(id(2)).expect("note");
        assert_eq!(trees(store.path(), now, true), [id(2), id(1)]);
        let later = now + Duration::from_hours(24 * 30);
        assert_eq!(trees(store.path(), later, true), [id(2)]);
        drop(held);
        assert!(trees(store.path(), now, true).is_empty());
    }

    #[test]
    fn the_file_does_not_grow_for_ever_and_keeps_the_newest() {
        let store = tempfile::tempdir().expect("temp");
        let mut held = Held::begin(store.path()).expect("begin");
        for n in 0..=255 {
            held.note(id(n)).expect("note");
        }
        for n in 0..10 {
            held.note(id(n)).expect("note");
        }
        let found = trees(store.path(), SystemTime::now(), true);
        assert_eq!((found.len(), found[0], found[255]), (256, id(9), id(10)));
        let size = fs::metadata(&held.path).expect("facts").len();
        assert_eq!(size, SLOTS * SLOT as u64);
    }

    #[test]
    fn the_note_of_a_dead_process_goes_and_a_torn_one_names_nothing() {
        let store = tempfile::tempdir().expect("temp");
        let folder = folder(store.path());
        private::make_folder(&folder).expect("folder");
        let dead = folder.join("1-dead");
        fs::write(&dead, format!("{:016} {}\n", 5, id(3))).expect("write");
        assert!(trees(store.path(), SystemTime::now(), false).is_empty());
        assert!(dead.exists(), "only told");
        assert!(trees(store.path(), SystemTime::now(), true).is_empty());
        assert!(!dead.exists());
        assert!(noted(b"0000000000000001 0101", SystemTime::now()).is_empty());
        assert!(noted(&[0xff; 3 * SLOT], SystemTime::now()).is_empty());
    }
}
