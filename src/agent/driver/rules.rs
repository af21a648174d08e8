//! Finds instructions of folders (`AGENTS.md`, else `CLAUDE.md`) for the files that tools touch.
//!
//! Each folder is looked at once per process; whether the model has been told is the turn's to know.

use std::collections::HashMap;
use std::path::PathBuf;

use super::Agent;
use crate::agent::input::Input;
use crate::agent::turn::FolderRules;
use crate::config::instructions;
use crate::protocol::{Millis, PartBody, PartId, ToolState};

/// What was found, by folder.
#[derive(Debug, Default)]
pub(crate) struct Found(HashMap<PathBuf, Vec<FolderRules>>);

impl Agent {
    /// A call ended: what holds for the files that it read or wrote is told before the next step.
    pub(super) fn look_for_rules(&mut self, part: PartId) {
        let Some(start) = self.started(part) else {
            return;
        };
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in self.active.reads.noted_since(start) {
            if let Some(folder) = path.parent()
                && !folders.iter().any(|f| f == folder)
            {
                folders.push(folder.to_owned());
            }
        }
        let mut all = Vec::new();
        for folder in folders {
            let root = &self.ports.worktree;
            let found = self
                .active
                .rules
                .0
                .entry(folder)
                .or_insert_with_key(|folder| {
                    let nested = instructions::nested(root, &folder.join("file"));
                    let rules = nested.into_iter().map(|i| FolderRules {
                        label: i.label,
                        text: i.text,
                    });
                    rules.collect()
                });
            all.extend(found.iter().cloned());
        }
        if !all.is_empty() {
            self.input(Input::Rules(all));
        }
    }

    /// When a call began to run.
    fn started(&self, part: PartId) -> Option<Millis> {
        match &self.active.turn.conversation().part(part)?.body {
            PartBody::Tool(tool) => match &tool.state {
                ToolState::Running { start, .. } | ToolState::Completed { start, .. } => {
                    Some(*start)
                }
                _ => None,
            },
            _ => None,
        }
    }
}
