//! The life of a tool call: pending → running → completed | error, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FilePart, Millis, OutputRef};

/// A call and, in the same part, its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolPart {
    /// The call id of the wire, or ours if the wire has none. Unique within the message only.
    pub call: String,
    /// Name of the tool as the model said it.
    pub tool: String,
    /// Where it stands.
    pub state: ToolState,
    /// Opaque data of the wire that must go back with the call (a thought signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Value>,
}

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum ToolState {
    /// The arguments are still streaming.
    Pending {
        /// The JSON so far, as it came.
        raw: String,
    },
    /// The arguments are complete; it waits for permission, for its turn, or runs.
    Running {
        /// The arguments.
        input: Value,
        /// One line for the UI.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
        /// Tool-specific facts for the UI, an object or null.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        metadata: Value,
        /// The last lines of output so far (live only; empty in the store).
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tail: String,
        /// When it started to run, milliseconds since the epoch.
        start: Millis,
    },
    /// It has a result.
    Completed {
        /// The arguments.
        input: Value,
        /// What the model reads, truncated at the source.
        output: String,
        /// One line for the UI.
        title: String,
        /// Tool-specific facts for the UI, an object or null.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        metadata: Value,
        /// Images and documents that go to the model with the output.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<FilePart>,
        /// The full output, if `output` is only a part of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        truncated: Option<OutputRef>,
        /// When pruning took the output out of the requests; the output itself stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compacted_at: Option<Millis>,
        /// When it started.
        start: Millis,
        /// When it ended.
        end: Millis,
    },
    /// It failed, was refused, or was cut.
    Error {
        /// The arguments; null if they never became valid JSON.
        #[serde(default)]
        input: Value,
        /// The raw arguments, kept when they are not valid JSON.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        raw: String,
        /// What the model reads.
        error: String,
        /// One line for the UI.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
        /// Tool-specific facts for the UI, an object or null.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        metadata: Value,
        /// True if the user's interrupt or the end of the program cut it.
        #[serde(default, skip_serializing_if = "super::message::is_false")]
        interrupted: bool,
        /// When it started.
        start: Millis,
        /// When it ended.
        end: Millis,
    },
}

/// What a model reads for a call that was cut.
pub const INTERRUPTED_OUTPUT: &str = "[Tool execution was interrupted]";

/// What a model reads in place of a pruned output; the way back follows it.
pub const PRUNED_OUTPUT: &str = "[Old tool result content cleared]";

impl ToolState {
    /// The word that serde and the UI use.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Running { .. } => "running",
            Self::Completed { .. } => "completed",
            Self::Error { .. } => "error",
        }
    }

    /// True once there is a result.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Error { .. })
    }

    /// True if `next` may follow this state. A final state may only be followed by itself with
    /// `compacted_at` set or cleared (prune and un-prune).
    pub fn may_become(&self, next: &Self) -> bool {
        match (self, next) {
            (
                Self::Pending { .. },
                Self::Pending { .. } | Self::Running { .. } | Self::Error { .. },
            )
            | (
                Self::Running { .. },
                Self::Running { .. } | Self::Completed { .. } | Self::Error { .. },
            ) => true,
            (Self::Completed { output: a, .. }, Self::Completed { output: b, .. }) => a == b,
            _ => false,
        }
    }

    /// The arguments, where they are known.
    pub const fn input(&self) -> Option<&Value> {
        match self {
            Self::Pending { .. } => None,
            Self::Running { input, .. }
            | Self::Completed { input, .. }
            | Self::Error { input, .. } => Some(input),
        }
    }

    /// What the tool says about the call besides its output; none before it runs.
    pub const fn metadata(&self) -> Option<&Value> {
        match self {
            Self::Pending { .. } => None,
            Self::Running { metadata, .. }
            | Self::Completed { metadata, .. }
            | Self::Error { metadata, .. } => Some(metadata),
        }
    }
}
