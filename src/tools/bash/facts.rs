//! What is known of a command that has ended, and how model and screen are told of it.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::jobs::words;
use super::process::signal_name;
use super::pump::{End, Running, locked};
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::tools::output::Fitted;
use crate::tools::{Failure, Success};

/// A command that has ended.
pub(super) struct Done {
    pub(super) facts: Facts,
    pub(super) view: Fitted,
}

/// What is known of an ended command.
pub(super) struct Facts {
    pub(super) exit: Option<i32>,
    signal: Option<i32>,
    pub(super) timeout: Option<Duration>,
    duration: Duration,
    pub(super) job: Option<String>,
    bytes: u64,
    lines: u64,
    first: Vec<String>,
    last: Vec<String>,
    ended: String,
}

impl Facts {
    pub(super) fn of(end: &End, view: &Fitted, running: &Running, begin: Instant) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let spill = locked(&running.spill);
        let cut = |line: &str| line.chars().take(400).collect::<String>();
        let last = spill.last_lines(5, 4 * 1024);
        Self {
            exit: end.status.and_then(|status| status.code()),
            signal: end.status.and_then(|status| status.signal()),
            timeout: None,
            duration: begin.elapsed(),
            job: None,
            bytes: spill.total(),
            lines: spill.lines(),
            first: view.text.lines().take(5).map(cut).collect(),
            last: last.lines().map(cut).collect(),
            ended: words(end).0,
        }
    }

    fn metadata(&self, interrupted: bool) -> Value {
        json!({
            "exit": self.exit,
            "signal": self.signal.map(signal_name),
            "timed_out": self.timeout.is_some(),
            "interrupted": interrupted,
            "duration_ms": self.duration.as_millis() as u64,
            "bytes": self.bytes,
            "lines": self.lines,
            "first": self.first,
            "last": self.last,
            "job": self.job,
        })
    }

    pub(super) fn interrupted(self, view: Fitted) -> Failure {
        let mut message = view.text;
        if !message.is_empty() {
            message.push_str(if message.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            });
        }
        message.push_str(INTERRUPTED_OUTPUT);
        Failure {
            message,
            metadata: self.metadata(true),
            truncated: view.full.filter(|_| view.omitted > 0),
            ..Failure::default()
        }
    }
}

impl Done {
    /// The result. `said` are sentences about the sandbox, `sandbox` its facts (null for none).
    pub(super) fn success(self, title: String, said: Vec<String>, sandbox: Value) -> Success {
        let Self { facts, view } = self;
        let mut notes = Vec::new();
        if let Some(timeout) = facts.timeout {
            notes.push(format!(
                "The command was killed because it ran longer than {} s. Give it a longer timeout, or \
                 run it with background: true.",
                timeout.as_secs_f64()
            ));
        } else if facts.exit != Some(0) {
            notes.push(match facts.exit {
                Some(code) => format!("Exit code {code}"),
                None => format!("The command {}", facts.ended),
            });
        }
        if let Some(job) = &facts.job {
            notes.push(format!(
                "Processes that it started are still running, as {job}: see bash_output and kill."
            ));
        }
        notes.extend(said);
        let mut output = view.text;
        if output.is_empty() && notes.is_empty() {
            output.push_str("(no output)");
        }
        for note in notes {
            if !output.is_empty() {
                output.push_str(if output.ends_with('\n') { "\n" } else { "\n\n" });
            }
            _ = write!(output, "({note})");
        }
        let mut metadata = facts.metadata(false);
        if let Some(fields) = metadata.as_object_mut()
            && !sandbox.is_null()
        {
            fields.insert("sandbox".to_owned(), sandbox);
        }
        Success {
            output,
            title,
            metadata,
            truncated: view.full.filter(|_| view.omitted > 0),
            ..Success::default()
        }
    }
}
