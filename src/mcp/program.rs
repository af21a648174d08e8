//! A server that is a child process: pipes, its own process group, the last lines of its standard error.
//!
//! The group is ended when `Program` is dropped, so no path leaves a process behind. Not confined: it is
//! a program that the user configured, like an editor's language server.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::tools::bash::Environment;

/// Lines of its standard error that are kept.
const LINES: usize = 12;
/// Most bytes of one of them.
const LINE_BYTES: usize = 400;
/// How long the end of a program whose pipes are closed is waited for.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// The last lines that a server wrote to its standard error.
#[derive(Debug, Clone, Default)]
pub(super) struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    /// The lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    pub(super) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn push(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line.get(..LINE_BYTES).unwrap_or(line));
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        if text.trim().is_empty() {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

/// A running program.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    /// Reads its standard error until the end.
    listening: JoinHandle<()>,
}

impl Program {
    /// Starts it. Fails with a sentence.
    pub(super) fn start(
        command: &str,
        args: &[String],
        folder: &Path,
        environment: (&Environment, &[(String, String)]),
        said: &Said,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        if !folder.is_dir() {
            return Err(format!("Its folder {} is not there.", folder.display()));
        }
        let (inherited, own) = environment;
        let mut builder = Command::new(command);
        builder
            .args(args)
            .current_dir(folder)
            .env_clear()
            .envs(inherited.variables())
            .envs(own.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        builder.process_group(0);
        let mut child = builder.spawn().map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                format!("The program {command} is not there. Install it, or give its whole path.")
            } else {
                format!("{command} could not be started: {error}.")
            }
        })?;
        let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let (Some(output), Some(input), Some(errors)) = pipes else {
            return Err(format!("{command} has no pipes."));
        };
        let listening = tokio::spawn(listen(errors, said.clone()));
        Ok((Self { child, listening }, output, input))
    }

    /// Waits for its end, then asks its group to end, then ends it. Its input is closed by then.
    pub(super) async fn end(mut self, patience: Duration) {
        if tokio::time::timeout(patience / 2, self.child.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.signal(true);
        // what is left is killed by `drop`
        drop(tokio::time::timeout(patience / 2, self.child.wait()).await);
    }

    /// How it ended, if it has or does within a moment: its pipes are closed before it is gone.
    pub(super) async fn ended(&mut self) -> Option<String> {
        let ended = tokio::time::timeout(LAST_MOMENT, self.child.wait()).await;
        let status = ended.ok()?.ok()?;
        // Its last words count; a child of its own may keep the pipe open.
        if !self.listening.is_finished() {
            drop(tokio::time::timeout(LAST_MOMENT, &mut self.listening).await);
        }
        Some(match status.code() {
            Some(code) => format!("it ended with exit code {code}"),
            None => "it was ended by a signal".to_owned(),
        })
    }

    #[cfg(unix)]
    fn signal(&self, gently: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            let signal = if gently { Signal::TERM } else { Signal::KILL };
            if let Err(error) = kill_process_group(group, signal) {
                tracing::debug!(%error, "it had ended already");
            }
        }
    }

    #[cfg(not(unix))]
    fn signal(&self, _gently: bool) {}
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(false);
    }
}

/// Keeps the last lines; a line without an end costs no more memory than any other.
async fn listen(errors: tokio::process::ChildStderr, said: Said) {
    let mut reader = BufReader::new(errors);
    let mut line: Vec<u8> = Vec::new();
    while let Ok(chunk) = reader.fill_buf().await {
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let room = LINE_BYTES.saturating_sub(line.len());
        line.extend(part.iter().take(room));
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            said.push(&line);
            line.clear();
        }
    }
    said.push(&line);
}
