//! Questions to the user and their answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AskId, Millis, PartId, SessionId};

/// Something only the user can decide. Several may be open at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The session that asks (a subagent's asks surface in the parent's inbox).
    pub session: SessionId,
    /// The tool part it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartId>,
    /// When it was asked.
    pub created: Millis,
    /// What is asked.
    pub body: AskBody,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AskBody {
    /// May this tool call run?
    Permission {
        /// The tool.
        tool: String,
        /// A heading such as `Run this command` or `Edit this file`.
        heading: String,
        /// What is to be approved, complete, to be shown byte for byte: the command, the path.
        subject: String,
        /// A unified diff of the change, for edits; empty otherwise.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        diff: String,
        /// The model's own claim about it; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        says: String,
        /// What dunlin derived from the parsed command.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sees: Vec<String>,
        /// Folder it runs in and sandbox state.
        #[serde(rename = "where")]
        place: String,
        /// The literal rule that "this session" and "this project" would store, e.g. `cargo add *`;
        /// none if a wide grant is withheld.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
        /// Why a wide grant is withheld; empty if it is not.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        withheld: String,
        /// True if Enter must not approve.
        #[serde(default)]
        dangerous: bool,
    },
    /// The same call again and again.
    DoomLoop {
        /// The tool.
        tool: String,
        /// The call, as shown.
        subject: String,
        /// The arguments.
        input: Value,
        /// How often the call would have been made, this one included.
        repeats: u32,
        /// Length of the cycle in calls; 1 for the same call.
        cycle: u32,
        /// After so many repeats it is asked again; 0 if that is not known.
        #[serde(default)]
        again: u32,
        /// So many calls *always allow* lets run; 0 if that is not known.
        #[serde(default)]
        limit: u32,
        /// Facts: label and sentence, e.g. `same result`, `3 of 3: exit 101, identical output`.
        facts: Vec<(String, String)>,
    },
    /// A budget or the step limit is reached. `Once` grants the same amount again.
    Budget {
        /// What was reached, as a sentence.
        message: String,
    },
    /// A question of the model, with options.
    Question {
        /// The question.
        question: String,
        /// The options; the user may also answer freely.
        options: Vec<String>,
    },
}

/// How far a permission reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantScope {
    /// Until this session ends.
    Session,
    /// Stored for this project.
    Project,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// This time. For a doom loop: continue.
    Once,
    /// Always, by this pattern (the user may have edited it).
    Always {
        /// How far.
        scope: GrantScope,
        /// The rule's pattern; for a doom loop empty: exactly this call.
        pattern: String,
    },
    /// No; the turn stops unless `message` tells the model what to do instead.
    No {
        /// What the model is told; empty for a plain no.
        #[serde(default)]
        message: String,
    },
    /// The answer to a question: one of the options or free text.
    Text {
        /// The answer.
        text: String,
    },
}
