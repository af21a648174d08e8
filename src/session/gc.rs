//! Tidying up: delete, rename, archive, and the clean-up that `dunlin gc` and the start run.
//!
//! Nothing here touches a session that some process has open. A dry run tells what would be done.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem::Finder;

use super::archive;
use super::commit::Record;
use super::error::StoreError;
use super::frames;
use super::list;
use super::meta::{Meta, modified};
use super::place::{Claim, Lock, Place};
use super::project::{Project, open_journal};
use crate::protocol::{Millis, SessionId};

/// What stands before the name of a blob.
const SCHEME: &[u8] = b"blob:";
/// Hex digits of the name.
const NAME: usize = 64;

/// What may be cleaned up, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcPolicy {
    /// The time now, in milliseconds since the epoch.
    pub now: Millis,
    /// Full outputs older than this many days go.
    pub output_days: u32,
    /// Recorded answers of sessions untouched for this many days go.
    pub frames_days: u32,
    /// Sessions untouched for this many days are packed; 0 for never.
    pub archive_days: u32,
    /// Bytes on disk that the project's sessions may take; 0 for no limit. Above it the oldest recorded
    /// answers and full outputs go, then the sessions untouched longest are packed. What was said
    /// always stays.
    pub quota: u64,
    /// True: nothing is changed, only told.
    pub dry_run: bool,
}

/// What was cleaned up, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Full outputs removed.
    pub outputs: u64,
    /// Files of recorded answers removed.
    pub frames: u64,
    /// Blobs that no session refers to, removed.
    pub blobs: u64,
    /// Sessions packed.
    pub archived: Vec<SessionId>,
    /// Left-overs removed: sessions without a message, set-aside views, temporary files.
    pub leftovers: u64,
    /// Bytes that became free (of a dry run: that would, packing estimated at one quarter).
    pub freed: u64,
    /// What could not be done, one sentence each.
    pub problems: Vec<String>,
}

impl GcPolicy {
    fn before(&self, days: u32) -> Millis {
        let age = Duration::from_hours(24 * u64::from(days));
        self.now - age.as_millis() as Millis
    }
}

