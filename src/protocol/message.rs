//! Messages: the headers of a conversation. Their content is in parts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Fault, MessageId, Millis, SessionId, Tokens};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The user, or dunlin on the user's behalf (its parts are then `synthetic`).
    User,
    /// The model.
    Assistant,
}

/// A model by provider and name, written `provider/model`; the name may hold slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelRef {
    /// Provider id as in the configuration, e.g. `anthropic`.
    pub provider: String,
    /// The provider's own name of the model.
    pub model: String,
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl FromStr for ModelRef {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            _ => Err(format!(
                "`{text}` does not name a model: write provider/model, e.g. anthropic/claude-sonnet-4-5"
            )),
        }
    }
}

impl Serialize for ModelRef {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelRef {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It had said all.
    Stop,
    /// It asks for tools.
    ToolCalls,
    /// It ran into its output limit or the window.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// The stream ended in an error.
    Error,
    /// Anything else (`pause_turn` is one).
    Other,
    /// The user interrupted it. Never comes from a wire.
    Interrupted,
}

/// How hard a reasoning model is to think; mapped per provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// No reasoning where the model can do without.
    None,
    /// As little as there is.
    Minimal,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// The most there is.
    Max,
}

impl Effort {
    /// All values with their names, in rising order.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::None, "none"),
        (Self::Minimal, "minimal"),
        (Self::Low, "low"),
        (Self::Medium, "medium"),
        (Self::High, "high"),
        (Self::Max, "max"),
    ];

    /// The name used in config and UI.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(e, _)| *e == self)
            .map_or("none", |(_, name)| name)
    }
}

/// What may happen without asking. One key cycles through them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Commands and edits ask.
    #[default]
    Ask,
    /// Edits inside the worktree run, commands ask.
    AutoEdit,
    /// Everything runs (inside the sandbox where there is one).
    Auto,
    /// Nothing can write.
    Plan,
}

impl Mode {
    /// All modes in the order in which the key cycles.
    pub const ALL: [Self; 4] = [Self::Ask, Self::AutoEdit, Self::Auto, Self::Plan];

    /// The name used in config, flags and UI.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AutoEdit => "auto-edit",
            Self::Auto => "auto",
            Self::Plan => "plan",
        }
    }

    /// The mode that the cycle key goes to next.
    pub const fn next(self) -> Self {
        match self {
            Self::Ask => Self::AutoEdit,
            Self::AutoEdit => Self::Auto,
            Self::Auto => Self::Plan,
            Self::Plan => Self::Ask,
        }
    }
}

impl FromStr for Mode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == text)
            .ok_or_else(|| format!("`{text}` is not a mode: use ask, auto-edit, auto or plan"))
    }
}

/// The header of one entry of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id; byte order is creation order.
    pub id: MessageId,
    /// The session it belongs to.
    pub session: SessionId,
    /// The message before it on its branch; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// Who speaks.
    pub role: Role,
    /// The agent that it was said to or by.
    pub agent: String,
    /// The model that made it or that it was sent to.
    pub model: ModelRef,
    /// True for an assistant message that is a compaction's summary.
    #[serde(default, skip_serializing_if = "is_false")]
    pub summary: bool,
    /// Why it ended; none while it is being made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// Tokens of all its steps (an assistant message is one step, so of that step).
    #[serde(default)]
    pub tokens: Tokens,
    /// Cost in USD; none when the model's prices are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// When it was made.
    pub created: Millis,
    /// When it was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Millis>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
pub(super) const fn is_false(b: &bool) -> bool {
    !*b
}
