//! Ops: most are an input of the turn; the rest is done here.

use super::{Agent, Back};
use crate::agent::input::Input;
use crate::context::{inspect, tokens};
use crate::protocol::{
    Answer, Event, NoticeLevel, Op, OutputRef, PartBody, PartId, QueueEdit, ToolState,
};
use crate::session::{Commit, Record, SessionStore};

/// Most bytes of a full output that are sent to a front end.
const OUTPUT_BYTES: usize = 8 << 20;

impl Agent {
    /// Does what a front end asks for.
    pub(super) async fn op(&mut self, op: Op) {
        self.flush();
        if !self.active.writable && changes(&op) {
            self.notice(NoticeLevel::Warning, &self.why_read_only());
            return;
        }
        if !self.awake_for(&op).await {
            return;
        }
        match op {
            Op::Prompt {
                mut input,
                delivery,
            } => {
                self.keep_media(&mut input).await;
                self.input(Input::Prompt { input, delivery });
            }
            Op::Shell { command } => self.input(Input::Shell { command }),
            Op::Interrupt => {
                self.close_questions();
                self.input(Input::Interrupt);
            }
            Op::Continue => self.input(Input::Continue),
            Op::Answer { ask, mut answer } => {
                if !self.answer_tool(ask, &answer) && !self.answer_child(ask, &answer) {
                    // Words about a call become its result: bounded like every other.
                    if let Answer::No { message } | Answer::Text { text: message } = &mut answer {
                        let words = std::mem::take(message);
                        *message = self.active.output.sentence("answer", words);
                    }
                    self.input(Input::Answer { ask, answer });
                }
            }
            Op::Queue(mut edit) => {
                if let QueueEdit::Replace(_, input) = &mut edit {
                    self.keep_media(input).await;
                }
                self.input(Input::Queue(edit));
            }
            Op::RetryNow => self.input(Input::RetryNow),
            Op::RestartServer(name) => self.restart_server(&name),
            Op::Compact { focus } => {
                self.tell_files_read();
                self.input(Input::Compact { focus });
            }
            Op::Prune => self.input(Input::Prune),
            Op::Restore { parts } => self.input(Input::Restore { parts }),
            Op::Pin { part, on } => self.input(Input::Pin { part, on }),
            Op::Undo { confirmed } => self.undo(confirmed).await,
            Op::Redo { confirmed } => self.redo(confirmed).await,
            Op::Rewind {
                to,
                files,
                confirmed,
            } => self.rewind(to, files, confirmed).await,
            Op::SwitchBranch {
                tip,
                files,
                confirmed,
            } => self.switch_branch(tip, files, confirmed).await,
            Op::Tree => self.show_tree(),
            Op::Diff(scope) => self.diff(scope),
            Op::DiffFile { scope, path } => self.diff_file(scope, path),
            Op::UndoHunk { scope, path, hunk } => self.undo_hunk(scope, path, hunk).await,
            Op::Context => self.report_context(),
            Op::Spending => self.tell_spending(),
            Op::Pins => self.tell_pins(),
            Op::SetMode(mode) => {
                self.input(Input::SetMode(mode));
                self.tell_children_mode(mode);
            }
            Op::SetModel(model) => self.choose_model(&model),
            Op::SetEffort(effort) => {
                self.ports.config.effort = effort;
                self.input(Input::SetEffort(effort));
            }
            Op::SetAgent(agent) => self.choose_agent(agent),
            Op::Rename(title) => self.input(Input::Titled(title)),
            Op::ListSessions { all } => self.list_sessions(all),
            Op::LoadOlder { before } => self.load_older(before).await,
            Op::OpenSession(id) => self.open_session(id).await,
            Op::OpenPart { session, part } => self.open_part(session, part).await,
            Op::Preview(id) => self.preview(id),
            Op::RenameSession { id, title } => self.rename_session(id, &title),
            Op::ArchiveSession(id) => self.archive_session(id),
            Op::DeleteSession(id) => self.delete_session(id),
            Op::ForkSession(id) => self.fork_session(id).await,
            Op::Search {
                text,
                prompts,
                all,
                generation,
            } => self.search_sessions(text, (prompts, all), generation),
            Op::NewSession => self.new_session().await,
            Op::Fork { at } => self.fork(at).await,
            Op::ListModels => {
                let models = self.ports.models.choices();
                self.active
                    .announce(&self.ports, vec![Event::Models { models }]);
                self.look_for_local_models();
            }
            Op::FindFiles { query, generation } => {
                let finder = self.finder.clone();
                let back = self.active.back.clone();
                self.ports.beside(move || {
                    drop(back.send(Back::Event(finder.find(&query, generation))));
                });
            }
            Op::Export { format, path } if format == "context" => self.export_context(path),
            Op::Export { format, path } => self.export(&format, path),
            Op::ReadOutput(part) => self.read_output(part),
            Op::ReadFile(source) => self.read_file(source),
            Op::ListPermissions => self.list_permissions(),
            Op::RevokePermission {
                owner,
                tool,
                pattern,
            } => self.revoke_permission(&owner, &tool, &pattern),
            Op::Facts => self.tell_facts(),
            Op::Watch(session) => self.watch(session, true),
            Op::Unwatch(session) => self.watch(session, false),
            Op::StopSubagent(session) => self.stop_subagent(session),
            // `run` ends the loop before it comes here.
            Op::Close => {}
        }
    }

