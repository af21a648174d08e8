//! Values of variables, as far as a script sets them itself: `for f in a b` and `d=src`.
//!
//! All values that a name is given anywhere in the script count, wherever it is used. A name that is
//! also set in a way that cannot be read (`read`, `x=$(…)`, `x+=…`) is unknown, and so is one that is
//! used before it is first set, because it may come from outside.

use std::collections::{BTreeMap, BTreeSet};

use super::word::{Piece, Word};

/// Values beyond this many are not followed.
const MOST: usize = 16;

/// The variables of a script.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    known: BTreeMap<String, Values>,
    /// Names that a `for` gives values to: patterns among them are matched before the loop begins.
    listed: BTreeSet<String>,
}

#[derive(Debug, Clone, Default)]
struct Values {
    words: Vec<Word>,
    lost: bool,
    /// It may hold something else than a whole number.
    text: bool,
    first: usize,
}

/// Variables that the shell or a builtin fills with text of others.
const FILLED: &[&str] = &[
    "REPLY", "MAPFILE", "OPTARG", "COPROC", "DIRSTACK", "_", "FUNCNAME", "HISTCMD",
];

impl Scope {
    /// A scope that knows the home folder and the folder it runs in.
    pub fn new(home: &str, cwd: &str) -> Self {
        let mut scope = Self::default();
        scope.set("HOME", 0, Some(Word::literal(home)));
        scope.set("PWD", 0, Some(Word::literal(cwd)));
        scope
    }

    /// A name is given a value at this byte of the script; none if it cannot be read.
    pub fn set(&mut self, name: &str, at: usize, value: Option<Word>) {
        let values = self.known.entry(name.to_owned()).or_insert_with(|| Values {
            first: at,
            ..Values::default()
        });
        values.text |= value
            .as_ref()
            .is_none_or(|word| !word.text().is_some_and(|text| is_integer(&text)));
        match value {
            Some(word) if values.words.len() < MOST && word.pattern().is_some() => {
                values.words.push(word);
            }
            _ => values.lost = true,
        }
    }

    /// A name is given a whole number that only the shell knows.
    pub fn set_number(&mut self, name: &str, at: usize) {
        let values = self.known.entry(name.to_owned()).or_insert_with(|| Values {
            first: at,
            ..Values::default()
        });
        values.lost = true;
    }

    /// A name is a `for`'s.
    pub fn list(&mut self, name: &str) {
        self.listed.insert(name.to_owned());
    }

    /// True if what the name stands for can be evaluated as arithmetic without running anything: it is
    /// a whole number, or nothing in the script sets it.
    pub fn is_number(&self, name: &str) -> bool {
        match self.known.get(name) {
            Some(values) => !values.text,
            None => !FILLED.contains(&name) && !name.starts_with("BASH_"),
        }
    }

    /// True if the script sets it to something that nobody knows before it runs.
    pub fn is_foreign(&self, name: &str) -> bool {
        match self.known.get(name) {
            Some(values) => values.lost && values.text,
            None => FILLED.contains(&name),
        }
    }

    /// The word with its variables put in: every combination of their values. What is not known
    /// stays unknown.
    pub fn expand(&self, word: &Word, at: usize) -> Vec<Word> {
        let mut results = vec![Word {
            pieces: Vec::new(),
            ..word.clone()
        }];
        for piece in &word.pieces {
            let Piece::Var { name, quoted } = piece else {
                for result in &mut results {
                    match piece {
                        Piece::Text(text) => result.push_text(text),
                        other => result.pieces.push(other.clone()),
                    }
                }
                continue;
            };
            let values = self.known.get(name).filter(|v| !v.lost && v.first <= at);
            let Some(values) = values.filter(|v| v.words.len() * results.len() <= MOST) else {
                for result in &mut results {
                    result.pieces.push(Piece::Unknown);
                }
                continue;
            };
            results = results
                .iter()
                .flat_map(|result| {
                    values
                        .words
                        .iter()
                        .map(|value| join(result, value, *quoted, self.listed.contains(name)))
                })
                .collect();
        }
        results
    }
}

/// `-12`; also empty, which counts as 0.
pub fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    text.is_empty() || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn join(before: &Word, value: &Word, quoted: bool, listed: bool) -> Word {
    let mut out = before.clone();
    if out.pieces.is_empty() && value.tilde {
        out.tilde = true;
    }
    for piece in &value.pieces {
        match piece {
            // an unquoted value is split at blanks and matched against file names once more
            Piece::Text(text) if !quoted && text.contains([' ', '\t', '\n', '*', '?', '[']) => {
                out.pieces.push(Piece::Unknown);
            }
            Piece::Text(text) => out.push_text(text),
            Piece::Glob(c) if quoted && !listed => out.push_text(&c.to_string()),
            other => out.pieces.push(other.clone()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(name: &str, quoted: bool) -> Word {
        Word {
            pieces: vec![
                Piece::Var {
                    name: name.to_owned(),
                    quoted,
                },
                Piece::Text("/x".to_owned()),
            ],
            ..Word::default()
        }
    }

    #[test]
    fn known_values_are_put_in_and_unknown_ones_are_not() {
        let mut scope = Scope::new("/h", "/w");
        scope.set("d", 5, Some(Word::literal("a")));
        scope.set("d", 9, Some(Word::literal("b")));
        scope.set("e", 5, Some(Word::literal("a b")));
        scope.set("f", 5, None);
        let values = |word: &Word, at| -> Vec<Option<String>> {
            scope.expand(word, at).iter().map(Word::text).collect()
        };
        assert_eq!(
            values(&var("d", true), 20),
            [Some("a/x".to_owned()), Some("b/x".to_owned())]
        );
        assert_eq!(values(&var("d", true), 1), [None], "used before it is set");
        assert_eq!(values(&var("e", false), 20), [None], "split at blanks");
        assert_eq!(values(&var("e", true), 20), [Some("a b/x".to_owned())]);
        assert_eq!(values(&var("f", true), 20), [None]);
        assert_eq!(values(&var("HOME", true), 20), [Some("/h/x".to_owned())]);
    }
}
