//! Looks through the raw bytes of a journal for parts that may match, and parses only those lines.
//!
//! From the end backwards, so that the newest state of a part is met first and reading stops when
//! there are enough hits. Text that came as pieces and was not written whole since (the answer that is
//! streaming now, a program that died) is put together from its pieces.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use serde::Deserialize;

use super::super::journal;
use super::super::record::{self, Stored};
use crate::protocol::{MessageId, Part, PartId, Role};

/// Bytes read at once.
const BLOCK: usize = 1 << 20;
/// Stands before the id in the record of a part and of text added to one.
const ID_OF_PART: &str = "\":\"prt_";
/// What comes before that in the record of a part.
const PART: &[u8] = b"{\"part\":{\"id";
/// The same in the record of added text.
const APPEND: &[u8] = b"{\"append\":{\"part";
/// How the record of a message begins, up to its id.
const MESSAGE: &str = "{\"message\":{\"id\":\"";
/// Prefix and 32 hex digits.
const ID: usize = 36;

/// What every part that matches holds somewhere in its JSON.
#[derive(Debug)]
pub(super) struct Needle {
    /// Each of them stands there; the longest first, as it is the rarest.
    words: Vec<Regex>,
    part: Finder<'static>,
    message: Finder<'static>,
}

impl Needle {
    /// All of the words, as they stand in JSON, in any case.
    pub(super) fn of_words(text: &str) -> Self {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let pattern = |word: &str| {
            RegexBuilder::new(&in_json(word)?)
                .case_insensitive(true)
                .build()
                .ok()
        };
        Self::new(words.into_iter().filter_map(pattern).collect())
    }

    /// What each match of an expression begins or ends with; nothing if that can be anything.
    pub(super) fn of_expression(text: &str) -> Self {
        let all = [ExtractKind::Prefix, ExtractKind::Suffix].map(|kind| literals(text, kind));
        // the shortest of the alternatives says how much is passed over
        let rare = |all: &Vec<String>| all.iter().map(String::len).min();
        let best = all.into_iter().flatten().max_by_key(rare);
        let pattern = best.and_then(|literals| Regex::new(&literals.join("|")).ok());
        Self::new(pattern.into_iter().collect())
    }

    fn new(words: Vec<Regex>) -> Self {
        Self {
            words,
            part: Finder::new(ID_OF_PART),
            message: Finder::new(MESSAGE),
        }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.words.iter().all(|word| word.is_match(bytes))
    }
}

/// A pattern of a text as it stands in JSON.
fn in_json(text: &str) -> Option<String> {
    let json = serde_json::to_string(text).ok()?;
    Some(regex::escape(json.get(1..json.len() - 1)?))
}

/// Patterns of the texts one of which every match begins (or ends) with; none if they are too many or empty.
fn literals(expression: &str, kind: ExtractKind) -> Option<Vec<String>> {
    let parsed = regex_syntax::parse(expression).ok()?;
    let found = Extractor::new().kind(kind).extract(&parsed);
    let texts = found.literals()?.iter().map(|literal| {
        let text = std::str::from_utf8(literal.as_bytes()).ok()?;
        in_json(text).filter(|pattern| !pattern.is_empty())
    });
    texts
        .collect::<Option<Vec<_>>>()
        .filter(|all| !all.is_empty())
}

/// A journal while it is looked through.
struct Scan<'a> {
    needle: &'a Needle,
    matches: &'a dyn Fn(&Part) -> bool,
    most: usize,
    /// Parts whose newest whole state was met.
    seen: HashSet<u128>,
    /// Pieces of text, newest first, of parts whose whole state comes before them in the journal.
    growing: HashMap<PartId, Vec<String>>,
    hits: Vec<Part>,
    roles: HashMap<MessageId, Option<Role>>,
    /// Messages whose role is still to be found.
    wanted: usize,
}

