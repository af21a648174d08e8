//! Parts: the content of a message, stored one by one, ordered by id.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::is_false;
use super::{
    Fault, Finish, MessageId, Millis, ModelRef, PartId, SessionId, SnapshotId, Tokens, ToolPart,
};

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its id; byte order is the order within the session.
    pub id: PartId,
    /// The message it belongs to.
    pub message: MessageId,
    /// The session it belongs to.
    pub session: SessionId,
    /// When it began.
    pub start: Millis,
    /// When it was complete; none while it grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Millis>,
    /// What it is.
    #[serde(flatten)]
    pub body: PartBody,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PartBody {
    /// Said text, Markdown.
    Text {
        /// The text.
        text: String,
        /// True if dunlin wrote it in the user's place.
        #[serde(default, skip_serializing_if = "is_false")]
        synthetic: bool,
        /// True if it is kept but never sent to a model (a broken attempt).
        #[serde(default, skip_serializing_if = "is_false")]
        ignored: bool,
    },
    /// What the model thought. Goes back only to the model that made it.
    Reasoning {
        /// The visible text; may be empty.
        text: String,
        /// Signature, encrypted content and the like, as the wire needs it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<Value>,
        /// True if it is kept but never sent to a model (a broken attempt).
        #[serde(default, skip_serializing_if = "is_false")]
        ignored: bool,
    },
    /// A tool call and its result.
    Tool(ToolPart),
    /// An image or a document.
    File(FilePart),
    /// A step begins.
    StepStart {
        /// The worktree at that moment; none if snapshots are off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<SnapshotId>,
    },
    /// A step ended.
    StepFinish {
        /// Why the model stopped.
        reason: Finish,
        /// The worktree at that moment; none if snapshots are off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<SnapshotId>,
        /// What it used.
        tokens: Tokens,
        /// What it cost in USD; none when the model's prices are not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// What a step changed in the worktree.
    Patch {
        /// Tree before.
        from: SnapshotId,
        /// Tree after.
        to: SnapshotId,
        /// The files, with line counts.
        files: Vec<PatchFile>,
    },
    /// In a user message: everything before it was summarised by the message that answers it.
    Compaction {
        /// True if dunlin started it, false for `/compact`.
        auto: bool,
        /// Name of the strategy.
        strategy: String,
        /// Estimated tokens of the context before; 0 while it runs.
        before: u64,
        /// Estimated tokens after; 0 while it runs.
        after: u64,
        /// The user's focus, from `/compact focus`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        focus: String,
        /// The first message that is kept verbatim after the summary; none if none is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tail: Option<MessageId>,
    },
    /// A task handed to a subagent.
    Subtask {
        /// What it is asked.
        prompt: String,
        /// A few words for the UI.
        description: String,
        /// The agent's name.
        agent: String,
        /// Its model.
        model: ModelRef,
        /// Its session.
        child: SessionId,
    },
    /// An attempt failed; another follows.
    Retry {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// Why.
        error: Fault,
        /// When the next one starts.
        next: Millis,
    },
}

/// An image or a document: only a reference, the bytes live once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilePart {
    /// Media type, e.g. `image/png`.
    pub mime: String,
    /// Name for the UI.
    pub name: String,
    /// Where the bytes are.
    pub source: FileSource,
}

/// Where the bytes of a file part are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSource {
    /// In the blob store, by content.
    Blob(BlobRef),
    /// A file of the worktree, relative to its root.
    Path(String),
}

/// `blob:` and the hex BLAKE3 hash of the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobRef(pub String);

/// The full output of a truncated tool result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRef {
    /// Absolute path of the saved output, UTF-8 (lossy if the data folder's name is not).
    pub path: String,
    /// Bytes of the full output.
    pub bytes: u64,
    /// Lines of the full output.
    pub lines: u64,
}

/// One file of a patch part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchFile {
    /// Path relative to the worktree's root.
    pub path: String,
    /// Lines added; 0 for binary files.
    pub added: u32,
    /// Lines removed; 0 for binary files.
    pub removed: u32,
    /// What happened to it.
    pub status: super::FileStatus,
}

impl PartBody {
    /// The `type` word of the serde form.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Reasoning { .. } => "reasoning",
            Self::Tool(_) => "tool",
            Self::File(_) => "file",
            Self::StepStart { .. } => "step-start",
            Self::StepFinish { .. } => "step-finish",
            Self::Patch { .. } => "patch",
            Self::Compaction { .. } => "compaction",
            Self::Subtask { .. } => "subtask",
            Self::Retry { .. } => "retry",
        }
    }
}