/// Bytes that a file or folder takes on disk.
pub(super) fn size(path: &Path) -> u64 {
    let Ok(facts) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !facts.is_dir() {
        return facts.blocks() * 512;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

impl Project {
    /// Takes a closed session for a change from outside.
    fn take(&self, id: SessionId) -> Result<(Place, Lock), StoreError> {
        let place = self.existing(id)?;
        match place.claim()? {
            Claim::Ours(lock) => Ok((place, lock)),
            Claim::Taken(pid) => Err(StoreError::OpenElsewhere { id, pid }),
        }
    }

    /// Deletes a session with its outputs. Refused while some process has it open. (Blobs that only
    /// it used go with the next `gc`.)
    ///
    /// The sessions of its subagents go with it; copies that were made of it stay.
    pub fn delete(&self, id: SessionId) -> Result<(), StoreError> {
        let below = self.subagents(id);
        let (place, _lock) = self.take(id)?;
        let io = |e| StoreError::io("delete", &place.folder, e);
        // the name goes first, so that a crash leaves no half session in listings
        let doomed = self.sessions_dir().join(format!("deleted-{id}"));
        fs::rename(&place.folder, &doomed).map_err(io)?;
        fs::remove_dir_all(&doomed).map_err(io)?;
        for child in below {
            match self.delete(child) {
                // somebody looks at it: it stays, as a session of its own
                Ok(()) | Err(StoreError::OpenElsewhere { .. } | StoreError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The sessions of a session's own subagents, in the order they were started.
    pub(super) fn subagents(&self, id: SessionId) -> Vec<SessionId> {
        let places = list::places(&[self.sessions_dir()]).unwrap_or_default();
        let of_it = |place: &Place| {
            let meta = Meta::read_or_mend(place)?;
            (meta.summary.info.parent == Some(id) && !meta.fork && place.id > id)
                .then_some(place.id)
        };
        let mut found: Vec<SessionId> = places.iter().filter_map(of_it).collect();
        found.sort_unstable();
        found
    }

    /// Names a session that nobody has open. (The owner of an open one commits `Record::Info`.)
    pub fn rename(&self, id: SessionId, title: &str) -> Result<(), StoreError> {
        let (place, _lock) = self.take(id)?;
        archive::unpack(&place, &mut Vec::new())?;
        let image = archive::image(&place)?;
        let mut info = image.info.ok_or_else(|| super::project::no_facts(&place))?;
        title.trim().clone_into(&mut info.title);
        let mut journal = open_journal(&place, &mut Vec::new())?;
        journal.append(&[Record::Info(info.clone())])?;
        journal
            .file()
            .sync_data()
            .map_err(|e| StoreError::io("sync", &place.journal(), e))?;
        if let Some(mut meta) = Meta::read(&place) {
            meta.summary.info = info;
            meta.summary.archived = false;
            meta.write(&place)?;
        }
        Ok(())
    }

    /// True if a session is packed away.
    pub fn is_packed(&self, id: SessionId) -> Result<bool, StoreError> {
        Ok(!self.existing(id)?.journal().exists())
    }

    /// Packs a session away: its view goes, its journal is compressed. Opening brings it back.
    /// Returns the bytes that became free. Refused while some process has it open.
    pub fn archive(&self, id: SessionId) -> Result<u64, StoreError> {
        archive::pack(&self.existing(id)?)
    }

    /// Bytes that all sessions of a project take on disk, for every project under `data_dir`, with a
    /// worktree of each (empty if no session tells), largest first.
    pub fn disk_use_all(data_dir: &Path) -> Result<Vec<(String, u64)>, StoreError> {
        let mut projects = Vec::new();
        for folder in list::all_folders(data_dir)? {
            let rows = list::of_folders(std::slice::from_ref(&folder))?;
            let worktree = rows.first().map(|row| row.info.worktree.clone());
            let bytes = folder.parent().map_or(0, size);
            projects.push((worktree.unwrap_or_default(), bytes));
        }
        projects.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        Ok(projects)
    }

    /// Bytes on disk: of each session, of all blobs, and of the snapshots.
    pub fn disk_use(&self) -> Result<DiskUse, StoreError> {
        let places = list::places(&[self.sessions_dir()])?;
        Ok(DiskUse {
            sessions: places.iter().map(|p| (p.id, size(&p.folder))).collect(),
            blobs: size(self.blobs().folder()),
            snapshots: size(&self.snapshot_dir()),
        })
    }

    /// Cleans up: old outputs, idle sessions, blobs nobody refers to, left-overs.
    pub fn gc(&self, policy: &GcPolicy) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        let places = list::places(&[self.sessions_dir()])?;
        for place in &places {
            clean_session(place, policy, &mut report);
        }
        for path in entries(&self.sessions_dir()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("deleted-") {
                remove(&path, policy, &mut report);
            }
        }
        self.clean_blobs(&places, policy, &mut report);
        self.keep_quota(&places, policy, &mut report);
        Ok(report)
    }

    fn clean_blobs(&self, places: &[Place], policy: &GcPolicy, report: &mut GcReport) {
        // a blob is stored before the part that refers to it, maybe by another process right now
        let young = policy.before(1);
        let fans = entries(self.blobs().folder());
        let mut old: Vec<PathBuf> = fans.iter().flat_map(|fan| entries(fan)).collect();
        old.retain(|path| modified(path) < young);
        if old.is_empty() {
            return;
        }
        let mut used = HashSet::new();
        for place in places {
            // a session that cannot be read may refer to any blob
            if place.folder.exists() && mentioned(place, &mut used).is_err() {
                return;
            }
        }
        for path in old {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let known = <[u8; NAME]>::try_from(name.as_bytes()).is_ok_and(|n| used.contains(&n));
            if !known {
                report.blobs += 1;
                free(&path, policy, report);
            }
        }
    }

    /// Frees what can be had again or is least missed until the project is within its quota.
    fn keep_quota(&self, places: &[Place], policy: &GcPolicy, report: &mut GcReport) {
        let mut total = size(&self.sessions_dir()) + size(self.blobs().folder());
        if policy.quota == 0 || total <= policy.quota {
            return;
        }
        let closed: Vec<&Place> = places.iter().filter(|p| p.taken_by().is_none()).collect();
        let outputs = closed.iter().flat_map(|place| entries(&place.out()));
        let answers = closed.iter().flat_map(|place| frames::files(place));
        let mut spare: Vec<PathBuf> = answers.chain(outputs).filter(|p| p.exists()).collect();
        spare.sort_by_key(|path| modified(path));
        for path in spare {
            if total <= policy.quota {
                return;
            }
            total = total.saturating_sub(size(&path));
            if path.parent().is_some_and(|folder| folder.ends_with("out")) {
                report.outputs += 1;
            } else {
                report.frames += 1;
            }
            free(&path, policy, report);
        }
        let mut idle = closed;
        idle.retain(|place| place.journal().exists());
        idle.sort_by_key(|place| modified(&place.journal()));
        for place in idle {
            if total <= policy.quota {
                return;
            }
            total = total.saturating_sub(pack(place, policy, report));
        }
        if total > policy.quota {
            report.problems.push(format!(
                "The sessions of this folder take {} MiB, more than the {} MiB of store.quota, and nothing \
                 is left that could go by itself. Delete sessions you no longer need with `dunlin \
                 sessions delete`.",
                total >> 20,
                policy.quota >> 20
            ));
        }
    }
}

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Of each session.
    pub sessions: Vec<(SessionId, u64)>,
    /// Of the blobs of all sessions.
    pub blobs: u64,
    /// Of the snapshots.
    pub snapshots: u64,
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn free(path: &Path, policy: &GcPolicy, report: &mut GcReport) {
    report.freed += size(path);
    if policy.dry_run {
        return;
    }
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    if let Err(error) = removed {
        report
            .problems
            .push(StoreError::io("remove", path, error).to_string());
    }
}

fn remove(path: &Path, policy: &GcPolicy, report: &mut GcReport) {
    report.leftovers += 1;
    free(path, policy, report);
}

fn clean_outputs(out: &Path, policy: &GcPolicy, report: &mut GcReport) {
    let old = policy.before(policy.output_days);
    for path in entries(out) {
        if modified(&path) < old {
            report.outputs += 1;
            free(&path, policy, report);
        }
    }
}

fn clean_session(place: &Place, policy: &GcPolicy, report: &mut GcReport) {
    match place.taken_by() {
        None => {}
        // its owner does that; we are the owner of what we have open ourselves
        Some(owner) if owner != std::process::id() => return,
        Some(_ours) => return clean_outputs(&place.out(), policy, report),
    }
    let journal = place.journal();
    let day = policy.before(1);
    let touched = modified(&journal).max(modified(&place.folder));
    if touched < day && holds_nothing(place) {
        remove(&place.folder, policy, report);
        return;
    }
    for path in entries(&place.folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let leftover = name == "db.damaged" || name.ends_with("tmp") || name.contains(".tmp-");
        if leftover && modified(&path) < day {
            remove(&path, policy, report);
        }
    }
    clean_outputs(&place.out(), policy, report);
    let old = policy.before(policy.frames_days);
    for path in frames::files(place) {
        if path.exists() && modified(&path) < old {
            report.frames += 1;
            free(&path, policy, report);
        }
    }
    let idle = policy.archive_days > 0 && modified(&journal) < policy.before(policy.archive_days);
    if idle && journal.exists() {
        pack(place, policy, report);
    }
}

/// True for a session in which nothing was ever said. One that is damaged, or of which a damaged copy is
/// kept, may hold anything.
fn holds_nothing(place: &Place) -> bool {
    if Meta::read(place).is_some_and(|meta| meta.summary.messages > 0) {
        return false;
    }
    let kept = entries(&place.folder).iter().any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("journal.") && name.contains("damaged")
    });
    if kept {
        return false;
    }
    if !place.journal().exists() && !place.archive().exists() {
        return true;
    }
    archive::image(place).is_ok_and(|image| image.messages.is_empty() && image.damaged == 0)
}

/// Packs a session away; the bytes that became free.
fn pack(place: &Place, policy: &GcPolicy, report: &mut GcReport) -> u64 {
    let freed = if policy.dry_run {
        Ok(size(&place.db()) + size(&place.journal()) / 4 * 3)
    } else {
        archive::pack(place)
    };
    match freed {
        Ok(freed) => {
            report.archived.push(place.id);
            report.freed += freed;
            freed
        }
        // somebody opened it just now
        Err(StoreError::OpenElsewhere { .. }) => 0,
        Err(error) => {
            report.problems.push(error.to_string());
            0
        }
    }
}

/// The names of all blobs that a session's journal mentions anywhere: it is only looked through, so a
/// name that stands in a text counts too.
fn mentioned(place: &Place, into: &mut HashSet<[u8; NAME]>) -> io::Result<()> {
    let mut source: Box<dyn Read> = match File::open(place.journal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Box::new(zstd::Decoder::new(File::open(place.archive())?)?)
        }
        other => Box::new(other?),
    };
    let finder = Finder::new(SCHEME);
    let mut bytes = vec![0; 1 << 20];
    let mut held = 0;
    loop {
        let read = source.read(&mut bytes[held..])?;
        let filled = held + read;
        for at in finder.find_iter(&bytes[..filled]) {
            let from = at + SCHEME.len();
            if let Some(name) = bytes[..filled].get(from..from + NAME)
                && let Ok(name) = name.try_into()
            {
                into.insert(name);
            }
        }
        if read == 0 {
            return Ok(());
        }
        // a name may go on in what comes next
        held = filled.min(SCHEME.len() + NAME - 1);
        bytes.copy_within(filled - held..filled, 0);
    }
}
