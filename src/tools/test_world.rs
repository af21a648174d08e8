//! A worktree in a temporary folder and a context to call tools in it. For tests only.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::output::OutputStore;
use super::reads::ReadLedger;
use super::workspace::{Places, Workspace};
use super::{Failure, Success, Tool, ToolContext};
use crate::config::used::OutputLimits;
use crate::protocol::IdMint;

/// See the module's words.
#[derive(Debug)]
pub(crate) struct World {
    /// Holds everything; the worktree is `tree` in it.
    pub dir: tempfile::TempDir,
    /// For calls.
    pub context: ToolContext,
}

impl World {
    /// An empty worktree.
    pub(crate) fn new() -> Self {
        Self::with(OutputLimits::default())
    }

    /// The same with other limits.
    pub(crate) fn with(limits: OutputLimits) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let root = dir.path().join("tree");
        fs::create_dir(&root).expect("a folder");
        let out = dir.path().join("out");
        let places = Places {
            outputs: vec![out.clone()],
            ..Places::default()
        };
        let mut mint = IdMint::new(1, 0);
        let context = ToolContext::new(
            (mint.session(1), mint.part(1)),
            Arc::new(Workspace::new(&root, &root, &places)),
            Arc::new(ReadLedger::new()),
            Arc::new(OutputStore::new(limits, out)),
        );
        Self { dir, context }
    }

    /// A file's path in the worktree.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.context.workspace.root().join(name)
    }

    /// Makes a file, with its folders.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, content).expect("a file");
        path
    }

    /// A file's bytes.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("readable")
    }

    /// Notes a file as read.
    pub(crate) fn know(&self, path: &Path) {
        let meta = fs::metadata(path).expect("metadata");
        let bytes = fs::read(path).expect("readable");
        self.context
            .reads
            .record(path, Some(&bytes), &meta, super::file::now());
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &dyn Tool, input: Value) -> Result<Success, Failure> {
        tool.run(input, self.context.clone()).await
    }
}
