//! Which process writes a log, and whether one still runs.
//!
//! A number alone is not enough: it is given again. Where the system tells when a process was started
//! (Linux) that is part of its name.

/// Our own number and start.
pub(super) fn own() -> (u32, u64) {
    let pid = std::process::id();
    (pid, start_of(pid).unwrap_or(0))
}

/// True if this process still runs.
pub(super) fn is_alive(pid: u32, start: u64) -> bool {
    match start_of(pid) {
        Some(now) => start == 0 || now == start,
        None => !cfg!(target_os = "linux") && answers(pid),
    }
}

/// When a process was started, in the system's own units; none if it is gone or that is not told.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name of the program, in brackets, may hold anything
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    (!is_dead).then(|| fields.nth(18)?.parse().ok()).flatten()
}

#[cfg(not(target_os = "linux"))]
fn start_of(_pid: u32) -> Option<u64> {
    None
}

/// True if a signal could be sent to it.
fn answers(pid: u32) -> bool {
    let number = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    number.is_some_and(|pid| {
        !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}
