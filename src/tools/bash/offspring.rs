//! Descendants of a process that left its group (`setsid`), so that a kill reaches them too.
//!
//! Linux only, by /proc; elsewhere the group is all that is known. What was adopted by init before we
//! looked (a real daemon) is not found, on purpose.

use rustix::process::{Pid, Signal, kill_process};

/// A process and when it started: a pid alone may mean somebody else later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stray {
    pid: i32,
    started: u64,
}

/// A process as /proc shows it.
#[derive(Debug, Clone, Copy)]
struct Seen {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
    dead: bool,
}

/// Descendants of whoever is in the group of `leader`, outside of that group.
pub(super) fn strays(leader: Pid) -> Vec<Stray> {
    let leader = leader.as_raw_nonzero().get();
    let all = processes();
    let members = all.iter().filter(|seen| seen.group == leader);
    let mut family: Vec<i32> = members.map(|seen| seen.pid).collect();
    let mut index = 0;
    while let Some(parent) = family.get(index).copied() {
        index += 1;
        let children = all.iter().filter(|seen| seen.parent == parent);
        let new: Vec<i32> = children
            .map(|seen| seen.pid)
            .filter(|pid| !family.contains(pid))
            .collect();
        family.extend(new);
    }
    all.iter()
        .filter(|seen| seen.group != leader && family.contains(&seen.pid))
        .map(|seen| Stray {
            pid: seen.pid,
            started: seen.started,
        })
        .collect()
}

/// Everything in the group or the session of `leader`, and descendants of it that left both.
pub(super) fn session(leader: Pid) -> Vec<Stray> {
    let mut all = strays(leader);
    let leader = leader.as_raw_nonzero().get();
    let members = processes()
        .into_iter()
        .filter(|seen| (seen.group == leader || seen.session == leader) && !seen.dead);
    for seen in members {
        let stray = Stray {
            pid: seen.pid,
            started: seen.started,
        };
        if !all.contains(&stray) {
            all.push(stray);
        }
    }
    all
}

/// Sends a signal to those that are still the same processes.
pub(super) fn signal(strays: &[Stray], signal: Signal) {
    for stray in strays.iter().filter(|stray| is_alive(stray)) {
        if let Some(pid) = Pid::from_raw(stray.pid) {
            // it may end between the look and the signal; then there is nothing to do
            _ = kill_process(pid, signal);
        }
    }
}

/// True if whoever is left of a group has ended and only waits to be reaped. Where nobody reaps (a
/// container whose first process does not) the group stays for ever, and is no reason to wait.
pub(super) fn only_dead(group: Pid) -> bool {
    let group = group.as_raw_nonzero().get();
    let all = processes();
    let mut members = all.iter().filter(|seen| seen.group == group).peekable();
    members.peek().is_some() && members.all(|seen| seen.dead)
}

/// True while the process lives.
pub(super) fn is_alive(stray: &Stray) -> bool {
    look(stray.pid).is_some_and(|seen| seen.started == stray.started && !seen.dead)
}

fn processes() -> Vec<Seen> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(look).collect()
}

fn look(pid: i32) -> Option<Seen> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // the name in parentheses may contain anything, so count from its end
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Seen {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        dead: matches!(fields.first(), Some(&"Z" | &"X")),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_group_of_processes_that_ended_but_were_not_reaped_is_dead() {
        let mut living = Command::new("sleep");
        let mut living = living.arg("600").process_group(0).spawn().expect("sleep");
        let group = |child: &std::process::Child| {
            Pid::from_raw(i32::try_from(child.id()).expect("small")).expect("a pid")
        };
        assert!(!only_dead(group(&living)));
        living.kill().expect("killed");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !only_dead(group(&living)) {
            assert!(std::time::Instant::now() < end, "it stays alive");
            std::thread::yield_now();
        }
        let gone = group(&living);
        living.wait().expect("reaped");
        assert!(!only_dead(gone), "there is nobody any more");
    }
}
