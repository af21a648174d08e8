//! What the slash commands do where there are only lines.
//!
//! Called by `plain` with a parsed command. Lists are numbered, and a number after the command chooses.

use super::{Plain, chosen, clean, lines};
use crate::protocol::{DiffScope, Effort, Op};
use crate::tui::command::Command;
use crate::tui::run::Next;

impl Plain {
    /// Carries a command out; `rest` is what was typed after its name.
    pub(super) fn command(&mut self, command: Command, rest: String) {
        let op = match command {
            Command::Quit => return self.close(),
            Command::Demo => {
                self.next = Some(Next::Demo);
                return self.close();
            }
            Command::Help => return self.all(&lines::help()),
            Command::New => Op::NewSession,
            Command::Sessions if rest.is_empty() => Op::ListSessions { all: false },
            Command::Sessions => match chosen::session(&self.sessions, &rest) {
                Ok(op) => op,
                Err(sentence) => return self.print(sentence),
            },
            Command::Cost => Op::Spending,
            Command::Pin if rest.is_empty() => Op::Pins,
            Command::Pin => match chosen::pin(&self.pins, &rest) {
                Ok(op) => {
                    self.send(op);
                    Op::Pins
                }
                Err(sentence) => return self.print(sentence),
            },
            Command::Status => Op::Facts,
            Command::Permissions => Op::ListPermissions,
            Command::Fork => Op::Fork { at: None },
            Command::Rename if !rest.is_empty() => Op::Rename(rest),
            Command::Undo => Op::Undo { confirmed: false },
            Command::Redo => Op::Redo { confirmed: false },
            Command::Rewind if rest.is_empty() => Op::Tree,
            Command::Rewind => match chosen::turn(&self.turns, &rest) {
                Ok(op) => op,
                Err(sentence) => return self.print(sentence),
            },
            Command::Search => match chosen::place(&self.places, &rest) {
                Some(op) => op,
                None if rest.is_empty() => {
                    return self.print("/search WORDS finds them in any session.");
                }
                None => {
                    self.searches += 1;
                    Op::Search {
                        text: rest,
                        prompts: false,
                        all: false,
                        generation: self.searches,
                    }
                }
            },
            Command::Diff => Op::Diff(match rest.as_str() {
                "session" => DiffScope::Session,
                "step" => DiffScope::Step,
                "head" => DiffScope::Head,
                _ => DiffScope::Turn,
            }),
            Command::Compact => Op::Compact { focus: rest },
            Command::Prune => Op::Prune,
            Command::Restore => Op::Restore { parts: Vec::new() },
            Command::Agent if !rest.is_empty() => Op::SetAgent(rest),
            Command::Continue => {
                self.running = true;
                Op::Continue
            }
            Command::Export => Op::Export {
                format: if rest.is_empty() {
                    "md".to_owned()
                } else {
                    rest
                },
                path: None,
            },
            Command::Model | Command::Mode | Command::Effort => match setting(command, &rest) {
                Ok(op) => op,
                Err(sentence) => return self.print(&clean(&sentence)),
            },
            _ => {
                return self.print("This needs the full screen: start dunlin without --plain.");
            }
        };
        self.awaited = matches!(
            op,
            Op::Undo { .. }
                | Op::Redo { .. }
                | Op::Rewind { .. }
                | Op::Tree
                | Op::Search { .. }
                | Op::Diff(_)
                | Op::ListSessions { .. }
                | Op::Spending
                | Op::Pins
                | Op::Facts
                | Op::ListPermissions
        );
        self.send(op);
    }
}

/// What `/model` or `/mode` asks for.
fn setting(command: Command, rest: &str) -> Result<Op, String> {
    match command {
        Command::Model if rest.is_empty() => Err("Write /model PROVIDER/MODEL.".to_owned()),
        Command::Model => rest.parse().map(Op::SetModel),
        Command::Effort => match Effort::ALL.iter().find(|(_, name)| *name == rest) {
            Some((effort, _)) => Ok(Op::SetEffort(Some(*effort))),
            None if rest == "default" => Ok(Op::SetEffort(None)),
            None => {
                let names: Vec<&str> = Effort::ALL.iter().map(|(_, name)| *name).collect();
                Err(format!("Write /effort default, {}.", names.join(", ")))
            }
        },
        _ if rest.is_empty() => Err("Write /mode ask, auto-edit, auto or plan.".to_owned()),
        _ => rest.parse().map(Op::SetMode),
    }
}
