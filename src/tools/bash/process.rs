//! A command in its own process group, and its sure end.
//!
//! `Group` is a guard: dropped while the command runs, it sends TERM to the whole group at once and
//! hands the rest (KILL after 2 s, reaping) to a task of its own, so whoever was cancelled need not
//! wait; the end of the program waits for those tasks. A command that makes itself a session leader leads its group only once it has done so; until
//! then it is signalled alone. It knows nothing of output.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::environment::Environment;
use super::guard::Guard;
use super::offspring::{self, Stray};
use crate::protocol::Mode;
use crate::sandbox::Blocked;

/// Time between TERM and KILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// A pipe as large as an unprivileged process may have: a flood is read in few, large pieces.
const PIPE: usize = 1 << 20;

/// How a command is to be confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confine {
    /// As the session's mode says.
    By(Mode),
    /// Not at all: the user allowed this run without the sandbox.
    Not,
}

/// Prepares a command before it is started; the sandbox stands behind it.
pub trait CommandWrapper: Send + Sync + std::fmt::Debug {
    /// The command that confines itself and then runs `program` with `args`.
    fn wrap(
        &self,
        confine: Confine,
        program: &OsStr,
        args: &[OsString],
    ) -> (OsString, Vec<OsString>);

    /// True if the wrapped command makes itself the leader of a new session (`setsid`): then it has no
    /// terminal to write to, and dunlin must not make it a group leader before.
    fn makes_session(&self) -> bool {
        false
    }

    /// Whoever ends what runs when dunlin was killed; none where there is nobody.
    fn guard(&self) -> Option<&Guard> {
        None
    }

    /// What the wrapper stopped, if this end of the command looks like it.
    fn explain(
        &self,
        _confine: Confine,
        _cwd: &Path,
        _exit: Option<i32>,
        _output: &str,
    ) -> Option<Blocked> {
        None
    }
}

/// A command to be started.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub shell: PathBuf,
    pub command: String,
    pub cwd: PathBuf,
    pub environment: Arc<Environment>,
    pub wrapper: Option<Arc<dyn CommandWrapper>>,
    pub confine: Confine,
    /// Waits for the sure end of what was told to end.
    pub reaper: TaskTracker,
}

