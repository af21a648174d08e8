//! `/diff`: what changed in the worktree since the turn, the session or the last step began.

use super::{Agent, Back};
use crate::context::Entry;
use crate::protocol::{DiffReport, DiffScope, Event, NoticeLevel, PartBody, SnapshotId};
use crate::snapshot::{Hints, SnapshotState};

/// Context lines of a diff.
const CONTEXT_LINES: u32 = 3;

impl Agent {
    /// `/diff`: what changed since the turn, the session or the last step began.
    pub(super) fn diff(&self, scope: DiffScope) {
        let Some(from) = self.first_snapshot(scope) else {
            let notes = match self.ports.snapshots.state() {
                SnapshotState::Off(reason) => vec![reason],
                _ => vec!["Nothing has changed yet: no step has begun.".to_owned()],
            };
            let report = DiffReport {
                scope,
                files: Vec::new(),
                notes,
            };
            self.active.announce(&self.ports, vec![Event::Diff(report)]);
            return;
        };
        let snapshots = self.ports.snapshots.clone();
        let back = self.active.back.clone();
        tokio::spawn(async move {
            let report = async {
                let now = snapshots
                    .take(Hints {
                        unknown: true,
                        ..Hints::default()
                    })
                    .await?;
                let files = snapshots.diff(&from, &now.tree, CONTEXT_LINES).await?;
                Ok::<_, crate::snapshot::SnapshotError>(DiffReport {
                    scope,
                    files,
                    notes: now.notices,
                })
            };
            let event = match report.await {
                Ok(report) => Event::Diff(report),
                Err(error) => Event::Notice {
                    level: NoticeLevel::Error,
                    text: format!("The changes could not be read. {error}"),
                },
            };
            drop(back.send(Back::Event(event)));
        });
    }

    /// The tree that a scope begins with.
    fn first_snapshot(&self, scope: DiffScope) -> Option<SnapshotId> {
        let conversation = self.active.turn.conversation();
        let entries = conversation.entries();
        let from = match scope {
            DiffScope::Session => 0,
            DiffScope::Turn => conversation.prompts().last().copied()?,
            DiffScope::Step => entries.iter().rposition(|e| start_of(e).is_some())?,
        };
        entries.get(from..)?.iter().find_map(start_of)
    }
}

fn start_of(entry: &Entry) -> Option<SnapshotId> {
    entry.parts.iter().find_map(|p| match &p.body {
        PartBody::StepStart { snapshot } => snapshot.clone(),
        _ => None,
    })
}
