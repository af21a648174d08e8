//! Finds the step that comes next from the conversation itself.
//!
//! The scripted provider keeps no file: a session that was killed and resumed sends its history, and
//! the history says how far the script was played. Two traces are used: the ids of tool calls, which
//! carry the number of their step (`scr_main_4_0`), and the number of assistant messages after them.
//! Called by the provider once per request; pure.

use std::sync::Arc;

use super::script::{Branch, Script, Step};
use crate::model::{Block, Request, RequestMessage};

/// The step to be played and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// Index of the branch; none for the main steps.
    pub branch: Option<usize>,
    /// How many steps were played before this one, loops counted through.
    pub played: usize,
    /// Index of the message that chose the branch; keeps the ids of two turns apart.
    pub prompt: usize,
}

impl Position {
    /// What ids of this step's calls begin with.
    pub(super) fn id_prefix(&self) -> String {
        match self.branch {
            None => format!("scr_main_{}", self.played),
            Some(branch) => format!("scr_b{branch}_{}_{}", self.played, self.prompt),
        }
    }

    /// The step, if the script has one for it.
    pub(super) fn step<'a>(&self, script: &'a Script) -> Option<&'a Step> {
        let (steps, repeat) = match self.branch {
            None => (&script.steps, script.repeat),
            Some(branch) => script.branches.get(branch).map(|b| (&b.steps, b.repeat))?,
        };
        if steps.is_empty() {
            return None;
        }
        let index = if repeat {
            self.played % steps.len()
        } else {
            self.played
        };
        steps.get(index)
    }
}

/// Where the conversation stands. `remembered` is how far this process saw the main steps go, used
/// when a compaction took away the messages that would tell.
pub(super) fn find(script: &Script, request: &Request, remembered: usize) -> Position {
    let messages = &request.messages;
    for (index, message) in messages.iter().enumerate().rev() {
        let Some(text) = prompt(message) else {
            continue;
        };
        if let Some(branch) = matching(&script.branches, &text) {
            let after = messages.get(index + 1..).unwrap_or_default();
            return Position {
                branch: Some(branch),
                prompt: index,
                played: played(after, &format!("scr_b{branch}_")).1,
            };
        }
    }
    let (told, counted) = played(messages, "scr_main_");
    Position {
        branch: None,
        prompt: 0,
        played: if told {
            counted
        } else {
            counted.max(remembered)
        },
    }
}

fn matching(branches: &[Branch], text: &str) -> Option<usize> {
    branches.iter().position(|b| b.pattern.is_match(text))
}

/// The user's own words in a message; none if it has none (tool results only).
fn prompt(message: &RequestMessage) -> Option<String> {
    if message.assistant {
        return None;
    }
    let texts: Vec<&str> = message
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// How many steps were played, and whether a call id told so.
fn played(messages: &[Arc<RequestMessage>], prefix: &str) -> (bool, usize) {
    let mut count = 0;
    let mut told = false;
    for message in messages.iter().filter(|m| m.assistant) {
        let number = message.blocks.iter().find_map(|block| match block {
            Block::Call { id, .. } => id
                .strip_prefix(prefix)?
                .split('_')
                .next()?
                .parse::<usize>()
                .ok(),
            _ => None,
        });
        match number {
            Some(number) => {
                told = true;
                count = number.saturating_add(1);
            }
            None => count += 1,
        }
    }
    (told, count)
}