/// Starts the command; its standard output and error arrive in order in the one pipe.
pub(super) fn start(spec: &Spec) -> io::Result<(Group, pipe::Receiver)> {
    if !spec.cwd.is_dir() {
        let message = format!("the folder {} does not exist", spec.cwd.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let (reader, writer) = io::pipe()?;
    // only speed depends on it
    drop(set_pipe_size(&reader));
    let words = [OsString::from("-c"), OsString::from(&spec.command)];
    let (program, args) = match &spec.wrapper {
        Some(wrapper) => wrapper.wrap(spec.confine, spec.shell.as_os_str(), &words),
        None => (spec.shell.clone().into_os_string(), words.to_vec()),
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.environment.variables())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let own_session = spec
        .wrapper
        .as_ref()
        .is_some_and(|wrapper| wrapper.makes_session());
    if !own_session {
        command.process_group(0);
    }
    let child = command.spawn()?;
    // `command` holds our copies of the writing end: without this the pipe would never end
    drop(command);
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the process ended before it was known"))?;
    let group = Group {
        pid,
        child: Some(child),
        reaper: spec.reaper.clone(),
        watched: spec.wrapper.as_ref().map(|by| Watched::new(by, pid)),
    };
    Ok((group, pipe::Receiver::from_owned_fd(reader.into())?))
}

#[cfg(target_os = "linux")]
fn set_pipe_size(reader: &io::PipeReader) -> io::Result<()> {
    rustix::pipe::fcntl_setpipe_size(reader, PIPE)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn set_pipe_size(_reader: &io::PipeReader) -> io::Result<()> {
    _ = PIPE;
    Ok(())
}

/// On the guard's list as long as it lives.
#[derive(Debug)]
struct Watched {
    by: Arc<dyn CommandWrapper>,
    group: Pid,
}

impl Watched {
    fn new(by: &Arc<dyn CommandWrapper>, group: Pid) -> Self {
        if let Some(guard) = by.guard() {
            guard.began(group);
        }
        Self {
            by: Arc::clone(by),
            group,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(guard) = self.by.guard() {
            guard.ended(self.group);
        }
    }
}

/// A running process group; dropped, it is killed.
#[derive(Debug)]
pub(super) struct Group {
    pid: Pid,
    /// None once the guard has given up its duty.
    child: Option<Child>,
    reaper: TaskTracker,
    watched: Option<Watched>,
}

impl Group {
    /// Waits until the command itself has ended (others of its group may live on). Cancel safe.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.child {
            Some(child) => child.wait().await,
            None => Err(io::Error::other("the process is not watched any more")),
        }
    }

    /// True while any process of the group exists.
    pub(super) fn is_alive(&self) -> bool {
        is_alive(self.pid, self.child.as_ref())
    }

    /// Sends a signal to the group and to descendants that left it.
    pub(super) fn signal(&self, signal: Signal) {
        offspring::signal(&offspring::strays(self.pid), signal);
        send(self.pid, self.child.as_ref(), signal);
    }

    /// Lets whatever is left of the group live.
    pub(super) fn release(mut self) {
        self.child = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else {
            return;
        };
        // Asked with the child in hand: a command that leads no group yet is alive all the same.
        if !is_alive(self.pid, Some(&child)) {
            return;
        }
        let doomed = Doomed {
            strays: offspring::strays(self.pid),
            pid: self.pid,
            child: Some(child),
            _watched: self.watched.take(),
        };
        doomed.signal(Signal::TERM);
        // without a runtime (the program ends) dropping `doomed` kills at once
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.reaper.spawn_on(doomed.end(), &runtime);
        }
    }
}

/// A group that was told to end. Dropped before it has, it is killed.
struct Doomed {
    pid: Pid,
    strays: Vec<Stray>,
    child: Option<Child>,
    /// Goes off the guard's list with it.
    _watched: Option<Watched>,
}

impl Doomed {
    fn signal(&self, signal: Signal) {
        offspring::signal(&self.strays, signal);
        send(self.pid, self.child.as_ref(), signal);
    }

    fn is_alive(&self) -> bool {
        is_alive(self.pid, self.child.as_ref()) || self.strays.iter().any(offspring::is_alive)
    }

    async fn end(mut self) {
        let until = Instant::now() + GRACE;
        while Instant::now() < until && self.is_alive() {
            if let Some(running) = &mut self.child {
                // reaps the leader, which else would count as alive
                if matches!(running.try_wait(), Ok(Some(_))) {
                    self.child = None;
                    continue;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if self.is_alive() {
            // whoever left the group since
            self.strays.extend(offspring::strays(self.pid));
            self.signal(Signal::KILL);
        }
        if let Some(mut child) = self.child.take() {
            drop(child.wait().await);
        }
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if self.is_alive() {
            self.strays.extend(offspring::strays(self.pid));
            self.signal(Signal::KILL);
        }
    }
}

/// The leader while it was not reaped: its number is surely its own.
fn unreaped(child: Option<&Child>) -> bool {
    child.is_some_and(|child| child.id().is_some())
}

fn is_alive(group: Pid, leader: Option<&Child>) -> bool {
    let exists = test_kill_process_group(group).is_ok() && !offspring::only_dead(group);
    exists || (unreaped(leader) && test_kill_process(group).is_ok())
}

/// Signals the group, or its leader alone while it leads no group yet. Either may be gone already;
/// then there is nothing to do.
fn send(group: Pid, leader: Option<&Child>, signal: Signal) {
    if kill_process_group(group, signal).is_err() && unreaped(leader) {
        _ = kill_process(group, signal);
    }
}

/// `SIGTERM` for 15, and so on.
pub(super) fn signal_name(number: i32) -> String {
    let known = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    let name = known
        .iter()
        .find(|(other, _)| *other == number)
        .map(|(_, name)| (*name).to_owned());
    name.unwrap_or_else(|| format!("signal {number}"))
}
