//! How a turn and its session stand: what the status row, the footer and notices are made of.
//!
//! Parts of `Event`, which carries them. Their serde forms are public with it. Plain data.

use serde::{Deserialize, Serialize};

use super::{ContextGauge, Fault, Millis, Mode, ModelRef};

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
