//! The words between the agent and its tools: what a call would touch, what it gives back.
//!
//! `agent::driver` calls `Tool::access` (judged by `permission`), then `Tool::run`. Every tool of this
//! folder, MCP tools and test doubles implement `Tool`. No tool's own logic belongs here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{output, reads, workspace};
use crate::protocol::outside::ToolServer;
use crate::protocol::{Answer, AskBody, FilePart, FileSource, Mode, OutputRef, PartId, SessionId};

/// A tool.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// Its name, as the model says it.
    fn name(&self) -> &str;

    /// What it is for, with examples, for the model.
    fn description(&self) -> String;

    /// JSON schema of its input, generated from the input type.
    fn schema(&self) -> Value;

    /// What this call would touch, from its arguments alone. Bad arguments give the sentence that
    /// the model reads. May look at the file system (to resolve links), writes nothing.
    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String>;

    /// Runs the call. It ends soon after `context.cancel` is cancelled, with every process of its
    /// group gone. Never panics on bad input: that is a `Failure`.
    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>>;

    /// Ends what the tool has left running, and returns when it is gone. Called once, when the
    /// program ends.
    fn close(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Tools that come and go while the program runs. The MCP client stands behind it.
pub trait Outside: Send + Sync + std::fmt::Debug {
    /// Begins to start what is to be started. Called once, before anything else.
    fn begin(&self);

    /// The tools there are now, in an order that does not depend on who was ready first.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Where they come from, and how it is there.
    fn servers(&self) -> Vec<ToolServer>;

    /// Counts up with every change of the two.
    fn changes(&self) -> tokio::sync::watch::Receiver<u64>;

    /// True while something is being started for the first time: a turn that begins waits for it.
    fn is_starting(&self) -> bool;

    /// Ends a server, if it runs, and starts it again. A sentence if there is none of this name.
    fn restart(&self, server: &str) -> Result<(), String>;

    /// Ends everything, and returns when it is gone.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// What a call would touch, for permission and scheduling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// One line for the UI: the command, the path, the pattern.
    pub title: String,
    /// What permission is asked for.
    pub needs: Vec<Need>,
    /// Files it will write, resolved; calls that write the same file run in call order.
    pub writes: Vec<PathBuf>,
    /// True if it can change anything at all: the step's snapshot must be done before it starts.
    pub can_write: bool,
    /// The model's own words about it, if its input has them.
    pub says: String,
}

impl Access {
    /// The access of a call that changes nothing.
    pub const fn reading(title: String, needs: Vec<Need>) -> Self {
        Self {
            title,
            needs,
            writes: Vec::new(),
            can_write: false,
            says: String::new(),
        }
    }
}

/// A call's end under its title: what came of it, or the sentence about why nothing did.
pub fn titled(title: String, done: Result<Success, String>) -> Result<Success, Failure> {
    match done {
        Ok(success) => Ok(Success { title, ..success }),
        Err(message) => Err(Failure {
            message,
            title,
            ..Failure::default()
        }),
    }
}

/// One thing that permission is needed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Read this file or folder (resolved).
    Read(PathBuf),
    /// Write this file (resolved), with the change as a unified diff if it is known.
    Write {
        /// The file.
        path: PathBuf,
        /// The change; empty if not known.
        diff: String,
    },
    /// Run this shell command in this folder.
    Command {
        /// The command line.
        command: String,
        /// Where.
        cwd: PathBuf,
    },
    /// Fetch this URL.
    Fetch(String),
    /// Use a tool that is none of the above (MCP), by this name.
    Other(String),
}

/// What a tool may use while it runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The session.
    pub session: SessionId,
    /// The part that records this call.
    pub part: PartId,
    /// The session's permission mode.
    pub mode: Mode,
    /// Paths: worktree, current folder, temp, data folders.
    pub workspace: Arc<workspace::Workspace>,
    /// What was read by this session, with hashes, so that stale edits are refused.
    pub reads: Arc<reads::ReadLedger>,
    /// Limits, and where full outputs go.
    pub output: Arc<output::OutputStore>,
    /// Cancelled by an interrupt.
    pub cancel: CancellationToken,
    /// Live title, metadata and tail.
    pub progress: Progress,
    /// The way to ask the user; none where nobody can answer (headless).
    pub ask: Option<Arc<dyn AskUser>>,
    /// Where images and documents are kept; none: they are referred to by path.
    pub blobs: Option<Arc<dyn BlobSink>>,
    /// Who is told of writes before they are made; none: nobody keeps account.
    pub writes: Option<Arc<dyn WriteSink>>,
}

