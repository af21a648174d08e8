//! The queried view of one session on disk. This file and its folder are all that names sled: here it is
//! opened, followed and written in batches; `apply` turns records into keys, `read` keys into pages.
//!
//! sled is a mirror of the journal, never the only copy: it may lag, open empty, panic or hang, and
//! is then thrown away and made again. Only the view thread (`view`) calls in here. Every entry
//! point runs under `catch_unwind`, because sled 0.34 panics on most damage.
//!
//! Keys (big-endian, one tree): `00` mark · `01 message` header · `01 message part n` pieces of a
//! part: its JSON from 0 on, text appended since from `APPENDED` on · `03 len name n` values ·
//! `04 n` session facts · `05 message n` rest of a long header · `06 message` check of a message
//! (`check`): sled can lose single pages without a word, so every page that is read is verified. Values are at most `CHUNK` bytes:
//! larger tree pages would become blob files, which sled never syncs.

mod apply;
mod quiet;
mod read;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::check::{Check, sum};
use super::error::StoreError;
use super::facts::Facts;
use super::journal::{Found, Lines};
use super::keys::{
    MARK, MESSAGE, check_key, header_rest, message_key, message_of, part_key, piece, split_key,
};
use super::place::make_folder;
use super::record::{self, FORMAT, Line, Order, Stored, Unreadable, WIDEST_GAP};
use super::repeats::Repeats;
use crate::protocol::{Message, MessageId, PartId, SessionId};

/// Largest value.
const CHUNK: usize = 4_000;
/// First piece number of text that was appended after the part was written.
const APPENDED: u32 = 0x8000_0000;
/// Changes when the keys or the mark change; a view of another format is made again.
const VIEW_FORMAT: u32 = 1;
/// Keys and bytes that are gathered before they go to sled as one batch.
const BATCH_KEYS: usize = 512;
const BATCH_BYTES: usize = 512 << 10;
/// sled lets go of its lock a little after it was dropped.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// How far the view has followed the journal.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Mark {
    view: u32,
    /// Number of the last commit applied.
    n: u64,
    /// Offsets of its line in the journal, and the first bytes of that line (its checksum).
    start: u64,
    end: u64,
    sum: String,
    facts: Facts,
    damaged: u64,
    /// Sum over the keys and values of named values and session facts.
    values: u32,
}

/// The open view.
pub(super) struct Db {
    session: SessionId,
    tree: sled::Db,
    mark: Mark,
    /// Writes of the batch being gathered; none deletes.
    overlay: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    overlay_bytes: usize,
    /// Checks that changed in this batch.
    checks: BTreeMap<MessageId, Check>,
    /// Unusable lines since the last commit.
    unusable: u64,
    repeats: Repeats,
    /// Messages of parts that may still grow; a cache.
    owners: HashMap<PartId, MessageId>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db").field("mark", &self.mark).finish()
    }
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::View(error.to_string())
}

/// Runs `work`, turning a panic of sled into an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(StoreError::View(format!("it panicked: {text}")))
    })
}

/// Whether the mark fits the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It stands at the end of a line of this journal (lines after it may be missing).
    Sound,
    /// It is empty, of another format, or of a journal that was cut: make it again.
    Useless,
}

