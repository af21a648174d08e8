//! Sessions that appear and go whole: made in a folder of their own, renamed to their place when complete.
//!
//! `fork` and `import` make their sessions in `<project>/staging/<first id>/`, which nothing takes for a
//! session. Subagents' sessions are renamed first, the one they work for last: that one rename is the moment at
//! which all of them are there, because a session whose parent (or its parent, …) is still in staging, or is
//! being deleted (`deleted-<id>`), counts as not there. What a process left that died is finished by the next
//! clean-up or import; a lock that workers share keeps it from those at work.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;
use super::list;
use super::meta::Meta;
use super::place::{Place, make_folder, sync_folder};
use super::project::Project;
use crate::protocol::SessionId;

/// What a session's folder is called while it is deleted.
const DELETED: &str = "deleted-";
/// How often, and with what pauses, the lock is tried while another process finishes what was left.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);
/// How often the lock is tried for where nobody need wait: a process that starts another one shares its locks
/// with it for a moment.
const BRIEFLY: u32 = 3;

/// Where sessions are made, beside a `sessions` folder.
fn staging_of(sessions: &Path) -> PathBuf {
    sessions.with_file_name("staging")
}

/// The folder that a session has while it is deleted.
pub(super) fn doomed(sessions: &Path, id: SessionId) -> PathBuf {
    sessions.join(format!("{DELETED}{id}"))
}

/// The session that a folder of this name was, if it is being deleted.
pub(super) fn doomed_id(name: &str) -> Option<SessionId> {
    name.strip_prefix(DELETED)?.parse().ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn id_of(path: &Path) -> Option<SessionId> {
    path.file_name()?.to_str()?.parse().ok()
}

/// The folders in which sessions are being made.
pub(super) fn groups(sessions: &Path) -> Vec<PathBuf> {
    entries(&staging_of(sessions))
}

/// The sessions that are still being made for a `sessions` folder.
pub(super) fn being_made(sessions: &Path) -> Vec<SessionId> {
    let groups = groups(sessions);
    let staged = groups.iter().flat_map(|group| entries(group));
    staged.filter_map(|path| id_of(&path)).collect()
}

/// Those of `places` that hang, over one or more others, under a session of `unfinished`; oldest first.
pub(super) fn below(places: &[Place], unfinished: &HashSet<SessionId>) -> Vec<SessionId> {
    if unfinished.is_empty() {
        return Vec::new();
    }
    let works_for: HashMap<SessionId, SessionId> = places
        .iter()
        .filter_map(|place| {
            // a copy has a parent too, but stands for itself
            let meta = Meta::read(place).filter(|meta| !meta.fork)?;
            Some((place.id, meta.summary.info.parent?))
        })
        .collect();
    let hangs = |id: &SessionId| {
        let mut at = *id;
        // a ring of parents must not become an endless walk
        for _ in 0..=works_for.len() {
            match works_for.get(&at) {
                Some(parent) if unfinished.contains(parent) => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    let mut found: Vec<SessionId> = places.iter().map(|p| p.id).filter(hangs).collect();
    found.sort_unstable();
    found
}

/// Held by a process that makes or deletes sessions, so that nobody takes its work for left-overs.
#[derive(Debug)]
pub(super) struct AtWork {
    _lock: File,
}

/// New sessions on their way: the first one, and those of its subagents.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    project: &'a Project,
    folder: PathBuf,
    /// In the order in which they were made: parents before their children.
    made: Vec<SessionId>,
    _at_work: AtWork,
}

impl Project {
    fn work_lock(&self, create: bool) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .mode(0o600)
            .open(self.folder().join("staging.lock"))
    }

    /// Says to others that this process makes or deletes sessions. Waits while one of them finishes what
    /// another process left.
    pub(super) fn at_work(&self) -> Result<AtWork, StoreError> {
        let path = self.folder().join("staging.lock");
        let io = |e| StoreError::io("lock", &path, e);
        let lock = self.work_lock(true).map_err(io)?;
        let mut tries = 0;
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok(AtWork { _lock: lock }),
                Err(rustix::io::Errno::WOULDBLOCK) if tries < TRIES => {
                    tries += 1;
                    std::thread::park_timeout(PAUSE);
                }
                Err(error) => return Err(io(error.into())),
            }
        }
    }

    /// A place to make sessions in, the first of which is `id`.
    pub(super) fn stage(&self, id: SessionId) -> Result<Staging<'_>, StoreError> {
        make_folder(&self.sessions_dir())?;
        let at_work = self.at_work()?;
        let folder = staging_of(&self.sessions_dir()).join(id.to_string());
        make_folder(&folder)?;
        self.step();
        Ok(Staging {
            project: self,
            folder,
            made: Vec::new(),
            _at_work: at_work,
        })
    }

    /// What processes left that died while they made or deleted sessions, in the order in which it can go:
    /// a session after those below it. Empty while any process is at work (it may be its own). Of a session
    /// that somebody has open nothing is told, nor of those below it.
    ///
    /// The lock is to be held until all of it is gone. A dry run makes no lock.
    pub(super) fn left_over(&self, dry_run: bool) -> (Vec<PathBuf>, Option<AtWork>) {
        let lock = match self.work_lock(!dry_run) {
            Ok(lock) => {
                let mut tries = 0;
                while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                    tries += 1;
                    if tries > BRIEFLY {
                        return (Vec::new(), None);
                    }
                    std::thread::park_timeout(PAUSE);
                }
                Some(AtWork { _lock: lock })
            }
            // nobody has made anything here yet
            Err(error) if dry_run && error.kind() == io::ErrorKind::NotFound => None,
            Err(_unwritable) => return (Vec::new(), None),
        };
        let sessions = self.sessions_dir();
        let going: Vec<PathBuf> = entries(&sessions)
            .into_iter()
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(DELETED)
            })
            .collect();
        let groups = entries(&staging_of(&sessions));
        let places = list::all_places(std::slice::from_ref(&sessions)).unwrap_or_default();
        let mut unfinished: HashSet<SessionId> = being_made(&sessions).into_iter().collect();
        let name = |path: &PathBuf| doomed_id(path.file_name()?.to_str()?);
        unfinished.extend(going.iter().filter_map(name));
        let hidden = below(&places, &unfinished);
        // one that somebody looks at stays, as a session of its own, with those below it
        let of_hidden = |place: &&Place| hidden.contains(&place.id);
        let open = places.iter().filter(of_hidden).filter(|p| p.is_taken());
        let open: HashSet<SessionId> = open.map(|place| place.id).collect();
        let stays: HashSet<SessionId> = below(&places, &open).into_iter().chain(open).collect();
        let children = hidden.iter().rev().filter(|id| !stays.contains(id));
        let children = children.map(|id| sessions.join(id.to_string()));
        (children.chain(going).chain(groups).collect(), lock)
    }

    /// Removes what processes left that died while they made or deleted sessions.
    pub(super) fn clear_left_over(&self) {
        let (paths, _lock) = self.left_over(false);
        for path in paths {
            self.step();
            if let Err(error) = remove_session(&path) {
                tracing::warn!(%error, path = %path.display(), "a left-over was not removed");
            }
        }
    }
}

