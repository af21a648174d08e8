//! What ends commands when dunlin itself is killed (`kill -9`, the OOM killer): a small process of
//! dunlin's own program that holds the other end of a pipe.
//!
//! It is started with the first command, is told which process groups run, and does nothing else until
//! the pipe ends. After an orderly end no group is left on its list; after any other it sends TERM to
//! each, and KILL 2 s later. A parent-death signal would not do: it reaches the shell alone, not what
//! the shell has started, and comes when the thread that forked ends. Linux only, because what left its
//! group is found by `/proc`. `cli::main` calls `guard_main` before anything else; `app::confine` holds
//! a `Guard`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::offspring::{self, Stray};
use super::process::GRACE;

/// The first argument that makes dunlin the guard.
const WORD: &str = "__guard";

/// Tells the guard process what runs. Where it cannot be had, commands run without it.
#[derive(Debug, Default)]
pub struct Guard(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    /// No command was started yet.
    #[default]
    Unused,
    /// It runs, and ends with this pipe.
    Running(ChildStdin),
    /// It could not be started, or it was ended by somebody.
    Gone,
}

impl Guard {
    /// A command leads this group now.
    pub fn began(&self, group: Pid) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Unused) {
            *state = start();
        }
        state.tell('+', group);
    }

    /// Nothing of the group is left, or what is left may live on.
    pub fn ended(&self, group: Pid) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.tell('-', group);
    }
}

impl State {
    fn tell(&mut self, sign: char, group: Pid) {
        if let Self::Running(pipe) = self {
            let line = format!("{sign}{}\n", group.as_raw_nonzero());
            if let Err(error) = pipe.write_all(line.as_bytes()) {
                tracing::warn!(%error, "the guard of commands has ended");
                *self = Self::Gone;
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn start() -> State {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(WORD)
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = command.spawn().and_then(|mut child| {
        let pipe = child.stdin.take();
        let pipe = pipe.ok_or_else(|| std::io::Error::other("it has no standard input"))?;
        Ok(State::Running(pipe))
    });
    started.unwrap_or_else(|error| {
        tracing::warn!(%error, "there is no guard for commands");
        State::Gone
    })
}

#[cfg(not(target_os = "linux"))]
fn start() -> State {
    State::Gone
}

/// The guard: if these arguments (the program's name first) are its own, watches until standard input
/// ends and returns an exit code; none for all other arguments.
pub fn guard_main(args: impl IntoIterator<Item = OsString>) -> Option<i32> {
    if args.into_iter().nth(1)? != WORD {
        return None;
    }
    // A session of its own: Ctrl-C in the terminal and its end are for dunlin.
    _ = rustix::process::setsid();
    end(&watch(std::io::stdin().lock()));
    Some(0)
}

/// Follows what is told until the pipe ends; gives back the groups that still run.
fn watch(pipe: impl BufRead) -> BTreeSet<i32> {
    let mut groups = BTreeSet::new();
    for line in pipe.lines().map_while(Result::ok) {
        let number = line.get(1..).and_then(|number| number.parse().ok());
        match (line.as_bytes().first(), number) {
            (Some(b'+'), Some(group)) => drop(groups.insert(group)),
            (Some(b'-'), Some(group)) => drop(groups.remove(&group)),
            _ => {}
        }
    }
    groups
}

/// TERM to all that belongs to these groups, KILL to what is left after a while.
#[expect(
    clippy::disallowed_methods,
    reason = "the guard is a process of its own without a runtime"
)]
fn end(groups: &BTreeSet<i32>) {
    let of = |group: &i32| Pid::from_raw(*group).map(offspring::session);
    let mut doomed: Vec<Stray> = groups.iter().filter_map(of).flatten().collect();
    offspring::signal(&doomed, Signal::TERM);
    let until = Instant::now() + GRACE;
    while doomed.iter().any(offspring::is_alive) {
        if Instant::now() >= until {
            // whoever was started since
            doomed.extend(groups.iter().filter_map(of).flatten());
            offspring::signal(&doomed, Signal::KILL);
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_is_off_the_list_when_the_pipe_ends() {
        let told = "+12\n+13\n-12\nnonsense\n+\n+14\n-13\n";
        assert_eq!(watch(told.as_bytes()), BTreeSet::from([14]));
    }
}
