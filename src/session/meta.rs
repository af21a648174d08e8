//! `meta.json`: what a listing shows, so that listing opens no journal.
//!
//! Written by the view thread (and by rename, archive, import) with an atomic replace, at most once
//! a second. It is a cache: when it is missing or unreadable, it is made again from the journal. It
//! is not synced; after a power cut the journal still has everything.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::facts::Facts;
use super::image::Image;
use super::place::Place;
use crate::protocol::{Millis, SessionInfo, SessionSummary};

const FORMAT: u32 = 1;

/// What the agent knows about a session beyond its records; none leaves the old value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryPatch {
    /// Cost in USD with subagents; `Some(None)` if a price is not known. Until it is set, the
    /// store's own sum of the messages' costs is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Option<f64>>,
    /// Context used, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u8>,
    /// Lines added in the worktree over the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// Lines removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// Branch of the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl SummaryPatch {
    /// Takes over what `newer` sets.
    pub(super) fn merge(&mut self, newer: Self) {
        self.cost = newer.cost.or(self.cost.take());
        self.context_percent = newer.context_percent.or(self.context_percent);
        self.added = newer.added.or(self.added);
        self.removed = newer.removed.or(self.removed);
        self.branch = newer.branch.or_else(|| self.branch.take());
    }
}

/// The content of `meta.json`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meta {
    pub(super) summary: SessionSummary,
    /// True while a process has it open, or died with it open: only then a listing looks at the lock.
    pub(super) in_use: bool,
    /// True for a fork, whose `parent` is where it came from; a subagent's session has a parent too.
    pub(super) fork: bool,
    /// What the agent told last, for the next process to go on from.
    pub(super) patch: SummaryPatch,
}

/// `Meta` as it is written. Nested where `SessionSummary` is flat: serde reads flat structures by
/// way of a map, and a listing reads thousands.
#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    info: SessionInfo,
    updated: Millis,
    parts: u64,
    messages: u64,
    cost: Option<f64>,
    first_prompt: String,
    context_percent: u8,
    added: u32,
    removed: u32,
    branch: String,
    archived: bool,
    in_use: bool,
    fork: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    damaged: bool,
    patch: SummaryPatch,
}

impl From<&Meta> for File {
    fn from(meta: &Meta) -> Self {
        let row = meta.summary.clone();
        Self {
            format: FORMAT,
            info: row.info,
            updated: row.updated,
            parts: row.parts,
            messages: row.messages,
            cost: row.cost,
            first_prompt: row.first_prompt,
            context_percent: row.context_percent,
            added: row.added,
            removed: row.removed,
            branch: row.branch,
            archived: row.archived,
            in_use: meta.in_use,
            fork: meta.fork,
            damaged: row.damaged,
            patch: meta.patch.clone(),
        }
    }
}

impl From<File> for Meta {
    fn from(file: File) -> Self {
        Self {
            summary: SessionSummary {
                info: file.info,
                updated: file.updated,
                parts: file.parts,
                messages: file.messages,
                cost: file.cost,
                first_prompt: file.first_prompt,
                context_percent: file.context_percent,
                added: file.added,
                removed: file.removed,
                branch: file.branch,
                open_elsewhere: false,
                fork: file.fork,
                archived: file.archived,
                damaged: file.damaged,
            },
            in_use: file.in_use,
            fork: file.fork,
            patch: file.patch,
        }
    }
}

/// Name of the session value that marks a fork.
pub(super) const FORK_VALUE: &str = "session.fork";

