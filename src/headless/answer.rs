//! `--output-schema`: the last answer must be JSON of a form. It is asked for in the prompt, checked when
//! the turn is done, and asked for once more if it does not fit.

use std::collections::HashSet;

use serde_json::Value;

use super::schema::Schema;
use crate::protocol::{Event, Fault, FaultKind, MessageId, PartBody, PartId, Role};

/// What the answer must be, and what it is so far.
#[derive(Debug)]
pub struct Wanted {
    schema: Schema,
    corrected: bool,
    said: HashSet<MessageId>,
    newest: Option<MessageId>,
    texts: Vec<(PartId, String)>,
}

/// What comes of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// It fits.
    Fits,
    /// It does not; this is to be said to the model.
    Again(String),
    /// It does not, again.
    Wrong(Fault),
}

impl Wanted {
    /// An answer of this form.
    pub fn new(schema: Schema) -> Self {
        Self {
            schema,
            corrected: false,
            said: HashSet::new(),
            newest: None,
            texts: Vec::new(),
        }
    }

    /// The prompt with what the answer must be.
    pub fn prompt(&self, prompt: &str) -> String {
        format!(
            "{prompt}\n\nYour last message must be one JSON value and nothing else: no words around it, no \
             Markdown. It must fit this JSON Schema:\n{}",
            self.schema.text()
        )
    }

    /// Follows what is said.
    pub(super) fn follow(&mut self, event: &Event) {
        match event {
            Event::MessageCreated { message }
                if message.role == Role::Assistant && !message.summary =>
            {
                self.said.insert(message.id);
            }
            Event::PartUpdated { part } if self.said.contains(&part.message) => {
                if let PartBody::Text { text, ignored, .. } = &part.body {
                    if self.newest != Some(part.message) {
                        self.texts.clear();
                        self.newest = Some(part.message);
                    }
                    self.texts.retain(|(id, _)| *id != part.id);
                    if !ignored {
                        self.texts.push((part.id, text.clone()));
                    }
                }
            }
            Event::PartDelta { part, delta, .. } => {
                if let Some((_, text)) = self.texts.iter_mut().find(|(id, _)| id == part) {
                    text.push_str(delta);
                }
            }
            _ => {}
        }
    }

    /// The turn is done: does the answer fit?
    pub(super) fn judge(&mut self) -> Outcome {
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        let answer = texts.join("\n");
        let mistakes = match serde_json::from_str::<Value>(unfenced(&answer)) {
            Ok(value) => self.schema.mistakes(&value),
            Err(error) => vec![format!("it is not JSON ({error})")],
        };
        if mistakes.is_empty() {
            return Outcome::Fits;
        }
        let list = mistakes.join("; ");
        if std::mem::replace(&mut self.corrected, true) {
            let sentence =
                format!("The answer does not fit the schema of --output-schema: {list}.");
            let hint = "Try another model, or a simpler schema.";
            return Outcome::Wrong(Fault::new(FaultKind::BadRequest, sentence, hint));
        }
        Outcome::Again(format!(
            "Your answer does not fit the JSON Schema: {list}. Answer again with one JSON value that fits \
             it, and nothing else:\n{}",
            self.schema.text()
        ))
    }
}

/// The text without a code fence around all of it, which models like to put there.
pub(super) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'))
        .map(|(_, inner)| inner.trim());
    inner.filter(|inner| !inner.contains("```")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_all_of_it_is_taken_off() {
        assert_eq!(unfenced("```json\n{\"a\": 1}\n```\n"), "{\"a\": 1}");
        assert_eq!(unfenced("```\n1\n```"), "1");
        assert_eq!(unfenced(" 2 "), "2");
        assert_eq!(
            unfenced("```\na\n```\nb\n```\nc\n```"),
            "```\na\n```\nb\n```\nc\n```"
        );
    }
}
