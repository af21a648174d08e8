//! What a listing says about a session, kept up to date record by record.
//!
//! Both views (`image` in memory, `db` on disk) feed the same `Facts`, so a listing does not depend
//! on which of them was used. `meta` writes them out. No I/O here.

use serde::{Deserialize, Serialize};

use crate::protocol::{Message, MessageId, Part, PartBody, PartId, Role};

/// Characters kept of the first prompt.
const PROMPT_CHARS: usize = 200;

/// Counts and sums over all records of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Messages, each counted once.
    pub(super) messages: u64,
    /// Parts, each counted once.
    pub(super) parts: u64,
    /// Sum of the messages' costs in USD.
    pub(super) cost: f64,
    /// Messages that used tokens at unknown prices.
    pub(super) unpriced: u64,
    /// First line of the first prompt.
    pub(super) first_prompt: String,
    /// The first user message.
    pub(super) first_user: Option<MessageId>,
    /// Newest message.
    pub(super) last_message: Option<MessageId>,
    /// Newest part.
    pub(super) last_part: Option<PartId>,
}

fn is_unpriced(message: &Message) -> bool {
    message.cost.is_none() && message.tokens.total() > 0
}

impl Facts {
    /// A message header was written; `old` is what it replaces.
    pub(super) fn message(&mut self, old: Option<&Message>, new: &Message) {
        if let Some(old) = old {
            self.cost -= old.cost.unwrap_or(0.0);
            self.unpriced -= u64::from(is_unpriced(old)).min(self.unpriced);
        } else {
            self.messages += 1;
        }
        self.cost += new.cost.unwrap_or(0.0);
        self.unpriced += u64::from(is_unpriced(new));
        if self.first_user.is_none() && new.role == Role::User {
            self.first_user = Some(new.id);
        }
        self.last_message = self.last_message.max(Some(new.id));
    }

    /// True if the next parts must be looked into for the first prompt.
    pub(super) fn wants_prompt(&self, message: MessageId) -> bool {
        self.first_prompt.is_empty() && self.first_user == Some(message)
    }

    /// A part was written for the first time.
    pub(super) fn new_part(&mut self, id: PartId) {
        self.parts += 1;
        self.last_part = self.last_part.max(Some(id));
    }

    /// Takes the first prompt from `part` if that is where it stands.
    pub(super) fn prompt(&mut self, part: &Part) {
        if !self.wants_prompt(part.message) {
            return;
        }
        if let PartBody::Text {
            text,
            synthetic: false,
            ..
        } = &part.body
        {
            let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
            self.first_prompt = line.trim().chars().take(PROMPT_CHARS).collect();
        }
    }

    /// Cost in USD; none if a price is not known.
    pub(super) fn known_cost(&self) -> Option<f64> {
        // sums and differences of small numbers may leave -0.0000001
        (self.unpriced == 0).then_some(self.cost.max(0.0))
    }

    /// The newest raw id of any message or part; 0 for an empty session.
    pub(super) fn last_id(&self) -> u128 {
        let message = self.last_message.map_or(0, MessageId::raw);
        let part = self.last_part.map_or(0, PartId::raw);
        message.max(part)
    }
}
