//! What the user typed while the session was busy.

use serde::{Deserialize, Serialize};

use super::{Millis, PromptInput, QueueId};

/// Which of the two lists an item is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// Injected between two steps of the running turn.
    Guidance,
    /// Starts the next turn.
    FollowUp,
}

/// One queued prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueItem {
    /// Its id.
    pub id: QueueId,
    /// Which list.
    pub kind: QueueKind,
    /// What was typed.
    pub input: PromptInput,
    /// When.
    pub created: Millis,
}

/// Both lists, in order. Stored item by item, so a crash loses none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueState {
    /// Waits for the next step.
    pub guidance: Vec<QueueItem>,
    /// Waits for the end of the turn.
    pub follow_ups: Vec<QueueItem>,
    /// True after an interrupt: follow-ups wait for the user.
    #[serde(default)]
    pub paused: bool,
}
