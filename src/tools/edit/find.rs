//! The ways to find a text in a file, from exact to forgiving. Pure.
//!
//! Each way answers with all places; whether several are an error is for `apply` to say. A way says
//! how the lines it found belong to the lines that were looked for, so that `keep` can carry over only
//! what really changes.

use std::ops::Range;

use super::alike;
use super::lines::{Lines, body_and_end};
use super::normal::Normal;
use crate::tools::text::runs;

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    /// How it was found.
    pub(super) by: By,
}

/// How a place corresponds to what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    /// Character by character after normalising both.
    Chars(Looks),
    /// Line by line: the first line's index, and how many.
    Lines {
        /// Index of the first line.
        first: usize,
        /// How many.
        count: usize,
    },
}

/// What normalising evens out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// Line ends only.
    LineEnds,
    /// Line ends, typographic quotes, dashes, spaces, invisible characters.
    Alike,
}

/// A way to find.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Finds all places of the second text in the first.
    pub(super) find: fn(&str, &str) -> Vec<Found>,
    /// What it forgives, for the model; empty if that is not worth a word.
    pub(super) forgives: &'static str,
    /// True if it is strict enough for `replace_all`.
    pub(super) repeatable: bool,
}

/// All ways but the exact one, strictest first.
pub(super) const WAYS: &[Way] = &[
    Way {
        find: plain,
        forgives: "",
        repeatable: true,
    },
    Way {
        find: line_ends,
        forgives: "",
        repeatable: true,
    },
    Way {
        find: trailing,
        forgives: "ignoring spaces at line ends",
        repeatable: true,
    },
    Way {
        find: look_alikes,
        forgives: "taking typographic characters as plain ones",
        repeatable: true,
    },
    Way {
        find: indented,
        forgives: "ignoring how far it is indented",
        repeatable: true,
    },
    Way {
        find: trimmed,
        forgives: "ignoring indentation",
        repeatable: true,
    },
    Way {
        find: spaced,
        forgives: "ignoring white space",
        repeatable: true,
    },
    Way {
        find: anchored,
        forgives: "by its first and last line",
        repeatable: false,
    },
];

/// Bytes that overlapping places may cover together; beyond that only places apart from each other count.
const OVERLAPPING: usize = 64 << 20;

/// Blocks that are compared as a whole before they are given up as too many to tell apart.
const MOST_BLOCKS: usize = 400;

/// All places of the exact text, overlapping ones too as long as there are few of them.
pub(super) fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    let finder = memchr::memmem::Finder::new(old.as_bytes());
    let mut places = Vec::new();
    let (mut from, mut covered) = (0, 0);
    while let Some(at) = text
        .as_bytes()
        .get(from..)
        .and_then(|rest| finder.find(rest))
    {
        let start = from + at;
        places.push(start..start + old.len());
        covered += old.len();
        from = if covered > OVERLAPPING {
            start + old.len()
        } else {
            start + 1
        };
    }
    places
}

fn plain(text: &str, old: &str) -> Vec<Found> {
    let found = |range| Found {
        range,
        by: By::Chars(Looks::LineEnds),
    };
    exact(text, old).into_iter().map(found).collect()
}

fn line_ends(text: &str, old: &str) -> Vec<Found> {
    let places = by_chars(text, old, Looks::LineEnds);
    if !places.is_empty() {
        return places;
    }
    // the file's last line may lack its line end
    match old.strip_suffix("\r\n").or_else(|| old.strip_suffix('\n')) {
        Some(old) if !old.is_empty() => by_chars(text, old, Looks::LineEnds)
            .into_iter()
            .filter(|found| found.range.end == text.len())
            .collect(),
        _ => Vec::new(),
    }
}

fn look_alikes(text: &str, old: &str) -> Vec<Found> {
    by_chars(text, old, Looks::Alike)
}

fn by_chars(text: &str, old: &str, looks: Looks) -> Vec<Found> {
    if looks == Looks::LineEnds && !text.contains('\r') && !old.contains('\r') {
        return Vec::new();
    }
    let (text, old) = (Normal::of(text, looks), Normal::of(old, looks));
    if old.text.is_empty() {
        return Vec::new();
    }
    exact(&text.text, &old.text)
        .into_iter()
        .filter_map(|place| {
            let range = text.origin(&place)?;
            Some(Found {
                range,
                by: By::Chars(looks),
            })
        })
        .collect()
}

/// Places where every line of `old` has the key of the file's line.
fn by_lines<'a, K: Eq>(text: &'a str, old: &'a str, key: impl Fn(&'a str) -> K) -> Vec<Found> {
    let lines = Lines::of(text);
    let (body, _) = body_and_end(old);
    let wanted: Vec<K> = body
        .split('\n')
        .map(|line| key(line.strip_suffix('\r').unwrap_or(line)))
        .collect();
    let count = wanted.len();
    if count > lines.len() {
        return Vec::new();
    }
    let keys: Vec<K> = (0..lines.len()).map(|at| key(lines.body(at))).collect();
    runs::all(&keys, &wanted)
        .into_iter()
        .map(|first| Found {
            range: lines.range(first, count),
            by: By::Lines { first, count },
        })
        .collect()
}

fn trailing(text: &str, old: &str) -> Vec<Found> {
    by_lines(text, old, str::trim_end)
}

fn trimmed(text: &str, old: &str) -> Vec<Found> {
    by_lines(text, old, |line| alike::plain(line.trim()))
}

