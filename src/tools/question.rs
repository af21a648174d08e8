//! `question`: asks the user, with options.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::Form;
use super::{Access, Failure, Success, Tool, ToolContext};
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::protocol::{Answer, AskBody};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The question, complete and clear without the conversation.
    question: String,
    /// Answers to choose from, the recommended one first. The user may also answer freely.
    #[serde(default)]
    options: Vec<String>,
}

/// Characters of a question, options, and characters of each: what a person can look at.
const MOST: (usize, usize, usize) = (8_000, 50, 1_000);

impl Input {
    fn check(&self) -> Result<(), String> {
        let longer = |text: &str, most: usize| text.chars().nth(most).is_some();
        if longer(&self.question, MOST.0) {
            return Err(format!(
                "The question is longer than {} characters. Ask it shortly; put details into a file.",
                MOST.0
            ));
        }
        if self.options.len() > MOST.1 || self.options.iter().any(|one| longer(one, MOST.2)) {
            return Err(format!(
                "There may be {} options of {} characters each. Offer the few best, in a few words.",
                MOST.1, MOST.2
            ));
        }
        Ok(())
    }
}

/// `question`.
#[derive(Debug)]
pub struct Question {
    form: Form,
}

impl Question {
    /// The tool.
    pub fn new() -> Self {
        let aliases = &[
            ("prompt", "question"),
            ("choices", "options"),
            ("answers", "options"),
        ];
        Self {
            form: Form::of::<Input>("question", aliases),
        }
    }
}

impl Default for Question {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Question {
    fn name(&self) -> &'static str {
        "question"
    }

    fn description(&self) -> String {
        "Asks the user something that only the user can decide, and waits for the answer. Do not ask \
         for permission (that happens by itself) or for what you can find out.\n\
         Example: {\"question\": \"Which database should the tests use?\", \"options\": [\"SQLite in \
         memory\", \"PostgreSQL in Docker\"]}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        Ok(Access::reading(title(&input.question), Vec::new()))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        Box::pin(async move {
            let input = input?;
            if input.question.trim().is_empty() {
                return Err(Failure::new(
                    "`question` of `question` is empty; ask something.",
                ));
            }
            input.check()?;
            let title = title(&input.question);
            let Some(user) = &context.ask else {
                return Err(Failure {
                    message: "Nobody can answer: this session runs without a user. Decide yourself, and say \
                              in your answer what you assumed."
                        .to_owned(),
                    title,
                    ..Failure::default()
                });
            };
            let asked = user.ask(
                context.part,
                AskBody::Question {
                    question: input.question,
                    options: input.options,
                },
            );
            let answer = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(Failure::new(INTERRUPTED_OUTPUT)),
                answer = asked => answer,
            };
            match answer {
                Some(Answer::Text { text: answer }) => Ok(Success {
                    output: format!("The user answered: {answer}"),
                    title,
                    metadata: json!({"answer": answer}),
                    ..Success::default()
                }),
                _ => Err(Failure {
                    message: "The user dismissed the question without an answer. Go on without it, or stop \
                              and say what you need."
                        .to_owned(),
                    title,
                    metadata: json!({"dismissed": true}),
                    ..Failure::default()
                }),
            }
        })
    }
}

fn title(question: &str) -> String {
    question
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(120)
        .collect()
}
