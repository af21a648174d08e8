//! Keeps the shadow repository small: marks what kept snapshots need, removes the other loose
//! objects.
//!
//! Several processes may use one store; a collection takes a lock that only collections take, spares
//! objects that are younger than a day, because another process may be about to need them, and what open
//! processes hold (`held`). Folders of objects stay, empty or not: they are closed to others.
//! Called by the owner and, without any worktree, by `dunlin gc`. Blocks.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use super::held;
use super::record::SnapshotError;
use super::repo::{self, Repo};
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
        // the notes of those that are open come and go with them
        .filter(|entry| entry.file_name() != "held")
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

/// What a collection must leave.
#[derive(Debug, Clone, Copy)]
pub struct Needed<'a> {
    /// Trees (or single blobs), the most valuable first.
    pub snapshots: &'a [SnapshotId],
    /// False if more may be needed than is named, because a session could not be read whole: then all that
    /// was made within `keep_days` counts as needed too, after what is named.
    pub complete: bool,
}

impl<'a> Needed<'a> {
    /// These and no others.
    pub const fn only(snapshots: &'a [SnapshotId]) -> Self {
        Self {
            snapshots,
            complete: true,
        }
    }
}

/// Collects a store. When what is needed is larger than `settings.quota`, the last ones named are
/// dropped, and so are those that no process has seen for `settings.keep_days`. What open processes hold
/// stays. Objects of the user's own repository are never touched.
pub fn collect(
    store: &Path,
    needed: Needed<'_>,
    settings: &SnapshotSettings,
    now: SystemTime,
) -> Result<GcReport, SnapshotError> {
    if !is_store(store) {
        return Ok(GcReport::default());
    }
    let lock = repo::private_file(&store.join("gc.lock")).map_err(|e| failed(store, e))?;
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(GcReport {
            skipped: true,
            ..GcReport::default()
        });
    }
    let done = mark_and_sweep(store, needed, settings, Sweep::new(now, true));
    writelog::collect(store, now);
    // said aloud: a child that is just being started holds a copy of the file for a moment
    rustix::fs::flock(&lock, FlockOperation::Unlock).ok();
    let mut report = done?;
    report.left = disk_use(store);
    Ok(report)
}

/// What `collect` would do now, without doing it.
pub fn survey(
    store: &Path,
    needed: Needed<'_>,
    settings: &SnapshotSettings,
    now: SystemTime,
) -> Result<GcReport, SnapshotError> {
    if !is_store(store) {
        return Ok(GcReport::default());
    }
    let mut report = mark_and_sweep(store, needed, settings, Sweep::new(now, false))?;
    report.left = disk_use(store).saturating_sub(report.freed);
    Ok(report)
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
    needed: Needed<'_>,
    settings: &SnapshotSettings,
    mut sweep: Sweep,
) -> Result<GcReport, SnapshotError> {
    let repo = Repo::open(store, None)?;
    let objects = repo.objects();
    let mut mark = Mark {
        repo: &repo,
        quota: settings.quota,
        limit: Duration::from_hours(24) * settings.keep_days.max(1),
        now: sweep.now,
        marked: HashSet::new(),
        size: 0,
        over: false,
    };
    for tree in held::trees(store, sweep.now, sweep.removes) {
        mark.keep(tree, true);
    }
    let mut first = true;
    for snapshot in needed.snapshots {
        let Some(root) = Id::from_hex(&snapshot.0) else {
            continue;
        };
        // the newest stays, whatever it takes
        if mark.is_too_old(root) || !mark.keep(root, first) {
            sweep.report.dropped.push(snapshot.clone());
        } else {
            first = false;
        }
    }
    if !needed.complete {
        for (_, id) in younger_than(&objects, mark.limit, sweep.now) {
            mark.keep(id, false);
        }
    }
    let marked = mark.marked;
    sweep.all(&objects, &marked).map_err(|e| failed(store, e))?;
    Ok(sweep.report)
}

/// Loose objects that are not older than `limit`, the youngest first.
fn younger_than(objects: &Path, limit: Duration, now: SystemTime) -> Vec<(SystemTime, Id)> {
    let fans = objects.read_dir().into_iter().flatten().flatten();
    let files = fans.flat_map(|fan| fan.path().read_dir().into_iter().flatten().flatten());
    let mut found: Vec<(SystemTime, Id)> = files
        .filter_map(|object| {
            let path = object.path();
            let fan = path.parent()?.file_name()?.to_str()?;
            let id = Id::from_hex(&format!("{fan}{}", object.file_name().to_str()?))?;
            let data = object.metadata().ok()?;
            (age(&data, now) <= limit).then_some((data.modified().ok()?, id))
        })
        .collect();
    found.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
    found
}

/// Everything that the kept snapshots need.
struct Mark<'a> {
    repo: &'a Repo,
    quota: u64,
    /// What no process has seen for so long is not kept.
    limit: Duration,
    now: SystemTime,
    marked: HashSet<Id>,
    size: u64,
    over: bool,
}

impl Mark<'_> {
    fn is_too_old(&self, root: Id) -> bool {
        let facts = self.repo.loose(root).metadata();
        facts.is_ok_and(|data| age(&data, self.now) > self.limit)
    }

    /// Keeps a tree or blob with all below it if there is room, or `whatever` it takes; false if not.
    fn keep(&mut self, root: Id, whatever: bool) -> bool {
        if self.over && !whatever {
            return false;
        }
        let mut new = Vec::new();
        walk(self.repo, root, &self.marked, &mut new);
        let needs: u64 = new
            .iter()
            .filter_map(|id| self.repo.loose(*id).metadata().ok())
            .map(|data| on_disk(&data))
            .sum();
        if self.size + needs > self.quota && !whatever {
            self.over = true;
            return false;
        }
        self.size += needs;
        self.marked.extend(new);
        true
    }
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
