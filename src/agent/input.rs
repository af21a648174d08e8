//! What can happen to a turn. Everything the driver learns becomes one of these.

use crate::model::Delta;
use crate::protocol::{
    Answer, AskBody, AskId, Delivery, Effort, Fault, Mode, ModelRef, PartId, PatchFile,
    PromptInput, QueueEdit, SnapshotId,
};
use crate::tools::{Access, Failure, ProgressUpdate, Success};

/// Which of the turn's requests a stream answers; counts up, so late answers are told apart.
pub type StreamId = u64;

/// An input of the turn.
#[derive(Debug, Clone)]
pub enum Input {
    /// The user says something.
    Prompt {
        /// What.
        input: PromptInput,
        /// When, if a turn runs.
        delivery: Delivery,
    },
    /// The user runs a command.
    Shell {
        /// The command line.
        command: String,
    },
    /// The user interrupts.
    Interrupt,
    /// The user lets a cut turn go on.
    Continue,
    /// The user decided.
    Answer {
        /// Which question.
        ask: AskId,
        /// What.
        answer: Answer,
    },
    /// The user changed the queue.
    Queue(QueueEdit),
    /// The user does not want to wait for the retry.
    RetryNow,
    /// The user wants a compaction.
    Compact {
        /// What the summary must keep.
        focus: String,
    },
    /// The user wants to prune now.
    Prune,
    /// The user wants pruned outputs back; all if empty.
    Restore {
        /// The tool parts.
        parts: Vec<PartId>,
    },
    /// The user pins or unpins a part.
    Pin {
        /// Which.
        part: PartId,
        /// False to unpin.
        on: bool,
    },
    /// The user changed the permission mode.
    SetMode(Mode),
    /// The user chose a model.
    SetModel(Box<crate::model::ModelInfo>),
    /// The user chose how hard the model thinks; none for its own default.
    SetEffort(Option<Effort>),
    /// The user chose an agent.
    SetAgent(String),
    /// The session has a (new) title.
    Titled(String),
    /// Pieces of an answer, as they came together.
    Deltas {
        /// Which stream.
        stream: StreamId,
        /// The pieces.
        deltas: Vec<Delta>,
    },
    /// A stream failed; nothing more comes from it.
    StreamFailed {
        /// Which stream.
        stream: StreamId,
        /// Why.
        fault: Fault,
    },
    /// A stream ended well (after `Delta::Finish`).
    StreamEnded {
        /// Which stream.
        stream: StreamId,
    },
    /// A call was judged.
    Judged {
        /// Which.
        part: PartId,
        /// How.
        judgement: Judgement,
    },
    /// Somebody in the tree of subagents was permitted more: open questions may be settled by it.
    JudgeAgain,
    /// A running call reports.
    Progress {
        /// Which.
        part: PartId,
        /// What.
        update: ProgressUpdate,
    },
    /// A call has a result.
    ToolEnded {
        /// Which.
        part: PartId,
        /// The result.
        result: Result<Success, Failure>,
    },
    /// A snapshot is there, or cannot be had (then snapshots are off for this step).
    Snapshot {
        /// Which of the turn's snapshots.
        tag: SnapshotTag,
        /// The tree.
        tree: Option<SnapshotId>,
    },
    /// The difference of a step is known.
    Patch {
        /// Which step: its assistant message.
        message: crate::protocol::MessageId,
        /// Tree before.
        from: SnapshotId,
        /// Tree after.
        to: SnapshotId,
        /// The files.
        files: Vec<PatchFile>,
    },
    /// A record that had to be synced is.
    Synced {
        /// Which barrier.
        part: PartId,
        /// The store's failure, if it failed.
        result: Result<(), Fault>,
    },
    /// A timer ran out.
    Timer(Timer),
    /// The store could not accept something.
    StoreFailed(Fault),
    /// Money, tokens and steps that subagents spent.
    Spent(super::budget::Spent),
    /// Instructions of folders hold for what a call has just read or written.
    Rules(Vec<super::turn::FolderRules>),
    /// A call has a subagent at work now.
    Subagent(Box<Subagent>),
    /// The subagent of a call was stopped before its end.
    SubagentStopped {
        /// The call.
        part: PartId,
        /// Why.
        reason: crate::protocol::TurnEnd,
    },
}

/// A subagent at work, as the transcript keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subagent {
    /// The call it works for.
    pub part: PartId,
    /// Its session.
    pub child: crate::protocol::SessionId,
    /// What it is asked.
    pub prompt: String,
    /// A few words for the UI.
    pub description: String,
    /// The agent's name.
    pub agent: String,
    /// Its model.
    pub model: ModelRef,
}

/// How a call was judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// No such tool, or arguments that do not fit: the sentence the model reads.
    Invalid(String),
    /// It may run.
    Allow(Access),
    /// It may not run: the sentence the model reads.
    Deny {
        /// Title for the UI.
        title: String,
        /// The sentence.
        reason: String,
    },
    /// The user must decide.
    Ask {
        /// What it would touch.
        access: Access,
        /// The question.
        body: AskBody,
    },
}

/// Which snapshot of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SnapshotTag {
    /// At its start, while the model is asked.
    Start(crate::protocol::MessageId),
    /// Right before its first tool that can write.
    BeforeWrite(crate::protocol::MessageId),
    /// After its last tool.
    End(crate::protocol::MessageId),
}

/// What a timer is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timer {
    /// The next attempt of a step; the number guards against timers of older waits.
    Retry(u64),
    /// The queue is announced if it changed since it was last.
    Queue,
}

/// The model that messages are addressed to.
pub type Addressee = ModelRef;
