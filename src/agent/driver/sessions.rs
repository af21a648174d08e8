//! Opening, listing, starting and forking sessions, and what a front end is told of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::active::Active;
use super::reading::Reading;
use super::{Agent, branch, resting};
use crate::context::Conversation;
use crate::protocol::{
    Event, Fault, FaultKind, Message, MessageId, NoticeLevel, Part, SessionId, SessionInfo,
};
use crate::session::{ExportFormat, Opened, Project, Redactor, SessionStore, StoreError};

/// How long git may take to say how the worktree stands.
const GIT_PATIENCE: Duration = Duration::from_secs(10);
/// Parts of a page of history.
pub(super) const PAGE: usize = 300;

impl Agent {
    /// What the start screen says about the place; the repository's state follows when git has said it.
    pub(super) fn announce_place(&self) {
        self.ports
            .outbox
            .send([Event::Place(self.ports.place.clone())]);
        if self.ports.headless || !self.ports.environment.git {
            return;
        }
        let mut place = self.ports.place.clone();
        let (root, back) = (self.ports.worktree.clone(), self.active.back.clone());
        tokio::spawn(async move {
            if let Some(state) = git_state(&root).await {
                place.git_state = state;
                drop(back.send(super::Back::Event(Event::Place(place))));
            }
        });
    }

    /// Without a model: what to do, what was found, and which local servers answer.
    pub(super) fn announce_onboarding(&self) {
        if self.ports.headless || self.ports.model.is_some() {
            return;
        }
        let reason = "No API key is set, and no model was chosen.".to_owned();
        let mut found = self.ports.models.found();
        let event = Event::Onboarding {
            reason: reason.clone(),
            found: found.clone(),
        };
        self.active.announce(&self.ports, vec![event]);
        let (models, back) = (Arc::clone(&self.ports.models), self.active.back.clone());
        tokio::spawn(async move {
            for server in models.find_local().await {
                found.push(format!(
                    "{} at {} ({} models)",
                    server.label,
                    server.origin,
                    server.models.len()
                ));
            }
            drop(back.send(super::Back::Event(Event::Onboarding { reason, found })));
        });
    }

    /// The list again, once the servers on this machine have said what they offer.
    pub(super) fn look_for_local_models(&self) {
        if self.ports.headless {
            return;
        }
        let (registry, back) = (Arc::clone(&self.ports.models), self.active.back.clone());
        tokio::spawn(async move {
            if !registry.find_local().await.is_empty() {
                let models = registry.choices();
                drop(back.send(super::Back::Event(Event::Models { models })));
            }
        });
    }

    /// Tells the front end which session is open.
    pub(super) fn announce_session(&self, writable: bool, cut: bool) {
        let session = self.active.turn.info().clone();
        let status = Event::Status(self.active.turn.status());
        let queue = Event::QueueChanged {
            queue: self.active.turn.queue().clone(),
        };
        let started = Event::SessionStarted {
            session,
            writable,
            read_only: self.active.reading.as_ref().map(|reading| reading.why()),
            cut,
        };
        self.active
            .announce(&self.ports, vec![started, queue, status]);
    }

    pub(super) async fn open_newest(&mut self) {
        match self.ports.project.newest() {
            Ok(Some(id)) => self.open_session(id).await,
            Ok(None) => {
                self.announce_session(true, false);
                self.notice(
                    NoticeLevel::Info,
                    "There is no earlier session here; this is a new one.",
                );
            }
            Err(error) => self.not_opened(&error),
        }
    }

    /// A session could not be opened. On a screen the one that is open stays; a script must not go on in
    /// another one without knowing.
    fn not_opened(&self, error: &StoreError) {
        if !self.ports.unattended {
            self.announce_session(self.active.writable, false);
        }
        self.store_trouble(error);
    }

    /// Opens a session in place of the one that is open.
    pub(super) async fn open_session(&mut self, id: SessionId) {
        if self.active.store.as_ref().is_some_and(|s| s.id() == id) {
            return;
        }
        if self.is_at_work(id) {
            self.notice(
                NoticeLevel::Info,
                "That subagent is still at work. Its transcript can be opened when it is done.",
            );
            return;
        }
        if let Err(error) = self.enter(id).await {
            self.not_opened(&error);
        }
    }

