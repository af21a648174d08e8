//! sled's I/O threads, made to sleep while there is nothing to do. Used where sled is opened, nowhere else.
//!
//! sled 0.34.7 starts seven threads with its first work and keeps them until the process ends, whatever
//! is closed; each waits for work a second at a time, for ever. Work wakes them at once, the second
//! only ends a wait in vain. How exactly such a wait ends is the thread's timer slack, which a new
//! thread takes from the one that starts it: here that is a day while sled starts, so the threads wake
//! for work and else once a day. (Linux. Elsewhere, and where /proc does not let us, they wake as ever.)

use futures_util::FutureExt;

/// Nanoseconds.
const A_DAY: &str = "86400000000000";

/// Opens with `open` and has sled start its threads meanwhile, if they are not there yet.
pub(super) fn opened(
    open: impl FnOnce() -> Result<sled::Db, sled::Error>,
) -> Result<sled::Db, sled::Error> {
    let _slack = Slack::of_a_day();
    let db = open()?;
    // asked once and not waited for: it is begun on one of the threads, so they are there afterwards
    drop(db.flush_async().now_or_never());
    Ok(db)
}

/// While it lives, this thread's timed waits may end a day late, and those of the threads it starts for ever.
struct Slack;

impl Slack {
    fn of_a_day() -> Self {
        set(A_DAY);
        Self
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        // zero is what the thread began with
        set("0");
    }
}

#[cfg(target_os = "linux")]
fn set(nanoseconds: &str) {
    // its target is `PID/task/TID`, but only the folder /proc/TID has the file
    let Ok(own) = std::fs::read_link("/proc/thread-self") else {
        return;
    };
    let Some(thread) = own.file_name() else {
        return;
    };
    let file = std::path::Path::new("/proc")
        .join(thread)
        .join("timerslack_ns");
    if let Err(error) = std::fs::write(file, nanoseconds) {
        tracing::debug!(%error, "the index's threads will wake every second");
    }
}

#[cfg(not(target_os = "linux"))]
fn set(_nanoseconds: &str) {}
