//! Was it the sandbox? Guesses from a failed command's output whether the sandbox stopped it, so that
//! model and user are told, and the user may allow it once without.
//!
//! A guess in doubt says nothing: files may be unwritable for other reasons.

use std::path::{Component, Path, PathBuf};

use super::{LAUNCHER_FAILED, Policy};

/// What the sandbox stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// `network`, `write`, `read` or `setup`.
    pub kind: &'static str,
    /// A sentence for the model and the user.
    pub sentence: String,
}

const REFUSED: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "eacces",
    "eperm",
    "not permitted",
];

const NO_NETWORK: &[&str] = &[
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "failed to lookup address",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "network is unreachable",
    "failed to establish a new connection",
    "spurious network error",
    "socket: operation not permitted",
    "unable to connect",
    "couldn't connect to server",
    "failed to connect",
    "dial tcp",
    "unknown host",
    "creating socket",
    "socket()",
    "unable to resolve",
    "failed to open socket",
];

/// Says what the sandbox stopped, from the output and exit code (none: ended by a signal) of a command
/// that ran in `cwd` under this policy. None if it succeeded or something else is the likely reason.
pub fn explain(policy: &Policy, cwd: &Path, output: &str, exit: Option<i32>) -> Option<Blocked> {
    if exit == Some(0) {
        return None;
    }
    if exit == Some(LAUNCHER_FAILED) && output.contains("dunlin: the sandbox could not be set up") {
        return Some(Blocked {
            kind: "setup",
            sentence: "The sandbox could not be set up, so the command did not run.".to_owned(),
        });
    }
    // what failed stands at the end
    let lines: Vec<&str> = output.lines().rev().take(200).collect();
    let refused = lines.iter().find_map(|line| {
        if !policy.network && is_socket(line) {
            return Some(no_network());
        }
        file(policy, cwd, line)
    });
    refused.or_else(|| {
        let says = |line: &&str| {
            let line = line.to_lowercase();
            NO_NETWORK.iter().any(|words| line.contains(words))
        };
        (!policy.network && lines.iter().any(says)).then(no_network)
    })
}

/// A line that says that a socket was refused.
fn is_socket(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains("socket") && REFUSED.iter().any(|words| line.contains(words))
}

fn no_network() -> Blocked {
    Blocked {
        kind: "network",
        sentence:
            "The sandbox blocked this: commands have no network here (sandbox.network = true \
                   allows it)."
                .to_owned(),
    }
}

/// A line that says that a file was refused, if the policy is why.
fn file(policy: &Policy, cwd: &Path, line: &str) -> Option<Blocked> {
    let lower = line.to_lowercase();
    if !REFUSED.iter().any(|words| lower.contains(words)) {
        return None;
    }
    let paths = paths(without_speaker(line), cwd);
    let is_below = |path: &Path, dirs: &[PathBuf]| {
        dirs.iter().any(|dir| {
            path.starts_with(dir) || dir.canonicalize().is_ok_and(|d| path.starts_with(d))
        })
    };
    if let Some(path) = paths.iter().find(|p| is_below(p, &policy.unreadable)) {
        return Some(Blocked {
            kind: "read",
            sentence: format!(
                "The sandbox blocked this: {} may hold secrets and can't be read by commands.",
                path.display()
            ),
        });
    }
    let path = paths
        .iter()
        .find(|p| !is_below(p, &policy.writable) && !is_device(p))?;
    // a file that nobody may write would be refused without a sandbox as well
    let reading = ["cannot open", "can't open", "exec"]
        .iter()
        .any(|w| lower.contains(w));
    if reading && path.exists() && std::fs::File::open(path).is_err() {
        return None;
    }
    if policy.temp.is_some() {
        return Some(Blocked {
            kind: "write",
            sentence: format!(
                "The sandbox blocked this: {} can't be written, because commands change nothing in plan mode.",
                path.display()
            ),
        });
    }
    Some(Blocked {
        kind: "write",
        sentence: format!(
            "The sandbox blocked this: {} is outside the folders that commands may write (the worktree, \
             temporary folders, sandbox.writable).",
            path.display()
        ),
    })
}

/// The line without the program that says it (`/usr/bin/bash: line 1: …`).
fn without_speaker(line: &str) -> &str {
    match line.split_once(": ") {
        Some((speaker, rest)) if speaker.starts_with('/') && is_program(Path::new(speaker)) => rest,
        _ => line,
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

/// Words of a line that look like paths, resolved by name.
fn paths(line: &str, cwd: &Path) -> Vec<PathBuf> {
    line.split(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '‘' | '’' | '(' | ')' | ',' | '=')
    })
    .map(|word| word.trim_end_matches([':', '.', ';']))
    .filter(|word| {
        word.starts_with('/') && word.len() > 1 || word.starts_with("../") || *word == ".."
    })
    .map(|word| {
        let mut out = PathBuf::new();
        for part in cwd.join(word).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    out.pop();
                }
                other => out.push(other),
            }
        }
        out
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(output: &str, exit: i32) -> Option<&'static str> {
        let policy = Policy {
            writable: vec![PathBuf::from("/w"), PathBuf::from("/tmp")],
            unreadable: vec![PathBuf::from("/h/.ssh")],
            network: false,
            temp: None,
        };
        explain(&policy, Path::new("/w/src"), output, Some(exit)).map(|b| b.kind)
    }

    #[test]
    fn what_the_sandbox_stops_is_told_from_other_failures() {
        for (output, expected) in [
            (
                "touch: cannot touch '/h/x': Permission denied",
                Some("write"),
            ),
            ("bash: line 1: ../../x: Permission denied", Some("write")),
            ("cat: /h/.ssh/id_rsa: Permission denied", Some("read")),
            (
                "error: EACCES: permission denied, mkdir '/h/.npm'",
                Some("write"),
            ),
            ("curl: (6) Could not resolve host: x.y", Some("network")),
            (
                "OSError: socket: [Errno 1] Operation not permitted",
                Some("network"),
            ),
            ("npm ERR! code EAI_AGAIN", Some("network")),
            (
                "/bin/sh: socket: Operation not permitted\n\
                 /bin/sh: line 1: /dev/tcp/1.2.3.4/9: Operation not permitted",
                Some("network"),
            ),
            ("/bin/sh: line 1: /h/x: Permission denied", Some("write")),
            ("/bin/sh: line 1: x: Permission denied", None),
            (
                "dunlin: the sandbox could not be set up (x), so the command did not run.",
                None,
            ),
            ("cat: /w/x: Permission denied", None),
            ("bash: ./x.sh: Permission denied", None),
            ("test failed", None),
            ("", None),
        ] {
            assert_eq!(kind(output, 1), expected, "{output}");
        }
        let plan = Policy {
            network: true,
            ..Policy::default()
        }
        .reading_only(PathBuf::from("/tmp/own"));
        let output = "touch: cannot touch '/w/x': Permission denied";
        let told = explain(&plan, Path::new("/w"), output, Some(1)).expect("blocked");
        assert!(told.sentence.contains("plan mode"), "{}", told.sentence);
        assert!(!plan.network);
        assert_eq!(
            kind("touch: cannot touch '/h/x': Permission denied", 0),
            None
        );
        assert_eq!(
            kind(
                "dunlin: the sandbox could not be set up (x), so the command did not run.",
                125
            ),
            Some("setup")
        );
    }
}