    /// A session of this project, to go on with it; of another folder, to look at it.
    fn opened(&self, id: SessionId) -> Result<(Opened, bool), StoreError> {
        let announcer = || self.active.announcer(&self.ports);
        // another worktree of this repository has its own files
        let worktree = self.ports.project.worktree_of(id);
        if worktree.is_some_and(|folder| !self.ports.project.is_here(&folder)) {
            return Ok((self.ports.project.open_to_read(id, announcer())?, true));
        }
        match self.ports.project.open_session(id, announcer()) {
            Err(StoreError::NotFound(_)) => {
                let other = Project::holding(&self.ports.paths.data_dir, id)?;
                let other = other.ok_or(StoreError::NotFound(id))?;
                Ok((other.open_to_read(id, announcer())?, true))
            }
            opened => Ok((opened?, false)),
        }
    }

    /// Opens a session, also the one that is open.
    pub(super) async fn enter(&mut self, id: SessionId) -> Result<(), StoreError> {
        let (opened, foreign) = self.opened(id)?;
        let newest = opened.history.messages.iter().map(|m| m.id).max();
        let values = opened.history.values.clone();
        let (resting, messages, parts) = match resting::newest_page(&opened.history) {
            Some((resting, messages, parts)) => (Some(resting), messages, parts),
            None => {
                let (messages, parts) = self.whole(&opened).await?;
                let (messages, parts) = branch::current(messages, parts, &values);
                (None, messages, parts)
            }
        };
        let conversation = Conversation::from_history(messages, parts);
        let after = opened.history.last_id;
        let info = self.fitted(opened.history.info.clone());
        self.replace(info, conversation, values).await;
        self.active.turn.ids_after(after);
        self.active.newest = newest;
        self.active.resting = resting;
        self.active.writable = opened.writable;
        self.active.reading = Reading::of(&opened, foreign);
        self.active.attach(&self.ports, opened.store);
        let unsettled = self.unsettled(opened.alive);
        // The session is announced before what mends it: front ends know nothing of it until then.
        let (cut, mending) = if opened.writable {
            self.active.turn.recover(self.ports.now())
        } else {
            (false, Vec::new())
        };
        self.announce_session(opened.writable, cut);
        self.send_page(None);
        for effect in mending {
            if let Some(input) = self.perform(effect) {
                self.input(input);
            }
        }
        for text in opened.notices {
            self.notice(NoticeLevel::Warning, &text);
        }
        if foreign {
            let text = self.why_read_only();
            self.notice(NoticeLevel::Warning, &text);
        }
        self.tell_cut_journey();
        // what another process writes is followed over all of it
        if !opened.writable || !unsettled.is_empty() {
            self.wake().await;
        }
        if opened.writable {
            self.make_up_for(unsettled);
        }
        Ok(())
    }

    /// The whole session: its newest page may be all of it.
    async fn whole(&self, opened: &Opened) -> Result<(Vec<Message>, Vec<Part>), StoreError> {
        if opened.history.complete {
            return Ok((
                opened.history.messages.clone(),
                opened.history.parts.clone(),
            ));
        }
        let all = opened.store.since_async(None).await?;
        Ok((all.messages, all.parts))
    }

    /// A stored session whose model can no longer be had begins with the one that can.
    fn fitted(&self, mut info: SessionInfo) -> SessionInfo {
        if info.model == super::active::no_model()
            && let Some(model) = &self.ports.model
        {
            info.model = model.clone();
        }
        if let Some(chosen) = &self.ports.chosen_model {
            info.model = chosen.clone();
        }
        if let Some(mode) = self.ports.chosen_mode {
            info.mode = mode;
        }
        info
    }

    async fn replace(
        &mut self,
        info: SessionInfo,
        conversation: Conversation,
        values: std::collections::BTreeMap<String, serde_json::Value>,
    ) {
        self.input(crate::agent::Input::Interrupt);
        self.close_questions();
        self.leave().await;
        let senders = (self.active.stream_sender.clone(), self.active.back.clone());
        self.active = Active::build(&self.ports, info, conversation, values, senders);
    }

    /// Closes the session that is open; what its last step changed is known before.
    async fn leave(&mut self) {
        self.active.cancel_tools();
        self.wait_for_patches("").await;
        self.active.close().await;
    }

    /// A new session in place of the one that is open.
    pub(super) async fn new_session(&mut self) {
        self.input(crate::agent::Input::Interrupt);
        self.close_questions();
        self.leave().await;
        let (streams, back) = (self.active.stream_sender.clone(), self.active.back.clone());
        let kept = self.active.turn.info().clone();
        self.active = Active::fresh(&self.ports, streams, back);
        // What the user chose for the last session holds for the next.
        if kept.model != super::active::no_model() {
            let info = super::active::model_info(&self.ports, &kept.model);
            self.input(crate::agent::Input::SetModel(Box::new(info)));
        }
        self.input(crate::agent::Input::SetMode(kept.mode));
        self.announce_session(true, false);
    }

