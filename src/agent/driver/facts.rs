//! Answers about the session's surroundings: permission rules with who wrote them, disk use,
//! snapshots. Taking a grant back is here too.

use std::path::Path;

use super::{Agent, Back};
use crate::config::used::RuleAction;
use crate::protocol::event::PermissionRule;
use crate::protocol::{Event, FileSource, NoticeLevel, PromptInput};
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

    /// Of what a prompt mentions with `@` goes along what is in the worktree: a front end cannot
    /// know whether a word is a path.
    pub(super) fn keep_mentions(&self, input: &mut PromptInput) {
        mentions_in(&self.ports.worktree, input);
    }

    /// The bytes of pictures and documents live in the blob store, whatever becomes of the file.
    pub(super) fn keep_media(&self, input: &mut PromptInput) {
        for file in &mut input.files {
            let media = file.mime.starts_with("image/") || file.mime == "application/pdf";
            let FileSource::Path(path) = &file.source else {
                continue;
            };
            if !media {
                continue;
            }
            let kept = std::fs::read(self.ports.worktree.join(path))
                .map_err(|error| error.to_string())
                .and_then(|bytes| {
                    let blobs = self.ports.project.blobs();
                    blobs.put(&bytes).map_err(|error| error.to_string())
                });
            match kept {
                Ok(blob) => file.source = FileSource::Blob(blob),
                // The request says that it could not be read.
                Err(error) => tracing::warn!(path, error, "a picture was not kept"),
            }
        }
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
                facts.push((
                    "store".to_owned(),
                    format!(
                        "{} this session, {} in all {}, {} pictures and documents",
                        size(own.map_or(0, |(_, bytes)| *bytes)),
                        size(all),
                        used.sessions.len(),
                        size(used.blobs)
                    ),
                ));
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

fn mentions_in(worktree: &Path, input: &mut PromptInput) {
    let PromptInput { text, files } = input;
    files.retain(|file| match &file.source {
        FileSource::Path(path) if text.contains(&format!("@{}", file.name)) => {
            let found = (worktree.join(path).canonicalize(), worktree.canonicalize());
            matches!(found, (Ok(full), Ok(root)) if full.starts_with(&root))
        }
        _ => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::FilePart;

    #[test]
    fn only_mentions_that_exist_in_the_worktree_go_along() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        std::fs::write(folder.path().join("src/a.rs"), "fn a() {}").expect("a file");
        let part = |name: &str, path: &str| FilePart {
            mime: "text/plain".to_owned(),
            name: name.to_owned(),
            source: FileSource::Path(path.to_owned()),
        };
        let mut input = PromptInput {
            text: "@src/a.rs:1-2, @src, @nobody and @../x; [gone.png]".to_owned(),
            files: vec![
                part("src/a.rs:1-2", "src/a.rs"),
                part("src", "src"),
                part("nobody", "nobody"),
                part("../x", ".."),
                part("gone.png", "/nowhere/gone.png"),
            ],
        };
        mentions_in(folder.path(), &mut input);
        let names: Vec<&str> = input.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            ["src/a.rs:1-2", "src", "gone.png"],
            "what was attached otherwise is not judged here"
        );
    }
}
