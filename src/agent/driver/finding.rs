//! Searching everything said and done in all sessions, and going to what was found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Agent, Back};
use crate::protocol::{Event, NoticeLevel, PartId, SearchHit, SessionId};
use crate::session::{Hit, Project, SearchQuery};

/// Most places that are shown.
const HITS: usize = 200;
/// Most sessions with a prompt that matches.
const SESSIONS: usize = 1_000;

/// The search that is under way.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Set to end it: a newer one has begun.
    cancel: Arc<AtomicBool>,
    /// The scope of the last listing of sessions.
    pub(super) listed_all: bool,
}

impl Agent {
    /// Searches beside the driver; an older search ends.
    pub(super) fn search_sessions(
        &mut self,
        text: String,
        (prompts, all): (bool, bool),
        generation: u64,
    ) {
        self.search.cancel.store(true, Ordering::Relaxed);
        let cancel = Arc::new(AtomicBool::new(false));
        self.search.cancel = Arc::clone(&cancel);
        let found = move |hits: Vec<SearchHit>, more| Event::Found {
            generation,
            hits,
            more,
        };
        if text.trim().is_empty() {
            self.active
                .announce(&self.ports, vec![found(Vec::new(), false)]);
            return;
        }
        let data_dir = self.ports.paths.data_dir.clone();
        let project = self.ports.project.clone();
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let query = SearchQuery {
                text,
                regex: false,
                prompts,
                limit: if prompts { SESSIONS } else { HITS + 1 },
            };
            let hits = if all {
                Project::search_all(&data_dir, &query, &cancel)
            } else {
                project.search(&query, &cancel)
            };
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            let event = match hits {
                Ok(mut hits) => {
                    let more = !prompts && hits.len() > HITS;
                    hits.truncate(if prompts { SESSIONS } else { HITS });
                    found(hits.into_iter().map(shown).collect(), more)
                }
                Err(error) => Event::Notice {
                    level: NoticeLevel::Error,
                    text: format!("The sessions could not be searched. {error}"),
                },
            };
            drop(back.send(Back::Event(event)));
        });
    }

    /// Opens the session of a part and loads as much of it as the part needs.
    pub(super) async fn open_part(&mut self, session: SessionId, part: PartId) {
        self.open_session(session).await;
        if self.active.turn.info().id != session || !self.wake().await {
            return;
        }
        let conversation = self.active.turn.conversation();
        let Some(message) = conversation.part(part).map(|p| p.message) else {
            self.notice(
                NoticeLevel::Info,
                "It was said on another branch of this session, in the turn that is chosen: enter goes there.",
            );
            self.show_tree(Some(part));
            return;
        };
        let entries = conversation.entries();
        // The prompt that it answers is loaded too.
        let at = entries.partition_point(|e| e.message.id < message);
        let from = entries
            .get(..=at)
            .and_then(|before| before.iter().rposition(crate::context::Entry::is_prompt));
        self.send_from(from.unwrap_or(at));
        self.active
            .announce(&self.ports, vec![Event::Show { part }]);
    }
}

fn shown(hit: Hit) -> SearchHit {
    SearchHit {
        session: hit.session,
        title: hit.title,
        worktree: hit.worktree,
        part: hit.part,
        role: hit.role,
        kind: hit.kind.to_owned(),
        at: hit.at,
        excerpt: hit.excerpt,
        found: hit.found,
    }
}
