//! The session's subagents, and the one whose transcript is open. Plain data; `update::subagents`
//! changes what is open.

use crate::protocol::{Event, Millis, Part, PartBody, PartId, Phase, SessionId, Status, TurnEnd};
use crate::tui::transcript::Transcript;

/// A subagent that the session has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its session.
    pub session: SessionId,
    /// The call that it works for.
    pub call: PartId,
    /// What it was asked, in a few words.
    pub title: String,
    /// Its agent.
    pub agent: String,
    /// True while it works.
    pub at_work: bool,
}

/// The subagent whose transcript is open.
#[derive(Debug)]
pub struct Watched {
    /// Which.
    pub known: Known,
    /// What it did and does.
    pub transcript: Transcript,
    /// Its status line; none for one that has ended.
    pub status: Option<Status>,
    /// How its turn ended.
    pub ended: Option<TurnEnd>,
}

impl Watched {
    /// Nothing has come yet.
    pub fn new(known: Known) -> Self {
        Self {
            known,
            transcript: Transcript::new(),
            status: None,
            ended: None,
        }
    }

    /// True while it works.
    pub fn at_work(&self) -> bool {
        let idle = |status: &Status| matches!(status.phase, Phase::Idle);
        self.ended.is_none() && self.status.as_ref().is_some_and(|status| !idle(status))
    }
}

/// All subagents.
#[derive(Debug, Default)]
pub struct Subagents {
    /// Oldest first.
    pub known: Vec<Known>,
    /// The one that is open.
    pub watched: Option<Box<Watched>>,
}

impl Subagents {
    /// Learns from a call of `task`.
    pub fn part(&mut self, part: &Part) {
        let PartBody::Tool(tool) = &part.body else {
            return;
        };
        let Some(metadata) = tool.state.metadata() else {
            return;
        };
        let session = metadata.get("session").and_then(|id| id.as_str());
        let Some(session) = session.and_then(|id| id.parse().ok()) else {
            return;
        };
        let at_work = !tool.state.is_final();
        if let Some(known) = self.known.iter_mut().find(|k| k.session == session) {
            known.at_work = at_work;
            return;
        }
        let word = |value: Option<&serde_json::Value>, name: &str| {
            let word = value.and_then(|v| v.get(name)).and_then(|v| v.as_str());
            word.unwrap_or_default().to_owned()
        };
        self.known.push(Known {
            session,
            call: part.id,
            title: word(tool.state.input(), "description"),
            agent: word(Some(metadata), "agent"),
            at_work,
        });
    }

    /// What a subagent announced.
    pub fn event(&mut self, session: SessionId, event: &Event, now: Millis) {
        let watched = self.watched.as_mut();
        let Some(watched) = watched.filter(|w| w.known.session == session) else {
            return;
        };
        match event {
            Event::SessionStarted { .. } => {
                watched.transcript.clear();
                watched.ended = None;
            }
            Event::Status(status) => watched.status = Some(status.clone()),
            Event::TurnFinished { reason } => watched.ended = Some(*reason),
            // Its own subagents can be opened from its transcript.
            Event::PartUpdated { part } => self.part(part),
            Event::History { parts, .. } => {
                for part in parts {
                    self.part(part);
                }
            }
            _ => {}
        }
        if let Some(watched) = &mut self.watched {
            watched.transcript.apply(event, now);
        }
    }
}
