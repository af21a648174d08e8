//! What can go wrong, in words that a user can act on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kinds of failure that the program treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Too many requests or tokens per time.
    RateLimit,
    /// The provider has no room right now.
    Overloaded,
    /// The request is larger than the model's window.
    ContextOverflow,
    /// The key is missing, wrong or not allowed.
    Auth,
    /// No money, no credits, or a daily quota used up.
    Quota,
    /// The provider refused the request as invalid.
    BadRequest,
    /// The provider failed.
    Server,
    /// No such model, endpoint or resource.
    NotFound,
    /// No connection: DNS, refused, reset, TLS.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The stream broke off before its end.
    StreamTruncated,
    /// The stream could not be understood.
    Protocol,
    /// The provider withheld the answer.
    ContentFilter,
    /// The session store could not accept something.
    Storage,
    /// A budget or the step limit was reached.
    Budget,
    /// The same calls again and again.
    DoomLoop,
    /// A permission was refused and nobody can be asked.
    Refused,
    /// The user interrupted.
    Interrupted,
    /// The configuration does not fit.
    Config,
    /// A bug in dunlin.
    Internal,
}

/// A failure as it is kept with a message and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What kind it is.
    pub kind: FaultKind,
    /// A sentence that says what happened, naming the thing and the place.
    pub message: String,
    /// A sentence that says what to do; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// True if asking again may help.
    #[serde(default)]
    pub retryable: bool,
    /// HTTP status where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Fault {
    /// A failure that asking again would not mend.
    pub fn new(kind: FaultKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: hint.into(),
            retryable: false,
            status: None,
            retry_after_ms: None,
        }
    }

    /// The same failure, marked as worth another try.
    #[must_use]
    pub const fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, " {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
