//! Tools of servers outside: telling how they are, offering what they bring, waiting for them once.
//!
//! A turn that begins while a server is being started waits for it, so that the first request already
//! has its tools; tools that come or go later are offered from the next turn on, because another list
//! of tools makes every provider forget what it has cached. Which tools there are is `tools::Outside`'s
//! business.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::{Agent, Back};
use crate::agent::effect::Purpose;
use crate::agent::input::StreamId;
use crate::protocol::outside::{ServerState, ToolServer};
use crate::protocol::{Event, NoticeLevel};
use crate::tools::Outside;

/// A wait for servers that lasts longer than this is told.
const SILENCE: Duration = Duration::from_secs(1);

/// What the driver remembers of the servers.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How each one was when it was last told.
    states: BTreeMap<String, ServerState>,
    /// True if the model's list of tools is older than what there is.
    stale: bool,
}

impl Agent {
    /// Begins to start the servers and follows them.
    pub(super) fn begin_outside(&self) {
        let Some(outside) = self.ports.outside.clone() else {
            return;
        };
        let (mut changes, back) = (outside.changes(), self.active.back.clone());
        outside.begin();
        tokio::spawn(async move {
            loop {
                if back.send(Back::Outside).is_err() || changes.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Something has changed there.
    pub(super) fn outside_changed(&mut self) {
        let Some(outside) = self.ports.outside.clone() else {
            return;
        };
        let servers = outside.servers();
        let mut events: Vec<Event> = servers
            .iter()
            .filter_map(|s| self.outside.news(s))
            .collect();
        events.push(Event::Servers(servers));
        self.ports.outbox.send(events);
        self.outside.stale = true;
        if !self.active.turn.is_running() {
            self.refresh_outside();
        }
    }

    /// Offers the tools there are now, if that is not what is offered already.
    pub(super) fn refresh_outside(&mut self) {
        if std::mem::take(&mut self.outside.stale) {
            self.active.refresh_agent(&self.ports);
        }
    }

    /// Puts a request off until no server is being started for the first time. False if none is.
    pub(super) fn waits_for_servers(&mut self, stream: StreamId, purpose: &Purpose) -> bool {
        let Some(outside) = self.ports.outside.clone() else {
            return false;
        };
        if !matches!(purpose, Purpose::Step { .. }) || !outside.is_starting() {
            return false;
        }
        let (back, purpose) = (self.active.back.clone(), purpose.clone());
        let task = tokio::spawn(async move {
            let wait = started(outside.as_ref());
            let mut wait = std::pin::pin!(wait);
            if tokio::time::timeout(SILENCE, &mut wait).await.is_err() {
                let (level, text) = (NoticeLevel::Info, waits_for(&outside.servers()));
                drop(back.send(Back::Event(Event::Notice { level, text })));
                wait.await;
            }
            drop(back.send(Back::Ask(stream, Box::new(purpose))));
        });
        // an interrupt drops it, as it drops a stream
        self.active
            .streams
            .insert(stream, AbortOnDropHandle::new(task));
        true
    }

    /// The servers are there, or it was waited long enough.
    pub(super) fn ask_at_last(&mut self, stream: StreamId, purpose: &Purpose) {
        if self.active.streams.remove(&stream).is_none() {
            return;
        }
        self.outside.stale = true;
        self.refresh_outside();
        if let Some(input) = self.ask_model(stream, purpose) {
            self.input(input);
        }
    }

    /// Starts a server again.
    pub(super) fn restart_server(&self, name: &str) {
        let restarted = match &self.ports.outside {
            Some(outside) => outside.restart(name),
            None => Err("No MCP server is configured.".to_owned()),
        };
        if let Err(text) = restarted {
            let level = NoticeLevel::Warning;
            self.ports.outbox.send([Event::Notice { level, text }]);
        }
    }
}

impl Seen {
    /// What is to be said aloud: a server that fails, and one that is there after it had failed.
    fn news(&mut self, server: &ToolServer) -> Option<Event> {
        let before = self
            .states
            .insert(server.name.clone(), server.state.clone());
        if before.as_ref() == Some(&server.state) {
            return None;
        }
        let (level, text) = match (&server.state, before) {
            (ServerState::Failed(why), _) => (
                NoticeLevel::Warning,
                format!(
                    "The MCP server {} failed: {why} /mcp restart {} starts it again.",
                    server.name, server.name
                ),
            ),
            (ServerState::Ready, Some(ServerState::Failed(_))) => (
                NoticeLevel::Info,
                format!("The MCP server {} is ready.", server.name),
            ),
            _ => return None,
        };
        Some(Event::Notice { level, text })
    }
}

/// `The request waits for the MCP servers docs, files.`
fn waits_for(servers: &[ToolServer]) -> String {
    let starting = servers.iter().filter(|s| s.state == ServerState::Starting);
    let names: Vec<&str> = starting.map(|s| s.name.as_str()).collect();
    let many = if names.len() == 1 { "" } else { "s" };
    format!(
        "The request waits for the MCP server{many} {}.",
        names.join(", ")
    )
}

/// Waits until no server is being started for the first time.
async fn started(outside: &dyn Outside) {
    let mut changes = outside.changes();
    while outside.is_starting() {
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// The tools of the servers; none without servers.
pub(super) fn tools(outside: Option<&Arc<dyn Outside>>) -> Vec<Arc<dyn crate::tools::Tool>> {
    outside.map(|outside| outside.tools()).unwrap_or_default()
}
