//! What a write log says, put together: writes, commands, claims.
//!
//! The same for our own log, which is kept in memory as it is written, and for those of other processes.
//! Pure.

use std::collections::BTreeMap;

use super::line::{Line, place};
use crate::snapshot::record::FileState;

/// Before and after.
pub(in crate::snapshot) type States = (Option<FileState>, Option<FileState>);

/// A write of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::snapshot) struct Write {
    /// When it was about to be made, in nanoseconds.
    pub(in crate::snapshot) at: i64,
    pub(in crate::snapshot) path: Vec<u8>,
    /// The step whose tool it was.
    pub(in crate::snapshot) step: String,
    /// None while that is being found out.
    pub(in crate::snapshot) states: Option<States>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::snapshot) struct Command {
    pub(in crate::snapshot) begin: i64,
    /// None while it runs, or if its process died.
    pub(in crate::snapshot) end: Option<i64>,
    pub(in crate::snapshot) text: String,
    pub(in crate::snapshot) step: String,
    pub(in crate::snapshot) job: bool,
    /// All that is held to be its is claimed.
    pub(in crate::snapshot) settled: bool,
}

/// What a command is held to have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::snapshot) struct Claim {
    /// When the command had ended.
    pub(in crate::snapshot) at: i64,
    pub(in crate::snapshot) path: Vec<u8>,
    pub(in crate::snapshot) states: States,
    pub(in crate::snapshot) disputed: bool,
}

/// Everything that one process said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::snapshot) struct Account {
    pub(in crate::snapshot) writes: BTreeMap<u64, Write>,
    pub(in crate::snapshot) commands: BTreeMap<u64, Command>,
    pub(in crate::snapshot) claims: Vec<Claim>,
}

impl Account {
    /// Takes in a line.
    pub(super) fn hear(&mut self, line: Line) {
        match line {
            Line::Open { .. } => {}
            Line::Write { id, at, path, step } => {
                if let Some(path) = place(&path) {
                    let states = None;
                    let write = Write {
                        at,
                        path,
                        step,
                        states,
                    };
                    self.writes.insert(id, write);
                }
            }
            Line::Wrote { id, before, after } => {
                if let Some(write) = self.writes.get_mut(&id) {
                    write.states = Some((before, after));
                }
            }
            Line::Not { id } => drop(self.writes.remove(&id)),
            Line::Begin {
                id,
                at,
                command,
                step,
                job,
            } => {
                let command = Command {
                    begin: at,
                    end: None,
                    text: command,
                    step,
                    job,
                    settled: false,
                };
                self.commands.insert(id, command);
            }
            Line::End { id, at } => {
                if let Some(command) = self.commands.get_mut(&id) {
                    command.end = Some(at);
                }
            }
            Line::Claim {
                at,
                path,
                before,
                after,
                disputed,
            } => {
                if let Some(path) = place(&path) {
                    let states = (before, after);
                    self.claims.push(Claim {
                        at,
                        path,
                        states,
                        disputed,
                    });
                }
            }
            Line::Settled { ids } => {
                for id in ids {
                    if let Some(command) = self.commands.get_mut(&id) {
                        command.settled = true;
                    }
                }
            }
        }
    }

    /// Forgets what was over before this moment.
    pub(super) fn forget(&mut self, before: i64) {
        self.writes.retain(|_, write| write.at >= before);
        self.claims.retain(|claim| claim.at >= before);
        self.commands
            .retain(|_, command| command.end.is_none_or(|end| end >= before));
    }

    /// The lines that say all of this again.
    pub(super) fn lines(&self) -> Vec<Line> {
        use crate::snapshot::path::to_text;
        let mut lines = Vec::new();
        for (&id, write) in &self.writes {
            lines.push(Line::Write {
                id,
                at: write.at,
                path: to_text(&write.path),
                step: write.step.clone(),
            });
            if let Some((before, after)) = write.states.clone() {
                lines.push(Line::Wrote { id, before, after });
            }
        }
        let mut settled = Vec::new();
        for (&id, command) in &self.commands {
            lines.push(Line::Begin {
                id,
                at: command.begin,
                command: command.text.clone(),
                step: command.step.clone(),
                job: command.job,
            });
            lines.extend(command.end.map(|at| Line::End { id, at }));
            if command.settled {
                settled.push(id);
            }
        }
        lines.extend(self.claims.iter().map(|claim| Line::Claim {
            at: claim.at,
            path: to_text(&claim.path),
            before: claim.states.0.clone(),
            after: claim.states.1.clone(),
            disputed: claim.disputed,
        }));
        // after the claims, so that who reads half of it does not take the commands for done
        for ids in settled.chunks(500) {
            lines.push(Line::Settled { ids: ids.to_vec() });
        }
        lines
    }
}