/// The newest parts of a journal that `matches` accepts with their roles, at most `most`, newest first.
pub(super) fn scan(
    file: &File,
    needle: &Needle,
    most: usize,
    matches: &dyn Fn(&Part) -> bool,
) -> io::Result<Vec<(Part, Role)>> {
    let mut scan = Scan {
        needle,
        matches,
        most,
        seen: HashSet::new(),
        growing: HashMap::new(),
        hits: Vec::new(),
        roles: HashMap::new(),
        wanted: 0,
    };
    scan.backwards(file)?;
    let Scan { hits, roles, .. } = scan;
    let mut found: Vec<(Part, Role)> = hits
        .into_iter()
        .filter_map(|part| {
            let role = roles.get(&part.message).copied().flatten()?;
            Some((part, role))
        })
        .collect();
    found.sort_by_key(|(part, _)| std::cmp::Reverse((part.message, part.id)));
    Ok(found)
}

impl Scan<'_> {
    fn is_done(&self) -> bool {
        self.hits.len() >= self.most && self.wanted == 0
    }

    fn backwards(&mut self, file: &File) -> io::Result<()> {
        let mut start = file.metadata()?.len();
        let mut block = BLOCK;
        // the beginning of a line whose rest was read before
        let mut rest: Vec<u8> = Vec::new();
        while start > 0 && !self.is_done() {
            let size = block.min(usize::try_from(start).unwrap_or(block));
            start -= size as u64;
            let mut bytes = vec![0; size + rest.len()];
            file.read_exact_at(&mut bytes[..size], start)?;
            bytes[size..].copy_from_slice(&rest);
            let first = if start == 0 {
                0
            } else if let Some(newline) = memchr::memchr(b'\n', &bytes[..size]) {
                newline + 1
            } else {
                // one long line: read more at once, or it is copied again and again
                rest = bytes;
                block *= 2;
                continue;
            };
            self.region(&bytes[first..]);
            bytes.truncate(first);
            rest = bytes;
            block = BLOCK;
        }
        Ok(())
    }

    /// Whole lines, from the last to the first.
    fn region(&mut self, bytes: &[u8]) {
        let calm = self.wanted == 0 && self.growing.is_empty();
        if calm && !self.needle.is_in(bytes) && self.note(bytes) {
            return;
        }
        let mut end = bytes.len();
        while end > 0 && !self.is_done() {
            let start = memchr::memrchr(b'\n', &bytes[..end - 1]).map_or(0, |at| at + 1);
            self.line(&bytes[start..end]);
            end = start;
        }
    }

    /// Notes which parts have their newest whole state here. False if text was added to one of them
    /// after that: then nothing more is noted, and the lines must be read one by one.
    fn note(&mut self, bytes: &[u8]) -> bool {
        let places: Vec<usize> = self.needle.part.find_iter(bytes).collect();
        let mut found = HashSet::new();
        for at in places.into_iter().rev() {
            let before = &bytes[..at];
            let Some(id) = id_at::<PartId>(bytes, at + "\":\"".len()) else {
                continue;
            };
            if before.ends_with(PART) {
                found.insert(id.raw());
            } else if before.ends_with(APPEND)
                && !self.seen.contains(&id.raw())
                && !found.contains(&id.raw())
            {
                return false;
            }
        }
        self.seen.extend(found);
        true
    }

    fn line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let boring = !self.needle.is_in(line) && !self.has_wanted(line);
        if boring && self.growing.is_empty() && self.note(line) {
            return;
        }
        // a line that is being written right now has no checksum that fits yet
        let Some(commit) = journal::check(line).and_then(|json| record::decode(json).ok()) else {
            return;
        };
        for stored in commit.records.iter().rev() {
            match stored {
                Stored::Part(raw) => self.part(raw.get()),
                Stored::Append { part, text } if !self.seen.contains(&part.raw()) => {
                    let pieces = self.growing.entry(*part).or_default();
                    pieces.push(text.clone().into_owned());
                }
                _ => {}
            }
        }
        // a message stands before its parts, in the same line too
        for stored in &commit.records {
            if let Stored::Message(raw) = stored {
                self.message(raw.get());
            }
        }
    }

    fn part(&mut self, json: &str) {
        let Some(id) = id_at::<PartId>(json.as_bytes(), "{\"id\":\"".len()) else {
            return;
        };
        let pieces = self.growing.remove(&id).unwrap_or_default();
        if !self.seen.insert(id.raw()) || self.hits.len() >= self.most {
            return;
        }
        if pieces.is_empty() && !self.needle.is_in(json.as_bytes()) {
            return;
        }
        let Ok(mut part) = serde_json::from_str::<Part>(json) else {
            return;
        };
        for piece in pieces.iter().rev() {
            record::append(&mut part, piece);
        }
        if (self.matches)(&part) {
            if let Entry::Vacant(place) = self.roles.entry(part.message) {
                place.insert(None);
                self.wanted += 1;
            }
            self.hits.push(part);
        }
    }

    fn message(&mut self, json: &str) {
        #[derive(Deserialize)]
        struct Head {
            id: MessageId,
            role: Role,
        }
        if self.wanted == 0 {
            return;
        }
        let Ok(Head { id, role }) = serde_json::from_str(json) else {
            return;
        };
        if let Some(place @ None) = self.roles.get_mut(&id) {
            *place = Some(role);
            self.wanted -= 1;
        }
    }

    /// True if the line holds a message whose role is to be found.
    fn has_wanted(&self, line: &[u8]) -> bool {
        self.wanted > 0
            && self.needle.message.find_iter(line).any(|at| {
                let id = id_at::<MessageId>(line, at + MESSAGE.len());
                id.is_some_and(|id| matches!(self.roles.get(&id), Some(None)))
            })
    }
}