    /// A page of history: what stands before a message, or the newest.
    pub(super) fn send_page(&self, before: Option<MessageId>) {
        let entries = self.active.turn.conversation().entries();
        let end = before.map_or(entries.len(), |id| {
            entries.partition_point(|e| e.message.id < id)
        });
        let mut start = end;
        let mut count = 0;
        while start > 0 && count < PAGE {
            start -= 1;
            count += entries[start].parts.len().max(1);
        }
        self.send_entries(start..end);
    }

    /// All history from an entry on; what a front end has already it leaves out.
    pub(super) fn send_from(&self, start: usize) {
        self.send_entries(start..self.active.turn.conversation().entries().len());
    }

    fn send_entries(&self, range: std::ops::Range<usize>) {
        let first = range.start == 0 && self.active.resting.is_none();
        let entries = self.active.turn.conversation().entries();
        let page = entries.get(range).unwrap_or_default();
        let event = Event::History {
            messages: page.iter().map(|e| e.message.clone()).collect(),
            parts: page.iter().flat_map(|e| e.parts.clone()).collect(),
            first,
        };
        self.active.announce(&self.ports, vec![event]);
    }

    /// Lists sessions; reading them is quick but not free, so it runs beside.
    pub(super) fn list_sessions(&mut self, all: bool) {
        self.search.listed_all = all;
        let data_dir = self.ports.paths.data_dir.clone();
        let project = self.ports.project.clone();
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let listed = if all {
                Project::list_all(&data_dir)
            } else {
                project.list()
            };
            let event = match listed {
                Ok(sessions) => Event::Sessions { sessions },
                Err(error) => Event::Notice {
                    level: NoticeLevel::Error,
                    text: format!("The sessions could not be listed. {error}"),
                },
            };
            drop(back.send(super::Back::Event(event)));
        });
    }

    /// Writes the session to a file, without secrets.
    pub(super) fn export(&self, format: &str, path: Option<String>) {
        let format: ExportFormat = match format.parse() {
            Ok(format) => format,
            Err(sentence) => {
                let sentence: String = sentence;
                self.notice(NoticeLevel::Error, &sentence);
                return;
            }
        };
        let Some(id) = self.active.store.as_ref().map(SessionStore::id) else {
            self.notice(NoticeLevel::Info, "There is nothing to export yet.");
            return;
        };
        let ending = match format {
            ExportFormat::Markdown => "md",
            ExportFormat::Json => "json",
            ExportFormat::Jsonl => "jsonl",
        };
        let name = path.unwrap_or_else(|| format!("{id}.{ending}"));
        let target = self.ports.worktree.join(&name);
        let project = self.ports.project.clone();
        let back = self.active.back.clone();
        let keys = self.ports.known_keys();
        self.ports.beside(move || {
            let redactor = Redactor::of_process().and(keys);
            let written = std::fs::File::create_new(&target)
                .map_err(|e| e.to_string())
                .and_then(|mut file| {
                    project
                        .export(id, format, &redactor, &mut file)
                        .map_err(|e| e.to_string())
                });
            let (level, text) = match written {
                Ok(()) => (
                    NoticeLevel::Info,
                    format!("Exported to {}.", target.display()),
                ),
                Err(error) => (
                    NoticeLevel::Error,
                    format!("{} could not be written: {error}", target.display()),
                ),
            };
            drop(back.send(super::Back::Event(Event::Notice { level, text })));
        });
    }

    pub(super) fn store_trouble(&self, error: &StoreError) {
        let fault: Fault = error.fault();
        debug_assert_eq!(fault.kind, FaultKind::Storage);
        self.active
            .announce(&self.ports, vec![Event::Error { error: fault }]);
    }
}

/// `clean` or `3 changed`, by git itself; none where it is missing or too slow to matter.
async fn git_state(root: &Path) -> Option<String> {
    let mut git = tokio::process::Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=normal"])
        .current_dir(root)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true);
    let done = tokio::time::timeout(GIT_PATIENCE, git.output())
        .await
        .ok()?
        .ok()?;
    if !done.status.success() {
        return None;
    }
    let changed = String::from_utf8_lossy(&done.stdout).lines().count();
    Some(if changed == 0 {
        "clean".to_owned()
    } else {
        format!("{changed} changed")
    })
}
