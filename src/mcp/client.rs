//! Our side of a connection: who we are, the root we work in, and what servers tell unasked.

#![expect(
    deprecated,
    reason = "servers of today ask for roots; those of tomorrow will not"
)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult,
    ProgressNotificationParam, ProgressToken, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::Notify;

use crate::tools::{Progress, ProgressUpdate};

/// Where running calls report to, by the token that the server was given.
pub(super) type Running = Arc<Mutex<HashMap<ProgressToken, Progress>>>;

/// Our side.
#[derive(Debug, Clone)]
pub(super) struct Client {
    worktree: PathBuf,
    /// Told when the server's tools have changed.
    pub(super) relist: Arc<Notify>,
    /// Calls that run.
    pub(super) running: Running,
}

impl Client {
    pub(super) fn new(worktree: &Path) -> Self {
        Self {
            worktree: worktree.to_owned(),
            relist: Arc::default(),
            running: Running::default(),
        }
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut abilities = ClientCapabilities::default();
        abilities.roots = Some(RootsCapabilities::default());
        let us = Implementation::new("dunlin", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(abilities, us)
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(file_uri(
            &self.worktree,
        ))]))
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(progress) = running.get(&told.progress_token) {
            let tail = in_words(&told);
            progress.send_modify(|update: &mut ProgressUpdate| update.tail = tail);
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.relist.notify_one();
    }
}

/// `3 of 10  Indexing`
fn in_words(told: &ProgressNotificationParam) -> String {
    let mut words = match told.total {
        Some(total) => format!("{} of {total}", told.progress),
        None => told.progress.to_string(),
    };
    if let Some(message) = &told.message {
        words.push_str("  ");
        words.extend(message.chars().filter(|c| !c.is_control()).take(200));
    }
    words
}

/// `file:///a%20b`: everything but what a path may hold unchanged is percent-encoded.
fn file_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_valid_address() {
        assert_eq!(
            file_uri(Path::new("/a b/ü#.rs")),
            "file:///a%20b/%C3%BC%23.rs"
        );
    }
}
