//! `Event`: what the agent tells a front end. The only words in that direction.
//!
//! Events about messages and parts are announced only after the store accepted them. The serde form
//! of those that `dunlin exec --json` prints is public and documented in docs/exec-json.md.

use serde::{Deserialize, Serialize};

pub use super::listing::{ModelChoice, PermissionRule, PinChoice, Place, UndoFile};
pub use super::status::{NoticeLevel, Phase, ReadOnly, Status, TurnEnd};

use super::{
    Ask, AskId, Destination, DiffReport, Fault, FileDiff, FileSource, Message, MessageId, Part,
    PartId, PromptInput, QueueId, QueueState, SearchHit, SessionId, SessionInfo, SessionSummary,
    Spending, Tokens, TreeTurn,
};

/// What the agent tells a front end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// A session is open. What it holds follows as `History`.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The facts.
        session: SessionInfo,
        /// False if it can be read, not continued.
        writable: bool,
        /// Why it can only be read; none if it can be written, or is only watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_only: Option<ReadOnly>,
        /// True if its last turn was cut: *continue* is offered.
        cut: bool,
    },
    /// The stored messages and parts of the session just opened, in order. Comes newest page first
    /// when there is more than one; `first` is true for the page that begins the session.
    #[serde(rename = "session.history")]
    History {
        /// Messages in order.
        messages: Vec<Message>,
        /// Their parts in order.
        parts: Vec<Part>,
        /// True for the page that holds the session's beginning.
        first: bool,
    },
    /// A session's title or other facts changed.
    #[serde(rename = "session.updated")]
    SessionUpdated {
        /// The facts.
        session: SessionInfo,
    },
    /// A message exists; its parts follow.
    #[serde(rename = "message.created")]
    MessageCreated {
        /// The header.
        message: Message,
    },
    /// A message's header changed (finish, error, tokens).
    #[serde(rename = "message.updated")]
    MessageUpdated {
        /// The header.
        message: Message,
    },
    /// A part is new or changed; the whole part.
    #[serde(rename = "part.updated")]
    PartUpdated {
        /// The part.
        part: Part,
    },
    /// Text was appended to a text or reasoning part.
    #[serde(rename = "part.delta")]
    PartDelta {
        /// Which part.
        part: PartId,
        /// Its message.
        message: MessageId,
        /// What was appended.
        delta: String,
    },
    /// A step is complete.
    #[serde(rename = "step.finished")]
    StepFinished {
        /// The assistant message.
        message: MessageId,
        /// Which step of the turn, from 1.
        step: u32,
        /// What it used.
        tokens: Tokens,
        /// What it cost in USD; null when the model's prices are not known.
        cost: Option<f64>,
    },
    /// A prompt was queued.
    #[serde(rename = "message.queued")]
    Queued {
        /// Its id.
        id: QueueId,
        /// Its place in its list, from 1.
        position: usize,
    },
    /// Queued prompts became a user message.
    #[serde(rename = "message.dequeued")]
    Dequeued {
        /// How many.
        count: usize,
        /// Which.
        ids: Vec<QueueId>,
        /// True if they were joined into one message.
        coalesced: bool,
    },
    /// A prompt was not taken, because no more can wait; the error before it says so. It is the sender's again.
    #[serde(rename = "message.returned")]
    Returned {
        /// What was sent.
        input: PromptInput,
    },
    /// Both lists as they are now. While messages wait it is told at most ten times a second, and the last state
    /// always; what pauses, lets go on or empties the queue is told at once.
    #[serde(rename = "queue.changed")]
    QueueChanged {
        /// The lists.
        queue: QueueState,
    },
    /// Outputs were pruned.
    #[serde(rename = "context.pruned")]
    Pruned {
        /// How many parts.
        count: usize,
        /// Estimated tokens.
        tokens_saved: u64,
    },
    /// The history was compacted.
    #[serde(rename = "context.compacted")]
    Compacted {
        /// Name of the strategy.
        strategy: String,
        /// Estimated tokens before.
        before_tokens: u64,
        /// Estimated tokens after.
        after_tokens: u64,
    },
    /// The user must decide.
    #[serde(rename = "permission.asked")]
    Asked {
        /// The question.
        ask: Ask,
    },
    /// A question was answered or is no longer open.
    #[serde(rename = "permission.answered")]
    AskClosed {
        /// Which.
        ask: AskId,
    },
    /// An attempt failed; another follows.
    #[serde(rename = "retry")]
    Retry {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// Until the next one starts, in milliseconds.
        delay_ms: u64,
        /// Why.
        error: Fault,
    },
    /// A turn began.
    #[serde(rename = "turn.started")]
    TurnStarted,
    /// A turn ended.
    #[serde(rename = "turn.finished")]
    TurnFinished {
        /// Why.
        reason: TurnEnd,
    },
    /// The status line changed.
    #[serde(rename = "status")]
    Status(Status),
    /// The place became known or changed.
    #[serde(rename = "place")]
    Place(Place),
    /// Servers of tools outside (MCP), all of them; again with every change.
    #[serde(rename = "servers")]
    Servers(Vec<super::outside::ToolServer>),
    /// A sentence for the user.
    #[serde(rename = "notice")]
    Notice {
        /// How much it matters.
        level: NoticeLevel,
        /// The sentence.
        text: String,
    },
    /// Something failed outside a turn, or a turn could not start.
    #[serde(rename = "error")]
    Error {
        /// What.
        error: Fault,
    },
    /// Answer to `Op::Diff`.
    #[serde(rename = "diff")]
    Diff(DiffReport),
    /// Answer to `Op::DiffFile`: one hunk that holds the whole file.
    #[serde(rename = "diff.file")]
    DiffFile {
        /// The file.
        file: FileDiff,
    },
    /// Answer to an unconfirmed `Op::Undo`, `Op::Rewind` or `Op::SwitchBranch`.
    #[serde(rename = "undo.preview")]
    UndoPreview {
        /// Which files are left as they are without being looked at, and why; none if there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Where it would lead.
        #[serde(default)]
        to: Destination,
        /// First line of the prompt that it goes back to, or that the other branch ends with.
        prompt: String,
        /// What would happen to each file.
        files: Vec<UndoFile>,
    },
    /// The conversation went back: these messages left the current branch.
    #[serde(rename = "branch.changed")]
    BranchChanged {
        /// The new tip; none for the empty conversation.
        tip: Option<MessageId>,
        /// The prompt that was taken back, to be offered in the composer; empty for none.
        prompt: String,
    },
    /// Answer to `Op::ListSessions`.
    #[serde(rename = "sessions")]
    Sessions {
        /// Newest first.
        sessions: Vec<SessionSummary>,
    },
    /// Answer to `Op::Tree`: every turn, the earlier ones first.
    #[serde(rename = "tree")]
    Tree {
        /// The turns.
        turns: Vec<TreeTurn>,
    },
    /// Answer to `Op::Preview`: the last turns of a session, outputs left out.
    #[serde(rename = "preview")]
    Preview {
        /// Which.
        session: SessionId,
        /// Messages in order.
        messages: Vec<Message>,
        /// Their parts in order.
        parts: Vec<Part>,
    },
    /// Answer to `Op::Search`, the sessions used last first.
    #[serde(rename = "found")]
    Found {
        /// As given in the Op.
        generation: u64,
        /// Where it was found.
        hits: Vec<SearchHit>,
        /// True if there are more.
        more: bool,
    },
    /// What came of `Op::RenameSession`, `Op::ArchiveSession` or `Op::DeleteSession`.
    #[serde(rename = "sessions.kept")]
    Kept {
        /// How much it matters.
        level: NoticeLevel,
        /// The sentence.
        text: String,
    },
    /// Answer to `Op::OpenPart`: the part is loaded and wants to be seen.
    #[serde(rename = "show")]
    Show {
        /// Which.
        part: PartId,
    },
    /// Answer to `Op::ListModels`.
    #[serde(rename = "models")]
    Models {
        /// Usable ones first.
        models: Vec<ModelChoice>,
    },
    /// Answer to `Op::FindFiles`, best first.
    #[serde(rename = "files")]
    Files {
        /// As given in the Op.
        generation: u64,
        /// Paths relative to the worktree; folders end in `/`.
        paths: Vec<String>,
    },
    /// Answer to `Op::ReadOutput`.
    #[serde(rename = "output")]
    Output {
        /// Which part.
        part: PartId,
        /// The full output, at most 8 MiB, cut in the middle beyond that.
        text: String,
    },
    /// Answer to `Op::ReadFile`.
    #[serde(rename = "file.read")]
    FileRead {
        /// As given in the Op.
        source: FileSource,
        /// The bytes; none if they are gone or more than 32 MiB.
        #[serde(skip)]
        bytes: Option<bytes::Bytes>,
    },
    /// Answer to `Op::Context`: the report as JSON (docs/context.md) and as lines.
    #[serde(rename = "context")]
    Context {
        /// The report.
        report: serde_json::Value,
    },
    /// Answer to `Op::Spending`.
    #[serde(rename = "spending")]
    Spending(Spending),
    /// Answer to `Op::Pins`: the newest first.
    #[serde(rename = "pins")]
    Pins {
        /// What is pinned, and what could be.
        pins: Vec<PinChoice>,
    },
    /// Nobody can work yet: no key, no model. The front end shows onboarding.
    #[serde(rename = "onboarding")]
    Onboarding {
        /// What is missing, as a sentence.
        reason: String,
        /// What was found: environment keys and local servers, one line each.
        found: Vec<String>,
    },
    /// Answer to `Op::ListPermissions`: what was granted first, then the layers of rules.
    #[serde(rename = "permissions")]
    Permissions {
        /// The rules.
        rules: Vec<PermissionRule>,
    },
    /// Answer to `Op::Facts`: name and fact, for the eye.
    #[serde(rename = "facts")]
    Facts {
        /// The facts.
        facts: Vec<(String, String)>,
    },
    /// What a watched subagent announces (`Op::Watch`). Begins with its `SessionStarted` and `History`.
    #[serde(rename = "subagent")]
    Subagent {
        /// Its session.
        session: SessionId,
        /// What it announced.
        event: Box<Self>,
    },
    /// Everything is written; the agent is gone.
    #[serde(rename = "closed")]
    Closed,
}

impl Event {
    /// What is announced of it although the records that it tells of could not be kept: only what ends
    /// something, or somebody would wait for it for ever. A turn whose end could not be kept ended with an
    /// error.
    #[must_use]
    pub fn unkept(self) -> Option<Self> {
        match self {
            Self::TurnFinished {
                reason: TurnEnd::Done,
            } => Some(Self::TurnFinished {
                reason: TurnEnd::Error,
            }),
            Self::TurnFinished { .. } | Self::AskClosed { .. } => Some(self),
            // nothing that is paused goes on
            Self::QueueChanged { ref queue } if queue.paused => Some(self),
            _ => None,
        }
    }
}