    /// The files the session has read, for what is said again after a compaction.
    pub(super) fn tell_files_read(&mut self) {
        let workspace = &self.ports.workspace;
        let files = self
            .active
            .reads
            .list()
            .into_iter()
            .map(|file| (workspace.display(&file.path), file.changed))
            .collect();
        self.active.turn.set_files_read(files);
    }

    fn choose_model(&mut self, model: &crate::protocol::ModelRef) {
        match self.ports.models.model(model) {
            Ok(opened) => {
                let info = opened.info().clone();
                self.active.model = Some(opened);
                self.input(Input::SetModel(Box::new(info)));
                self.active.refresh_agent(&self.ports);
            }
            Err(error) => self
                .active
                .announce(&self.ports, vec![Event::Error { error }]),
        }
    }

    fn choose_agent(&mut self, name: String) {
        if !self.ports.agents.iter().any(|a| a.name == name) {
            let known: Vec<&str> = self.ports.agents.iter().map(|a| a.name.as_str()).collect();
            let text = format!(
                "There is no agent {name}. The agents are: {}.",
                known.join(", ")
            );
            self.notice(NoticeLevel::Error, &text);
            return;
        }
        let mode = super::active::mode_of(&self.ports, &name, self.active.turn.info().mode);
        self.input(Input::SetAgent(name));
        self.input(Input::SetMode(mode));
        self.active.refresh_agent(&self.ports);
    }

    fn report_context(&self) {
        let Some(report) = self.context_report() else {
            return;
        };
        self.active
            .announce(&self.ports, vec![Event::Context { report }]);
    }

