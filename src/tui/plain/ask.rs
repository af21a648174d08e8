//! Questions line by line: what is asked, the answers with their letters, and what a line means.

use super::lines::{clean, revealed};
use crate::protocol::{Answer, AskBody};
use crate::tui::keymap::{Action, Keymap};
use crate::tui::state::asks::{Choice, OpenAsk, Pick, Purpose, loop_subject};

/// What a line did to a question.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// It is answered.
    Answer(Answer),
    /// More is to be written: what for.
    Write(Purpose, &'static str),
    /// The pattern was changed; the question is asked again.
    Again,
    /// It is no answer; a sentence that says what would be one.
    Unclear(String),
}

/// The question, one line each.
pub(super) fn shown(open: &OpenAsk, count: usize, keys: &Keymap) -> Vec<String> {
    let mut out = vec![String::new()];
    let question = match count {
        0 | 1 => "Question: ".to_owned(),
        several => format!("Question 1 of {several}: "),
    };
    let mut field = |name: &str, text: &str| {
        for line in text.lines() {
            out.push(format!("{name}{}", revealed(line)));
        }
    };
    match &open.ask.body {
        AskBody::Permission {
            heading,
            subject,
            diff,
            says,
            sees,
            place,
            ..
        } => {
            field(&question, heading);
            field("  ", subject);
            field("  ", diff);
            field("  The model says: ", says);
            field("  It does: ", &sees.join(", "));
            field("  Where: ", place);
        }
        AskBody::DoomLoop {
            tool,
            subject,
            facts,
            ..
        } => {
            field(&question, "this looks like a loop.");
            field("  ", &loop_subject(tool, subject));
            for (name, text) in facts {
                field("  ", &format!("{name}: {text}"));
            }
        }
        AskBody::Budget { message } => field(&question, message),
        AskBody::Question { question: text, .. } => field(&question, text),
    }
    if !open.withheld().is_empty() {
        let sentence = format!("  Wider permission is not offered: {}.", open.withheld());
        out.push(clean(&sentence));
    }
    for (at, choice) in open.choices().iter().enumerate() {
        let letter = letter(at, choice, keys);
        let line = match choice.pick {
            // Here the words stand on the line of the letter.
            Pick::Write(Purpose::Say) if choice.action == Some(Action::AskNo) => {
                format!("  {letter}  No; `{letter} WORDS` says what to do instead")
            }
            Pick::Write(Purpose::Say) => {
                format!("  {letter}  Stop; `{letter} WORDS` says why")
            }
            _ => format!("  {letter}  {} {}", choice.label, choice.detail),
        };
        out.push(clean(line.trim_end()));
    }
    out
}

/// The letter of an answer; its number where it has none.
fn letter(at: usize, choice: &Choice, keys: &Keymap) -> String {
    choice
        .action
        .map_or_else(|| (at + 1).to_string(), |action| keys.key(action))
}

/// What a line means.
pub(super) fn reply(open: &mut OpenAsk, line: &str, keys: &Keymap) -> Reply {
    let line = line.trim();
    if let Some(field) = open.field.take() {
        return written(open, field.purpose, line);
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = match word.to_lowercase().as_str() {
        "yes" => "y".to_owned(),
        "no" => "n".to_owned(),
        other => other.to_owned(),
    };
    let choices = open.choices();
    let chosen = choices
        .iter()
        .enumerate()
        .find(|(at, choice)| letter(*at, choice, keys).to_lowercase() == word);
    let Some((_, choice)) = chosen else {
        if matches!(open.ask.body, AskBody::Question { .. }) && !line.is_empty() {
            return Reply::Answer(Answer::Text {
                text: line.to_owned(),
            });
        }
        let letters: Vec<String> = choices
            .iter()
            .enumerate()
            .map(|(at, choice)| letter(at, choice, keys))
            .collect();
        return Reply::Unclear(format!("Answer with one of: {}.", letters.join(", ")));
    };
    match &choice.pick {
        Pick::Answer(answer) => Reply::Answer(answer.clone()),
        // `n` alone is a plain no; `n use the other one` says why.
        Pick::Write(Purpose::Say) => written(open, Purpose::Say, rest.trim()),
        Pick::Write(purpose) if !rest.trim().is_empty() => written(open, *purpose, rest.trim()),
        Pick::Write(Purpose::Pattern) => Reply::Write(Purpose::Pattern, "Write the pattern."),
        Pick::Write(purpose) => Reply::Write(*purpose, "Write the answer."),
    }
}

fn written(open: &mut OpenAsk, purpose: Purpose, text: &str) -> Reply {
    let text = text.to_owned();
    match purpose {
        Purpose::Say => Reply::Answer(Answer::No { message: text }),
        Purpose::Answer => Reply::Answer(Answer::Text { text }),
        Purpose::Pattern => {
            let problem = open.problem_with(&text);
            if !text.is_empty() && !problem.is_empty() {
                return Reply::Unclear(format!("`{text}` {problem}. Nothing was changed."));
            }
            open.pattern = (!text.is_empty()).then_some(text);
            Reply::Again
        }
    }
}
