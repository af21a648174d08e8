//! Walking a folder the way ripgrep does, in parallel, with an end to it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use crate::tools::blocking::Blocking;
use crate::tools::contract::titled;
use crate::tools::file::{self, Kind};
use crate::tools::{Failure, Success, ToolContext};

/// Files that a walk hands on at most; beyond it results are marked as incomplete.
const MOST_FILES: usize = 500_000;

/// Searches on a blocking thread, until it is done or cancelled. The title stands whatever is found.
pub(super) fn searched<I: Send + 'static>(
    input: Result<I, String>,
    (blocking, context): (Blocking, ToolContext),
    title: impl Fn(&I) -> String,
    work: impl FnOnce(&I, &ToolContext) -> Result<Success, String> + Send + 'static,
) -> BoxFuture<'static, Result<Success, Failure>> {
    let input = input.map(|input| (title(&input), input));
    Box::pin(async move {
        let (title, input) = input?;
        let cancel = context.cancel.clone();
        let done = blocking
            .run_until(&cancel, move || work(&input, &context))
            .await?;
        titled(title, done)
    })
}

/// A builder with the house's rules. Hidden files are included: `.github` matters to a model.
pub(super) fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .require_git(false)
        .threads(2)
        .filter_entry(|entry| entry.file_name() != ".git" || entry.depth() == 0);
    builder
}

/// Calls `visit` for every file below `root` from several threads, until it is over, cancelled, or too
/// much. True if nothing was left out.
pub(super) fn files(
    root: &Path,
    cancel: &CancellationToken,
    visit: &(dyn Fn(&DirEntry) + Sync),
) -> bool {
    let seen = AtomicUsize::new(0);
    builder(root).build_parallel().run(|| {
        Box::new(|entry| {
            if cancel.is_cancelled() {
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                return WalkState::Continue;
            }
            if seen.fetch_add(1, Ordering::Relaxed) >= MOST_FILES {
                return WalkState::Quit;
            }
            visit(&entry);
            WalkState::Continue
        })
    });
    seen.load(Ordering::Relaxed) <= MOST_FILES && !cancel.is_cancelled()
}

/// Locks what only this module's threads lock; a panic in one of them leaves valid data.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// When a file changed last; the epoch if nobody knows.
pub(super) fn changed(path: &Path) -> SystemTime {
    let meta = std::fs::symlink_metadata(path).and_then(|meta| meta.modified());
    meta.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Where a search begins: the given path or the current folder. The error is a sentence.
pub(super) fn root(path: Option<&str>, context: &ToolContext) -> Result<PathBuf, String> {
    match path.map(str::trim) {
        None | Some("" | ".") => Ok(context.workspace.cwd().to_owned()),
        Some(path) => context.workspace.resolve(path),
    }
}

/// The same, if there is something.
pub(super) fn existing(path: PathBuf, context: &ToolContext) -> Result<(PathBuf, bool), String> {
    match file::kind(&path, context)? {
        Kind::Missing => Err(file::missing(&path, context)),
        Kind::Folder => Ok((path, true)),
        Kind::File(_) => Ok((path, false)),
    }
}