    /// Writes the context report to a file of the worktree.
    fn export_context(&self, path: Option<String>) {
        let Some(report) = self.context_report() else {
            return;
        };
        let session = self.active.store.as_ref().map(SessionStore::id);
        let name = path.unwrap_or_else(|| match session {
            Some(id) => format!("context-{id}.json"),
            None => "context.json".to_owned(),
        });
        let target = self.ports.worktree.join(&name);
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let text = format!("{report:#}\n");
            let (level, text) = match std::fs::write(&target, text) {
                Ok(()) => (
                    NoticeLevel::Info,
                    format!("Exported to {}.", target.display()),
                ),
                Err(error) => (
                    NoticeLevel::Error,
                    format!("{} could not be written: {error}", target.display()),
                ),
            };
            drop(back.send(Back::Event(Event::Notice { level, text })));
        });
    }

    fn context_report(&self) -> Option<serde_json::Value> {
        let turn = &self.active.turn;
        let overhead = self.overhead();
        let model = turn.info().model.to_string();
        let report = inspect::report(&inspect::Source {
            conversation: turn.conversation(),
            usage: *turn.usage(),
            window: turn.window(),
            model: &model,
            strategy: &turn.context_settings().strategy,
            overhead,
            misses: self.active.ledger.misses(),
            cost: turn.spent().cost(),
        });
        serde_json::to_value(&report)
            .inspect_err(|error| tracing::error!(%error, "the context report does not serialise"))
            .ok()
    }

    /// Estimated tokens of what every request begins with.
    fn overhead(&self) -> inspect::Overhead {
        let instructions: u64 = self.ports.instructions.iter().map(|i| i.tokens).sum();
        let specs = self.active.specs.iter();
        inspect::Overhead {
            system: tokens::of_text(&self.active.system_stable)
                + tokens::of_text(&self.active.system_dynamic).saturating_sub(instructions),
            instructions,
            tools: specs
                .map(|s| tokens::of_text(&s.description) + tokens::of_json(&s.schema) + 8)
                .sum(),
        }
    }

    /// Stored with the session, so that `dunlin inspect` knows it without building any tool.
    pub(super) fn keep_overhead(&mut self) {
        let mut kept = serde_json::to_value(self.overhead()).unwrap_or_default();
        let misses = self.active.ledger.misses();
        // What an earlier process saw stays until there is something newer.
        let earlier = self
            .active
            .values
            .get("context")
            .map(|v| v["misses"].clone());
        kept["misses"] = match serde_json::to_value(&misses) {
            Ok(misses) if misses.as_array().is_some_and(|m| !m.is_empty()) => misses,
            _ => earlier.unwrap_or_default(),
        };
        let Some(store) = &self.active.store else {
            return;
        };
        if self.active.values.get("context") != Some(&kept) {
            let record = Record::Value {
                name: "context".to_owned(),
                value: kept.clone(),
            };
            store.commit(Commit::written(vec![record], Vec::new()));
            self.active.values.insert("context".to_owned(), kept);
        }
    }

    fn read_output(&self, id: PartId) {
        let Some(part) = self.active.turn.conversation().part(id) else {
            return;
        };
        let PartBody::Tool(tool) = &part.body else {
            return;
        };
        let (shown, full) = match &tool.state {
            ToolState::Completed {
                output, truncated, ..
            } => (output.clone(), truncated.clone()),
            ToolState::Error { error, .. } => (error.clone(), None),
            ToolState::Pending { raw } => (raw.clone(), None),
            ToolState::Running { tail, .. } => (tail.clone(), None),
        };
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let text = full.and_then(|f| read_bounded(&f)).unwrap_or(shown);
            drop(back.send(Back::Event(Event::Output { part: id, text })));
        });
    }
}

/// The saved output, cut in the middle beyond the limit; none if it is gone.
fn read_bounded(saved: &OutputRef) -> Option<String> {
    let bytes = std::fs::read(&saved.path).ok()?;
    if bytes.len() <= OUTPUT_BYTES {
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let half = OUTPUT_BYTES / 2;
    let head = String::from_utf8_lossy(&bytes[..half]);
    let tail = String::from_utf8_lossy(&bytes[bytes.len() - half..]);
    let left_out = bytes.len() - OUTPUT_BYTES;
    Some(format!(
        "{head}\n\n...{left_out} bytes left out: {}...\n\n{tail}",
        saved.path
    ))
}

/// True if an op would write to the session.
const fn changes(op: &Op) -> bool {
    matches!(
        op,
        Op::Prompt { .. }
            | Op::Shell { .. }
            | Op::Continue
            | Op::Queue(_)
            | Op::Compact { .. }
            | Op::Prune
            | Op::Restore { .. }
            | Op::Pin { .. }
            | Op::Undo { .. }
            | Op::Redo { .. }
            | Op::Rewind { .. }
            | Op::SwitchBranch { .. }
            | Op::Rename(_)
            | Op::SetMode(_)
            | Op::SetModel(_)
            | Op::SetAgent(_)
    )
}
