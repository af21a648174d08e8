//! Upkeep: a project is cleaned when dunlin starts and then once an hour while it runs.
//!
//! One thread of low priority that sleeps in between; several processes share a note of the last time,
//! so that one of them does it. It touches no session that another process has open (`gc`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;
use super::gc::{GcPolicy, GcReport};
use super::project::Project;

/// Time between two clean-ups of a project.
const PERIOD: Duration = Duration::from_hours(1);

/// Starts the thread. `policy` is asked for the policy of each clean-up (it knows the time).
pub fn start_upkeep(
    project: Project,
    policy: impl Fn() -> GcPolicy + Send + 'static,
) -> io::Result<()> {
    std::thread::Builder::new()
        .name("dunlin-upkeep".to_owned())
        .spawn(move || {
            // Of this thread only (Linux); where it is refused the work is done all the same.
            let _refused = rustix::process::nice(19);
            loop {
                match project.gc_if_due(&policy()) {
                    Ok(Some(report)) => note(&report),
                    Ok(None) => {}
                    Err(error) => tracing::warn!(%error, "the clean-up was not done"),
                }
                std::thread::park_timeout(PERIOD);
            }
        })
        .map(drop)
}

fn note(report: &GcReport) {
    tracing::info!(
        freed = report.freed,
        outputs = report.outputs,
        packed = report.archived.len(),
        "cleaned up"
    );
    for problem in &report.problems {
        tracing::warn!("{problem}");
    }
}

impl Project {
    /// Cleans up unless that was done within the hour, or is being done, by any process. None then, and
    /// for a project that has no folder yet.
    pub fn gc_if_due(&self, policy: &GcPolicy) -> Result<Option<GcReport>, StoreError> {
        if !self.sessions_dir().exists() {
            return Ok(None);
        }
        let mut file = self.cleaned_note()?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || is_fresh(&file) {
            return Ok(None);
        }
        let report = self.clean(policy)?;
        let noted = file.set_len(0).and_then(|()| file.write_all(b"1\n"));
        noted.map_err(|e| {
            StoreError::io("note the clean-up in", &self.folder().join("cleaned"), e)
        })?;
        Ok(Some(report))
    }

    /// The note of the last clean-up, locked by whoever is at one.
    pub(super) fn cleaned_note(&self) -> Result<File, StoreError> {
        let path = self.folder().join("cleaned");
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let opened = options.open(&path);
        opened.map_err(|e| StoreError::io("note the clean-up in", &path, e))
    }
}

/// True if the last clean-up was within the hour. (A note from the future is of a clock that went
/// back: it counts as old.)
fn is_fresh(file: &File) -> bool {
    let Ok(facts) = file.metadata() else {
        return false;
    };
    let age = facts
        .modified()
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    facts.len() > 0 && age.is_some_and(|age| age < PERIOD)
}
