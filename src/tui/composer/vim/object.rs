//! Vim's text objects: the word, the quotes, the brackets, the paragraph around a place.
//!
//! Pure: a text and a place in, a range of bytes out. `vim` gives the range to an operator or makes
//! it the selection.

use std::ops::Range;

use super::motion::{Class, class, line, next, part, prev};

/// A text object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: ObjectKind,
    /// With what is around it (`a`), not only what is inside (`i`).
    pub(super) around: bool,
}

/// What kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    /// True for words between blanks.
    Word(bool),
    Quote(char),
    Bracket(char, char),
    Paragraph,
}

impl ObjectKind {
    /// By the letter after `i` or `a`.
    pub(super) fn of(letter: char) -> Option<Self> {
        Some(match letter {
            'w' => Self::Word(false),
            'W' => Self::Word(true),
            '"' | '\'' | '`' => Self::Quote(letter),
            '(' | ')' | 'b' => Self::Bracket('(', ')'),
            '[' | ']' => Self::Bracket('[', ']'),
            '{' | '}' | 'B' => Self::Bracket('{', '}'),
            '<' | '>' => Self::Bracket('<', '>'),
            'p' => Self::Paragraph,
            _ => return None,
        })
    }
}

/// The object around a place; true if it is whole lines. None if there is none.
pub(super) fn find(
    text: &str,
    at: usize,
    object: Object,
    count: usize,
) -> Option<(Range<usize>, bool)> {
    let Object { kind, around } = object;
    match kind {
        ObjectKind::Word(big) => Some((words(text, at, big, around, count), false)),
        ObjectKind::Quote(sign) => Some((quoted(text, at, sign, around)?, false)),
        ObjectKind::Bracket(open, close) => {
            Some((bracketed(text, at, (open, close), around, count)?, false))
        }
        ObjectKind::Paragraph => Some((paragraph(text, at, around)?, true)),
    }
}

/// The run of one kind of characters around a place, within its line.
fn run(text: &str, at: usize, big: bool) -> Range<usize> {
    let here = line(text, at);
    if here.is_empty() || at >= here.end {
        return at.min(here.end)..here.end;
    }
    let kind = class(text, at, big);
    let (mut start, mut end) = (at, next(text, at));
    while start > here.start && class(text, prev(text, start), big) == kind {
        start = prev(text, start);
    }
    while end < here.end && class(text, end, big) == kind {
        end = next(text, end);
    }
    start..end
}

fn words(text: &str, at: usize, big: bool, around: bool, count: usize) -> Range<usize> {
    let here = line(text, at);
    let mut range = run(text, at, big);
    let blank = |at: usize| at < here.end && class(text, at, big) == Class::Blank;
    if !around {
        for _ in 1..count {
            if range.end < here.end {
                range.end = run(text, range.end, big).end;
            }
        }
        return range;
    }
    let leads = blank(range.start);
    for nth in 0..count {
        if nth > 0 && range.end < here.end {
            range.end = run(text, range.end, big).end;
        }
        // The blanks after it belong to it; or the word after them.
        if range.end < here.end && (leads || blank(range.end)) {
            range.end = run(text, range.end, big).end;
        } else if nth + 1 == count && !leads {
            // At the end of the line: the blanks before it instead.
            while range.start > here.start && blank(prev(text, range.start)) {
                range.start = prev(text, range.start);
            }
        }
    }
    range
}

fn quoted(text: &str, at: usize, sign: char, around: bool) -> Option<Range<usize>> {
    let here = line(text, at);
    let mut signs = Vec::new();
    let mut escaped = false;
    for (offset, c) in part(text, here.clone()).char_indices() {
        if c == sign && !escaped {
            signs.push(here.start + offset);
        }
        escaped = c == '\\' && !escaped;
    }
    let pair = signs.chunks_exact(2).find(|pair| at <= pair[1])?;
    let (open, close) = (pair[0], pair[1]);
    if !around {
        return Some(open + 1..close);
    }
    let mut range = open..close + 1;
    let blank = |at: usize| part(text, at..here.end).starts_with([' ', '\t']);
    if blank(range.end) {
        while blank(range.end) {
            range.end += 1;
        }
    } else {
        while range.start > here.start && part(text, ..range.start).ends_with([' ', '\t']) {
            range.start -= 1;
        }
    }
    Some(range)
}

fn bracketed(
    text: &str,
    at: usize,
    (open, close): (char, char),
    around: bool,
    count: usize,
) -> Option<Range<usize>> {
    let mut start = None;
    let mut depth = 0_usize;
    let mut left = count;
    let upto = next(text, at).min(text.len());
    for (place, c) in part(text, ..upto).char_indices().rev() {
        if c == close && place != at {
            depth += 1;
        } else if c == open {
            if depth == 0 {
                left -= 1;
                if left == 0 {
                    start = Some(place);
                    break;
                }
            } else {
                depth -= 1;
            }
        }
    }
    let start = start?;
    depth = 0;
    let end = part(text, start..).char_indices().find_map(|(offset, c)| {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        (depth == 0).then_some(start + offset)
    })?;
    Some(if around {
        start..end + close.len_utf8()
    } else {
        start + open.len_utf8()..end
    })
}

fn paragraph(text: &str, at: usize, around: bool) -> Option<Range<usize>> {
    let blank = |at: usize| part(text, line(text, at)).trim().is_empty();
    let kind = blank(at);
    let here = line(text, at);
    let (mut start, mut end) = (here.start, here.end);
    while start > 0 && blank(start - 1) == kind {
        start = line(text, start - 1).start;
    }
    let mut below = |kind: bool| {
        while end < text.len() && blank(end + 1) == kind {
            end = line(text, end + 1).end;
        }
        end
    };
    below(kind);
    let end = if around { below(!kind) } else { below(kind) };
    (start <= end).then_some(start..end)
}