impl Meta {
    /// The listing row of a session with these facts.
    pub(super) fn new(info: SessionInfo, facts: &Facts, patch: &SummaryPatch, at: Millis) -> Self {
        let cost = patch.cost.unwrap_or_else(|| facts.known_cost());
        Self {
            summary: SessionSummary {
                info,
                updated: at,
                parts: facts.parts,
                messages: facts.messages,
                cost,
                first_prompt: facts.first_prompt.clone(),
                context_percent: patch.context_percent.unwrap_or_default(),
                added: patch.added.unwrap_or_default(),
                removed: patch.removed.unwrap_or_default(),
                branch: patch.branch.clone().unwrap_or_default(),
                open_elsewhere: false,
                fork: false,
                archived: false,
                damaged: false,
            },
            in_use: false,
            fork: false,
            patch: patch.clone(),
        }
    }

    /// Reads `meta.json`; none if it is missing, damaged, of another format or of another session.
    pub(super) fn read(place: &Place) -> Option<Self> {
        let bytes = fs::read(place.meta()).ok()?;
        let file: File = serde_json::from_slice(&bytes).ok()?;
        let fits = file.format == FORMAT && file.info.id == place.id && is_money(file.cost);
        fits.then(|| file.into())
    }

    /// Reads it, or makes it from the journal if it is missing or of a process that died before it
    /// wrote the last one.
    pub(super) fn read_or_mend(place: &Place) -> Option<Self> {
        let found = Self::read(place);
        let taken = match &found {
            Some(meta) if !meta.in_use => return found,
            _ => place.is_taken(),
        };
        if taken && found.is_some() {
            return found;
        }
        Self::mend(place, found.map(|meta| meta.patch), taken)
    }

    fn mend(place: &Place, patch: Option<SummaryPatch>, taken: bool) -> Option<Self> {
        let image = super::archive::image(place).ok()?;
        let journal = place.journal();
        let archived = !journal.exists();
        let at = modified(if archived { place.archive() } else { journal }.as_path());
        let mut meta = Self::of_image(&image, &patch.unwrap_or_default(), at)?;
        meta.in_use = taken;
        meta.summary.archived = archived;
        if let Err(error) = meta.write(place) {
            tracing::debug!(%error, "meta.json not mended");
        }
        Some(meta)
    }

    /// The listing row of a session read into memory; none if its facts are not in the journal.
    pub(super) fn of_image(image: &Image, patch: &SummaryPatch, at: Millis) -> Option<Self> {
        let mut meta = Self::new(image.info.clone()?, &image.facts, patch, at);
        meta.fork = image.values.contains_key(FORK_VALUE);
        meta.summary.fork = meta.fork;
        meta.summary.damaged = image.damaged > 0;
        Some(meta)
    }

    /// Replaces `meta.json`. One that a newer dunlin wrote stays: whoever cannot read it asks the journal.
    pub(super) fn write(&self, place: &Place) -> Result<(), StoreError> {
        let path = place.meta();
        if is_newer(&path) {
            return Ok(());
        }
        let json = serde_json::to_vec(&File::from(self)).map_err(StoreError::Encode)?;
        replace(&path, &json).map_err(|e| StoreError::io("write", &path, e))
    }
}

/// False for a sum of dollars that nobody spends: it comes from elsewhere.
fn is_money(cost: Option<f64>) -> bool {
    cost.is_none_or(|usd| (0.0..1e9).contains(&usd))
}

fn is_newer(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let version = fs::read(path).map(|bytes| serde_json::from_slice::<Version>(&bytes));
    version.is_ok_and(|read| read.is_ok_and(|row| row.format > u64::from(FORMAT)))
}

/// Puts `bytes` in the place of `path`, so that a reader sees the old content or the new.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // one name per thread: two may mend the same file at once
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    let temporary = path.with_extension(format!("tmp-{}-{thread}", std::process::id()));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written
}

/// When a file was last written; 0 if that cannot be told.
pub(super) fn modified(path: &Path) -> Millis {
    fs::metadata(path)
        .and_then(|m| m.modified())
        .map_or(0, since_epoch)
}

/// A time as milliseconds since the epoch.
pub(super) fn since_epoch(time: std::time::SystemTime) -> Millis {
    time.duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_millis() as Millis)
}
