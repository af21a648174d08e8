//! The words of the judge: what is asked for, and what it answers.
//!
//! The driver makes a `Request` of every need of a tool call and turns an `Ask` into a question to
//! the user; nothing else sees these types.

use std::path::PathBuf;

/// What a tool call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tool, as rules name it: `bash`, `read`, `edit`, `mcp__server__tool`.
    pub tool: String,
    /// What it would touch.
    pub what: What,
    /// False if the tool says that it changes nothing; only looked at for `What::Other`.
    pub can_write: bool,
}

/// What a tool call would touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Read this file or folder (resolved).
    Read(PathBuf),
    /// Write this file (resolved).
    Write(PathBuf),
    /// Run this command line in this folder.
    Command {
        /// The command line, as the shell gets it.
        command: String,
        /// Where it runs (resolved).
        cwd: PathBuf,
    },
    /// Fetch this URL.
    Fetch(String),
    /// Use this tool, of which nothing more is known (MCP).
    Other(String),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow {
        /// Why, one sentence.
        why: String,
    },
    /// The user must say.
    Ask(AskDetail),
    /// It may not run; the sentence is for the model.
    Deny {
        /// Why, one sentence that says what to do instead.
        why: String,
    },
}

/// What the user is shown with a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskDetail {
    /// `Run this command`, `Edit this file`, ….
    pub heading: String,
    /// The command, path or URL, complete.
    pub subject: String,
    /// What was derived from it, e.g. `network`, `writes Cargo.toml and Cargo.lock`.
    pub sees: Vec<String>,
    /// Why it is asked, one sentence.
    pub why: String,
    /// The rule that "always" would store, for the request's tool; none if that is withheld.
    pub pattern: Option<String>,
    /// Why a wide grant is withheld, e.g. `pipes into a shell`; empty if it is not.
    pub withheld: String,
    /// True if Enter must not approve.
    pub dangerous: bool,
}

impl Verdict {
    /// `allow`, `ask` or `deny`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Ask(_) => "ask",
            Self::Deny { .. } => "deny",
        }
    }

    /// The reason, one sentence.
    pub fn why(&self) -> &str {
        match self {
            Self::Allow { why } | Self::Deny { why } => why,
            Self::Ask(detail) => &detail.why,
        }
    }

    /// 0 for allow, 1 for ask, 2 for deny.
    pub const fn strictness(&self) -> u8 {
        match self {
            Self::Allow { .. } => 0,
            Self::Ask(_) => 1,
            Self::Deny { .. } => 2,
        }
    }
}
