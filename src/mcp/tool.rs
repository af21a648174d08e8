//! A server's tool as the agent sees it.
//!
//! What a server says about its tools are claims: they never loosen what `permission` decides, but for
//! `readOnlyHint`, which says whether a call can change anything at all.

use std::sync::{Arc, PoisonError, Weak};

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Map, Value, json};

use super::answer;
use super::client::Running;
use super::name;
use super::server::Server;
use crate::protocol::wildcard;
use crate::tools::{Access, Failure, Need, Progress, Success, Tool, ToolContext};

/// Most characters of a description that are sent with every request.
const DESCRIPTION: usize = 8_000;
/// Most characters of a title.
const TITLE: usize = 200;
/// A call may last so many times its time-out if the server goes on telling progress.
const LONGEST: u32 = 30;

/// A tool of a server.
#[derive(Debug)]
pub(super) struct ServersTool {
    /// Not owned: the server owns its tools.
    server: Weak<Server>,
    name: String,
    /// What the server calls it.
    remote: String,
    description: String,
    schema: Value,
    reads_only: bool,
}

impl ServersTool {
    pub(super) fn new(server: &Arc<Server>, tool: rmcp::model::Tool) -> Self {
        let remote = tool.name.into_owned();
        let hints = tool.annotations.as_ref();
        let description = tool.description.unwrap_or_default();
        let description: String = description.chars().take(DESCRIPTION).collect();
        Self {
            server: Arc::downgrade(server),
            name: name::of_tool(server.name(), &remote),
            description: if description.trim().is_empty() {
                format!("The tool {remote} of the MCP server {}.", server.name())
            } else {
                description
            },
            schema: Value::Object(tool.input_schema.as_ref().clone()),
            reads_only: hints.and_then(|h| h.read_only_hint).unwrap_or(false),
            remote,
        }
    }

    /// The first line of its description.
    pub(super) fn about(&self) -> String {
        let line = self.description.trim().lines().next().unwrap_or_default();
        line.chars()
            .filter(|c| !c.is_control())
            .take(TITLE)
            .collect()
    }

    pub(super) const fn reads_only(&self) -> bool {
        self.reads_only
    }
}

impl Tool for ServersTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, String> {
        let arguments = arguments(input)?;
        Ok(Access {
            title: title(&arguments),
            needs: vec![Need::Other(self.name.clone())],
            writes: Vec::new(),
            can_write: !self.reads_only,
            says: String::new(),
        })
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let (server, name, remote) = (
            Weak::clone(&self.server),
            self.name.clone(),
            self.remote.clone(),
        );
        Box::pin(async move {
            let Some(server) = server.upgrade() else {
                return Err(Failure::new("This tool's server is gone. Do without it."));
            };
            let arguments = arguments(&input)?;
            let title = title(&arguments);
            let (peer, client) = server.connection()?;
            let params = CallToolRequestParams::new(remote.clone()).with_arguments(arguments);
            let call = Call {
                server: server.name().to_owned(),
                peer,
                running: client.running,
            };
            let options = PeerRequestOptions::with_timeout(server.timeout())
                .reset_timeout_on_progress()
                .with_max_total_timeout(server.timeout() * LONGEST);
            let result = call.run(params, options, &context).await;
            let metadata = json!({"server": server.name(), "tool": remote});
            match result {
                Ok(ServerResult::CallToolResult(result)) => {
                    let keep = context.blobs.as_deref();
                    Ok(succeed(
                        answer::read(result, keep),
                        &name,
                        title,
                        metadata,
                        &context,
                    )?)
                }
                Ok(_) => Err(Failure {
                    message: format!(
                        "The MCP server {} answered with something that dunlin can't go on with: it \
                         wants more input or made a task of the call. Do without it.",
                        server.name()
                    ),
                    title,
                    metadata,
                    ..Failure::default()
                }),
                Err(message) => Err(Failure {
                    message,
                    title,
                    metadata,
                    ..Failure::default()
                }),
            }
        })
    }
}

fn succeed(
    answer: answer::Answer,
    name: &str,
    title: String,
    metadata: Value,
    context: &ToolContext,
) -> Result<Success, Failure> {
    let nothing = answer.text.is_empty() && answer.attachments.is_empty();
    let text = match (nothing, answer.failed) {
        (true, true) => "The server says that it failed, and nothing more.".to_owned(),
        (true, false) => "(no output)".to_owned(),
        (false, _) => answer.text,
    };
    let fitted = context.output.fit(name, text);
    if answer.failed {
        return Err(Failure {
            message: fitted.text,
            title,
            metadata,
            truncated: fitted.full,
            wrote: Vec::new(),
        });
    }
    Ok(Success {
        output: fitted.text,
        title,
        metadata,
        attachments: answer.attachments,
        truncated: fitted.full,
        wrote: Vec::new(),
    })
}

/// One call.
struct Call {
    server: String,
    peer: Peer<RoleClient>,
    running: Running,
}

impl Call {
    /// Sends it and waits. Fails with a sentence.
    async fn run(
        &self,
        params: CallToolRequestParams,
        options: PeerRequestOptions,
        context: &ToolContext,
    ) -> Result<ServerResult, String> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| self.sentence(&error))?;
        let id = handle.id.clone();
        let _listening = Listening::new(&self.running, &handle.progress_token, &context.progress);
        tokio::select! {
            answer = handle.await_response() => answer.map_err(|error| self.sentence(&error)),
            () = context.cancel.cancelled() => {
                self.cancel(id).await;
                Err("The call was interrupted.".to_owned())
            }
        }
    }

    /// Tells the server that nobody waits any more.
    async fn cancel(&self, id: RequestId) {
        let params = CancelledNotificationParam::new(Some(id), Some("interrupted".to_owned()));
        let told = CancelledNotification::new(params);
        // one that has ended need not be told
        drop(self.peer.send_notification(told.into()).await);
    }

    fn sentence(&self, error: &ServiceError) -> String {
        let server = &self.server;
        match error {
            ServiceError::McpError(error) => {
                format!("The MCP server {server} says: {}", error.message)
            }
            ServiceError::Timeout { timeout } => format!(
                "The MCP server {server} was silent for {} s. The call was given up; it may have had \
                 an effect.",
                timeout.as_secs_f64()
            ),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => format!(
                "The MCP server {server} has ended. The call may have had an effect. Try again in a \
                 moment, or do without it."
            ),
            other => format!("The MCP server {server} could not be asked: {other}."),
        }
    }
}

/// While it lives, what the server tells about a call reaches the call's progress.
struct Listening {
    running: Running,
    token: ProgressToken,
}

impl Listening {
    fn new(running: &Running, token: &ProgressToken, progress: &Progress) -> Self {
        let mut calls = running.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(token.clone(), progress.clone());
        drop(calls);
        Self {
            running: Arc::clone(running),
            token: token.clone(),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut calls = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(&self.token);
    }
}

fn arguments(input: &Value) -> Result<Map<String, Value>, String> {
    match input {
        Value::Null => Ok(Map::new()),
        Value::Object(arguments) => Ok(arguments.clone()),
        _ => Err("The input must be a JSON object.".to_owned()),
    }
}

/// `city: Bern, days: 3`
fn title(arguments: &Map<String, Value>) -> String {
    let words: Vec<String> = arguments
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {text}"),
            other => format!("{name}: {other}"),
        })
        .collect();
    let words = words.join(", ");
    words
        .chars()
        .filter(|c| !c.is_control())
        .take(TITLE)
        .collect()
}

/// True if one of these patterns fits the name.
pub(super) fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| wildcard::matches_command(pattern, name))
}
