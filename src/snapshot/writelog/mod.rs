//! The write log: what tools and commands of this process do to files, said before they do it, so that
//! other sessions in the same worktree do not take it for their own.
//!
//! A folder beside the shadow repository holds one file per process. Only its own process appends to it
//! (one `write` a line; no lock, no sync), everybody reads all. What is said is kept in memory, too: the
//! attribution of this process' own steps is made of it. Losing a line costs precision, never more.
//! Called by the handle (tools, commands) and by the owner (states, claims, undo).

mod account;
mod line;
mod process;

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) use account::{Account, Claim, Write};
use line::{COMMAND, LONGEST, Line, VERSION};

use super::path;
use super::record::FileState;

/// Name of the folder, in the project's data folder.
const FOLDER: &str = "writelog";
/// A log of more bytes is begun anew with its last hour.
const FULL: u64 = 256 << 10;
/// What is not read: no process writes so much.
const MOST: u64 = 8 << 20;
/// Things said that are kept in memory.
const KEPT: usize = 50_000;
const HOUR: i64 = 3_600_000_000_000;
/// Logs that are older belong to nobody's step.
const OLD: Duration = Duration::from_hours(24);
/// Who wrote to the log so shortly ago is alive, even where its process cannot be seen (containers).
const FRESH: i64 = 2_000_000_000;

/// The time now, in nanoseconds since the epoch: the clock of the times of files.
pub(super) fn now() -> i64 {
    since_epoch(SystemTime::now())
}

