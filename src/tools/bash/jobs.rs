//! Commands that run in the background, until they end, are killed, or dunlin ends.
//!
//! One `Jobs` per program, shared by the tools; each job belongs to a session. Dropping `Jobs` kills
//! everything that still runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::process::signal_name;
use super::pump::{End, Ended, Limits, Running, locked};
use crate::protocol::SessionId;
use crate::tools::arguments::short;
use crate::tools::output::Spill;

/// Jobs that may run at once.
const MOST_RUNNING: usize = 32;

/// Ended jobs that are remembered.
const MOST_ENDED: usize = 64;

/// Where a job stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobState {
    /// Bytes of output so far.
    pub total: u64,
    /// How it ended, as words for the model; none while it runs.
    pub ended: Option<String>,
    /// Its exit code, if it ended with one.
    pub exit: Option<i32>,
}

/// A background job.
#[derive(Debug)]
pub struct Job {
    /// What the model calls it.
    pub id: String,
    /// Whose it is.
    pub session: SessionId,
    /// The command line.
    pub command: String,
    spill: Arc<Mutex<Spill>>,
    file: Option<PathBuf>,
    state: watch::Receiver<JobState>,
    stop: CancellationToken,
    /// Bytes that the model has seen.
    seen: Mutex<u64>,
}

impl Job {
    /// Where it stands.
    pub fn state(&self) -> JobState {
        self.state.borrow().clone()
    }

    /// A receiver of its states.
    pub fn watch(&self) -> watch::Receiver<JobState> {
        self.state.clone()
    }

    /// The file of its output, if it could be created.
    pub fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    /// The last lines of its output.
    pub fn last_lines(&self, lines: usize, bytes: usize) -> String {
        locked(&self.spill).last_lines(lines, bytes)
    }

    /// Asks it to end: TERM, KILL after 2 s. `watch` tells when it has.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) fn spill(&self) -> MutexGuard<'_, Spill> {
        locked(&self.spill)
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All background jobs.
#[derive(Debug, Default)]
pub struct Jobs {
    inner: Mutex<Inner>,
    /// Kills what still runs when the last holder is gone.
    all: CancelOnDrop,
    /// Jobs that run, and processes that were told to end and have not yet.
    ending: TaskTracker,
}

#[derive(Debug, Default)]
struct Inner {
    jobs: Vec<Arc<Job>>,
    count: u64,
}

#[derive(Debug, Default)]
struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Jobs {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The jobs of a session, oldest first.
    pub fn of(&self, session: SessionId) -> Vec<Arc<Job>> {
        let inner = self.lock();
        inner
            .jobs
            .iter()
            .filter(|job| job.session == session)
            .cloned()
            .collect()
    }

    /// A job of a session by its name; the error names the ones there are.
    pub fn get(&self, session: SessionId, id: &str) -> Result<Arc<Job>, String> {
        let jobs = self.of(session);
        let wanted = id.trim();
        if let Some(job) = jobs
            .iter()
            .find(|job| job.id == wanted || job.id.strip_prefix("job-") == Some(wanted))
        {
            return Ok(Arc::clone(job));
        }
        let named = short(wanted);
        if jobs.is_empty() {
            return Err(format!(
                "There is no job `{named}`: no command runs in the background. Start one with bash and background: true."
            ));
        }
        let known: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        Err(format!(
            "There is no job `{named}`. The jobs are: {}.",
            known.join(", ")
        ))
    }

    /// Asks all jobs of a session to end.
    pub fn stop_session(&self, session: SessionId) {
        for job in self.of(session) {
            job.stop();
        }
    }

    /// Asks all jobs to end.
    pub fn stop_all(&self) {
        self.all.0.cancel();
    }

    /// Ends all jobs and waits until no process that was started or told to end is left: 2 s at the
    /// longest for those that ignore TERM.
    pub async fn end_all(&self) {
        self.stop_all();
        self.ending.close();
        self.ending.wait().await;
    }

    /// Where the ends of processes are waited for.
    pub(super) fn reaper(&self) -> TaskTracker {
        self.ending.clone()
    }

    /// True if one more job may be started.
    pub(super) fn has_room(&self) -> bool {
        let running = |job: &&Arc<Job>| job.state.borrow().ended.is_none();
        self.lock().jobs.iter().filter(running).count() < MOST_RUNNING
    }

    /// Goes on with a command in the background.
    pub(super) fn adopt(
        &self,
        session: SessionId,
        command: String,
        mut running: Running,
    ) -> Arc<Job> {
        let mut inner = self.lock();
        inner.count += 1;
        let stop = self.all.0.child_token();
        let file = locked(&running.spill)
            .save_early()
            .map(std::path::Path::to_owned);
        let first = JobState {
            total: locked(&running.spill).total(),
            ..JobState::default()
        };
        let (sender, state) = watch::channel(first);
        let job = Arc::new(Job {
            id: format!("job-{}", inner.count),
            session,
            command,
            spill: Arc::clone(&running.spill),
            file,
            state,
            stop: stop.clone(),
            seen: Mutex::new(0),
        });
        inner.jobs.push(Arc::clone(&job));
        let ended: Vec<usize> = (0..inner.jobs.len())
            .filter(|index| inner.jobs[*index].state.borrow().ended.is_some())
            .collect();
        if ended.len() > MOST_ENDED {
            inner.jobs.remove(ended[0]);
        }
        drop(inner);
        self.ending.spawn(async move {
            let limits = Limits {
                deadline: None,
                cancel: CancellationToken::new(),
                stop,
            };
            let update = |spill: &Spill| {
                sender.send_modify(|state| state.total = spill.total());
            };
            let end = running.until_end(&limits, &update).await;
            let total = locked(&running.spill).total();
            let (ended, exit) = words(&end);
            if end.left && end.how == Ended::Exited {
                // what it left running keeps its output; it ends with dunlin, like any job
                sender.send_modify(|state| state.total = total);
                leftovers(running, &sender, &limits.stop).await;
                return;
            }
            drop(running);
            sender.send_modify(|state| {
                *state = JobState {
                    total,
                    ended: Some(ended),
                    exit,
                }
            });
        });
        job
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads on while processes that the command left behind hold its output open.
async fn leftovers(
    mut running: Running,
    sender: &watch::Sender<JobState>,
    stop: &CancellationToken,
) {
    let open = async {
        while running.drain().await {
            let total = locked(&running.spill).total();
            sender.send_modify(|state| state.total = total);
        }
    };
    let ended = tokio::select! {
        () = open => "ended",
        () = stop.cancelled() => "was killed",
    };
    let total = locked(&running.spill).total();
    drop(running);
    sender.send_modify(|state| {
        *state = JobState {
            total,
            ended: Some(ended.to_owned()),
            exit: None,
        };
    });
}

/// The end in words, and the exit code.
pub(super) fn words(end: &End) -> (String, Option<i32>) {
    use std::os::unix::process::ExitStatusExt;
    let exit = end.status.and_then(|status| status.code());
    let signal = end.status.and_then(|status| status.signal());
    let how = match (end.how, exit, signal) {
        (Ended::Stopped, ..) => "was killed".to_owned(),
        (Ended::TimedOut, ..) => "timed out".to_owned(),
        (_, Some(code), _) => format!("ended with exit code {code}"),
        (_, None, Some(signal)) => format!("was ended by {}", signal_name(signal)),
        _ => "ended".to_owned(),
    };
    (how, exit)
}
