//! `Project`: the data folder of one worktree, with its sessions, blobs and snapshots.
//!
//! Opened once at the start; costs a few system calls and creates nothing. All worktrees of one git
//! repository share a project.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::archive;
use super::blob::Blobs;
use super::commit::{Announce, Commit, Record};
use super::error::StoreError;
use super::faults::FaultPoints;
use super::found::{facts_of, keep_cut, no_facts, open_journal, whole_history};
use super::history::{History, PAGE_PARTS};
use super::home;
use super::image::Image;
use super::intake::Intake;
use super::journal::{Journal, Tail};
use super::meta::Meta;
use super::newer::{self, Look};
use super::place::{Claim, Lock, Place, make_folder};
use super::store::{End, Inner, Opened, SessionStore};
use super::view::{Ask, Line, Newest, damage_notice};
use super::writer::Start;
use super::{SMALL, list, lost};
use crate::protocol::{SessionId, SessionInfo, SessionSummary};

/// The data folder of one worktree.
#[derive(Debug, Clone)]
pub struct Project {
    pub(super) folder: PathBuf,
    /// The worktree it was opened for; none for a project that was only found.
    worktree: Option<PathBuf>,
    faults: Option<Arc<FaultPoints>>,
}

impl Project {
    /// The project of `worktree` under `data_dir`: `projects/<hash of the repository's folder>`.
    /// Creates nothing; fails if the worktree does not exist. Folders that others could look into are closed.
    pub fn open(data_dir: &Path, worktree: &Path) -> Result<Self, StoreError> {
        let real = fs::canonicalize(worktree)
            .map_err(|e| StoreError::io("find the folder", worktree, e))?;
        let folder = home::folder_of(data_dir, &real);
        home::close(&folder);
        Ok(Self {
            folder,
            worktree: Some(real),
            faults: None,
        })
    }

    /// The same project, in whose sessions a test lets disk and index fail.
    #[must_use]
    pub fn with_faults(mut self, faults: Arc<FaultPoints>) -> Self {
        self.faults = Some(faults);
        self
    }

    /// The shadow repository of snapshots.
    pub fn snapshot_dir(&self) -> PathBuf {
        self.folder.join("snap")
    }

    /// The project's own folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Images and documents of all sessions of the project.
    pub fn blobs(&self) -> Blobs {
        Blobs::new(self.folder.join("blobs"))
    }

