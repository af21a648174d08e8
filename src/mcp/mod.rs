//! Servers of tools outside dunlin: the client side of the Model Context Protocol.
//!
//! ```text
//! [mcp.NAME] ─▶ settings (variables filled in) ─▶ server (one task each: start, list, watch, end)
//!                                                  │ program: a child on pipes   │ tool: Tool → call
//!                                                  │ address: streamable HTTP    │ answer: result → text
//! ```
//!
//! `app` builds `Servers` and hands it to the agent as `tools::Outside`. The protocol itself is
//! `rmcp`'s; its types stay in this folder. What a call may do is `permission`'s business, what of an
//! answer a model reads is cut by `tools::output`. Sampling and elicitation are declined.

mod answer;
mod client;
mod launch;
mod name;
mod program;
mod server;
mod tool;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::watch;

use crate::config::mcp::McpSettings;
use crate::model::http::Http;
use crate::protocol::outside::ToolServer;
use crate::tools::bash::Environment;
use crate::tools::{Outside, Tool};
use server::Server;

/// How long a server has to end by itself.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// What servers are started with.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The worktree: their folder, and the root that they are told.
    pub worktree: PathBuf,
    /// The environment of programs, without the keys of model providers.
    pub environment: Environment,
    /// The clients for addresses.
    pub http: Arc<Http>,
}

/// All servers of the configuration.
#[derive(Debug)]
pub struct Servers {
    list: Vec<Arc<Server>>,
    changes: watch::Sender<u64>,
    /// The task that looks after each server; dropping one ends its server.
    tasks: Mutex<BTreeMap<String, server::Life>>,
}

impl Servers {
    /// Nothing is started before `begin`.
    pub fn new(settings: &BTreeMap<String, McpSettings>, surroundings: &Surroundings) -> Self {
        let changes = watch::Sender::new(0);
        let list = settings
            .iter()
            .map(|(name, settings)| {
                Arc::new(Server::new(
                    name,
                    settings.clone(),
                    surroundings.clone(),
                    changes.clone(),
                ))
            })
            .collect();
        Self {
            list,
            changes,
            tasks: Mutex::default(),
        }
    }

    fn start(&self, server: &Arc<Server>) {
        let life = server::live(Arc::clone(server));
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.insert(server.name().to_owned(), life);
    }
}

impl Outside for Servers {
    fn begin(&self) {
        for server in self.list.iter().filter(|server| server.is_on()) {
            self.start(server);
        }
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut taken = Vec::new();
        let offered = self.list.iter().flat_map(Server::tools);
        offered
            .filter(|tool| {
                let new = !taken.iter().any(|name| name == tool.name());
                taken.push(tool.name().to_owned());
                new
            })
            .collect()
    }

    fn servers(&self) -> Vec<ToolServer> {
        self.list.iter().map(|server| server.shown()).collect()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn is_starting(&self) -> bool {
        self.list.iter().any(|server| server.is_starting())
    }

    fn restart(&self, name: &str) -> Result<(), String> {
        let Some(server) = self.list.iter().find(|server| server.name() == name) else {
            let known: Vec<&str> = self.list.iter().map(|server| server.name()).collect();
            return Err(match known.as_slice() {
                [] => format!(
                    "There is no MCP server {name}: none is configured. Add [mcp.{name}] to the configuration."
                ),
                known => format!(
                    "There is no MCP server {name}. The servers are: {}.",
                    known.join(", ")
                ),
            });
        };
        self.start(server);
        Ok(())
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let lives = std::mem::take(&mut *tasks);
        drop(tasks);
        Box::pin(async move {
            join_all(lives.into_values().map(server::Life::end)).await;
        })
    }
}
