//! Running calls: each in a task of its own, with a token that kills it and a channel that reports.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::asking::ToolQuestions;
use super::settling::{ALIVE_EVERY, clock};
use super::{Agent, Back};
use crate::agent::input::Input;
use crate::protocol::{BlobRef, FileSource, PartId};
use crate::session::{Blobs, SessionStore};
use crate::snapshot::Snapshots;
use crate::tools::blocking::Blocking;
use crate::tools::output::OutputStore;
use crate::tools::{BlobSink, Failure, ProgressUpdate, Tool, ToolContext};

/// Live updates of a call reach the screen at most so often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl Agent {
    /// The tool with this name, if the session's agent has it.
    pub(super) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let agent = self.ports.agent(&self.active.turn.info().agent);
        if agent.is_some_and(|a| !a.has_tool(name)) {
            return None;
        }
        let own = self.ports.tools.iter().find(|t| t.name() == name);
        own.map(Arc::clone).or_else(|| {
            let mut others = super::outside::tools(self.ports.outside.as_ref()).into_iter();
            others.find(|t| t.name() == name)
        })
    }

    /// What a tool may use.
    pub(super) fn tool_context(&self, part: PartId) -> ToolContext {
        let session = self.active.turn.info().id;
        let mut context = ToolContext::new(
            (session, part),
            Arc::clone(&self.ports.workspace),
            Arc::clone(&self.active.reads),
            Arc::clone(&self.active.output),
        );
        context.mode = self.active.turn.info().mode;
        if !self.ports.headless {
            context.ask = Some(Arc::new(ToolQuestions::new(self.active.back.clone())));
        }
        if let Some(store) = self.active.writer() {
            context.blobs = Some(Arc::new(Keep(store.blobs())));
        }
        if let Some(told) = self.told(part) {
            context.writes = Some(Arc::new(told));
        }
        context
    }

    /// Starts a call. Its result comes back as `Input::ToolEnded`.
    pub(super) fn run_tool(&mut self, part: PartId, name: &str, input: Value) -> Option<Input> {
        let Some(tool) = self.tool(name) else {
            let result = Err(Failure::new(format!("There is no tool {name}.")));
            return Some(Input::ToolEnded { part, result });
        };
        let mut context = self.tool_context(part);
        let (progress, updates) = watch::channel(ProgressUpdate::default());
        context.progress = progress;
        let token = CancellationToken::new();
        context.cancel = token.clone();
        self.active.tools.insert(part, token);
        let (output, name) = (Arc::clone(&self.active.output), name.to_owned());
        let back = self.active.back.clone();
        tokio::spawn(forward(part, updates, Arc::clone(&output), back.clone()));
        let (runs, ended) = (self.active.calls.token(), Arc::clone(&self.active.ended));
        let store = self.active.writer().cloned();
        let told = self.tell_command(part);
        let snapshots = told.as_ref().map(|_| self.ports.snapshots.clone());
        let blocking = self.ports.blocking.clone();
        self.tasks.spawn(async move {
            // A panic in a tool is that call's failure and nobody else's.
            let mut running = tokio::spawn(tool.run(input, context));
            let result = alive(&mut running, (store, snapshots), &blocking).await;
            drop(told);
            ended.fetch_max(clock(), Ordering::SeqCst);
            drop(runs);
            let mut result = match result {
                Ok(result) => result,
                Err(error) => Err(Failure::new(format!(
                    "The tool failed in a way that it should not: {error}. Try another way."
                ))),
            };
            // No exceptions: also those that came from outside and forgot to be brief.
            output.seal(&name, &mut result);
            drop(back.send(Back::Input(Input::ToolEnded { part, result })));
        });
        None
    }
}

/// Waits for a call. Meanwhile the session says that it is alive: should the process be killed, it is known
/// until when what the command wrote was the command's.
async fn alive<T>(
    running: &mut JoinHandle<T>,
    (store, snapshots): (Option<SessionStore>, Option<Snapshots>),
    blocking: &Blocking,
) -> Result<T, JoinError> {
    loop {
        match tokio::time::timeout(ALIVE_EVERY, &mut *running).await {
            Ok(ended) => return ended,
            Err(_still) => {
                if let Some(snapshots) = &snapshots {
                    snapshots.touch();
                }
                if let Some(store) = store.clone() {
                    let blocking = blocking.clone();
                    tokio::spawn(async move { blocking.run(move || store.touch()).await });
                }
            }
        }
    }
}

/// Passes live updates on, at most ten a second, until the call has ended.
async fn forward(
    part: PartId,
    mut updates: watch::Receiver<ProgressUpdate>,
    output: Arc<OutputStore>,
    back: tokio::sync::mpsc::UnboundedSender<Back>,
) {
    while updates.changed().await.is_ok() {
        let mut update = updates.borrow_and_update().clone();
        output.seal_update(&mut update);
        if back
            .send(Back::Input(Input::Progress { part, update }))
            .is_err()
        {
            return;
        }
        tokio::time::sleep(PROGRESS_EVERY).await;
    }
}

/// Keeps what tools attach in the project's blob store.
#[derive(Debug)]
struct Keep(Blobs);

impl BlobSink for Keep {
    fn keep(&self, _mime: &str, bytes: &[u8]) -> Result<FileSource, String> {
        let kept: Result<BlobRef, _> = self.0.put(bytes);
        kept.map(FileSource::Blob).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::IdMint;

    #[tokio::test]
    async fn a_call_reports_at_most_ten_times_a_second_and_its_newest_state_wins() {
        let part = IdMint::new(1, 0).part(1);
        let (progress, updates) = watch::channel(ProgressUpdate::default());
        let (back, mut came) = tokio::sync::mpsc::unbounded_channel();
        let output = OutputStore::new(crate::config::used::OutputLimits::default(), "unused");
        let forwarding = tokio::spawn(forward(part, updates, Arc::new(output), back));
        let (begun, mut sent) = (std::time::Instant::now(), 0);
        // A chatty tool for a third of a second.
        while begun.elapsed() < PROGRESS_EVERY * 7 / 2 {
            sent += 1;
            progress.send_modify(|update| update.tail = sent.to_string());
            tokio::task::yield_now().await;
        }
        let mut tails = Vec::new();
        while tails.last() != Some(&sent.to_string()) {
            match came.recv().await {
                Some(Back::Input(Input::Progress { update, .. })) => tails.push(update.tail),
                other => panic!("{other:?}"),
            }
        }
        let most = begun.elapsed().as_millis() / PROGRESS_EVERY.as_millis() + 1;
        assert!(
            tails.len() as u128 <= most,
            "{} updates of {sent} in {:?}",
            tails.len(),
            begun.elapsed()
        );
        drop(progress);
        forwarding.await.expect("it ends with the call");
    }
}
