//! The handle that the agent holds: sends jobs to the owner thread and waits for answers without
//! blocking.
//!
//! The thread sleeps on its channel when there is nothing to do; once after a while of that it looks at
//! everything (`snapshot.verify_after`), then it is never woken again until somebody asks. It ends when the handle is closed
//! or the last copy of it is dropped.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::oneshot;

use super::gc::{self, GcReport};
use super::owner::Owner;
use super::pass::Signs;
use super::path;
use super::record::{FileWrite, Hints, Restored, SnapshotError, SnapshotState, Step, Taken};
use super::writelog::WriteLog;
use crate::config::used::SnapshotSettings;
use crate::protocol::{FileDiff, Hunk, PatchFile, SnapshotId};

/// Another session that is finding out what its command wrote is waited for so long, and asked so often.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(15);

/// A piece of work; it answers by itself.
type Job = Box<dyn FnOnce(&mut Owner) + Send>;

/// Snapshots of one worktree. Copies share one owner thread.
#[derive(Clone)]
pub struct Snapshots {
    jobs: Sender<Job>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<SnapshotState>,
    signs: Arc<Signs>,
    log: Arc<WriteLog>,
    /// Names of the worktree's root.
    roots: [PathBuf; 2],
    /// Bytes of the largest file that is kept.
    max_file: u64,
}

