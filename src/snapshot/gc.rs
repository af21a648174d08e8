//! Keeps the shadow repository small: marks what kept snapshots need, removes the other loose
//! objects.
//!
//! Several processes may use one store; a collection takes a lock that only collections take, and
//! spares objects that are younger than a day, because another process may be about to need them.
//! Called by the owner and, without any worktree, by `dunlin gc`. Blocks.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use super::record::SnapshotError;
use super::repo::Repo;
use super::tree::{DIR, Id, decode};
use super::writelog;
use crate::config::used::SnapshotSettings;
use crate::protocol::SnapshotId;

/// Objects younger than this stay, needed or not.
const GRACE: Duration = Duration::from_hours(24);
/// Half-written objects older than this are leftovers of a process that died.
const STALE: Duration = Duration::from_hours(1);

/// What a collection did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcReport {
    /// True if another process was collecting, and nothing was done.
    pub skipped: bool,
    /// Objects removed.
    pub removed: u64,
    /// Bytes freed on disk.
    pub freed: u64,
    /// Bytes left on disk.
    pub left: u64,
    /// Snapshots that were asked to be kept but are too old or beyond the quota: their contents
    /// may be gone now.
    pub dropped: Vec<SnapshotId>,
}

/// Bytes that a store takes on disk; 0 if there is none.
pub fn disk_use(store: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(store) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => disk_use(&entry.path()),
            Ok(data) => on_disk(&data),
            Err(_) => 0,
        })
        .sum()
}

fn on_disk(data: &Metadata) -> u64 {
    data.blocks() * 512
}

fn age(data: &Metadata, now: SystemTime) -> Duration {
    let modified = data.modified().unwrap_or(now);
    now.duration_since(modified).unwrap_or_default()
}

/// Collects a store. `keep` names trees (or single blobs), the most valuable first: when what they
/// need is larger than `settings.quota`, the last ones are dropped, and so are those that no
/// process has seen for `settings.keep_days`. Objects of the user's own repository are never
/// touched.
pub fn collect(
    store: &Path,
    keep: &[SnapshotId],
    settings: &SnapshotSettings,
    now: SystemTime,
) -> Result<GcReport, SnapshotError> {
    if !is_store(store) {
        return Ok(GcReport::default());
    }
    let lock = File::create(store.join("gc.lock")).map_err(|e| failed(store, e))?;
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(GcReport {
            skipped: true,
            ..GcReport::default()
        });
    }
    let report = mark_and_sweep(store, keep, settings, now);
    writelog::collect(store, now);
    // said aloud: a child that is just being started holds a copy of the file for a moment
    rustix::fs::flock(&lock, FlockOperation::Unlock).ok();
    report
}

/// What `collect` would do now, without doing it.
pub fn survey(
    store: &Path,
    keep: &[SnapshotId],
    settings: &SnapshotSettings,
    now: SystemTime,
) -> Result<GcReport, SnapshotError> {
    if !is_store(store) {
        return Ok(GcReport::default());
    }
    let mut sweep = Sweep::new(now, false);
    let marked = mark(&Repo::open(store, None)?, keep, settings, &mut sweep);
    sweep
        .all(&store.join("objects"), &marked)
        .map_err(|e| failed(store, e))?;
    sweep.report.left = disk_use(store).saturating_sub(sweep.report.freed);
    Ok(sweep.report)
}

fn is_store(folder: &Path) -> bool {
    folder.join("objects").is_dir()
}

fn failed(store: &Path, cause: std::io::Error) -> SnapshotError {
    SnapshotError::store(
        format!("Collecting the snapshot store {}", store.display()),
        cause,
    )
}

fn mark_and_sweep(
    store: &Path,
    keep: &[SnapshotId],
    settings: &SnapshotSettings,
    now: SystemTime,
) -> Result<GcReport, SnapshotError> {
    let repo = Repo::open(store, None)?;
    let mut sweep = Sweep::new(now, true);
    let marked = mark(&repo, keep, settings, &mut sweep);
    sweep
        .all(&repo.objects(), &marked)
        .map_err(|e| failed(store, e))?;
    sweep.report.left = disk_use(store);
    Ok(sweep.report)
}

