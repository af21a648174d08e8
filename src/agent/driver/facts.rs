//! Answers about the session's surroundings: permission rules with who wrote them, disk use,
//! snapshots. Taking a grant back is here too.

use super::{Agent, Back};
use crate::config::used::RuleAction;
use crate::protocol::event::PermissionRule;
use crate::protocol::{Event, NoticeLevel};
use crate::snapshot::SnapshotState;
use crate::tools::file::human as size;

/// Owners whose rules are answers of the user, in the order in which they are listed.
const GRANTED: [&str; 2] = ["session", crate::config::grants::OWNER];

impl Agent {
    /// Announces the rules in force: what was granted first.
    pub(super) fn list_permissions(&self) {
        let mut layers = self.layers();
        layers.sort_by_key(|layer| {
            let granted = GRANTED.iter().position(|owner| *owner == layer.owner);
            granted.unwrap_or(GRANTED.len())
        });
        let rules = layers
            .iter()
            .flat_map(|layer| {
                layer.rules.iter().map(|rule| PermissionRule {
                    owner: layer.owner.clone(),
                    tool: rule.tool.clone(),
                    pattern: rule.pattern.clone(),
                    action: match rule.action {
                        RuleAction::Allow => "allow",
                        RuleAction::Ask => "ask",
                        RuleAction::Deny => "deny",
                    }
                    .to_owned(),
                    revocable: GRANTED.contains(&layer.owner.as_str()),
                })
            })
            .collect();
        self.active
            .announce(&self.ports, vec![Event::Permissions { rules }]);
    }

    /// Takes a grant back, from the session and, if it is stored there, from the project's file; then
    /// announces what is left.
    pub(super) fn revoke_permission(&mut self, owner: &str, tool: &str, pattern: &str) {
        // A project's grant was given in a session too.
        if self.active.grants.remove(tool, pattern) {
            self.keep_grants();
        }
        if owner == crate::config::grants::OWNER
            && let Err(error) = self.ports.grants.remove(tool, pattern)
        {
            self.notice(
                NoticeLevel::Error,
                &format!("The permission is not taken back for the project. {error}"),
            );
        }
        self.list_permissions();
    }

    /// Announces facts that take a look at the disk.
    pub(super) fn tell_facts(&self) {
        let snapshots = match self.ports.snapshots.state() {
            SnapshotState::Ready => "on".to_owned(),
            SnapshotState::Starting => "starting".to_owned(),
            SnapshotState::Off(why) => format!("off: {why}"),
        };
        let session = self.active.turn.info().id;
        let project = self.ports.project.clone();
        let trusted = if self.ports.trusted { "yes" } else { "no" };
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let mut facts = Vec::new();
            if let Ok(used) = project.disk_use() {
                let own = used.sessions.iter().find(|(id, _)| *id == session);
                let all: u64 = used.sessions.iter().map(|(_, bytes)| bytes).sum();
                let mut store = vec![format!(
                    "{} for this session",
                    size(own.map_or(0, |(_, bytes)| *bytes))
                )];
                if used.sessions.len() > 1 {
                    let count = used.sessions.len();
                    store.push(format!("{} for all {count} of this project", size(all)));
                }
                if used.blobs > 0 {
                    store.push(format!("{} for pictures and documents", size(used.blobs)));
                }
                facts.push(("store".to_owned(), store.join(", ")));
                facts.push((
                    "snapshots".to_owned(),
                    format!("{snapshots}, {}", size(used.snapshots)),
                ));
            } else {
                facts.push(("snapshots".to_owned(), snapshots));
            }
            facts.push(("trusted".to_owned(), trusted.to_owned()));
            drop(back.send(Back::Event(Event::Facts { facts })));
        });
    }
}