impl Shared {
    fn state(&self) -> SnapshotState {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, state: SnapshotState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Snapshots {
    /// Starts the owner thread, which takes the first snapshot in the background. Never blocks and
    /// never fails: what is wrong turns snapshots off, and `state` says why. `store` is the shadow
    /// repository's folder; `home` the user's home, where no snapshots are taken.
    pub fn open(
        worktree: PathBuf,
        store: PathBuf,
        home: Option<PathBuf>,
        settings: SnapshotSettings,
    ) -> Self {
        let (jobs, inbox) = channel();
        let signs = Arc::new(Signs::default());
        let real = worktree.canonicalize().unwrap_or_else(|_| worktree.clone());
        let log = Arc::new(WriteLog::new(&real, &store));
        let shared = Arc::new(Shared {
            state: Mutex::new(SnapshotState::Starting),
            signs: Arc::clone(&signs),
            log: Arc::clone(&log),
            roots: [real, worktree.clone()],
            max_file: settings.max_file,
        });
        let theirs = Arc::clone(&shared);
        let started = std::thread::Builder::new()
            .name("snapshot".to_owned())
            .spawn(move || {
                match Owner::start(worktree, store, home.as_deref(), settings, (signs, log)) {
                    Ok(mut owner) => {
                        theirs.log.begin();
                        theirs.set(SnapshotState::Ready);
                        serve(&mut owner, &inbox, &theirs.signs);
                        owner.finish();
                    }
                    // dropping the inbox answers everybody who waits
                    Err(reason) => theirs.set(SnapshotState::Off(reason)),
                }
            });
        if let Err(e) = started {
            shared.set(SnapshotState::Off(format!(
                "Snapshots are off: no thread could be started ({e}). Close other programs and start dunlin again."
            )));
        }
        Self { jobs, shared }
    }

    /// Whether snapshots can be taken.
    pub fn state(&self) -> SnapshotState {
        self.shared.state()
    }

    /// Takes a snapshot; waits for the first one if that is still being made. Its place in the order of jobs
    /// is that of this call, whenever it is awaited.
    pub fn take(
        &self,
        hints: Hints,
    ) -> impl Future<Output = Result<Taken, SnapshotError>> + Send + use<> {
        self.ask(move |owner| owner.take(&hints))
    }

    /// A number that grows while the owner thread works.
    pub fn beats(&self) -> u64 {
        self.shared.signs.beats()
    }

    /// Line counts of what changed between two snapshots, sorted by path.
    pub async fn counts(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
    ) -> Result<Vec<PatchFile>, SnapshotError> {
        let (from, to) = (from.clone(), to.clone());
        self.ask(move |owner| owner.counts(&from, &to)).await
    }

    /// What changed between two snapshots, as hunks with line numbers, sorted by path.
    pub async fn diff(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        context_lines: u32,
    ) -> Result<Vec<FileDiff>, SnapshotError> {
        let (from, to) = (from.clone(), to.clone());
        self.ask(move |owner| owner.diff(&from, &to, context_lines))
            .await
    }

    /// What changed in one file, with so many unchanged lines around each place.
    pub async fn file_diff(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        file: (&str, u32),
    ) -> Result<Option<FileDiff>, SnapshotError> {
        let (from, to) = (from.clone(), to.clone());
        let (path, context) = (file.0.to_owned(), file.1);
        self.ask(move |owner| owner.file_diff(&from, &to, (&path, context)))
            .await
    }

    /// One hunk of such a change as a write: handed to `restore`, that hunk alone is taken back.
    /// None if the file does not read as the hunk says.
    pub async fn hunk(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        place: (&str, &Hunk),
    ) -> Result<Option<FileWrite>, SnapshotError> {
        let (from, to) = (from.clone(), to.clone());
        let (path, hunk) = (place.0.to_owned(), place.1.clone());
        self.ask(move |owner| owner.hunk(&from, &to, (&path, &hunk)))
            .await
    }

    /// What the worktree is in the user's last commit; none without a commit. It can be compared
    /// with snapshots, but nothing keeps it from the user's own garbage collection.
    pub async fn head(&self) -> Result<Option<SnapshotId>, SnapshotError> {
        self.ask(|owner| owner.head()).await
    }

    /// What an interval wrote, file by file, to be recorded with the tool call that ran in it.
    /// Files that only came into view (a changed ignore rule) are left out. Call it soon after the
    /// snapshots were taken: what came into view is known only to this process.
    pub async fn writes(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        self.writes_until(from, to, None).await
    }

    /// The same of tools that had ended at this moment (nanoseconds since the epoch): a file that was changed
    /// later is marked as `unsure`.
    pub async fn writes_until(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        until: Option<i64>,
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let step = Step {
            until,
            ..Step::default()
        };
        self.step_writes(from, to, &step).await
    }

    /// What a step wrote, without what is known to be another session's. Waits a moment for others that are
    /// just finding out what theirs wrote.
    pub async fn step_writes(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        step: &Step,
    ) -> Result<Vec<FileWrite>, SnapshotError> {
        let begun = tokio::time::Instant::now();
        loop {
            let (from, to, step) = (from.clone(), to.clone(), step.clone());
            let patience = begun.elapsed() < PATIENCE;
            let asked = self.ask(move |owner| owner.step_writes((&from, &to), &step, patience));
            if let Some(writes) = asked.await? {
                return Ok(writes);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Line counts of writes, file by file.
    pub async fn count_writes(
        &self,
        writes: Vec<FileWrite>,
    ) -> Result<Vec<PatchFile>, SnapshotError> {
        self.ask(move |owner| owner.count_writes(&writes)).await
    }

    /// Takes writes back, given oldest first. What somebody else changed since is merged, or listed
    /// as a conflict and left alone. A dry run answers the same without touching a file.
    pub async fn restore(
        &self,
        writes: Vec<FileWrite>,
        dry_run: bool,
    ) -> Result<Restored, SnapshotError> {
        self.ask(move |owner| owner.restore(&writes, dry_run)).await
    }

    /// Removes what no snapshot of `keep` needs; see [`gc::collect`]. The newest snapshot of this
    /// handle is always kept.
    pub async fn gc(
        &self,
        keep: &[SnapshotId],
        settings: SnapshotSettings,
    ) -> Result<GcReport, SnapshotError> {
        let asked = keep.to_vec();
        self.ask(move |owner| {
            let mut keep: Vec<SnapshotId> = owner.newest().into_iter().collect();
            keep.extend(asked);
            gc::collect(owner.store(), &keep, &settings, SystemTime::now())
        })
        .await
    }

    /// Bytes that the store takes on disk.
    pub async fn disk_use(&self) -> Result<u64, SnapshotError> {
        self.ask(|owner| Ok(gc::disk_use(owner.store()))).await
    }

    /// A tool of this step is about to bring a file from one content (with its permission bits) to another:
    /// said to other sessions before it is done. The number is for `did_not_write`; none if the file is not
    /// in the worktree or snapshots are off. Costs one small write and a copy of the contents, which are
    /// stored by the owner thread.
    pub fn about_to_write(
        &self,
        step: &str,
        path: &Path,
        before: Option<(&[u8], u32)>,
        after: Option<&[u8]>,
    ) -> Option<u64> {
        if let SnapshotState::Off(_) = self.state() {
            return None;
        }
        let roots = self.shared.roots.each_ref().map(PathBuf::as_path);
        let path = path::relative(path, &roots).filter(|path| path::is_safe(path))?;
        let id = self.shared.log.about_to_write(step, &path);
        let bits = before.map(|(_, bits)| bits);
        let before = before.map(|(data, _)| data.to_vec());
        let after = after.map(<[u8]>::to_vec);
        let (log, most) = (Arc::clone(&self.shared.log), self.shared.max_file);
        let job: Job =
            Box::new(
                move |owner| match owner.keep_states((before, after), bits, most) {
                    Ok((before, after)) => log.wrote(id, before, after),
                    Err(error) => tracing::warn!(%error, "what a tool wrote is not known"),
                },
            );
        self.jobs.send(job).ok();
        Some(id)
    }

    /// That write was not made after all.
    pub fn did_not_write(&self, id: u64) {
        self.shared.log.did_not_write(id);
    }

    /// A command of this step starts: it may write anything until what is given back is dropped. `job`: it
    /// goes on in the background when its call has ended.
    pub fn command(&self, step: &str, command: &str, job: bool) -> Running {
        let id = self.shared.log.command_begins(step, command, job);
        Running {
            log: Arc::clone(&self.shared.log),
            id,
        }
    }

    /// The process lives, and commands run.
    pub fn touch(&self) {
        self.shared.log.touch();
    }

    /// Nothing has changed since a step's commands began, so there is nothing to be said of them.
    pub fn nothing_written(&self, step: &str) {
        self.shared.log.settle_step(step);
    }

    /// Ends the owner thread after the job it is at. What is asked later is refused.
    pub fn close(&self) {
        self.shared.signs.stop();
        // wakes the thread if it sleeps; if it is gone, there is nobody to wake
        self.jobs.send(Box::new(|_| {})).ok();
    }

    fn ask<T: Send + 'static, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, SnapshotError>> + Send + use<T, W>
    where
        W: FnOnce(&mut Owner) -> Result<T, SnapshotError> + Send + 'static,
    {
        let (answer, wait) = oneshot::channel();
        let job: Job = Box::new(move |owner| {
            // nobody waits any more: the caller was cancelled
            answer.send(work(owner)).ok();
        });
        let shared = Arc::clone(&self.shared);
        let sent = self.jobs.send(job);
        async move {
            let gone = || match shared.state() {
                SnapshotState::Off(reason) => SnapshotError::Off(reason),
                SnapshotState::Starting | SnapshotState::Ready => SnapshotError::Closed,
            };
            sent.map_err(|_inbox_gone| gone())?;
            wait.await.unwrap_or_else(|_| Err(gone()))
        }
    }
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    log: Arc<WriteLog>,
    id: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.log.command_ends(self.id);
    }
}

fn serve(owner: &mut Owner, inbox: &Receiver<Job>, signs: &Signs) {
    loop {
        let job = if owner.has_upkeep() {
            match inbox.try_recv() {
                Ok(job) => job,
                Err(TryRecvError::Empty) => {
                    owner.upkeep();
                    continue;
                }
                Err(TryRecvError::Disconnected) => return,
            }
        } else if let Some(idle) = owner.verify_after() {
            match inbox.recv_timeout(idle) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    owner.verify();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        } else {
            match inbox.recv() {
                Ok(job) => job,
                Err(_) => return,
            }
        };
        if signs.is_stopped() {
            return;
        }
        job(owner);
    }
}
