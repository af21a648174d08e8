//! What this session has read, so that nothing is edited blindly or on top of somebody else's change.
//!
//! `read`, `edit`, `write` and `apply_patch` record; `edit` and `write` check; the context module lists
//! the files after a compaction. Holds hashes, never contents.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::protocol::Millis;

/// A file changed within this time of its last recording may have kept its time stamp.
const RACY: i128 = 20_000_000;

/// How a file stands to what the session knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It is as it was when it was read or written last.
    Fresh,
    /// This session has neither read nor written it.
    NeverRead,
    /// It changed, or it is gone.
    ChangedSince,
}

/// One file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadEntry {
    /// The file, resolved.
    pub path: PathBuf,
    /// BLAKE3 of the content, hex; none for files too large to be hashed on every read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Modification time in nanoseconds since the epoch.
    pub mtime: i128,
    /// Size in bytes.
    pub size: u64,
    /// When it was recorded.
    pub when: Millis,
    /// The encoding that its bytes were first taken for, where that is a guess.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// One line of the list of files read so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// The file, resolved.
    pub path: PathBuf,
    /// BLAKE3 of the content that was read, hex.
    pub hash: Option<String>,
    /// When it was read or written last.
    pub when: Millis,
    /// True if it changed since, or is gone.
    pub changed: bool,
}

/// The ledger of one session. Cheap to ask; the lock is never held while a file is read.
#[derive(Debug, Default)]
pub struct ReadLedger {
    entries: Mutex<BTreeMap<PathBuf, ReadEntry>>,
}