    pub(super) fn sessions_dir(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    pub(super) fn place(&self, id: SessionId) -> Place {
        Place {
            faults: self.faults.clone(),
            ..Place::new(&self.sessions_dir(), id)
        }
    }

    /// It is known what the journals mention, and nothing is removed yet: a test may do something here.
    pub(super) fn before_sweep(&self) {
        if let Some(faults) = &self.faults {
            faults.before_sweep();
        }
    }

    /// See `Place::step`.
    pub(super) fn step(&self) {
        if let Some(faults) = &self.faults {
            faults.step();
        }
    }

    /// True if the session is one of this project.
    pub fn holds(&self, id: SessionId) -> bool {
        self.existing(id).is_ok()
    }

    /// The place of a session that exists.
    pub(super) fn existing(&self, id: SessionId) -> Result<Place, StoreError> {
        let place = self.place(id);
        if place.journal().exists() || place.archive().exists() {
            Ok(place)
        } else if Meta::read(&place).is_some_and(|meta| meta.summary.messages > 0) {
            Err(StoreError::Damaged {
                path: place.journal(),
                detail: "it is gone, and with it what was said. Bring it back from a copy, or delete the \
                         session"
                    .to_owned(),
            })
        } else {
            Err(StoreError::NotFound(id))
        }
    }

    /// Makes a session. Its folder appears at once, so that a data folder that cannot be written
    /// is told now; a session that never gets a message is removed when it is closed.
    pub fn create(
        &self,
        info: &SessionInfo,
        announce: Arc<dyn Announce>,
    ) -> Result<SessionStore, StoreError> {
        if self.existing(info.id).is_ok() {
            return Err(StoreError::Exists(info.id));
        }
        let place = self.place(info.id);
        let (lock, mut journal) = make(&place)?;
        let facts = [Record::Info(info.clone())];
        let written = place.may_write().and_then(|()| journal.append(&facts));
        if let Err(error) = written {
            drop(fs::remove_dir_all(&place.folder));
            return Err(error);
        }
        self.step();
        self.handle(place, journal, lock, true, announce)
    }

    fn handle(
        &self,
        place: Place,
        journal: Journal,
        lock: Lock,
        new: bool,
        announce: Arc<dyn Announce>,
    ) -> Result<SessionStore, StoreError> {
        let intake = Intake::start(Start {
            place: place.clone(),
            journal,
            lock,
            new,
            announce: Arc::clone(&announce),
        })?;
        Ok(self.store(place, announce, End::Writer(intake)))
    }

    fn store(&self, place: Place, announce: Arc<dyn Announce>, end: End) -> SessionStore {
        SessionStore {
            inner: Arc::new(Inner {
                place,
                blobs: self.blobs(),
                announce,
                end,
            }),
        }
    }

    /// Opens a session with its newest page. If another process has it, or its folder cannot be
    /// written, it opens for reading and a notice says so.
    pub fn open_session(
        &self,
        id: SessionId,
        announce: Arc<dyn Announce>,
    ) -> Result<Opened, StoreError> {
        let place = self.existing(id)?;
        newer::refuse(&place, Look::Ends)?;
        let mut notices = Vec::new();
        let mut elsewhere = false;
        let lock = match place.claim() {
            Ok(Claim::Ours(lock)) => Some(lock),
            Ok(Claim::Taken(pid)) => {
                notices.push(taken(pid));
                elsewhere = true;
                None
            }
            Err(StoreError::Io { source, .. }) if is_read_only(&source) => {
                notices.push(format!(
                    "This session can only be read: its folder {} cannot be written ({source}).",
                    place.folder.display()
                ));
                None
            }
            Err(error) => return Err(error),
        };
        let Some(lock) = lock else {
            return self.open_for_reading(place, announce, notices, elsewhere);
        };
        let facts = fs::metadata(place.journal());
        let alive = facts.and_then(|facts| facts.modified()).ok();
        archive::unpack(&place, &mut notices)?;
        let (journal, tail) = open_journal(&place)?;
        let mut found = None;
        if tail.end <= SMALL {
            let mut image = Image::read(id, &place.journal(), Some(tail.end))?;
            let lost = image.info.is_none();
            lost::heal(&mut image, &place);
            let facts = facts_of(&image, &place)?;
            found = Some((image, lost.then_some(facts)));
        }
        let store = self.handle(place.clone(), journal, lock, false, announce)?;
        // only now is it known that the journal can be read, and what its next line is called
        let history = match found {
            Some((image, facts)) => {
                notices.extend(keep_cut(&place, &tail)?);
                notices.extend(damage_notice(image.damaged));
                store.go_on_after(image.n)?;
                // they are in the journal again
                if let Some(facts) = facts {
                    store.commit(Commit::written(vec![Record::Info(facts)], Vec::new()));
                }
                whole_history(image, &place)?
            }
            None => {
                let newest: Newest = store.answer(|reply| Ask::Newest(PAGE_PARTS, reply))?;
                notices.extend(keep_cut(&place, &tail)?);
                notices.extend(newest.notices);
                store.go_on_after(newest.n)?;
                newest.history
            }
        };
        Ok(Opened {
            store,
            writable: true,
            elsewhere: false,
            alive,
            history,
            notices,
        })
    }

    /// Opens a session only to look at it, whoever else has it open.
    pub fn open_to_read(
        &self,
        id: SessionId,
        announce: Arc<dyn Announce>,
    ) -> Result<Opened, StoreError> {
        self.open_for_reading(self.existing(id)?, announce, Vec::new(), false)
    }

    /// The project that holds a session, whichever folder it belongs to; none if no project does.
    pub fn holding(data_dir: &Path, id: SessionId) -> Result<Option<Self>, StoreError> {
        let folders = list::all_folders(data_dir)?;
        let found = folders.into_iter().find_map(|sessions| {
            let project = Self {
                folder: sessions.parent()?.to_owned(),
                worktree: None,
                faults: None,
            };
            project.existing(id).is_ok().then_some(project)
        });
        Ok(found)
    }

    fn open_for_reading(
        &self,
        place: Place,
        announce: Arc<dyn Announce>,
        mut notices: Vec<String>,
        elsewhere: bool,
    ) -> Result<Opened, StoreError> {
        let image = archive::image(&place)?;
        let view = Line::start(place.clone(), None)?;
        notices.extend(damage_notice(image.damaged));
        let from = image.end;
        let page = image.page(None, PAGE_PARTS);
        facts_of(&image, &place)?;
        let history = image.history(page).ok_or_else(|| no_facts(&place))?;
        Ok(Opened {
            store: self.store(place, announce, End::Reader { view, from }),
            writable: false,
            elsewhere,
            alive: None,
            history,
            notices,
        })
    }

    /// Everything that was said in a session, open or not, read from its journal. Takes about a
    /// second for 100,000 parts.
    pub fn open_session_all(&self, id: SessionId) -> Result<History, StoreError> {
        let place = self.existing(id)?;
        whole_history(archive::image(&place)?, &place)
    }

    /// The same, and the number of places of its journal that could not be used.
    pub fn read_all(&self, id: SessionId) -> Result<(History, u64), StoreError> {
        let place = self.existing(id)?;
        let image = archive::image(&place)?;
        let damaged = image.damaged;
        Ok((whole_history(image, &place)?, damaged))
    }

    /// What is known to be damaged of a session, as a sentence; none if all of it can be read.
    pub fn damage(&self, id: SessionId) -> Result<Option<String>, StoreError> {
        let image = archive::image(&self.existing(id)?)?;
        Ok(damage_notice(image.damaged))
    }

    /// Tries in `data_dir` what sessions need of a file system: a folder, a file, a lock, a sync. Leaves
    /// nothing behind but the folder. Returns how long the sync took.
    pub fn probe(data_dir: &Path) -> Result<Duration, StoreError> {
        make_folder(data_dir)?;
        let path = data_dir.join(format!("probe-{}", std::process::id()));
        let tried = (|| {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&path)
                .map_err(|e| StoreError::io("create", &path, e))?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)
                .map_err(|e| StoreError::io("lock", &path, e.into()))?;
            let since = Instant::now();
            file.write_all(b"dunlin")
                .and_then(|()| file.sync_data())
                .map_err(|e| StoreError::io("write to and sync", &path, e))?;
            Ok(since.elapsed())
        })();
        drop(fs::remove_file(&path));
        tried
    }

    /// The sessions of this worktree with at least one message, last used first. Those of a worktree that
    /// is not there any more count too: nobody else can go on with them.
    pub fn list(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let mut rows = list::of_folders(&[self.sessions_dir()])?;
        let mut known = HashMap::new();
        rows.retain(|row| {
            let folder = &row.info.worktree;
            if let Some(here) = known.get(folder) {
                return *here;
            }
            let here = self.is_here(folder);
            known.insert(folder.clone(), here);
            here
        });
        Ok(rows)
    }

    /// The worktree that a session says it belongs to.
    pub fn worktree_of(&self, id: SessionId) -> Option<String> {
        let place = self.existing(id).ok()?;
        Some(Meta::read_or_mend(&place)?.summary.info.worktree)
    }

    /// True if sessions of this worktree belong here: it is this one, or there is none of that name.
    pub fn is_here(&self, worktree: &str) -> bool {
        let Some(own) = &self.worktree else {
            return true;
        };
        let other = Path::new(worktree);
        worktree.is_empty() || other == own || !other.is_dir() || {
            // two names of one folder
            fs::canonicalize(other).is_ok_and(|other| other == *own)
        }
    }

    /// The sessions of all projects, last used first.
    pub fn list_all(data_dir: &Path) -> Result<Vec<SessionSummary>, StoreError> {
        list::of_folders(&list::all_folders(data_dir)?)
    }

    /// The session used last, subagents' sessions left out.
    pub fn newest(&self) -> Result<Option<SessionId>, StoreError> {
        list::newest(&self.sessions_dir(), &|worktree| self.is_here(worktree))
    }
}

/// The folder of a new session with its lock and an empty journal.
pub(super) fn make(place: &Place) -> Result<(Lock, Journal), StoreError> {
    make_folder(&place.folder)?;
    place.step();
    let Claim::Ours(lock) = place.claim()? else {
        return Err(StoreError::Exists(place.id));
    };
    place.step();
    let path = place.journal();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|e| StoreError::io("create", &path, e))?;
    place.step();
    let journal = Journal::new(file, path, &Tail::default());
    Ok((lock, journal))
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

fn taken(pid: u32) -> String {
    let by = if pid == std::process::id() {
        "this dunlin already".to_owned()
    } else if pid == 0 {
        "another dunlin".to_owned()
    } else {
        format!("another dunlin (process {pid})")
    };
    format!(
        "This session is open in {by}; here it can only be read. It is followed live, and you can go \
         on when it ends there; /fork goes on in a copy now."
    )
}
