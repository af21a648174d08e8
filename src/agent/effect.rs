//! What a turn wants done. The driver performs effects in order.

use std::path::PathBuf;

use super::input::{SnapshotTag, StreamId, Timer};
use crate::context::compact::Chunk;
use crate::protocol::{Event, GrantScope, MessageId, Millis, PartId, SnapshotId};
use crate::session::Record;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write records, then announce events.
    Commit {
        /// What to write; in one piece or not at all.
        records: Vec<Record>,
        /// What to announce once it is written.
        announce: Vec<Event>,
        /// How durable.
        sync: Durability,
    },
    /// Announce what is never stored (status, live tails).
    Announce(Vec<Event>),
    /// Ask a model; its answer comes as inputs with this number.
    Ask {
        /// Number of the stream.
        stream: StreamId,
        /// What for.
        purpose: Purpose,
    },
    /// Drop a stream.
    CancelStream(StreamId),
    /// Find out what a call would touch and whether it may run.
    Judge {
        /// The call.
        part: PartId,
        /// The tool.
        tool: String,
        /// The arguments.
        input: serde_json::Value,
    },
    /// Run a call.
    Run {
        /// The call.
        part: PartId,
        /// The tool.
        tool: String,
        /// The arguments.
        input: serde_json::Value,
    },
    /// Kill calls that run.
    CancelTools(Vec<PartId>),
    /// Take a snapshot.
    Snapshot {
        /// Which.
        tag: SnapshotTag,
        /// Paths that tools wrote since the last one.
        paths: Vec<PathBuf>,
        /// True if anything may have changed.
        unknown: bool,
    },
    /// Find out what changed between two snapshots; answered by `Input::Patch`.
    Difference {
        /// The step.
        message: MessageId,
        /// Tree before.
        from: SnapshotId,
        /// Tree after.
        to: SnapshotId,
        /// The files that tools said they wrote; none if a tool wrote that cannot say (`bash`).
        wrote: Option<Vec<PathBuf>>,
    },
    /// Set a timer.
    Sleep {
        /// What it is for.
        timer: Timer,
        /// When it runs out.
        until: Millis,
    },
    /// Remember a permission.
    Grant {
        /// How far.
        scope: GrantScope,
        /// The tool.
        tool: String,
        /// The pattern.
        pattern: String,
    },
    /// Make a title from the first prompt.
    MakeTitle {
        /// The prompt.
        prompt: String,
    },
}

/// How durable a commit must be, and whether somebody waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written; synced within a second.
    Written,
    /// Synced at once; nobody waits.
    Soon,
    /// Synced; `Input::Synced` with this part follows.
    Barrier(PartId),
}

/// What a model is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// The next step of the conversation.
    Step {
        /// False in the grace step: the model is to sum up, without tools.
        tools: bool,
        /// Said to the model at the end of the request, never stored; empty for nothing.
        instruction: String,
    },
    /// A summary of what comes before the tail, or of a chunk of it.
    Summary {
        /// Which messages.
        chunk: Chunk,
        /// The notes of the chunks before; empty for the first.
        notes: String,
        /// The user's focus.
        focus: String,
    },
}