impl ReadLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// A ledger as `state` left it.
    pub fn restore(state: Vec<ReadEntry>) -> Self {
        let entries = state.into_iter().map(|entry| (entry.path.clone(), entry));
        Self {
            entries: Mutex::new(entries.collect()),
        }
    }

    /// Everything in it, to be stored with the session; sorted by path.
    pub fn state(&self) -> Vec<ReadEntry> {
        self.lock().values().cloned().collect()
    }

    /// Notes that the session knows the file with this content. `meta` must have been taken before
    /// the content was read, or after it was written; `content` is none for files read in pieces.
    pub fn record(&self, path: &Path, content: Option<&[u8]>, meta: &Metadata, now: Millis) {
        let mut entries = self.lock();
        let encoding = entries.get(path).and_then(|known| known.encoding.clone());
        let entry = ReadEntry {
            path: path.to_owned(),
            hash: content.map(|bytes| blake3::hash(bytes).to_hex().to_string()),
            mtime: mtime(meta),
            size: meta.len(),
            when: now,
            encoding,
        };
        entries.insert(path.to_owned(), entry);
    }

    /// Remembers the encoding that a file was taken for, so that it is not guessed anew.
    pub fn note_encoding(&self, path: &Path, encoding: &str) {
        if let Some(entry) = self.lock().get_mut(path) {
            entry.encoding = Some(encoding.to_owned());
        }
    }

    /// The encoding that a file was taken for, where it was a guess.
    pub fn encoding(&self, path: &Path) -> Option<String> {
        self.lock().get(path)?.encoding.clone()
    }

    /// The files that were read or written since an instant.
    pub fn noted_since(&self, when: Millis) -> Vec<PathBuf> {
        let entries = self.lock();
        let newer = entries.values().filter(|entry| entry.when >= when);
        newer.map(|entry| entry.path.clone()).collect()
    }

    /// Forgets a file that the session deleted or moved.
    pub fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }

    /// Compares a file with what is known. Reads it again only if its time stamp or size differ, or
    /// if it was recorded so soon after its last change that the stamp proves nothing.
    pub fn check(&self, path: &Path) -> Freshness {
        let Some(entry) = self.lock().get(path).cloned() else {
            return Freshness::NeverRead;
        };
        let Ok(meta) = std::fs::metadata(path) else {
            return Freshness::ChangedSince;
        };
        let same_stamp = mtime(&meta) == entry.mtime && meta.len() == entry.size;
        let racy = entry.mtime + RACY >= i128::from(entry.when) * 1_000_000;
        let same = match &entry.hash {
            Some(_) if same_stamp && !racy => true,
            Some(hash) => meta.len() == entry.size && hash_file(path).as_ref() == Some(hash),
            None => same_stamp,
        };
        if same {
            Freshness::Fresh
        } else {
            Freshness::ChangedSince
        }
    }

    /// The same for a file whose content was just loaded; trusts only the content.
    pub fn check_content(&self, path: &Path, content: &[u8]) -> Freshness {
        let entries = self.lock();
        let Some(entry) = entries.get(path) else {
            return Freshness::NeverRead;
        };
        let same = if let Some(hash) = &entry.hash {
            entry.size == content.len() as u64
                && *hash.as_str() == *blake3::hash(content).to_hex().as_str()
        } else {
            let (size, time) = (entry.size, entry.mtime);
            drop(entries);
            std::fs::metadata(path).is_ok_and(|meta| meta.len() == size && mtime(&meta) == time)
        };
        if same {
            Freshness::Fresh
        } else {
            Freshness::ChangedSince
        }
    }

    /// The files read so far, sorted by path, and whether each changed since. Looks at the disk.
    pub fn list(&self) -> Vec<ReadFile> {
        let entries = self.state();
        entries
            .into_iter()
            .map(|entry| ReadFile {
                changed: self.check(&entry.path) == Freshness::ChangedSince,
                path: entry.path,
                hash: entry.hash,
                when: entry.when,
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, ReadEntry>> {
        // a panic elsewhere cannot leave a half-written entry: every change is one insert or remove
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Modification time in nanoseconds since the epoch, negative before it.
pub(crate) fn mtime(meta: &Metadata) -> i128 {
    let Ok(time) = meta.modified() else { return 0 };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
    }
}

fn hash_file(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some(hasher.finalize().to_hex().to_string()),
            Ok(read) => _ = hasher.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_unreadable) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("a.txt");
        fs::write(&path, text).expect("a file");
        (dir, path)
    }

    fn note(ledger: &ReadLedger, path: &Path) {
        let meta = fs::metadata(path).expect("metadata");
        let bytes = fs::read(path).expect("content");
        ledger.record(
            path,
            Some(&bytes),
            &meta,
            (mtime(&meta) / 1_000_000) as Millis,
        );
    }

    #[test]
    fn a_file_is_unread_then_fresh_then_changed() {
        let (_dir, path) = file("one");
        let ledger = ReadLedger::new();
        assert_eq!(ledger.check(&path), Freshness::NeverRead);
        note(&ledger, &path);
        assert_eq!(ledger.check(&path), Freshness::Fresh);
        fs::write(&path, "two").expect("a change of the same size");
        assert_eq!(ledger.check(&path), Freshness::ChangedSince);
        assert_eq!(ledger.check_content(&path, b"one"), Freshness::Fresh);
        assert_eq!(ledger.check_content(&path, b"two"), Freshness::ChangedSince);
        fs::remove_file(&path).expect("gone");
        assert_eq!(ledger.check(&path), Freshness::ChangedSince);
        ledger.forget(&path);
        assert_eq!(ledger.check(&path), Freshness::NeverRead);
    }

    #[test]
    fn a_touched_file_with_the_same_content_is_fresh() {
        let (_dir, path) = file("one");
        let ledger = ReadLedger::new();
        note(&ledger, &path);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
        let handle = fs::File::options().append(true).open(&path).expect("open");
        handle.set_modified(later).expect("touch");
        assert_eq!(ledger.check(&path), Freshness::Fresh);
    }

    #[test]
    fn a_change_that_kept_size_and_time_is_seen_when_it_was_recent() {
        let (_dir, path) = file("one");
        let ledger = ReadLedger::new();
        note(&ledger, &path);
        let time = fs::metadata(&path)
            .expect("metadata")
            .modified()
            .expect("time");
        fs::write(&path, "two").expect("change");
        let handle = fs::File::options().append(true).open(&path).expect("open");
        handle.set_modified(time).expect("same time stamp");
        assert_eq!(ledger.check(&path), Freshness::ChangedSince);
    }

    #[test]
    fn the_state_survives_a_round_trip_and_lists_changes() {
        let (dir, path) = file("one");
        let other = dir.path().join("b.txt");
        fs::write(&other, "b").expect("a file");
        let ledger = ReadLedger::new();
        note(&ledger, &path);
        note(&ledger, &other);
        let json = serde_json::to_string(&ledger.state()).expect("serialises");
        let back = ReadLedger::restore(serde_json::from_str(&json).expect("parses"));
        assert_eq!(back.state(), ledger.state());
        fs::write(&other, "changed").expect("change");
        let changed: Vec<bool> = back.list().iter().map(|file| file.changed).collect();
        assert_eq!(changed, [false, true]);
    }
}
