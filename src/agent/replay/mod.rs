//! Replay: what models answered in a session goes once more through decoder and turn, offline, and
//! the parts that come of it are compared with the stored ones.
//!
//! `dunlin replay` calls `replay`. No model is asked and no tool runs: calls get the results that the
//! session holds (checked against what was recorded beside the answers). `player` drives the turn,
//! `compare` finds differences. Pure: no I/O, no clock.

mod compare;
mod live;
mod player;

use serde::Serialize;

use crate::protocol::MessageId;
use crate::session::{History, RecordedFrames};

/// What a replay found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Answers that were played again.
    pub answers: u64,
    /// Of those, summaries of compactions.
    pub summaries: u64,
    /// Parts that were compared.
    pub parts: u64,
    /// Tool calls among them; their results are the stored ones.
    pub calls: u64,
    /// Answers that are stored but not recorded: taken as they are.
    pub unrecorded: Vec<MessageId>,
    /// What is not as it was.
    pub differences: Vec<Difference>,
}

/// One thing that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The message; none for the session as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// What of it, e.g. `part 2 (text)`.
    pub place: String,
    /// What the session holds, around the difference.
    pub stored: String,
    /// What the replay gives there.
    pub replayed: String,
}

/// Plays a whole session again. The history must be complete.
pub fn replay(history: &History, recorded: &RecordedFrames) -> Report {
    player::Player::new(history, recorded).run()
}