impl Db {
    /// Opens or creates the view of a session in the folder `path`.
    pub(super) fn open(session: SessionId, path: &Path) -> Result<Self, StoreError> {
        guarded(|| {
            let tree = Self::open_sled(path)?;
            let mark = match tree.get(MARK).map_err(failed)? {
                Some(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
                None => Mark::default(),
            };
            Ok(Self {
                session,
                tree,
                mark,
                overlay: BTreeMap::new(),
                overlay_bytes: 0,
                checks: BTreeMap::new(),
                unusable: 0,
                repeats: Repeats::default(),
                owners: HashMap::new(),
            })
        })
    }

    fn open_sled(path: &Path) -> Result<sled::Db, StoreError> {
        // What sled makes itself is as open as the umask says. What stands in the way here sled says too,
        // as a view that cannot be used.
        drop(make_folder(&path.join("blobs")));
        let config = sled::Config::default()
            .path(path)
            .mode(sled::Mode::LowSpace)
            .cache_capacity(8 << 20)
            // the default wakes twice a second for ever
            .flush_every_ms(None);
        let since = Instant::now();
        loop {
            match quiet::opened(|| config.open()) {
                Err(sled::Error::Io(error))
                    if error.to_string().contains("lock") && since.elapsed() < LOCK_PATIENCE =>
                {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
                other => return other.map_err(failed),
            }
        }
    }

    /// Compares the mark with the journal.
    pub(super) fn fit(&self, journal: &Path) -> Fit {
        let known = self.mark.view == VIEW_FORMAT;
        // such a number was believed once, and no commit can follow it
        if self.mark.n == 0 || self.mark.n > WIDEST_GAP || !known {
            return Fit::Useless;
        }
        match self.line_is_there(journal) {
            Ok(true) => Fit::Sound,
            _ => Fit::Useless,
        }
    }

    fn line_is_there(&self, journal: &Path) -> io::Result<bool> {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::open(journal)?;
        let mut sum = vec![0; self.mark.sum.len()];
        file.read_exact_at(&mut sum, self.mark.start)?;
        let mut last = [0];
        file.read_exact_at(&mut last, self.mark.end.saturating_sub(1))?;
        Ok(sum.eq_ignore_ascii_case(self.mark.sum.as_bytes()) && last == [b'\n'])
    }

    /// Number of the last commit that counts.
    pub(super) const fn n(&self) -> u64 {
        self.mark.n
    }

    /// True if the view holds nothing at all yet.
    pub(super) const fn is_new(&self) -> bool {
        self.mark.n == 0
    }

    pub(super) const fn facts(&self) -> &Facts {
        &self.mark.facts
    }

    /// Lines and records of the journal that could not be used.
    pub(super) const fn damaged(&self) -> u64 {
        self.mark.damaged
    }

    /// Applies what the journal holds beyond the mark, up to `to`.
    pub(super) fn catch_up(&mut self, journal: &Path, to: u64) -> Result<(), StoreError> {
        if self.mark.end >= to {
            return Ok(());
        }
        guarded(|| self.follow(journal, to))
    }

    fn follow(&mut self, journal: &Path, to: u64) -> Result<(), StoreError> {
        let io = |e: io::Error| StoreError::io("read the journal", journal, e);
        let mut lines = Lines::open(journal, self.mark.end, Some(to)).map_err(io)?;
        let file = lines.file();
        self.mark.view = VIEW_FORMAT;
        while let Some(found) = lines.next().map_err(io)? {
            match found {
                Found::Damaged { end } => {
                    self.mark.damaged += 1;
                    self.unusable += 1;
                    self.mark.end = end;
                    continue;
                }
                Found::Line { json, start, end } => {
                    match record::decode(json) {
                        Ok(line) => {
                            let order = Order::of(line.n, self.mark.n, self.unusable);
                            let again = order == Order::Again
                                && self.repeats.has(&file, json, start).map_err(io)?;
                            if !again {
                                self.commit(&line, order)?;
                            }
                        }
                        Err(Unreadable::Newer(found)) => {
                            return Err(StoreError::Newer {
                                path: journal.to_owned(),
                                found,
                                known: FORMAT,
                            });
                        }
                        Err(Unreadable::Malformed) => {
                            self.mark.damaged += 1;
                            self.unusable += 1;
                        }
                    }
                    self.mark.start = start;
                    self.mark.end = end;
                    self.mark.sum = format!("{:08x} ", crc32fast::hash(json));
                }
            }
            if self.overlay.len() > BATCH_KEYS || self.overlay_bytes > BATCH_BYTES {
                self.write_batch()?;
            }
        }
        self.write_batch()
    }

    fn commit(&mut self, line: &Line<'_>, order: Order) -> Result<(), StoreError> {
        self.mark.damaged += u64::from(order != Order::Next);
        if !order.counts() {
            self.unusable += u64::from(order == Order::Senseless);
            return Ok(());
        }
        (self.mark.n, self.unusable) = (line.n, 0);
        let mut named = line.records.iter().filter_map(Stored::session);
        if named.any(|id| id != self.session) {
            self.mark.damaged += 1;
            return Ok(());
        }
        for record in &line.records {
            self.apply(record)?;
        }
        Ok(())
    }

    /// Hands the gathered writes and the mark to sled, all or nothing.
    fn write_batch(&mut self) -> Result<(), StoreError> {
        let mut batch = sled::Batch::default();
        for (key, value) in std::mem::take(&mut self.overlay) {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        for (message, check) in std::mem::take(&mut self.checks) {
            batch.insert(check_key(message), check.to_bytes().as_slice());
        }
        self.overlay_bytes = 0;
        batch.insert(MARK, serde_json::to_vec(&self.mark).map_err(failed)?);
        self.tree.apply_batch(batch).map_err(failed)
    }

    /// Sets a value, or removes it; `fresh` says that the key is new.
    fn put(&mut self, key: Vec<u8>, new: Option<&[u8]>, fresh: bool) -> Result<(), StoreError> {
        let old = if fresh { None } else { self.get(&key)? };
        let of = |value: Option<&[u8]>| value.map_or(0, |value| sum(&key, value));
        let change = of(old.as_deref()) ^ of(new);
        match message_of(&key) {
            Some(message) => self.change(message, |check| check.sum ^= change)?,
            None => self.mark.values ^= change,
        }
        self.overlay_bytes += key.len() + new.map_or(0, <[u8]>::len);
        self.overlay.insert(key, new.map(<[u8]>::to_vec));
        Ok(())
    }

    fn check(&self, message: MessageId) -> Result<Option<Check>, StoreError> {
        if let Some(check) = self.checks.get(&message) {
            return Ok(Some(*check));
        }
        let stored = self.tree.get(check_key(message)).map_err(failed)?;
        Ok(stored.and_then(|bytes| Check::from_bytes(&bytes)))
    }

    fn change(&mut self, id: MessageId, change: impl FnOnce(&mut Check)) -> Result<(), StoreError> {
        let mut check = self.check(id)?.unwrap_or_default();
        change(&mut check);
        self.checks.insert(id, check);
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.overlay.get(key) {
            Some(value) => Ok(value.clone()),
            None => Ok(self.tree.get(key).map_err(failed)?.map(|v| v.to_vec())),
        }
    }

    /// Writes `bytes` as pieces 0, 1, … under `prefix` and removes every other piece there (a
    /// `fresh` prefix has none).
    fn put_pieces(&mut self, prefix: &[u8], bytes: &[u8], fresh: bool) -> Result<(), StoreError> {
        let count = bytes.len().div_ceil(CHUNK).max(1) as u32;
        if !fresh {
            self.remove_pieces(prefix, count)?;
        }
        for n in 0..count {
            let from = n as usize * CHUNK;
            let to = bytes.len().min(from + CHUNK);
            self.put(piece(prefix, n), Some(&bytes[from..to]), fresh)?;
        }
        Ok(())
    }

    fn remove_pieces(&mut self, prefix: &[u8], from: u32) -> Result<(), StoreError> {
        let span = piece(prefix, from)..=piece(prefix, u32::MAX);
        let gathered = self.overlay.range(span.clone());
        let mut stale: Vec<_> = gathered.map(|(key, _)| key.clone()).collect();
        for key in self.tree.range(span).keys() {
            stale.push(key.map_err(failed)?.to_vec());
        }
        for key in stale {
            self.put(key, None, false)?;
        }
        Ok(())
    }

    fn read_message(&self, id: MessageId) -> Result<Option<Message>, StoreError> {
        match self.get(&message_key(id))? {
            Some(first) => Ok(self.parse_message(id, first)?.into()),
            None => Ok(None),
        }
    }

    fn parse_message(&self, id: MessageId, mut json: Vec<u8>) -> Result<Message, StoreError> {
        if json.len() == CHUNK {
            json.extend_from_slice(&self.read_pieces(&header_rest(id))?);
        }
        serde_json::from_slice(&json).map_err(failed)
    }

    /// Pieces 0, 1, … under `prefix` joined, appended text left out.
    fn read_pieces(&self, prefix: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        for n in 0..APPENDED {
            let Some(next) = self.get(&piece(prefix, n))? else {
                break;
            };
            bytes.extend_from_slice(&next);
            if next.len() < CHUNK {
                break;
            }
        }
        Ok(bytes)
    }

    /// The message of a part. Ids are made in order, so it is nearly always the newest message
    /// that is older than the part.
    fn owner(&self, id: PartId) -> Result<Option<MessageId>, StoreError> {
        let guess = message_key(MessageId::from_raw(id.raw()));
        let near = self
            .tree
            .range([MESSAGE].as_slice()..=guess.as_slice())
            .next_back();
        if let Some(item) = near
            && let Some((message, _)) = split_key(&item.map_err(failed)?.0)
            && self.get(&piece(&part_key(message, id), 0))?.is_some()
        {
            return Ok(Some(message));
        }
        for (key, value) in self.overlay.range(vec![MESSAGE]..vec![MESSAGE + 1]).rev() {
            if let (Some((message, Some((part, 0)))), true) = (split_key(key), value.is_some())
                && part == id
            {
                return Ok(Some(message));
            }
        }
        for key in self.tree.scan_prefix([MESSAGE]).keys().rev() {
            if let Some((message, Some((part, _)))) = split_key(&key.map_err(failed)?)
                && part == id
            {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Writes everything out and lets go of the files.
    pub(super) fn close(self) -> Result<(), StoreError> {
        guarded(move || {
            self.tree.flush().map_err(failed)?;
            drop(self.tree);
            Ok(())
        })
    }
}
