//! `Event`: what the agent tells a front end. The only words in that direction.
//!
//! Events about messages and parts are announced only after the store accepted them. The serde form
//! of those that `dunlin exec --json` prints is public and documented in docs/exec-json.md.

use serde::{Deserialize, Serialize};

use super::{
    Ask, AskId, ContextGauge, Destination, DiffReport, Fault, FileDiff, FileSource, Message,
    MessageId, Millis, Mode, ModelRef, Part, PartId, QueueId, QueueState, SearchHit, SessionId,
    SessionInfo, SessionSummary, Tokens, TreeTurn,
};

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnEnd {
    /// The model had said all.
    Done,
    /// The user interrupted.
    Interrupted,
    /// A permission was refused.
    Refused,
    /// The doom loop guard stopped it.
    DoomLoop,
    /// A budget or the step limit was reached.
    Budget,
    /// It failed.
    Error,
}

/// What a turn is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing runs.
    Idle,
    /// The model is being asked; nothing has come yet.
    Waiting,
    /// The model streams.
    Streaming,
    /// Tools run.
    Tools,
    /// Something waits for the user.
    Asking,
    /// A failed attempt is followed by another.
    Retrying {
        /// Which attempt comes next, from 2.
        attempt: u32,
        /// How many there will be; none for no limit.
        limit: Option<u32>,
        /// When it starts.
        next: Millis,
        /// Why the last one failed.
        error: Fault,
    },
    /// The history is being summarised.
    Compacting {
        /// Messages being summarised.
        messages: u32,
        /// Their tokens, estimated.
        tokens: u64,
    },
    /// An interrupt is being carried out.
    Stopping,
}

/// All that the status line shows besides the session's facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// What the turn is doing.
    pub phase: Phase,
    /// When the turn began; none if none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_started: Option<Millis>,
    /// Output tokens of this turn so far (estimated while streaming).
    pub turn_output: u64,
    /// The context line.
    pub context: ContextGauge,
    /// Cost of the session with its subagents in USD; none when not known.
    pub cost: Option<f64>,
    /// Permission mode.
    pub mode: Mode,
    /// Agent.
    pub agent: String,
    /// Model.
    pub model: ModelRef,
    /// Name of the model for the eye, e.g. `sonnet-4.5 high`.
    pub model_label: String,
    /// State of the sandbox, e.g. `workspace-write` or `no sandbox`.
    pub sandbox: String,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Needs attention.
    Warning,
    /// Something failed.
    Error,
}

/// What the start screen says about the place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The worktree, `~` for the home folder.
    pub worktree: String,
    /// Branch, empty outside git.
    pub branch: String,
    /// `clean`, `3 changed`, or empty when not known.
    pub git_state: String,
    /// Instruction files found and their estimated tokens, e.g. (`AGENTS.md`, 2100).
    pub instructions: Vec<(String, u64)>,
    /// Number of skills.
    pub skills: u32,
    /// Number of MCP servers.
    pub mcp: u32,
}

/// One model of the registry, for pickers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// Which.
    pub model: ModelRef,
    /// Window in tokens; 0 if not known.
    pub context: u64,
    /// Price of input per million tokens, USD.
    pub input_price: Option<f64>,
    /// Price of output per million tokens, USD.
    pub output_price: Option<f64>,
    /// True if a key (or none needed) is there.
    pub usable: bool,
}

/// One permission rule and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRule {
    /// `session`, `grants` (given for the project), `user`, `project`, `agent` or `flags`.
    pub owner: String,
    /// Tool name, or `*`.
    pub tool: String,
    /// What it is applied to.
    pub pattern: String,
    /// `allow`, `ask` or `deny`.
    pub action: String,
    /// True if it was an answer that can be taken back.
    pub revocable: bool,
}

/// One line of an undo preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoFile {
    /// Path relative to the worktree's root.
    pub path: String,
    /// What will happen: `restored`, `removed`, `merged`, or why it is left alone (a conflict).
    pub action: String,
    /// True if it is left alone because someone else changed it since.
    pub conflict: bool,
}

/// Why a session can only be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadOnly {
    /// Another process has it open; it is followed live.
    OtherWindow,
    /// It belongs to another folder than the one dunlin was started in.
    OtherFolder,
    /// Its files cannot be written.
    NotWritable,
}

impl ReadOnly {
    /// What is the matter and what to do, for one line of a screen; `open_there` is the command that
    /// opens the session where it belongs.
    pub fn in_short(self, open_there: &str) -> String {
        match self {
            Self::OtherWindow => "open in another window; /fork goes on in a copy".to_owned(),
            Self::OtherFolder => format!("of another folder; go on with {open_there}"),
            Self::NotWritable => {
                "its files cannot be written; see /status for the folder".to_owned()
            }
        }
    }
}

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
    /// Both lists as they are now.
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
