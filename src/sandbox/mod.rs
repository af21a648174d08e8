//! What a command may touch, enforced by the system: Landlock and seccomp on Linux, Seatbelt on
//! macOS, nothing elsewhere (then dunlin asks).
//!
//! `wrap` turns a command into one that confines itself before it starts: dunlin's own program, called
//! with `LAUNCHER_WORD` as its first argument, applies the policy to itself and then becomes the
//! command. So no code runs between fork and exec, and nothing here is unsafe. The launcher also makes
//! itself the leader of a new session: a command has no terminal that it could open and draw on
//! (`sudo`, `ssh`). `wrap_free` does only that. `main` must call
//! `launcher_main` first of all; `detect` says once at the start whether it works here; `explain`
//! tells whether a failure was the sandbox's doing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

mod explain;
#[cfg(target_os = "linux")]
mod linux;
mod policy;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;

pub use explain::{Blocked, explain};
pub use policy::Policy;

/// The first argument that makes dunlin the launcher.
pub const LAUNCHER_WORD: &str = "__sandbox";

/// True where the launcher gives commands a session of their own, confined or not.
pub const MAKES_SESSION: bool = cfg!(target_os = "linux");

/// In the place of a policy: nothing is confined.
const FREE: &str = "-";

/// Exit code of a launcher that could not confine itself; the command did not run.
pub const LAUNCHER_FAILED: i32 = 125;

/// What the system offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// Commands are confined.
    Full {
        /// How, for the eye: `Landlock 7, seccomp`.
        how: String,
    },
    /// They are not.
    None {
        /// Why, a sentence for the user.
        reason: String,
    },
}

impl Support {
    /// True if commands are confined.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

/// Asks the system; takes microseconds and changes nothing.
pub fn detect() -> Support {
    #[cfg(target_os = "linux")]
    return linux::detect();
    #[cfg(target_os = "macos")]
    return seatbelt::detect();
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    Support::None {
        reason: "There is no sandbox for this system, so commands ask.".to_owned(),
    }
}

/// The command that confines itself and then runs `program` with `args`. `network`, folders and
/// secrets are as the policy says. Only to be used where `detect` says `Full`.
pub fn wrap(policy: &Policy, program: &OsStr, args: &[OsString]) -> (OsString, Vec<OsString>) {
    #[cfg(target_os = "macos")]
    return seatbelt::wrap(policy, program, args);
    // the running program, also after its file was replaced by an update
    #[cfg(not(target_os = "macos"))]
    return wrap_with(Path::new("/proc/self/exe"), policy, program, args);
}

/// As `wrap`, with the launcher at this path.
pub fn wrap_with(
    launcher: &Path,
    policy: &Policy,
    program: &OsStr,
    args: &[OsString],
) -> (OsString, Vec<OsString>) {
    launcher_line(launcher, policy.to_argument(), program, args)
}

/// The command that runs `program` with `args` unconfined, but in a session of its own. Only to be
/// used where `MAKES_SESSION` says so; elsewhere the command is as it was.
pub fn wrap_free(program: &OsStr, args: &[OsString]) -> (OsString, Vec<OsString>) {
    if MAKES_SESSION {
        launcher_line(Path::new("/proc/self/exe"), FREE.into(), program, args)
    } else {
        (program.to_owned(), args.to_vec())
    }
}

fn launcher_line(
    launcher: &Path,
    policy: OsString,
    program: &OsStr,
    args: &[OsString],
) -> (OsString, Vec<OsString>) {
    let mut words = vec![
        OsString::from(LAUNCHER_WORD),
        policy,
        OsString::from("--"),
        program.to_owned(),
    ];
    words.extend(args.iter().cloned());
    (launcher.as_os_str().to_owned(), words)
}

/// The launcher: if these arguments (the program's name first) are its own, applies the policy and
/// becomes the command, and only comes back with an exit code if that failed. None for all other
/// arguments. Must be called before anything else happens in the program: no threads, no files.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> Option<i32> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != LAUNCHER_WORD {
        return None;
    }
    Some(match launch(args) {
        Ok(code) => code,
        Err(sentence) => {
            use std::io::Write;
            // stderr may be closed; the exit code says enough
            drop(writeln!(std::io::stderr(), "dunlin: {sentence}"));
            LAUNCHER_FAILED
        }
    })
}

#[cfg(unix)]
fn launch(mut args: impl Iterator<Item = OsString>) -> Result<i32, String> {
    use std::os::unix::process::CommandExt;

    let text = args.next().unwrap_or_default();
    let policy = if text == FREE {
        None
    } else {
        let policy = Policy::from_argument(&text);
        Some(policy.ok_or("the sandbox was called without a policy.")?)
    };
    let (Some(dashes), Some(program)) = (args.next(), args.next()) else {
        return Err("the sandbox was called without a command.".to_owned());
    };
    if dashes != "--" {
        return Err("the sandbox was called without a command.".to_owned());
    }
    // It fails only for who leads a group already: then there is a session, or none is wanted.
    _ = rustix::process::setsid();
    let mut command = std::process::Command::new(&program);
    command.args(args);
    if let Some(policy) = policy {
        confine(&policy)?;
        for name in policy::DOORS {
            command.env_remove(name);
        }
        if let Some(folder) = &policy.temp {
            for name in ["TMPDIR", "TMP", "TEMP"] {
                command.env(name, folder);
            }
        }
    }
    let error = command.exec();
    let shown = PathBuf::from(program);
    Err(format!(
        "{} could not be started: {error}.",
        shown.display()
    ))
}

#[cfg(target_os = "linux")]
fn confine(policy: &Policy) -> Result<(), String> {
    linux::apply(policy)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn confine(_policy: &Policy) -> Result<(), String> {
    Err("there is no sandbox of this kind on this system.".to_owned())
}

#[cfg(not(unix))]
fn launch(_args: impl Iterator<Item = OsString>) -> Result<i32, String> {
    Err("there is no sandbox on this system.".to_owned())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "sandbox_tests.rs"]
mod tests;