/// Like `trimmed`, but every line must be shifted by the same indentation.
fn indented(text: &str, old: &str) -> Vec<Found> {
    let (body, _) = body_and_end(old);
    let lines = Lines::of(text);
    trimmed(text, old)
        .into_iter()
        .filter(|found| {
            let By::Lines { first, count } = found.by else {
                return false;
            };
            let file = (first..first + count).map(|index| lines.body(index));
            let pairs = file
                .zip(body.split('\n'))
                .filter(|(file, _)| !file.trim().is_empty());
            let shifts = pairs.map(|(file, old)| shift(indent(file), indent(old)));
            let mut shifts: Vec<_> = shifts.collect();
            shifts.dedup();
            shifts.len() == 1 && shifts[0].is_some()
        })
        .collect()
}

/// What one indentation has more than the other; none if neither begins with the other.
fn shift<'a>(file: &'a str, old: &'a str) -> Option<(bool, &'a str)> {
    match file.strip_suffix(old) {
        Some(more) => Some((true, more)),
        None => old.strip_suffix(file).map(|less| (false, less)),
    }
}

/// The white space that a line begins with.
pub(super) fn indent(line: &str) -> &str {
    line.strip_suffix(line.trim_start()).unwrap_or_default()
}

fn spaced(text: &str, old: &str) -> Vec<Found> {
    by_lines(text, old, |line| {
        line.split_whitespace().collect::<Vec<_>>()
    })
}

/// Blocks of three lines or more whose first and last line are right and whose middle is nearly so.
fn anchored(text: &str, old: &str) -> Vec<Found> {
    let (body, _) = body_and_end(old);
    let wanted: Vec<&str> = body.split('\n').map(str::trim).collect();
    let [first, middle @ .., last] = wanted.as_slice() else {
        return Vec::new();
    };
    if middle.is_empty() || first.len() < 2 || last.is_empty() {
        return Vec::new();
    }
    let lines = Lines::of(text);
    let slack = (wanted.len() / 4).max(1);
    let sizes = wanted.len().saturating_sub(slack).max(2)..=wanted.len() + slack;
    let (mut found, mut compared) = (Vec::new(), 0);
    for start in (0..lines.len()).filter(|index| lines.body(*index).trim() == *first) {
        for count in sizes.clone() {
            let end = start + count - 1;
            if end >= lines.len() || lines.body(end).trim() != *last {
                continue;
            }
            compared += 1;
            if compared > MOST_BLOCKS {
                return Vec::new();
            }
            let inner: Vec<&str> = (start + 1..end)
                .map(|index| lines.body(index).trim())
                .collect();
            if alike::ratio(&inner.join("\n"), &middle.join("\n")) >= 0.65 {
                found.push(Found {
                    range: lines.range(start, count),
                    by: By::Lines {
                        first: start,
                        count,
                    },
                });
            }
        }
    }
    found
}

/// Both texts without the line numbers that `read` puts before lines, if every line has one.
pub(super) fn without_line_numbers(old: &str, new: &str) -> Option<(String, String)> {
    let strip = |text: &str| -> Option<String> {
        let lines = text.split('\n').enumerate().map(|(index, line)| {
            if line.is_empty() && index > 0 {
                return Some(line);
            }
            let digits = line.trim_start();
            let rest = digits.trim_start_matches(|char: char| char.is_ascii_digit());
            (rest.len() < digits.len())
                .then(|| rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t')))?
        });
        Some(lines.collect::<Option<Vec<_>>>()?.join("\n"))
    };
    let old = strip(old)?;
    Some((old, strip(new).unwrap_or_else(|| new.to_owned())))
}

/// Both texts with escapes undone that a model wrote once too often.
pub(super) fn unescaped(old: &str, new: &str) -> Option<(String, String)> {
    let undo = |text: &str| {
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            let known = match (char, chars.peek()) {
                ('\\', Some('n')) => Some('\n'),
                ('\\', Some('t')) => Some('\t'),
                ('\\', Some('r')) => Some('\r'),
                ('\\', Some(plain @ ('"' | '\'' | '`' | '\\' | '$' | '/'))) => Some(*plain),
                _ => None,
            };
            if known.is_some() {
                chars.next();
            }
            out.push(known.unwrap_or(char));
        }
        out
    };
    let entities = |text: &str| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    let by_backslash = (undo(old), undo(new));
    if by_backslash.0 != old {
        return Some(by_backslash);
    }
    let by_entity = (entities(old), entities(new));
    (by_entity.0 != old).then_some(by_entity)
}

/// Both texts without the blank lines that only `old` has at its edges.
pub(super) fn without_blank_edges(old: &str, new: &str) -> Option<(String, String)> {
    let edges = |text: &str| {
        let blank = |line: &&str| line.trim().is_empty();
        let lines: Vec<&str> = text.split('\n').collect();
        let before = lines.iter().take_while(|line| blank(line)).count();
        let after = lines.iter().rev().take_while(|line| blank(line)).count();
        (before, after, lines.len())
    };
    let cut = |text: &str, before: usize, after: usize| {
        let lines: Vec<&str> = text.split('\n').collect();
        let end = lines.len().saturating_sub(after);
        lines.get(before..end).unwrap_or_default().join("\n")
    };
    let (before, after, count) = edges(old);
    if before + after == 0 || before + after >= count {
        return None;
    }
    let (new_before, new_after, new_count) = edges(new);
    let new = if new_before + new_after >= new_count {
        String::new()
    } else {
        cut(new, before.min(new_before), after.min(new_after))
    };
    Some((cut(old, before, after), new))
}