impl ToolContext {
    /// What a tool that only reads asks for: saved full outputs may be read without asking. `path` must be resolved.
    pub fn to_read(&self, path: PathBuf) -> Vec<Need> {
        if self.workspace.is_output(&path) {
            Vec::new()
        } else {
            vec![Need::Read(path)]
        }
    }

    /// A context that nobody listens to yet: no user to ask, no blob store, its own cancel token.
    pub fn new(
        call: (SessionId, PartId),
        workspace: Arc<workspace::Workspace>,
        reads: Arc<reads::ReadLedger>,
        output: Arc<output::OutputStore>,
    ) -> Self {
        Self {
            session: call.0,
            part: call.1,
            mode: Mode::Ask,
            workspace,
            reads,
            output,
            cancel: CancellationToken::new(),
            progress: Progress::new(ProgressUpdate::default()),
            ask: None,
            blobs: None,
            writes: None,
        }
    }
}

/// Puts a question of a running call before the user. The front end's inbox stands behind it.
pub trait AskUser: Send + Sync + std::fmt::Debug {
    /// Asks and waits. None if the question was closed or nobody can answer any more.
    fn ask(&self, part: PartId, body: AskBody) -> BoxFuture<'static, Option<Answer>>;
}

/// Keeps bytes once, by content. The session store stands behind it.
pub trait BlobSink: Send + Sync + std::fmt::Debug {
    /// Stores the bytes and says how to refer to them. May block for a disk write. An error is a
    /// sentence that the model reads.
    fn keep(&self, mime: &str, bytes: &[u8]) -> Result<FileSource, String>;
}

/// Keeps account of what tools do to files, so that other sessions do not take it for theirs. The snapshots
/// stand behind it. Never fails and never waits for a disk.
pub trait WriteSink: Send + Sync + std::fmt::Debug {
    /// A file (resolved) is about to be brought from one content, with its permission bits, to another; none
    /// stands for no file. The number is for `did_not_write`.
    fn about_to_write(
        &self,
        path: &Path,
        before: Option<(&[u8], u32)>,
        after: Option<&[u8]>,
    ) -> Option<u64>;

    /// That write was not made after all.
    fn did_not_write(&self, write: u64);

    /// A command goes on in the background, until what is given back is dropped.
    fn goes_on(&self, command: &str) -> Box<dyn std::any::Any + Send + Sync>;
}

/// A live update of a running call. Senders never wait: when the receiver is behind, the newest
/// update wins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProgressUpdate {
    /// New title; empty to keep it.
    pub title: String,
    /// New metadata; null to keep it.
    pub metadata: Value,
    /// The last lines of output so far.
    pub tail: String,
}

/// Where a running call reports to.
pub type Progress = tokio::sync::watch::Sender<ProgressUpdate>;

/// A result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Success {
    /// What the model reads, already truncated.
    pub output: String,
    /// One line for the UI.
    pub title: String,
    /// Facts for the UI and for inspection (docs/tools.md lists them per tool), e.g. `exit`, `diff`,
    /// `added`, `removed`, `matches`.
    pub metadata: Value,
    /// Images and documents for the model.
    pub attachments: Vec<FilePart>,
    /// The full output, if `output` is only a part of it.
    pub truncated: Option<OutputRef>,
    /// What it wrote, as far as it knows (bash does not).
    pub wrote: Vec<PathBuf>,
}

/// A failure, written for a model to act on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Failure {
    /// What the model reads.
    pub message: String,
    /// One line for the UI.
    pub title: String,
    /// Facts for the UI.
    pub metadata: Value,
    /// The full output, if there is more than `message` shows.
    pub truncated: Option<OutputRef>,
    /// What it wrote before it failed.
    pub wrote: Vec<PathBuf>,
}

impl Failure {
    /// A failure that is only a sentence for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}
