//! The arguments of a command, sorted into flags and operands the way most programs do it.

use crate::permission::shell::Word;

/// Flags and operands.
#[derive(Debug, Clone, Default)]
pub struct Args<'a> {
    /// Every flag: `-x` (clusters taken apart) or `--long`, with its value if it has one.
    pub flags: Vec<(String, Option<Word>)>,
    /// What is no flag, in order.
    pub operands: Vec<&'a Word>,
    /// True if a word of unknown value could turn out to be a flag.
    pub unsure: bool,
}

impl<'a> Args<'a> {
    /// Sorts the words after a command's name. `values` names the flags that take a value:
    /// single letters and `--long` names, separated by blanks.
    pub fn new(words: &'a [Word], values: &str) -> Self {
        let takes_value = |flag: &str| values.split_whitespace().any(|v| v == flag);
        let mut args = Self::default();
        let mut rest = words.iter();
        let mut only_operands = false;
        while let Some(word) = rest.next() {
            let text = word.shown();
            if only_operands || text == "-" || !word.may_be_flag() {
                args.operands.push(word);
            } else if !word.is_flag() {
                args.unsure |= word.text().is_none();
                args.operands.push(word);
            } else if text == "--" {
                only_operands = true;
            } else if text.starts_with("--") {
                args.unsure |= word.text().is_none() && !text.contains('=');
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(tail(word, value))),
                    None if takes_value(&text) => (text.clone(), rest.next().cloned()),
                    None => (text.clone(), None),
                };
                args.flags.push((name, value));
            } else {
                args.unsure |= word.text().is_none();
                args.cluster(word, &text, &takes_value, &mut rest);
            }
        }
        args
    }

    /// `-abc value`.
    fn cluster(
        &mut self,
        word: &Word,
        text: &str,
        takes_value: &dyn Fn(&str) -> bool,
        rest: &mut std::slice::Iter<'a, Word>,
    ) {
        let mut letters = text.chars().skip(1);
        while let Some(letter) = letters.next() {
            let flag = format!("-{letter}");
            if takes_value(&letter.to_string()) {
                let glued: String = letters.collect();
                let value = if glued.is_empty() {
                    rest.next().cloned()
                } else {
                    Some(tail(word, &glued))
                };
                self.flags.push((flag, value));
                return;
            }
            self.flags.push((flag, None));
        }
    }

    /// True if every flag is one of these: `plain` holds clusters of single letters (`-abc`) and long
    /// names, `values` is as it was given to `new`. A long name must be whole: a beginning of one may
    /// mean another.
    pub fn only(&self, plain: &str, values: &str) -> bool {
        self.flags.iter().all(|(flag, _)| {
            let known = |word: &str| match (flag.strip_prefix("--"), word.strip_prefix("--")) {
                (Some(flag), Some(word)) => flag == word,
                (None, None) => {
                    let letter = flag.trim_start_matches('-');
                    word.strip_prefix('-')
                        .is_some_and(|cluster| cluster.contains(letter))
                }
                _ => false,
            };
            let value =
                |word: &str| word == flag || flag.strip_prefix('-').is_some_and(|f| f == word);
            plain.split_whitespace().any(known) || values.split_whitespace().any(value)
        })
    }

    /// True if one of these flags (separated by blanks, with their dashes) is given. A long flag may
    /// be given by its beginning, as many programs allow.
    pub fn has(&self, names: &str) -> bool {
        names.split_whitespace().any(|name| {
            self.flags.iter().any(|(flag, _)| {
                flag == name
                    || (name.len() > 4
                        && flag.len() > 3
                        && flag.starts_with("--")
                        && name.starts_with(flag.as_str()))
            })
        })
    }

    /// The values of these flags.
    pub fn values(&self, names: &str) -> Vec<&Word> {
        self.flags
            .iter()
            .filter(|(flag, _)| names.split_whitespace().any(|n| n == flag))
            .filter_map(|(_, value)| value.as_ref())
            .collect()
    }

    /// The text of an operand; empty if there is none or it is not known.
    pub fn operand(&self, at: usize) -> String {
        self.operands
            .get(at)
            .and_then(|w| w.text())
            .unwrap_or_default()
    }
}

/// The end of a word as a word: literal if the word is.
fn tail(word: &Word, text: &str) -> Word {
    if word.text().is_some() {
        Word::literal(text)
    } else {
        Word {
            pieces: vec![crate::permission::shell::Piece::Unknown],
            raw: text.to_owned(),
            tilde: false,
        }
    }
}
