//! Servers of tools outside dunlin (MCP), as the agent tells of them and `/mcp` shows them.
//!
//! Plain data. Secrets are not in it: of a command line the words, of an address everything but its
//! query, never variables or headers.

use serde::{Deserialize, Serialize};

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServer {
    /// The name that the configuration gives it.
    pub name: String,
    /// How it is reached: its command line, or its address.
    pub reached: String,
    /// How it is.
    pub state: ServerState,
    /// What it calls itself, with its version; empty while it has not said.
    pub called: String,
    /// The tools it offers; those of the last connection if that has ended.
    pub tools: Vec<ServerTool>,
    /// The last lines it wrote to its standard error.
    pub said: Vec<String>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "why", rename_all = "kebab-case")]
pub enum ServerState {
    /// Switched off in the configuration.
    Off,
    /// It is being started, or its tools are being listed.
    Starting,
    /// Its tools can be called.
    Ready,
    /// It did not start or has ended, with a sentence that says why.
    Failed(String),
}

/// A tool of such a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTool {
    /// The name by which models and rules know it: `mcp__server__tool`.
    pub name: String,
    /// The first line of its description.
    pub about: String,
    /// True if the server says that it changes nothing.
    pub reads_only: bool,
}