fn loose(objects: &Path, id: Id) -> PathBuf {
    let hex = id.to_string();
    let (dir, name) = hex.split_at(2);
    objects.join(dir).join(name)
}

/// Everything that the kept snapshots need.
fn mark(
    repo: &Repo,
    keep: &[SnapshotId],
    settings: &SnapshotSettings,
    sweep: &mut Sweep,
) -> HashSet<Id> {
    let objects = repo.objects();
    let limit = Duration::from_hours(24) * settings.keep_days.max(1);
    let mut marked = HashSet::new();
    let mut size = 0;
    let mut over = false;
    for snapshot in keep {
        let Some(root) = Id::from_hex(&snapshot.0) else {
            continue;
        };
        let old = loose(&objects, root)
            .metadata()
            .is_ok_and(|data| age(&data, sweep.now) > limit);
        if old || over {
            sweep.report.dropped.push(snapshot.clone());
            continue;
        }
        let mut new = Vec::new();
        walk(repo, root, &marked, &mut new);
        let needs: u64 = new
            .iter()
            .filter_map(|id| loose(&objects, *id).metadata().ok())
            .map(|data| on_disk(&data))
            .sum();
        // the newest stays, whatever it takes
        if size + needs > settings.quota && !marked.is_empty() {
            over = true;
            sweep.report.dropped.push(snapshot.clone());
            continue;
        }
        size += needs;
        marked.extend(new);
    }
    marked
}

/// All objects below a tree that are not marked yet.
fn walk(repo: &Repo, root: Id, marked: &HashSet<Id>, new: &mut Vec<Id>) {
    let mut seen: HashSet<Id> = HashSet::new();
    let mut todo = vec![(root, true)];
    while let Some((id, open)) = todo.pop() {
        if marked.contains(&id) || !seen.insert(id) {
            continue;
        }
        new.push(id);
        if !open {
            continue;
        }
        if let Some((true, bytes)) = repo.tree_or_blob(id) {
            todo.extend(
                decode(&bytes)
                    .iter()
                    .map(|item| (item.id, item.mode == DIR)),
            );
        }
    }
}

/// Removes what is not marked and not young, or only counts it.
struct Sweep {
    now: SystemTime,
    /// False: nothing is touched.
    removes: bool,
    report: GcReport,
}

impl Sweep {
    fn new(now: SystemTime, removes: bool) -> Self {
        Self {
            now,
            removes,
            report: GcReport::default(),
        }
    }

    fn all(&mut self, objects: &Path, marked: &HashSet<Id>) -> std::io::Result<()> {
        for entry in objects.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let data = entry.metadata()?;
            if data.is_file() && name.starts_with("tmp_obj") && age(&data, self.now) > STALE {
                self.discard(&entry.path(), &data);
            }
            if !data.is_dir() || name.len() != 2 {
                continue;
            }
            for object in entry.path().read_dir()?.flatten() {
                let Ok(data) = object.metadata() else {
                    continue;
                };
                let rest = object.file_name().to_string_lossy().into_owned();
                let needed = match Id::from_hex(&format!("{name}{rest}")) {
                    Some(id) => marked.contains(&id) || age(&data, self.now) <= GRACE,
                    None => age(&data, self.now) <= STALE,
                };
                if !needed {
                    self.discard(&object.path(), &data);
                }
            }
            if self.removes {
                // goes only if it is empty
                std::fs::remove_dir(entry.path()).ok();
            }
        }
        Ok(())
    }

    fn discard(&mut self, path: &Path, data: &Metadata) {
        if !self.removes || std::fs::remove_file(path).is_ok() {
            self.report.removed += 1;
            self.report.freed += on_disk(data);
        }
    }
}
