//! Asks whether a command that the sandbox stopped may run once without it (SPEC §7).
//!
//! Called by `tool` after a command failed in a way that looks like the sandbox's doing. The answer
//! holds for this run alone: there is no rule that a grant could be kept as.

use crate::protocol::{Answer, AskBody, Mode};
use crate::sandbox::Blocked;
use crate::tools::ToolContext;

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Run it again, without the sandbox.
    Yes,
    /// Leave it; what the user says to the model, if anything.
    No(String),
    /// There was nobody to ask, or it may not be asked.
    NotAsked,
}

impl Outcome {
    pub(super) fn is_yes(&self) -> bool {
        *self == Self::Yes
    }

    /// What the model reads of it.
    pub(super) fn note(&self, blocked: &Blocked) -> String {
        match self {
            Self::Yes => {
                "The sandbox had blocked this command. The user allowed it once without the \
                          sandbox, and this is the output of that second run."
                    .to_owned()
            }
            Self::No(said) if said.is_empty() => format!(
                "{} The user was asked and did not allow it without the sandbox. Find another way, or say \
                 what you need.",
                blocked.sentence
            ),
            Self::No(said) => format!(
                "{} The user did not allow it without the sandbox and says: {said}",
                blocked.sentence
            ),
            Self::NotAsked => format!(
                "{} Nobody could be asked to allow it without the sandbox. Find another way, or say what \
                 you need.",
                blocked.sentence
            ),
        }
    }
}

/// Asks. In plan mode nothing leaves the sandbox, so there it is not asked.
pub(super) async fn ask(
    blocked: &Blocked,
    command: &str,
    says: &str,
    context: &ToolContext,
) -> Outcome {
    let Some(user) = context.ask.as_ref().filter(|_| context.mode != Mode::Plan) else {
        return Outcome::NotAsked;
    };
    let body = AskBody::Permission {
        tool: "bash".to_owned(),
        heading: "Run once without the sandbox".to_owned(),
        subject: command.to_owned(),
        diff: String::new(),
        says: says.to_owned(),
        sees: vec![
            blocked.sentence.clone(),
            "it ran until there: running it again does again what it did".to_owned(),
        ],
        // The driver knows it.
        place: String::new(),
        pattern: None,
        withheld: "leaves the sandbox".to_owned(),
        dangerous: true,
    };
    let answer = tokio::select! {
        biased;
        () = context.cancel.cancelled() => None,
        answer = user.ask(context.part, body) => answer,
    };
    match answer {
        Some(Answer::Once | Answer::Always { .. }) => Outcome::Yes,
        Some(Answer::No { message } | Answer::Text { text: message }) => {
            Outcome::No(message.trim().to_owned())
        }
        None => Outcome::NotAsked,
    }
}
