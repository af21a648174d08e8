//! Descendants of a process that left its group (`setsid`), so that a kill reaches them too.
//!
//! Linux only, by /proc; elsewhere the group is all that is known. What was adopted by init before we
//! looked (a real daemon) is not found, on purpose.

use rustix::process::{Pid, Signal, getpgid, kill_process};

/// A process and when it started: a pid alone may mean somebody else later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stray {
    pid: Pid,
    started: u64,
}

/// Descendants of `leader` outside of its group.
pub(super) fn strays(leader: Pid) -> Vec<Stray> {
    let all = processes();
    let mut family = vec![leader];
    let mut index = 0;
    while let Some(parent) = family.get(index).copied() {
        index += 1;
        let children = all
            .iter()
            .filter(|(_, of, _)| *of == parent)
            .map(|(pid, ..)| *pid);
        let new: Vec<Pid> = children.filter(|pid| !family.contains(pid)).collect();
        family.extend(new);
    }
    all.iter()
        .filter(|(pid, ..)| {
            family.contains(pid) && getpgid(Some(*pid)).is_ok_and(|group| group != leader)
        })
        .map(|(pid, _, started)| Stray {
            pid: *pid,
            started: *started,
        })
        .collect()
}

/// Sends a signal to those that are still the same processes.
pub(super) fn signal(strays: &[Stray], signal: Signal) {
    for stray in strays.iter().filter(|stray| is_alive(stray)) {
        // it may end between the look and the signal; then there is nothing to do
        _ = kill_process(stray.pid, signal);
    }
}

/// True while the process lives.
pub(super) fn is_alive(stray: &Stray) -> bool {
    stat(stray.pid.as_raw_nonzero().get())
        .is_some_and(|(_, started, dead)| started == stray.started && !dead)
}

fn processes() -> Vec<(Pid, Pid, u64)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let (parent, started, _) = stat(pid)?;
        Some((Pid::from_raw(pid)?, Pid::from_raw(parent)?, started))
    })
    .collect()
}

/// Parent, start time, and whether it is a zombie.
fn stat(pid: i32) -> Option<(i32, u64, bool)> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // the name in parentheses may contain anything, so count from its end
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let started = fields.get(19)?.parse().ok()?;
    Some((parent, started, matches!(fields.first(), Some(&"Z" | &"X"))))
}
