//! What changed: `/diff` in its scopes, one file with all its lines, one hunk taken back.
//!
//! Reads snapshots and never keeps the loop waiting for a report: reports are made beside it and
//! come back as events. A hunk's undo goes the way of every undo (safety snapshot, attribution,
//! redo).

use super::{Agent, Back};
use crate::context::Entry;
use crate::protocol::{
    DiffReport, DiffScope, Event, FileDiff, Hunk, NoticeLevel, PartBody, SnapshotId,
};
use crate::snapshot::{Hints, SnapshotError, SnapshotState, Snapshots};

/// Context lines of a diff.
const CONTEXT_LINES: u32 = 3;

/// More lines than a text that is compared can have.
const ALL_LINES: u32 = 1 << 24;

/// Where a report begins.
#[derive(Debug, Clone)]
enum From {
    /// A snapshot of ours.
    Taken(SnapshotId),
    /// The user's last commit.
    Head,
}

impl From {
    async fn snapshot(&self, snapshots: &Snapshots) -> Result<SnapshotId, SnapshotError> {
        match self {
            Self::Taken(id) => Ok(id.clone()),
            Self::Head => snapshots.head().await?.ok_or_else(|| {
                SnapshotError::Off(
                    "There is no commit to compare with: commit something first, or press v to see \
                     what this session changed."
                        .to_owned(),
                )
            }),
        }
    }
}

/// Anything may have changed: the user edits too.
fn unknown() -> Hints {
    Hints {
        unknown: true,
        ..Hints::default()
    }
}

impl Agent {
    /// `/diff`: what changed since the turn, the session or the last step began, or since the last
    /// commit.
    pub(super) fn diff(&self, scope: DiffScope) {
        let Some(from) = self.begins(scope) else {
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
        self.beside(async move {
            let from = from.snapshot(&snapshots).await?;
            let now = snapshots.take(unknown()).await?;
            let files = snapshots.diff(&from, &now.tree, CONTEXT_LINES).await?;
            Ok(Event::Diff(DiffReport {
                scope,
                files,
                notes: now.notices,
            }))
        });
    }

    /// One file with all its lines.
    pub(super) fn diff_file(&self, scope: DiffScope, path: String) {
        let Some(from) = self.begins(scope) else {
            return;
        };
        let snapshots = self.ports.snapshots.clone();
        self.beside(async move {
            let from = from.snapshot(&snapshots).await?;
            let now = snapshots.take(unknown()).await?;
            let file = snapshots
                .file_diff(&from, &now.tree, (&path, ALL_LINES))
                .await?;
            let gone = || SnapshotError::Off(format!("{path} is as it was: nothing to show."));
            let file: FileDiff = file.ok_or_else(gone)?;
            Ok(Event::DiffFile { file })
        });
    }

    fn beside(&self, report: impl Future<Output = Result<Event, SnapshotError>> + Send + 'static) {
        let back = self.active.back.clone();
        tokio::spawn(async move {
            let event = match report.await {
                Ok(event) => event,
                Err(error) => Event::Notice {
                    level: NoticeLevel::Error,
                    text: format!("The changes could not be read. {error}"),
                },
            };
            drop(back.send(Back::Event(event)));
        });
    }

    /// Takes one hunk back, then reports what is left.
    pub(super) async fn undo_hunk(&mut self, scope: DiffScope, path: String, hunk: Hunk) {
        if self.active.turn.is_running() {
            self.notice(
                NoticeLevel::Info,
                "A turn is running: press Esc to stop it, then take the hunk back.",
            );
            return;
        }
        match self.take_hunk_back(scope, &path, &hunk).await {
            Ok(()) => self.diff(scope),
            Err(why) => {
                let text = format!("The hunk of {path} was left as it is: {why}");
                self.notice(NoticeLevel::Warning, &text);
            }
        }
    }

    async fn take_hunk_back(
        &mut self,
        scope: DiffScope,
        path: &str,
        hunk: &Hunk,
    ) -> Result<(), String> {
        let Some(from) = self.begins(scope) else {
            return Err("no snapshot says how it was before.".to_owned());
        };
        let snapshots = self.ports.snapshots.clone();
        let said = |error: SnapshotError| error.to_string();
        let from = from.snapshot(&snapshots).await.map_err(said)?;
        let now = snapshots.take(unknown()).await.map_err(said)?;
        let write = snapshots
            .hunk(&from, &now.tree, (path, hunk))
            .await
            .map_err(said)?;
        let write = write.ok_or("it reads otherwise by now; open the changes again.")?;
        let restored = snapshots.restore(vec![write], false).await.map_err(said)?;
        if let Some(file) = restored.files.iter().find(|file| file.conflict) {
            return Err(format!("{}.", file.action));
        }
        if !restored.undone.is_empty() {
            self.keep_undone_files(restored.undone);
        }
        Ok(())
    }

    /// Where a scope begins; none if nothing has begun.
    fn begins(&self, scope: DiffScope) -> Option<From> {
        let conversation = self.active.turn.conversation();
        let entries = conversation.entries();
        let from = match scope {
            DiffScope::Head => {
                let off = matches!(self.ports.snapshots.state(), SnapshotState::Off(_));
                return (!off).then_some(From::Head);
            }
            DiffScope::Session => 0,
            DiffScope::Turn => conversation.prompts().last().copied()?,
            DiffScope::Step => entries.iter().rposition(|e| start_of(e).is_some())?,
        };
        entries
            .get(from..)?
            .iter()
            .find_map(start_of)
            .map(From::Taken)
    }
}

fn start_of(entry: &Entry) -> Option<SnapshotId> {
    entry.parts.iter().find_map(|p| match &p.body {
        PartBody::StepStart { snapshot } => snapshot.clone(),
        _ => None,
    })
}