/// Removes a folder. A session's is renamed first, so that no half of it is ever seen.
pub(super) fn remove_session(path: &Path) -> io::Result<()> {
    let sessions = path.parent().filter(|p| p.ends_with("sessions"));
    let removed = match (id_of(path), sessions) {
        (Some(id), Some(sessions)) => {
            let doomed = doomed(sessions, id);
            fs::rename(path, &doomed).and_then(|()| fs::remove_dir_all(doomed))
        }
        _ => fs::remove_dir_all(path),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

impl Staging<'_> {
    /// Where a session is made. Its final place must be free.
    pub(super) fn place(&mut self, id: SessionId) -> Result<Place, StoreError> {
        let place = self.project.place(id);
        if place.folder.exists() {
            return Err(StoreError::Exists(id));
        }
        self.made.push(id);
        Ok(Place {
            faults: place.faults,
            ..Place::new(&self.folder, id)
        })
    }

    /// Puts all that was made among the sessions: they are complete and synced. On an error none of them is
    /// there.
    pub(super) fn publish(self) -> Result<(), StoreError> {
        let moved = self.move_all();
        if moved.is_err() {
            self.abandon();
            return moved;
        }
        // nothing depends on it: an empty folder is a left-over
        drop(fs::remove_dir(&self.folder));
        self.project.step();
        moved
    }

    fn move_all(&self) -> Result<(), StoreError> {
        let sessions = self.project.sessions_dir();
        let synced = |folder: &Path| {
            let done = sync_folder(folder);
            done.map_err(|e| StoreError::io("sync the folder", folder, e))
        };
        // the folders may be new
        synced(self.project.folder())?;
        for (n, id) in self.made.iter().enumerate().rev() {
            if n == 0 && self.made.len() > 1 {
                // not before those below it, after a power cut either
                synced(&sessions)?;
            }
            let (from, to) = (
                self.folder.join(id.to_string()),
                sessions.join(id.to_string()),
            );
            fs::rename(&from, &to)
                .map_err(|e| StoreError::io("put the new session in its place", &to, e))?;
            self.project.step();
        }
        synced(&sessions)
    }

    /// Takes back what was made so far, also what is in its place already.
    pub(super) fn abandon(&self) {
        let sessions = self.project.sessions_dir();
        for id in self.made.iter().rev() {
            // what could not be put in its place is still in staging
            if !self.folder.join(id.to_string()).exists() {
                drop(remove_session(&sessions.join(id.to_string())));
            }
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}
