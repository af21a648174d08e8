//! Which snapshots the sessions of a project still need, for the snapshot store's own clean-up.
//!
//! Reads journals, changes nothing. Called by `dunlin gc` and once a day by the agent.

use std::io;

use super::archive;
use super::error::StoreError;
use super::list;
use super::meta::{Meta, modified};
use super::place::Place;
use super::project::Project;
use crate::protocol::{Millis, PartBody, SnapshotId};

/// What the sessions of a project need of its snapshot store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotsInUse {
    /// Whole trees and single contents, those of the session used last first.
    pub snapshots: Vec<SnapshotId>,
    /// Sentences about sessions that could not be read whole: they may need more than is named.
    pub unsure: Vec<String>,
}

impl Project {
    /// The snapshots that this project's sessions need for undo, diff and branches, those included that are
    /// being made or count as not there. Reads every journal.
    pub fn snapshots_in_use(&self) -> Result<SnapshotsInUse, StoreError> {
        let mut places: Vec<(Millis, Place)> = list::every_journal(&self.sessions_dir())?
            .into_iter()
            .map(|place| {
                (
                    modified(&place.journal()).max(modified(&place.archive())),
                    place,
                )
            })
            .collect();
        places.sort_by_key(|(at, place)| std::cmp::Reverse((*at, place.id)));
        let mut unsure = Vec::new();
        let mut needed = Vec::new();
        for (_, place) in places {
            let image = match archive::image(&place) {
                Ok(image) => image,
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    continue;
                }
                Err(error) => {
                    unsure.push(error.to_string());
                    continue;
                }
            };
            let emptied = image.messages.is_empty()
                && Meta::read(&place).is_some_and(|meta| meta.summary.messages > 0);
            if image.damaged > 0 || emptied {
                let damaged = StoreError::Damaged {
                    path: place.folder,
                    detail: "which snapshots it needs cannot be told. Delete this session if you no longer \
                             need it"
                        .to_owned(),
                };
                unsure.push(damaged.to_string());
            }
            for part in image.parts.values().rev() {
                match &part.body {
                    PartBody::StepStart { snapshot } | PartBody::StepFinish { snapshot, .. } => {
                        needed.extend(snapshot.clone());
                    }
                    PartBody::Patch { from, to, .. } => {
                        needed.extend([to.clone(), from.clone()]);
                    }
                    _ => {}
                }
            }
            for (_, value) in image
                .values
                .iter()
                .filter(|(name, _)| name.starts_with("unsettled/"))
            {
                let from = value.get("from").and_then(serde_json::Value::as_str);
                needed.extend(from.map(|id| SnapshotId(id.to_owned())));
            }
            let undo = |name: &str| name.starts_with("writes/") || name == "undone";
            for (_, value) in image.values.iter().filter(|(name, _)| undo(name)) {
                blobs_in(value, &mut needed);
            }
        }
        Ok(SnapshotsInUse {
            snapshots: needed,
            unsure,
        })
    }
}

/// The contents that recorded writes name.
fn blobs_in(value: &serde_json::Value, found: &mut Vec<SnapshotId>) {
    match value {
        serde_json::Value::Array(all) => all.iter().for_each(|one| blobs_in(one, found)),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(blob) if name == "blob" => found.push(SnapshotId(blob.to_owned())),
                    _ => blobs_in(value, found),
                }
            }
        }
        _ => {}
    }
}