fn id_at<T: std::str::FromStr>(bytes: &[u8], at: usize) -> Option<T> {
    let text = std::str::from_utf8(bytes.get(at..at + ID)?).ok()?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands_in(needle: &Needle, text: &str) -> bool {
        needle.is_in(serde_json::json!({"text": text}).to_string().as_bytes())
    }

    #[test]
    fn all_words_must_stand_in_what_is_parsed_in_any_case() {
        let needle = Needle::of_words("prompt 99999 straße");
        assert!(stands_in(&needle, "STRASSE Straße PROMPT n99999"));
        assert!(!stands_in(&needle, "prompt 9999 straße"));
        assert!(!stands_in(&needle, "99999 straße"));
        assert!(stands_in(&Needle::of_words("say\"it\\"), "they say\"it\\n"));
    }

    #[test]
    fn an_expression_never_passes_over_what_it_matches() {
        let texts = [
            "zz17q",
            "say zz0q.",
            "foo",
            "a bar",
            "the KEY",
            "the key",
            "a to b",
            "x",
            "two\nlines",
            "tab\there",
            "\"quoted\"",
            "back\\slash",
            "grüße",
            "GRÜSSE",
            "\u{1f426} bird",
            "\u{7}bell",
            "1 + 1 = 2",
        ];
        let expressions = [
            "zz[0-9]+q",
            "foo|bar",
            "(?i)key",
            "a.*b",
            ".*",
            "^x$",
            r"\bto\b",
            "[a-z]+",
            "two\nlines",
            r"two\slines",
            r"tab\t",
            "\"quoted\"",
            r"back\\slash",
            "(?i)grü",
            "bird",
            r"\x07bell",
            r"1 \+ 1",
            "(a|to|b)+",
            "",
            "q?",
            r"\p{Lu}+",
            "[zx]",
        ];
        for expression in expressions {
            let needle = Needle::of_expression(expression);
            let pattern = regex::Regex::new(expression).expect("an expression");
            for text in texts.iter().filter(|text| pattern.is_match(text)) {
                assert!(stands_in(&needle, text), "{expression} passes over {text}");
            }
        }
        assert!(!stands_in(&Needle::of_expression("zz[0-9]+q"), "zzq"));
        assert!(!stands_in(&Needle::of_expression("[0-9]+ wide"), "12 wid"));
    }
}
