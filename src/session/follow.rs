//! Follow: a live, read-only view of a session that another process writes.
//!
//! A front end that opened a session for reading awaits `changed` and then takes what is new with
//! `read`. Both only look at the journal; the writer never knows. A last line that is not complete,
//! or whose bytes have not all arrived, is left for the next time.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::error::StoreError;
use super::journal::{Found, Lines};
use super::place::Place;
use super::record::{self, FORMAT, Record, Stored, Unreadable};

/// Reads a journal from some place on.
#[derive(Debug)]
pub struct Follower {
    place: Place,
    journal: PathBuf,
    /// Offset after the last line that was read.
    end: u64,
    /// How long the journal was when it was looked at last: half a line may stand after `end`.
    seen: u64,
    watch: watch::Watch,
}

impl Follower {
    pub(super) fn new(place: &Place, from: u64) -> Self {
        let journal = place.journal();
        Self {
            watch: watch::Watch::new(&journal, &place.lock()),
            place: place.clone(),
            journal,
            end: from,
            seen: from,
        }
    }

    /// What was written since the last call (since the session was opened, at first), in order.
    /// Never blocks for long; empty if nothing is new.
    pub fn read(&mut self) -> Result<Vec<Record>, StoreError> {
        let path = self.journal.clone();
        let io = |e: io::Error| StoreError::io("read the journal", &path, e);
        let len = fs::metadata(&path).map_err(io)?.len();
        if len < self.end {
            return Err(StoreError::Damaged {
                path,
                detail: "it became shorter while it was being read; open the session again"
                    .to_owned(),
            });
        }
        self.seen = len;
        let mut records = Vec::new();
        let mut lines = Lines::open(&path, self.end, Some(len)).map_err(io)?;
        while let Some(found) = lines.next().map_err(io)? {
            match found {
                // a line that is being written right now may be seen before all of its bytes
                Found::Damaged { end } if end == len => break,
                Found::Damaged { end } => self.end = end,
                Found::Line { json, end, .. } => {
                    match record::decode(json) {
                        Ok(line) => {
                            let read = line.records.iter().filter_map(Stored::owned);
                            records.extend(read);
                        }
                        Err(Unreadable::Newer(found)) => {
                            return Err(StoreError::Newer {
                                path,
                                found,
                                known: FORMAT,
                            });
                        }
                        Err(Unreadable::Malformed) => {}
                    }
                    self.end = end;
                }
            }
        }
        Ok(records)
    }

    /// True if no process has the session open any more: it can be opened for writing.
    pub fn is_free(&self) -> bool {
        !self.place.is_taken()
    }

    fn has_grown(&self) -> bool {
        fs::metadata(&self.journal).is_ok_and(|m| m.len() != self.seen)
    }

    /// Waits until the journal was written to since the last `read` (or may have been: `read` can
    /// still find nothing) or the session is free. Wakes nobody while nothing happens. Must be called
    /// within tokio.
    pub async fn changed(&mut self) {
        if self.has_grown() || self.is_free() {
            return;
        }
        self.watch.changed().await;
        // A process that ends closes its files a moment before the kernel lets go of its lock.
        for wait in [1, 5, 20, 100, 300] {
            if self.has_grown() || self.is_free() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
    }
}

#[cfg(target_os = "linux")]
mod watch {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use tokio::io::unix::AsyncFd;

    /// inotify on one file; without it (no watches left) a look every quarter of a second.
    #[derive(Debug)]
    pub(super) struct Watch {
        inotify: Option<OwnedFd>,
        ready: Option<AsyncFd<OwnedFd>>,
    }

    impl Watch {
        pub(super) fn new(journal: &Path, lock: &Path) -> Self {
            let watch = || {
                let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
                let gone = WatchFlags::CLOSE_WRITE | WatchFlags::DELETE_SELF;
                inotify::add_watch(&fd, journal, WatchFlags::MODIFY | gone)?;
                inotify::add_watch(&fd, lock, gone)?;
                rustix::io::Result::Ok(fd)
            };
            Self {
                inotify: watch().ok(),
                ready: None,
            }
        }

        #[expect(
            deprecated,
            reason = "its replacement is unsafe for types that may close early; OwnedFd cannot"
        )]
        pub(super) async fn changed(&mut self) {
            if let Some(fd) = self.inotify.take() {
                self.ready = AsyncFd::new(fd).ok();
            }
            let Some(ready) = &self.ready else {
                tokio::time::sleep(super::BLIND).await;
                return;
            };
            if let Ok(mut guard) = ready.readable().await {
                let mut buffer = [MaybeUninit::uninit(); 1_024];
                let mut events = inotify::Reader::new(ready.get_ref(), &mut buffer);
                while events.next().is_ok() {}
                guard.clear_ready();
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    use std::path::Path;

    /// A look every quarter of a second.
    #[derive(Debug)]
    pub(super) struct Watch;

    impl Watch {
        pub(super) fn new(_journal: &Path, _lock: &Path) -> Self {
            Self
        }

        pub(super) async fn changed(&mut self) {
            tokio::time::sleep(super::BLIND).await;
        }
    }
}

/// How often a file is looked at where the system does not tell of changes.
const BLIND: Duration = Duration::from_millis(250);
