//! The script file of the scripted provider: its shape and its checks.
//!
//! `Script::parse` is called with the text of a file (docs/scripted.md, docs/scripted.schema.json).
//! Playing is in `play.rs`, finding the step that comes next in `position.rs`.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use crate::protocol::{Fault, FaultKind, Finish};

/// A whole script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Where the schema is; for editors only.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Name for the eye.
    pub name: String,
    /// What the model claims to be.
    pub model: Abilities,
    /// Steps of the conversation, in order, one per request.
    pub steps: Vec<Step>,
    /// Begin again after the last step.
    #[serde(rename = "loop")]
    pub repeat: bool,
    /// Steps for prompts that match.
    pub branches: Vec<Branch>,
    /// What is said when the steps are over.
    pub default: Option<Step>,
    /// Texts for requests without tools (titles, summaries), in turn.
    pub side: Vec<String>,
}

/// What the model claims to be.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Abilities {
    /// Window in tokens.
    pub context: u64,
    /// Most output tokens.
    pub max_output: u64,
    /// True if it can call tools.
    pub tools: bool,
    /// True if it takes images and PDFs.
    pub images: bool,
    /// USD per million input tokens; the cache costs a tenth to read and 1.25 times to write.
    pub input_price: f64,
    /// USD per million output tokens.
    pub output_price: f64,
    /// Refuse requests that are larger than the window, as a real provider would.
    pub enforce_limit: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            context: 200_000,
            max_output: 32_000,
            tools: true,
            images: true,
            input_price: 0.0,
            output_price: 0.0,
            enforce_limit: false,
        }
    }
}

/// Steps for prompts that match.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Regular expression, applied to the user's text without regard to case.
    #[serde(rename = "match", deserialize_with = "pattern")]
    pub pattern: Regex,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Begin again after the last step.
    #[serde(rename = "loop", default)]
    pub repeat: bool,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Thoughts, said first.
    pub reasoning: Option<Text>,
    /// Text, said next.
    pub text: Option<Text>,
    /// Tool calls, made last.
    pub calls: Vec<Call>,
    /// Any order of texts, thoughts and calls; comes after the three fields above.
    pub parts: Vec<PartSpec>,
    /// Token counts.
    pub usage: UsageSpec,
    /// Why it ends; none for `tool-calls` with calls and `stop` without.
    pub finish: Option<Finish>,
    /// Milliseconds before the first piece.
    pub delay_ms: u64,
    /// Characters per piece; 0 for the whole text at once.
    pub chunk: usize,
    /// Pieces per second; 0 for as fast as they are taken.
    pub pace: f64,
    /// What goes wrong.
    pub fault: Option<FaultSpec>,
}

/// Literal text, or one that is repeated.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// As it is.
    Plain(String),
    /// Pieces, each its own delta.
    Pieces(Vec<String>),
    /// The same again and again.
    Repeat {
        /// What.
        repeat: String,
        /// How often.
        times: usize,
    },
}

/// A tool call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Tool.
    pub name: String,
    /// Arguments.
    #[serde(default)]
    pub input: Value,
    /// Raw text of the arguments instead, for broken JSON.
    #[serde(default)]
    pub raw: Option<String>,
}

/// One piece of an ordered answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum PartSpec {
    /// Text.
    Text(Text),
    /// Thoughts.
    Reasoning(Text),
    /// A call.
    Call(Call),
}

/// Token counts; `input` may be left out to be estimated from the request.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsageSpec {
    /// Input without cache; none for characters / 4 of the request.
    pub input: Option<u64>,
    /// Output including reasoning; none for characters / 4 of the answer.
    pub output: Option<u64>,
    /// Reasoning.
    pub reasoning: u64,
    /// Served from the cache.
    pub cache_read: u64,
    /// Written into the cache.
    pub cache_write: u64,
}

/// What goes wrong with a step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// Its kind.
    pub kind: FaultName,
    /// HTTP status, for `status`.
    #[serde(default)]
    pub status: Option<u16>,
    /// What the provider says, for `status`.
    #[serde(default)]
    pub message: Option<String>,
    /// How long the provider asks to wait.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// Pieces that are said before it; for `drop`, `stall` and `malformed`.
    #[serde(default)]
    pub after: usize,
    /// How long a `stall` lasts; none for ever.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// How often it happens before the step is played properly.
    #[serde(default = "once")]
    pub times: u32,
}

/// The kinds of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultName {
    /// The request is answered with an error status.
    Status,
    /// The provider has no room (529).
    Overloaded,
    /// The request is too large for the window.
    Overflow,
    /// The connection breaks.
    Drop,
    /// Nothing comes for a while.
    Stall,
    /// The stream turns into nonsense.
    Malformed,
}

const fn once() -> u32 {
    1
}

fn pattern<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(d)?;
    RegexBuilder::new(&text)
        .case_insensitive(true)
        .size_limit(1 << 20)
        .build()
        .map_err(|e| serde::de::Error::custom(format!("`match` is no regular expression: {e}")))
}

impl Text {
    /// The pieces, in order: each becomes one delta or more.
    pub(super) fn pieces(&self, chunk: usize) -> Vec<String> {
        let (whole, ready) = match self {
            Self::Plain(text) => (text.clone(), Vec::new()),
            Self::Pieces(pieces) => (String::new(), pieces.clone()),
            Self::Repeat { repeat, times } if chunk == 0 => {
                return vec![repeat.clone(); (*times).min(MOST_REPEATS)];
            }
            Self::Repeat { repeat, times } => {
                (repeat.repeat((*times).min(MOST_REPEATS)), Vec::new())
            }
        };
        if !ready.is_empty() {
            return ready;
        }
        if chunk == 0 || whole.is_empty() {
            return vec![whole];
        }
        let chars: Vec<char> = whole.chars().collect();
        chars.chunks(chunk).map(|c| c.iter().collect()).collect()
    }
}

/// A script may not ask for more repeats of a text: a typo must not eat the memory.
const MOST_REPEATS: usize = 1_000_000;

impl Script {
    /// Reads a script. The fault names the line and column and what was expected there.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let script: Self = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(
            |error| {
                Fault::new(
                    FaultKind::Config,
                    format!("The script could not be read: {error}."),
                    "Compare it with docs/scripted.md or check it against docs/scripted.schema.json.",
                )
            },
        )?;
        script.check()?;
        Ok(script)
    }

    fn check(&self) -> Result<(), Fault> {
        let all = self
            .steps
            .iter()
            .chain(self.branches.iter().flat_map(|b| &b.steps))
            .chain(&self.default);
        for (number, step) in all.enumerate() {
            let bad = |what: &str| {
                Err(Fault::new(
                    FaultKind::Config,
                    format!("Step {} of the script {what}.", number + 1),
                    "Correct it; docs/scripted.md explains every field.",
                ))
            };
            if step.calls.iter().any(|c| c.name.trim().is_empty()) {
                return bad("calls a tool without a name");
            }
            if !step.pace.is_finite() || step.pace < 0.0 {
                return bad("has a `pace` that is no positive number");
            }
            if let Some(fault) = &step.fault {
                if fault.kind == FaultName::Status && fault.status.is_none() {
                    return bad("has a fault of kind `status` without `status`");
                }
                if fault.seconds.is_some_and(|s| !s.is_finite() || s < 0.0) {
                    return bad("has a stall whose `seconds` are no positive number");
                }
            }
        }
        Ok(())
    }
}
