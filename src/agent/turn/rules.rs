//! Instructions of folders (`src/AGENTS.md`): said once, when a file below them is first read or
//! written, in a synthetic user message before the next step, so that requests stay append-only.
//!
//! The driver finds the files (`driver::rules`). What was said is known from the conversation itself:
//! a rewind takes it back, a resumed session still knows it, a compaction says it again.

use super::Turn;
use crate::context::compact;
use crate::protocol::{MessageId, Millis, PartBody, Role};

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderRules {
    /// Its path from the worktree's root: `src/AGENTS.md`.
    pub label: String,
    /// What it says.
    pub text: String,
}

impl Turn {
    /// Files that hold for what was just read or written, outermost first.
    pub(super) fn rules_found(&mut self, found: Vec<FolderRules>) {
        for rules in found {
            let waiting = self.rules_waiting.iter().any(|r| r.label == rules.label);
            if !waiting && !compact::says_rules(&self.conversation, &rules.label) {
                self.rules_waiting.push(rules);
            }
        }
    }

    /// Before a step: says what was found since the last one.
    pub(super) fn say_rules(&mut self, now: Millis) {
        let waiting = std::mem::take(&mut self.rules_waiting);
        if waiting.is_empty() {
            return;
        }
        let message = self.new_message(now, Role::User, false);
        for rules in waiting {
            let text = compact::rules_text(&rules.label, &rules.text);
            self.usage.added += crate::context::tokens::of_text(&text);
            self.say_synthetic(now, message, text);
        }
        self.sync_soon();
    }

    /// A text that dunlin says in the user's place.
    pub(super) fn say_synthetic(&mut self, now: Millis, message: MessageId, text: String) {
        let body = PartBody::Text {
            text,
            synthetic: true,
            ignored: false,
        };
        self.create_part(now, message, body, true);
    }
}
