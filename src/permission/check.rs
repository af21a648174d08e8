//! `dunlin permissions check [--rules FILE] -- COMMAND`: the judge's decision, explained line by line.

use std::path::Path;

use super::judge::Judge;
use super::place::Place;
use super::request::{Request, Verdict, What};
use crate::config::rules;
use crate::config::used::RuleLayer;
use crate::protocol::Mode;

/// A decision, to be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// `allow`, `ask` or `deny`.
    pub word: &'static str,
    /// Why, one line each.
    pub lines: Vec<String>,
}

/// The text of a rules file (every form of `config::rules`) as the user's layer; the error is one
/// sentence per wrong line.
pub fn layer(text: &str) -> Result<RuleLayer, String> {
    let rules = rules::read_file(text).map_err(|bad| {
        let lines: Vec<String> = bad
            .iter()
            .map(|b| match b.line {
                0 => format!("The rules can't be read: {}.", b.message),
                line => format!("The rules can't be read, line {line}: {}.", b.message),
            })
            .collect();
        lines.join("\n")
    })?;
    Ok(RuleLayer {
        owner: "user".to_owned(),
        rules,
    })
}

/// Decides on a command line run in this folder by these layers of rules.
pub fn check(
    layers: Vec<RuleLayer>,
    command: &str,
    place: Place,
    cwd: &Path,
    mode: Mode,
) -> Checked {
    let judge = Judge::new(layers, mode, place);
    explain(&judge.decide(&Request {
        tool: "bash".to_owned(),
        what: What::Command {
            command: command.to_owned(),
            cwd: cwd.to_owned(),
        },
        can_write: true,
    }))
}

fn explain(verdict: &Verdict) -> Checked {
    let mut lines = vec![verdict.why().to_owned()];
    if let Verdict::Ask(detail) = verdict {
        lines.extend(detail.sees.iter().map(|s| format!("sees: {s}")));
        if detail.dangerous {
            lines.push("dangerous: Enter does not approve it".to_owned());
        }
        match &detail.pattern {
            Some(pattern) => lines.push(format!("always would store: bash `{pattern}`")),
            None => lines.push(format!("always is not offered: {}", detail.withheld)),
        }
    }
    Checked {
        word: verdict.word(),
        lines,
    }
}

/// The command line of `-- COMMAND…`: one word is taken as it is, several are quoted where the shell
/// needs it.
pub fn command_line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" "),
    }
}

fn quote(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-./=:,+@%".contains(&b));
    if plain {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