fn since_epoch(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

/// This process' log.
#[derive(Debug)]
pub(super) struct WriteLog {
    folder: PathBuf,
    root: String,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    file: Option<(PathBuf, File)>,
    /// Bytes in it, and from how many on it is begun anew.
    size: u64,
    full: u64,
    next: u64,
    account: Account,
    /// The last line may have come in half.
    torn: bool,
}

/// What another process said.
#[derive(Debug)]
pub(super) struct Other {
    /// What.
    pub(super) account: Account,
    /// It still runs.
    pub(super) alive: bool,
    /// Its last sign of life, in nanoseconds.
    pub(super) seen: i64,
}

impl WriteLog {
    /// The log of a worktree; `store` is the shadow repository's folder. Nothing is written yet.
    pub(super) fn new(root: &Path, store: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        let inner = Inner {
            full: FULL,
            next: 1,
            ..Inner::default()
        };
        Self {
            folder: folder(store),
            root: path::to_text(root.as_os_str().as_bytes()),
            inner: Mutex::new(inner),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the file, so that others know that there is somebody.
    pub(super) fn begin(&self) {
        let mut inner = self.lock();
        if inner.file.is_none()
            && let Err(error) = self.create(&mut inner)
        {
            tracing::warn!(%error, "other sessions in this folder are not told what this one writes");
        }
    }

    fn create(&self, inner: &mut Inner) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let (pid, start) = process::own();
        for number in 0..1_000_u32 {
            let name = self.folder.join(format!("{pid}-{start}-{number}"));
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600);
            match options.open(&name) {
                Ok(file) => {
                    inner.file = Some((name, file));
                    inner.size = 0;
                    inner.append(&self.head());
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(std::io::Error::other("too many logs of one process"))
    }

    fn head(&self) -> Line {
        let (pid, start) = process::own();
        Line::Open {
            v: VERSION,
            pid,
            start,
            root: self.root.clone(),
        }
    }

    /// Says a line, to others and to ourselves.
    fn say(&self, inner: &mut Inner, line: Line) {
        inner.append(&line);
        inner.account.hear(line);
        if inner.size > inner.full {
            self.renew(inner);
        }
        let account = &inner.account;
        if account.writes.len() + account.claims.len() + account.commands.len() > KEPT {
            inner.account.forget(now() - HOUR / 12);
        }
    }

    /// Begins the file anew with what is not long over.
    fn renew(&self, inner: &mut Inner) {
        inner.account.forget(now() - HOUR);
        let Some((name, _)) = inner.file.take() else {
            return;
        };
        let fresh = name.with_extension("new");
        let mut text = self.head().text().unwrap_or_default();
        for line in inner.account.lines() {
            text.extend(line.text().unwrap_or_default());
        }
        let mut options = OpenOptions::new();
        options
            .append(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let made = std::fs::remove_file(&fresh).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        let made = made.and_then(|()| {
            let mut file = options.open(&fresh)?;
            file.write_all(&text)?;
            std::fs::rename(&fresh, &name)?;
            Ok(file)
        });
        match made {
            Ok(file) => {
                inner.size = text.len() as u64;
                // a busy hour is not written again and again
                inner.full = FULL.max(inner.size * 2);
                inner.file = Some((name, file));
            }
            Err(error) => tracing::warn!(%error, "the write log could not be begun anew"),
        }
    }

    /// A tool of this step is about to write a file; the number by which more is said of that.
    pub(super) fn about_to_write(&self, step: &str, path: &[u8]) -> u64 {
        let mut inner = self.lock();
        let id = inner.number();
        let line = Line::Write {
            id,
            at: now(),
            path: path::to_text(path),
            step: step.to_owned(),
        };
        self.say(&mut inner, line);
        id
    }

    /// What a write leads from and to.
    pub(super) fn wrote(&self, id: u64, before: Option<FileState>, after: Option<FileState>) {
        let mut inner = self.lock();
        if inner.account.writes.contains_key(&id) {
            self.say(&mut inner, Line::Wrote { id, before, after });
        }
    }

    /// A write was not made after all.
    pub(super) fn did_not_write(&self, id: u64) {
        let mut inner = self.lock();
        self.say(&mut inner, Line::Not { id });
    }

    /// A command of this step starts; the number by which its end is said.
    pub(super) fn command_begins(&self, step: &str, command: &str, job: bool) -> u64 {
        let mut inner = self.lock();
        let id = inner.number();
        let command = command.get(..command.floor_char_boundary(COMMAND / 2));
        let line = Line::Begin {
            id,
            at: now(),
            command: command.unwrap_or_default().to_owned(),
            step: step.to_owned(),
            job,
        };
        self.say(&mut inner, line);
        id
    }

    /// It ends.
    pub(super) fn command_ends(&self, id: u64) {
        let mut inner = self.lock();
        self.say(&mut inner, Line::End { id, at: now() });
    }

    /// Says what commands are held to have written, then that there is no more.
    pub(super) fn settle(&self, claims: Vec<Claim>, ids: &[u64]) {
        let mut inner = self.lock();
        for claim in claims {
            let line = Line::Claim {
                at: claim.at,
                path: path::to_text(&claim.path),
                before: claim.states.0,
                after: claim.states.1,
                disputed: claim.disputed,
            };
            self.say(&mut inner, line);
        }
        for ids in ids.chunks(500) {
            self.say(&mut inner, Line::Settled { ids: ids.to_vec() });
        }
    }

    /// A step's commands have written nothing.
    pub(super) fn settle_step(&self, step: &str) {
        let commands = |account: &Account| -> Vec<u64> {
            let commands = account.commands.iter();
            let of = commands.filter(|(_, c)| c.step == step && !c.job && !c.settled);
            of.map(|(id, _)| *id).collect()
        };
        let ids = self.own(commands);
        self.settle(Vec::new(), &ids);
    }

    /// The process lives: said now and then while commands run.
    pub(super) fn touch(&self) {
        if let Some((_, file)) = &self.lock().file {
            file.set_modified(SystemTime::now()).ok();
        }
    }

    /// What this process has said.
    pub(super) fn own<T>(&self, read: impl FnOnce(&Account) -> T) -> T {
        read(&self.lock().account)
    }

    /// What other processes said of this worktree, in logs that were written to since this moment. A log
    /// that cannot be read is passed over.
    pub(super) fn others(&self, since: i64) -> Vec<Other> {
        let own = self.lock().file.as_ref().map(|(name, _)| name.clone());
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut others = Vec::new();
        for entry in entries.flatten() {
            let name = entry.path();
            if own.as_ref() == Some(&name) || name.extension().is_some() {
                continue;
            }
            others.extend(self.other(&name, since));
        }
        others
    }

    fn other(&self, name: &Path, since: i64) -> Option<Other> {
        let file = File::open(name).ok()?;
        let data = file.metadata().ok()?;
        let seen = since_epoch(data.modified().ok()?);
        if !data.is_file() || data.len() > MOST || seen < since {
            return None;
        }
        let mut text = Vec::with_capacity(data.len() as usize + 1);
        file.take(MOST).read_to_end(&mut text).ok()?;
        let mut lines = text
            .split_inclusive(|byte| *byte == b'\n')
            // without its end a line is still being written, or never will be
            .filter_map(|line| line.strip_suffix(b"\n"))
            .filter(|line| line.len() <= LONGEST)
            .filter_map(Line::read);
        let Some(Line::Open {
            pid, start, root, ..
        }) = lines.next()
        else {
            return None;
        };
        if root != self.root {
            return None;
        }
        let mut account = Account::default();
        for line in lines {
            account.hear(line);
        }
        let alive = process::is_alive(pid, start) || (now() - seen).abs() < FRESH;
        Some(Other {
            account,
            alive,
            seen,
        })
    }
}

impl Inner {
    fn number(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    fn append(&mut self, line: &Line) {
        let (Some((_, file)), Some(text)) = (&mut self.file, line.text()) else {
            return;
        };
        if self.torn {
            // whatever stands there in half ends here
            self.torn = file.write(b"\n").is_err();
        }
        match file.write(&text) {
            Ok(written) => {
                self.size += written as u64;
                self.torn |= written < text.len();
            }
            Err(error) => {
                self.torn = true;
                tracing::debug!(%error, "a line of the write log is lost");
            }
        }
    }
}

impl Drop for WriteLog {
    fn drop(&mut self) {
        // a log that says nothing is of no use to anybody
        let inner = self.lock();
        if let Some((name, _)) = &inner.file
            && inner.next == 1
        {
            std::fs::remove_file(name).ok();
        }
    }
}

/// Where the logs of the projects with this shadow repository are.
fn folder(store: &Path) -> PathBuf {
    store.parent().unwrap_or(store).join(FOLDER)
}

/// Removes the logs of processes that are long gone. Those of this one stay.
pub(super) fn collect(store: &Path, now: SystemTime) {
    let (pid, _) = process::own();
    let own = format!("{pid}-");
    let Ok(entries) = std::fs::read_dir(folder(store)) else {
        return;
    };
    for entry in entries.flatten() {
        let old = entry.metadata().is_ok_and(|data| {
            let at = data.modified().unwrap_or(now);
            now.duration_since(at).unwrap_or_default() > OLD
        });
        if old && !entry.file_name().to_string_lossy().starts_with(&own) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
