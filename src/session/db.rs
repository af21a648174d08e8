//! The queried view of one session on disk. The only file that names sled.
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

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{Chain, Check, sum};
use super::error::StoreError;
use super::facts::Facts;
use super::history::{PAGE_BYTES, Page};
use super::journal::{Found, Lines};
use super::keys::{
    INFO, MARK, MESSAGE, VALUE, check_key, header_rest, message_key, message_of, part_key, piece,
    split_key, value_key, value_name,
};
use super::record::{self, FORMAT, Stored, Unreadable};
use crate::protocol::{Message, MessageId, Part, PartId, SessionInfo};

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
    tree: sled::Db,
    mark: Mark,
    /// Writes of the batch being gathered; none deletes.
    overlay: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    overlay_bytes: usize,
    /// Checks that changed in this batch.
    checks: BTreeMap<MessageId, Check>,
    /// Messages of parts that may still grow; a cache.
    owners: HashMap<PartId, MessageId>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db").field("mark", &self.mark).finish()
    }
}

/// A message while it is being read backwards.
#[derive(Default)]
struct Gathered {
    message: Option<MessageId>,
    sum: u32,
    parts: Vec<Part>,
    /// Of the part being read.
    pieces: Vec<(u32, sled::IVec)>,
}

impl Gathered {
    fn of(message: MessageId) -> Self {
        Self {
            message: Some(message),
            ..Self::default()
        }
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
    /// Opens or creates the view in the folder `path`.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        guarded(|| {
            let tree = Self::open_sled(path)?;
            let mark = match tree.get(MARK).map_err(failed)? {
                Some(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
                None => Mark::default(),
            };
            Ok(Self {
                tree,
                mark,
                overlay: BTreeMap::new(),
                overlay_bytes: 0,
                checks: BTreeMap::new(),
                owners: HashMap::new(),
            })
        })
    }

    fn open_sled(path: &Path) -> Result<sled::Db, StoreError> {
        let config = sled::Config::default()
            .path(path)
            .mode(sled::Mode::LowSpace)
            .cache_capacity(8 << 20)
            // the default wakes twice a second for ever
            .flush_every_ms(None);
        let since = Instant::now();
        loop {
            match config.open() {
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
        if self.mark.n == 0 || self.mark.view != VIEW_FORMAT {
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
        Ok(sum == self.mark.sum.as_bytes() && last == [b'\n'])
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
        self.mark.view = VIEW_FORMAT;
        while let Some(found) = lines.next().map_err(io)? {
            match found {
                Found::Damaged { end } => {
                    self.mark.damaged += 1;
                    self.mark.end = end;
                    continue;
                }
                Found::Line { json, end } => {
                    match record::decode(json) {
                        Ok(line) => {
                            self.mark.n = line.n;
                            for record in &line.records {
                                self.apply(record)?;
                            }
                        }
                        Err(Unreadable::Newer(found)) => {
                            return Err(StoreError::Newer {
                                path: journal.to_owned(),
                                found,
                                known: FORMAT,
                            });
                        }
                        Err(Unreadable::Malformed(_)) => self.mark.damaged += 1,
                    }
                    self.mark.start = end - json.len() as u64 - 10;
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

    /// Puts a new message into the chain of messages.
    fn link(&mut self, id: MessageId, newest: Option<MessageId>) -> Result<(), StoreError> {
        if newest.is_none_or(|newest| newest < id) {
            return self.change(id, |check| check.link(newest));
        }
        // it comes late: it takes the place before its successor, which knows the one before
        let mut next = newest;
        while let Some(after) = next {
            let before = self.check(after)?.and_then(|check| check.before());
            if before.is_none_or(|before| before < id) {
                self.change(id, |check| check.link(before))?;
                return self.change(after, |check| check.link(Some(id)));
            }
            next = before;
        }
        Err(failed("the chain of messages is broken"))
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

    fn apply(&mut self, record: &Stored<'_>) -> Result<(), StoreError> {
        match record {
            Stored::Message(raw) => match serde_json::from_str::<Message>(raw.get()) {
                Ok(message) => self.message(&message, raw.get().as_bytes())?,
                Err(_) => self.mark.damaged += 1,
            },
            Stored::Part(raw) => self.part(raw.get())?,
            Stored::Append { part, text } => self.append(*part, text)?,
            Stored::Value { name, value } => {
                let prefix = value_key(name);
                self.put_pieces(&prefix, value.get().as_bytes(), false)?;
            }
            Stored::Info(raw) => self.put_pieces(&[INFO], raw.get().as_bytes(), false)?,
        }
        Ok(())
    }

    fn message(&mut self, message: &Message, json: &[u8]) -> Result<(), StoreError> {
        let old = self.read_message(message.id)?;
        if old.is_none() {
            self.link(message.id, self.mark.facts.last_message)?;
        }
        self.mark.facts.message(old.as_ref(), message);
        let first = json.len().min(CHUNK);
        let key = message_key(message.id);
        self.put(key, Some(&json[..first]), old.is_none())?;
        let rest = header_rest(message.id);
        if json.len() >= CHUNK {
            self.put_pieces(&rest, &json[first..], false)?;
        } else if old.is_some() {
            self.remove_pieces(&rest, 0)?;
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

    fn part(&mut self, json: &str) -> Result<(), StoreError> {
        #[derive(Deserialize)]
        struct Ids {
            id: PartId,
            message: MessageId,
        }
        let Ok(Ids { id, message }) = serde_json::from_str(json) else {
            self.mark.damaged += 1;
            return Ok(());
        };
        if self.mark.facts.wants_prompt(message)
            && let Ok(part) = serde_json::from_str(json)
        {
            self.mark.facts.prompt(&part);
        }
        let prefix = part_key(message, id);
        let fresh = self.get(&piece(&prefix, 0))?.is_none();
        if fresh {
            self.mark.facts.new_part(id);
        }
        self.put_pieces(&prefix, json.as_bytes(), fresh)?;
        if self.owners.len() > 1_024 {
            self.owners.clear();
        }
        self.owners.insert(id, message);
        Ok(())
    }

    fn append(&mut self, id: PartId, text: &str) -> Result<(), StoreError> {
        let owner = match self.owners.get(&id) {
            Some(owner) => Some(*owner),
            None => self.owner(id)?,
        };
        let Some(message) = owner else {
            self.mark.damaged += 1;
            return Ok(());
        };
        self.owners.insert(id, message);
        let prefix = part_key(message, id);
        let (mut n, mut bytes) = self.last_appended(&prefix)?;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if bytes.len() >= CHUNK {
                n += 1;
                bytes.clear();
            }
            let (now, later) = rest.split_at(rest.len().min(CHUNK - bytes.len()));
            bytes.extend_from_slice(now);
            self.put(piece(&prefix, n), Some(&bytes), false)?;
            rest = later;
        }
        Ok(())
    }

    /// Number and bytes of the last piece of appended text.
    fn last_appended(&self, prefix: &[u8]) -> Result<(u32, Vec<u8>), StoreError> {
        let span = piece(prefix, APPENDED)..=piece(prefix, u32::MAX);
        let gathered = self.overlay.range(span.clone()).rev();
        let mut last = None;
        for (key, value) in gathered {
            if let Some(value) = value {
                last = Some((key.clone(), value.clone()));
                break;
            }
        }
        for item in self.tree.range(span).rev() {
            let (key, value) = item.map_err(failed)?;
            if !self.overlay.contains_key(key.as_ref()) {
                if last
                    .as_ref()
                    .is_none_or(|(newest, _)| newest.as_slice() < key.as_ref())
                {
                    last = Some((key.to_vec(), value.to_vec()));
                }
                break;
            }
        }
        Ok(match last.as_ref().and_then(|(key, _)| split_key(key)) {
            Some((_, Some((_, n)))) => (n, last.map(|(_, value)| value).unwrap_or_default()),
            _ => (APPENDED, Vec::new()),
        })
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

    /// One part by id. Everything gathered must have been written.
    pub(super) fn find(&self, id: PartId) -> Result<Option<Part>, StoreError> {
        guarded(|| {
            let Some(message) = self.owner(id)? else {
                return Ok(None);
            };
            let whole = self.tree.scan_prefix(message_key(message));
            let (page, _) = self.gather(whole.rev(), usize::MAX, usize::MAX, Chain::Unknown)?;
            Ok(page.parts.into_iter().find(|part| part.id == id))
        })
    }

    /// The messages before `before` (the newest if none), about `most_parts` of parts.
    pub(super) fn page(&self, before: Option<MessageId>, most: usize) -> Result<Page, StoreError> {
        let end = before.map_or_else(|| vec![MESSAGE + 1], message_key);
        let range = self.tree.range(vec![MESSAGE]..end);
        guarded(|| {
            let chain = match before {
                None => Chain::Next(self.mark.facts.last_message),
                Some(id) => match self.check(id)? {
                    Some(check) => Chain::Next(check.before()),
                    None => Chain::Unknown,
                },
            };
            let (page, rest) = self.gather(range.rev(), most, PAGE_BYTES, chain)?;
            if page.first && matches!(rest, Chain::Next(Some(_))) {
                return Err(failed("its beginning is missing"));
            }
            Ok(page)
        })
    }

    /// The messages from `from` (the first if none) on.
    pub(super) fn since(&self, from: Option<MessageId>) -> Result<Page, StoreError> {
        let start = from.map_or_else(|| vec![MESSAGE], message_key);
        let range = self.tree.range(start.clone()..vec![MESSAGE + 1]);
        guarded(|| {
            let chain = Chain::Next(self.mark.facts.last_message);
            let (mut page, rest) = self.gather(range.rev(), usize::MAX, usize::MAX, chain)?;
            if let Chain::Next(Some(next)) = rest
                && from.is_none_or(|from| next >= from)
            {
                return Err(failed(format!("{next} is missing")));
            }
            let older = self.tree.range(vec![MESSAGE]..start).next_back();
            page.first = older.is_none();
            Ok(page)
        })
    }

    /// Reads backwards, so pieces, parts and messages come last first. What it returns is verified:
    /// each message by its sum, the sequence of messages by the chain, whose rest comes along.
    fn gather(
        &self,
        items: impl Iterator<Item = sled::Result<(sled::IVec, sled::IVec)>>,
        most_parts: usize,
        most_bytes: usize,
        mut chain: Chain,
    ) -> Result<(Page, Chain), StoreError> {
        let mut page = Page {
            first: true,
            ..Page::default()
        };
        let mut bytes = 0;
        let mut open = Gathered::default(); // the message whose header comes next
        for item in items {
            let (key, value) = item.map_err(failed)?;
            bytes += value.len();
            let (message, part) = split_key(&key).ok_or_else(|| failed("a key is malformed"))?;
            if open.message != Some(message) {
                // parts without a header: it was in a damaged line of the journal
                open = Gathered::of(message);
            }
            open.sum ^= sum(&key, &value);
            if let Some((_, n)) = part {
                open.pieces.push((n, value));
                if n == 0 {
                    open.pieces.reverse();
                    open.parts.push(join(&open.pieces)?);
                    open.pieces.clear();
                }
                continue;
            }
            if page.parts.len() >= most_parts || bytes >= most_bytes && !page.messages.is_empty() {
                page.first = false;
                break;
            }
            let (header, rest) = self.whole_header(message, value.to_vec())?;
            let check = self.check(message)?.unwrap_or_default();
            if check.sum != open.sum ^ rest || !chain.fits(message) {
                return Err(failed(format!("{message} is not as it was written")));
            }
            chain = Chain::Next(check.before());
            page.messages.push(header);
            page.parts.append(&mut open.parts);
        }
        page.messages.reverse();
        page.parts.reverse();
        Ok((page, chain))
    }

    /// A message from the first piece of its header, and the sum of the other pieces.
    fn whole_header(&self, id: MessageId, first: Vec<u8>) -> Result<(Message, u32), StoreError> {
        let mut others = 0;
        if first.len() == CHUNK {
            for item in self.tree.scan_prefix(header_rest(id)) {
                let (key, value) = item.map_err(failed)?;
                others ^= sum(&key, &value);
            }
        }
        Ok((self.parse_message(id, first)?, others))
    }

    /// True if a named value is set.
    pub(super) fn has_value(&self, name: &str) -> Result<bool, StoreError> {
        let json = guarded(|| self.read_pieces(&value_key(name)))?;
        Ok(!json.is_empty() && json != b"null")
    }

    /// Writes everything out and lets go of the files.
    pub(super) fn close(self) -> Result<(), StoreError> {
        guarded(move || {
            self.tree.flush().map_err(failed)?;
            drop(self.tree);
            Ok(())
        })
    }

    /// The session's facts; none if the journal did not have them.
    pub(super) fn info(&self) -> Result<Option<SessionInfo>, StoreError> {
        guarded(|| {
            let json = self.read_pieces(&[INFO])?;
            if json.is_empty() {
                return Ok(None);
            }
            serde_json::from_slice(&json).map(Some).map_err(failed)
        })
    }

    /// All named values.
    pub(super) fn values(&self) -> Result<BTreeMap<String, Value>, StoreError> {
        guarded(|| {
            let mut raw: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            let mut found = 0;
            for item in self.tree.range([VALUE].as_slice()..[INFO + 1].as_slice()) {
                let (key, value) = item.map_err(failed)?;
                found ^= sum(&key, &value);
                if key.first() == Some(&INFO) {
                    continue;
                }
                let name = value_name(&key).ok_or_else(|| failed("a key is malformed"))?;
                raw.entry(name).or_default().extend_from_slice(&value);
            }
            if found != self.mark.values {
                return Err(failed("the named values are not as they were written"));
            }
            let mut values = BTreeMap::new();
            for (name, json) in raw {
                let value: Value = serde_json::from_slice(&json).map_err(failed)?;
                if value != Value::Null {
                    values.insert(name, value);
                }
            }
            Ok(values)
        })
    }
}

/// A part from its pieces in order.
fn join(pieces: &[(u32, sled::IVec)]) -> Result<Part, StoreError> {
    let (mut json, mut text) = (Vec::new(), Vec::new());
    for (n, bytes) in pieces {
        if *n < APPENDED {
            json.extend_from_slice(bytes);
        } else {
            text.extend_from_slice(bytes);
        }
    }
    let mut part: Part = serde_json::from_slice(&json).map_err(failed)?;
    if !text.is_empty() {
        let text = String::from_utf8(text).map_err(failed)?;
        record::append(&mut part, &text);
    }
    Ok(part)
}
