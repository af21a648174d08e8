//! One server's life, in a task of its own: connect, list its tools, watch it, end it.
//!
//! ```text
//! Starting ─▶ Ready ─▶ (its tools changed: list again)
//!     │         └─▶ ended by itself: started again, three times at most ─▶ Failed
//!     └─▶ Failed, with a sentence
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::{Peer, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::client::Client;
use super::launch::{self, Launch};
use super::program::{Program, Said};
use super::tool::{ServersTool, matches_any};
use super::{END_PATIENCE, Surroundings};
use crate::config::mcp::McpSettings;
use crate::protocol::outside::{ServerState, ServerTool, ToolServer};
use crate::tools::Tool;

/// How often a server that ends by itself is started again.
const RESTARTS: u32 = 3;
/// Most tools of one server.
const MOST_TOOLS: usize = 500;

/// A server and what is known of it.
#[derive(Debug)]
pub(super) struct Server {
    name: String,
    settings: McpSettings,
    surroundings: Surroundings,
    said: Said,
    changes: watch::Sender<u64>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Counts its lives: what an older one still says is not heard.
    life: u64,
    state: ServerState,
    called: String,
    tools: Vec<Arc<ServersTool>>,
    /// The connection, while it is ready, and where its calls report to.
    connection: Option<(Peer<RoleClient>, Client)>,
}

/// The task of a server's life. Dropping it ends the server at once.
#[derive(Debug)]
pub(super) struct Life {
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Life {
    /// Ends the server: gently first.
    pub(super) async fn end(self) {
        self.stop.cancel();
        drop(tokio::time::timeout(END_PATIENCE * 2, self.task).await);
    }
}

impl Server {
    pub(super) fn new(
        name: &str,
        settings: McpSettings,
        surroundings: Surroundings,
        changes: watch::Sender<u64>,
    ) -> Self {
        let state = ServerState::Off;
        Self {
            name: name.to_owned(),
            settings,
            surroundings,
            said: Said::default(),
            changes,
            known: Mutex::new(Known {
                life: 0,
                state,
                called: String::new(),
                tools: Vec::new(),
                connection: None,
            }),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How long a call may be silent.
    pub(super) const fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// True if the configuration wants it.
    pub(super) const fn is_on(&self) -> bool {
        self.settings.enabled
    }

    pub(super) fn is_starting(&self) -> bool {
        let known = self.known();
        known.state == ServerState::Starting && known.tools.is_empty()
    }

    /// Its tools, by name.
    pub(super) fn tools(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let known = self.known();
        let tools = known.tools.iter();
        tools
            .map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
            .collect()
    }

    pub(super) fn shown(&self) -> ToolServer {
        let known = self.known();
        let tools = known.tools.iter().map(|tool| ServerTool {
            name: tool.name().to_owned(),
            about: tool.about(),
            reads_only: tool.reads_only(),
        });
        ToolServer {
            name: self.name.clone(),
            reached: launch::shown(&self.settings),
            state: known.state.clone(),
            called: known.called.clone(),
            tools: tools.collect(),
            said: self.said.lines(),
        }
    }

    /// The connection, or a sentence for the model why there is none.
    pub(super) fn connection(&self) -> Result<(Peer<RoleClient>, Client), String> {
        let known = self.known();
        match (&known.connection, &known.state) {
            (Some((peer, client)), _) => Ok((peer.clone(), client.clone())),
            (None, ServerState::Failed(why)) => Err(format!(
                "The MCP server {} is not running: {why} Do without it.",
                self.name
            )),
            (None, _) => Err(format!(
                "The MCP server {} is being started. Try again in a moment.",
                self.name
            )),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, if this life is still the newest, and tells it.
    fn change(&self, life: u64, how: impl FnOnce(&mut Known)) {
        let mut known = self.known();
        if known.life != life {
            return;
        }
        how(&mut known);
        drop(known);
        self.changes.send_modify(|n| *n += 1);
    }

    fn failed(&self, life: u64, why: String) {
        tracing::warn!(server = self.name, why, "an MCP server failed");
        self.change(life, |known| {
            known.connection = None;
            known.state = ServerState::Failed(why);
        });
    }
}

/// Begins a life.
pub(super) fn live(server: Arc<Server>) -> Life {
    let stop = CancellationToken::new();
    let mut known = server.known();
    known.life += 1;
    known.state = ServerState::Starting;
    known.connection = None;
    let life = known.life;
    drop(known);
    server.said.clear();
    server.changes.send_modify(|n| *n += 1);
    let task = tokio::spawn(run(server, life, stop.clone()));
    Life {
        stop,
        task: AbortOnDropHandle::new(task),
    }
}

async fn run(server: Arc<Server>, life: u64, stop: CancellationToken) {
    let mut restarts = 0;
    loop {
        let limit = server.settings.start_timeout;
        let started = tokio::select! {
            () = stop.cancelled() => return,
            started = tokio::time::timeout(limit, start(&server)) => started,
        };
        let up = match started {
            Ok(Ok(up)) => up,
            Ok(Err(why)) => return server.failed(life, why),
            Err(_) => {
                let seconds = limit.as_secs_f64();
                let why = format!(
                    "it was not ready after {seconds} s (`start_timeout` in its settings)."
                );
                return server.failed(life, why);
            }
        };
        let Some(why) = watch_over(&server, life, up, &stop).await else {
            return;
        };
        if restarts == RESTARTS {
            return server.failed(life, why);
        }
        server.change(life, |known| {
            known.connection = None;
            known.state = ServerState::Starting;
        });
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1 << restarts)) => {}
        }
        restarts += 1;
    }
}

/// A server that is up.
struct Up {
    service: RunningService<RoleClient, Client>,
    client: Client,
    program: Option<Program>,
    tools: Vec<rmcp::model::Tool>,
}

/// Starts it and lists its tools. Fails with the rest of a sentence.
async fn start(server: &Server) -> Result<Up, String> {
    let surroundings = &server.surroundings;
    let variable = |name: &str| std::env::var(name).ok();
    let launch = Launch::of(&server.settings, &surroundings.worktree, &variable)?;
    let client = Client::new(&surroundings.worktree);
    let (service, mut program) = match launch {
        Launch::Program {
            command,
            args,
            env,
            cwd,
        } => {
            let environment = (&surroundings.environment, env.as_slice());
            let (mut program, output, input) =
                Program::start(&command, &args, &cwd, environment, &server.said)?;
            match client.clone().serve((output, input)).await {
                Ok(service) => (service, Some(program)),
                Err(error) => return Err(why(server, Some(&mut program), &error.to_string()).await),
            }
        }
        Launch::Address { url, headers } => {
            let http = surroundings
                .http
                .for_servers(&url)
                .map_err(|fault| fault.message)?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url);
            for (name, value) in headers {
                let pair = (name.parse(), value.parse());
                let (Ok(name), Ok(value)) = pair else {
                    return Err(format!("the header {name} is not valid."));
                };
                config.custom_headers.insert(name, value);
            }
            let transport = StreamableHttpClientTransport::with_client(http, config);
            match client.clone().serve(transport).await {
                Ok(service) => (service, None),
                Err(error) => return Err(why(server, None, &error.to_string()).await),
            }
        }
    };
    match service.peer().list_all_tools().await {
        Ok(tools) => Ok(Up {
            service,
            client,
            program,
            tools,
        }),
        Err(error) => Err(why(server, program.as_mut(), &error.to_string()).await),
    }
}

/// The rest of a sentence: how the program ended, else what the protocol says, and its last line.
async fn why(server: &Server, program: Option<&mut Program>, error: &str) -> String {
    let how = match program {
        Some(program) => program.ended().await,
        None => None,
    };
    let said = server.said.lines();
    let last = said
        .last()
        .map_or_else(String::new, |line| format!(" Its last line: {line}"));
    let error: String = error.chars().take(400).collect();
    let how = how.unwrap_or_else(|| error.trim_end_matches('.').to_owned());
    format!("{how}.{last}")
}

/// Offers its tools until it ends by itself, which gives the rest of a sentence, or is stopped.
async fn watch_over(
    server: &Arc<Server>,
    life: u64,
    up: Up,
    stop: &CancellationToken,
) -> Option<String> {
    let Up {
        service,
        client,
        mut program,
        tools,
    } = up;
    let peer = service.peer().clone();
    let about = service.peer().peer_info();
    let called = about.map_or_else(String::new, |info| {
        let who = info.server_info.as_ref();
        who.map_or_else(String::new, |who| format!("{} {}", who.name, who.version))
    });
    let connection = (peer.clone(), client.clone());
    let offered = offer(server, tools);
    server.change(life, move |known| {
        known.called = called;
        known.tools = offered;
        known.connection = Some(connection);
        known.state = ServerState::Ready;
    });
    let close = service.cancellation_token();
    let mut ended = std::pin::pin!(service.waiting());
    loop {
        tokio::select! {
            () = stop.cancelled() => {
                close.cancel();
                drop(tokio::time::timeout(END_PATIENCE / 2, ended).await);
                if let Some(program) = program.take() {
                    program.end(END_PATIENCE).await;
                }
                return None;
            }
            _ = &mut ended => {
                return Some(why(server, program.as_mut(), "the connection has ended").await);
            }
            () = client.relist.notified() => {
                match peer.list_all_tools().await {
                    Ok(tools) => {
                        let offered = offer(server, tools);
                        server.change(life, move |known| known.tools = offered);
                    }
                    Err(error) => tracing::warn!(server = server.name, %error, "tools not listed"),
                }
            }
        }
    }
}

/// The tools to offer, by name.
fn offer(server: &Arc<Server>, tools: Vec<rmcp::model::Tool>) -> Vec<Arc<ServersTool>> {
    let wanted = &server.settings.tools;
    let mut offered: Vec<_> = tools
        .into_iter()
        .filter(|tool| wanted.is_empty() || matches_any(wanted, &tool.name))
        .take(MOST_TOOLS)
        .map(|tool| Arc::new(ServersTool::new(server, tool)))
        .collect();
    offered.sort_by(|a, b| a.name().cmp(b.name()));
    offered
}
