//! `Op`: what a front end asks of the agent. The only words in that direction.

use serde::{Deserialize, Serialize};

use super::{
    Answer, AskId, DiffScope, Effort, FilePart, FileSource, Hunk, MessageId, Mode, ModelRef,
    PartId, QueueId, SessionId,
};

/// What the user typed and attached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptInput {
    /// The text, verbatim.
    pub text: String,
    /// Images, documents and mentioned files, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FilePart>,
}

/// When a prompt is to be used if a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// Between two steps (Enter).
    Guidance,
    /// After the turn (Tab).
    FollowUp,
    /// Interrupt, then send at once (ctrl+Enter).
    Interrupt,
}

/// A change of what is queued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueEdit {
    /// Take it out. The front end already holds its text if it is to be edited.
    Remove(QueueId),
    /// Replace what it says.
    Replace(QueueId, PromptInput),
    /// Move it to this place in its list, from 0.
    Move(QueueId, usize),
    /// Let paused follow-ups go on.
    Resume,
}

/// What a front end asks of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Say something. Never refused: runs now, or is queued.
    Prompt {
        /// What.
        input: PromptInput,
        /// When, if a turn runs.
        delivery: Delivery,
    },
    /// Run a shell command in the session's permission frame; its output joins the conversation.
    Shell {
        /// The command.
        command: String,
    },
    /// Stop what runs. With guidance pending, send that guidance at once.
    Interrupt,
    /// Go on from the persisted state of a turn that was cut.
    Continue,
    /// Answer an open question.
    Answer {
        /// Which.
        ask: AskId,
        /// The decision.
        answer: Answer,
    },
    /// Change what is queued.
    Queue(QueueEdit),
    /// During a retry countdown: try now.
    RetryNow,
    /// End this server of tools, if it runs, and start it again.
    RestartServer(String),
    /// Compact now, or as soon as the turn allows.
    Compact {
        /// What the summary must keep; may be empty.
        focus: String,
    },
    /// Prune now.
    Prune,
    /// Bring pruned outputs back (all of them if empty).
    Restore {
        /// The tool parts.
        parts: Vec<PartId>,
    },
    /// Pin a part so that compaction never summarises it; or unpin it.
    Pin {
        /// Which.
        part: PartId,
        /// False to unpin.
        on: bool,
    },
    /// Take back the last turn: files and conversation. First call with `confirmed: false` answers
    /// `Event::UndoPreview`.
    Undo {
        /// True to do it.
        confirmed: bool,
    },
    /// Bring back what the last undo took, with a preview first as for `Undo`.
    Redo {
        /// True to do it.
        confirmed: bool,
    },
    /// Go to before this message, with or without files; later messages stay on their branch.
    Rewind {
        /// The user message to go back to.
        to: MessageId,
        /// Restore files too.
        files: bool,
        /// False: nothing happens yet, `Event::UndoPreview` answers.
        confirmed: bool,
    },
    /// Go to the end of another branch of the session, with or without files.
    SwitchBranch {
        /// The last message of that branch.
        tip: MessageId,
        /// Make the files what that branch left.
        files: bool,
        /// False: nothing happens yet, `Event::UndoPreview` answers.
        confirmed: bool,
    },
    /// Ask for all turns of the session, on every branch; answered by `Event::Tree`.
    Tree,
    /// Ask for changes; answered by `Event::Diff`.
    Diff(DiffScope),
    /// Ask for one file's changes with all its unchanged lines; answered by `Event::DiffFile`.
    DiffFile {
        /// Compared with what.
        scope: DiffScope,
        /// Path relative to the worktree, as in the report.
        path: String,
    },
    /// Take back one changed place of a file; answered by another `Event::Diff`. `Redo` brings it
    /// back.
    UndoHunk {
        /// The scope of the report it was seen in.
        scope: DiffScope,
        /// Path relative to the worktree, as in the report.
        path: String,
        /// The place as it was seen.
        hunk: Hunk,
    },
    /// Ask for the context report; answered by `Event::Context`.
    Context,
    /// Ask what the session cost; answered by `Event::Spending`.
    Spending,
    /// Ask what is pinned and what could be; answered by `Event::Pins`.
    Pins,
    /// Change the permission mode.
    SetMode(Mode),
    /// Change the model of the next step.
    SetModel(ModelRef),
    /// Change the reasoning effort of the next step; none for the model's default.
    SetEffort(Option<Effort>),
    /// Change the agent.
    SetAgent(String),
    /// Name the session.
    Rename(String),
    /// Ask for sessions; answered by `Event::Sessions`.
    ListSessions {
        /// Every folder, or this project only.
        all: bool,
    },
    /// Open a session in place of this one.
    OpenSession(SessionId),
    /// Open a session (if it is not open) and show one of its parts; answered by `Event::Show`.
    OpenPart {
        /// Which.
        session: SessionId,
        /// The part.
        part: PartId,
    },
    /// Ask for the end of a session without opening it; answered by `Event::Preview`.
    Preview(SessionId),
    /// Name any session.
    RenameSession {
        /// Which.
        id: SessionId,
        /// Its new title.
        title: String,
    },
    /// Pack a session away; opening it brings it back. Answered by a notice and `Event::Sessions`.
    ArchiveSession(SessionId),
    /// Delete a session for ever; answered by a notice and `Event::Sessions`.
    DeleteSession(SessionId),
    /// A copy of any session, opened in place of this one.
    ForkSession(SessionId),
    /// Search everything said and done in all sessions; answered by `Event::Found`.
    Search {
        /// Words that must all occur; none ends the search.
        text: String,
        /// Only in what the user said, one hit for each session.
        prompts: bool,
        /// Every folder, or this project only.
        all: bool,
        /// Given back with the answer, so that old ones can be dropped.
        generation: u64,
    },
    /// Ask for the page of history before this message; answered by `Event::History`.
    LoadOlder {
        /// The oldest message the front end has.
        before: MessageId,
    },
    /// Start a new session in place of this one.
    NewSession,
    /// A copy of this session up to a message, opened in place of this one.
    Fork {
        /// The last message of the copy; none for all.
        at: Option<MessageId>,
    },
    /// Ask for models; answered by `Event::Models`.
    ListModels,
    /// Ask for files of the worktree that match; answered by `Event::Files`.
    FindFiles {
        /// The query, fuzzy.
        query: String,
        /// Given back with the answer, so that old ones can be dropped.
        generation: u64,
    },
    /// Write the session to a file of the worktree; answered by a notice.
    Export {
        /// `md`, `json` or `jsonl`.
        format: String,
        /// Where; none for a name made from the title.
        path: Option<String>,
    },
    /// Read the full output of a tool part; answered by `Event::Output`.
    ReadOutput(PartId),
    /// Read the bytes of a picture or document of the session; answered by `Event::FileRead`.
    ReadFile(FileSource),
    /// Ask for the permission rules in force; answered by `Event::Permissions`.
    ListPermissions,
    /// Take a grant back; answered by `Event::Permissions`.
    RevokePermission {
        /// Who holds it: `session` or `grants` (the project's).
        owner: String,
        /// The tool.
        tool: String,
        /// The pattern.
        pattern: String,
    },
    /// Ask for facts of the disk; answered by `Event::Facts`.
    Facts,
    /// Show what a subagent did and does; it comes as `Event::Subagent`, from its beginning. Also one
    /// that has ended.
    Watch(SessionId),
    /// Show it no longer.
    Unwatch(SessionId),
    /// Stop this subagent; the call that it works for has its last words.
    StopSubagent(SessionId),
    /// End: interrupt, drain the writer, then `Event::Closed`.
    Close,
}
