//! Where vim's motions lead: pure functions from a text and a place to another place.
//!
//! Places are bytes on grapheme boundaries. `vim` turns what comes back into a cursor or into the
//! range of an operator.

use std::ops::Range;
use std::slice::SliceIndex;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// A motion, without its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    Up,
    Down,
    LineStart,
    FirstWord,
    LineEnd,
    /// To a line by its number; without a count the first (`gg`).
    First,
    /// The same; without a count the last (`G`).
    Last,
    Word(bool),
    End(bool),
    Back(bool),
    BackEnd(bool),
    Find(Find),
    /// The last find again; true for the other direction.
    Again(bool),
    Match,
    ParagraphUp,
    ParagraphDown,
}

/// What `f`, `F`, `t` and `T` look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) what: char,
    pub(super) forward: bool,
    /// Stops before it.
    pub(super) till: bool,
}

/// How an operator takes what a motion passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Up to the place.
    Exclusive,
    /// The grapheme at the place too.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// A part of the text; nothing where there is none.
pub(super) fn part<I: SliceIndex<str, Output = str>>(text: &str, range: I) -> &str {
    text.get(range).unwrap_or_default()
}

/// The place after the grapheme at `at`.
pub(super) fn next(text: &str, at: usize) -> usize {
    let found = GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0);
    found.ok().flatten().unwrap_or(text.len())
}

/// The place of the grapheme before `at`.
pub(super) fn prev(text: &str, at: usize) -> usize {
    let found = GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0);
    found.ok().flatten().unwrap_or(0)
}

/// The line around a place, without its line break.
pub(super) fn line(text: &str, at: usize) -> Range<usize> {
    let (before, after) = (part(text, ..at), part(text, at..));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = after.find('\n').map_or(text.len(), |found| at + found);
    start..end
}

/// Where the cursor may stand in normal mode: on a grapheme, unless its line is empty.
pub(super) fn resting(text: &str, at: usize) -> usize {
    let line = line(text, at);
    if at == line.end && line.start < line.end {
        prev(text, at)
    } else {
        at
    }
}

/// The first place of a line that is not blank.
pub(super) fn first_word(text: &str, at: usize) -> usize {
    let line = line(text, at);
    let blank = part(text, line.clone())
        .find(|c: char| !c.is_whitespace())
        .unwrap_or(line.len());
    resting(text, line.start + blank)
}

/// Kinds of characters that make words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Blank,
    Word,
    Sign,
    Han,
    Kana,
    Hangul,
    Out,
}

pub(super) fn class(text: &str, at: usize, big: bool) -> Class {
    match part(text, at..).chars().next() {
        None => Class::Out,
        Some(c) if c.is_whitespace() => Class::Blank,
        Some(_) if big => Class::Word,
        Some('\u{3040}'..='\u{30ff}') => Class::Kana,
        Some('\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}') => {
            Class::Han
        }
        Some('\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}') => Class::Hangul,
        Some(c)
            if c.is_alphanumeric() || c == '_' || super::super::buffer::chip_id(c).is_some() =>
        {
            Class::Word
        }
        Some(_) => Class::Sign,
    }
}

/// True at the line break of an empty line: it counts as a word.
fn is_empty_line(text: &str, at: usize) -> bool {
    part(text, at..).starts_with('\n') && (at == 0 || part(text, ..at).ends_with('\n'))
}

fn word(text: &str, from: usize, big: bool) -> usize {
    let mut at = from;
    let begun = class(text, at, big);
    if is_empty_line(text, at) {
        at = next(text, at);
    } else if begun != Class::Blank {
        while at < text.len() && class(text, at, big) == begun {
            at = next(text, at);
        }
    }
    while class(text, at, big) == Class::Blank && !(at > from && is_empty_line(text, at)) {
        at = next(text, at);
    }
    at
}

fn word_end(text: &str, from: usize, big: bool) -> usize {
    let mut at = next(text, from);
    while class(text, at, big) == Class::Blank {
        at = next(text, at);
    }
    if at >= text.len() {
        return prev(text, text.len()).max(from);
    }
    let kind = class(text, at, big);
    while class(text, next(text, at), big) == kind {
        at = next(text, at);
    }
    at
}

fn word_back(text: &str, from: usize, big: bool) -> usize {
    let mut at = prev(text, from);
    while at > 0 && class(text, at, big) == Class::Blank && !is_empty_line(text, at) {
        at = prev(text, at);
    }
    let kind = class(text, at, big);
    while kind != Class::Blank && at > 0 && class(text, prev(text, at), big) == kind {
        at = prev(text, at);
    }
    at
}

fn word_back_end(text: &str, from: usize, big: bool) -> usize {
    let mut at = from;
    let kind = class(text, at, big);
    while kind != Class::Blank && at > 0 && class(text, at, big) == kind {
        at = prev(text, at);
    }
    while at > 0 && class(text, at, big) == Class::Blank && !is_empty_line(text, at) {
        at = prev(text, at);
    }
    at
}

/// The place of a find on the line of `at`; none if it is not there. `again`: a repeated till looks
/// past the one it stands before.
fn found(text: &str, at: usize, find: Find, count: usize, again: bool) -> Option<usize> {
    let line = line(text, at);
    let is = |place: &usize| part(text, *place..).starts_with(find.what);
    let skip = usize::from(again && find.till);
    let places: Vec<usize> = part(text, line.clone())
        .grapheme_indices(true)
        .map(|(offset, _)| line.start + offset)
        .collect();
    if find.forward {
        let mut after = places.into_iter().filter(|place| *place > at).skip(skip);
        let hit = after.by_ref().filter(is).nth(count - 1)?;
        Some(if find.till { prev(text, hit) } else { hit })
    } else {
        let before = places.into_iter().rev().filter(|place| *place < at);
        let hit = before.skip(skip).filter(is).nth(count - 1)?;
        Some(if find.till { next(text, hit) } else { hit })
    }
}

/// The bracket that belongs to the one at `at` or after it on its line.
fn matching(text: &str, at: usize) -> Option<usize> {
    const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
    let line = line(text, at);
    let is_bracket = |c: char| PAIRS.iter().any(|(a, b)| c == *a || c == *b);
    let from = at + part(text, at..line.end.max(at)).find(is_bracket)?;
    let here = part(text, from..).chars().next()?;
    let (open, close) = PAIRS.into_iter().find(|(a, b)| here == *a || here == *b)?;
    let mut depth = 0_usize;
    let mut step = |c: char, deeper: char| {
        if c == deeper {
            depth += 1;
        } else if c == open || c == close {
            depth -= 1;
        }
        depth == 0
    };
    if here == open {
        let mut rest = part(text, from..).char_indices();
        rest.find(|(_, c)| step(*c, open))
            .map(|(offset, _)| from + offset)
    } else {
        let mut rest = part(text, ..from + here.len_utf8()).char_indices().rev();
        rest.find(|(_, c)| step(*c, close))
            .map(|(offset, _)| offset)
    }
}

/// Up or down over lines, to the same column.
fn vertical(text: &str, at: usize, goal: usize, delta: isize) -> Option<usize> {
    let mut line = line(text, at);
    for _ in 0..delta.unsigned_abs() {
        line = if delta < 0 {
            self::line(text, line.start.checked_sub(1)?)
        } else {
            let below = line.end + 1;
            if below > text.len() {
                return None;
            }
            self::line(text, below)
        };
    }
    let place = part(text, line.clone()).grapheme_indices(true).nth(goal);
    let place = place.map_or(line.end, |(offset, _)| line.start + offset);
    Some(resting(text, place))
}

fn numbered_line(text: &str, number: usize) -> usize {
    let start = match number.checked_sub(2) {
        None => 0,
        Some(nth) => {
            let mut breaks = text.match_indices('\n').map(|(at, _)| at + 1);
            breaks
                .nth(nth)
                .unwrap_or_else(|| line(text, text.len()).start)
        }
    };
    first_word(text, start)
}

fn paragraph(text: &str, from: usize, down: bool) -> usize {
    let mut at = line(text, from).start;
    let blank = |at: usize| line(text, at).is_empty();
    let step = |at: usize| {
        if down {
            let below = line(text, at).end + 1;
            (below <= text.len()).then_some(below)
        } else {
            at.checked_sub(1).map(|above| line(text, above).start)
        }
    };
    let mut inside = !blank(at);
    while let Some(to) = step(at) {
        at = to;
        if blank(at) && inside {
            return at;
        }
        inside |= !blank(at);
    }
    if down { text.len() } else { 0 }
}

/// The column of a place within its line, in graphemes.
pub(super) fn column(text: &str, at: usize) -> usize {
    part(text, line(text, at).start..at).graphemes(true).count()
}

/// What a motion needs to know besides the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct From {
    pub(super) at: usize,
    pub(super) count: Option<usize>,
    /// The column that up and down keep.
    pub(super) goal: usize,
    /// What was found last.
    pub(super) find: Option<Find>,
}

/// Where a motion leads and how an operator takes it; none if it leads nowhere.
pub(super) fn go(text: &str, motion: Motion, from: From) -> Option<(usize, Shape)> {
    let From {
        at,
        count,
        goal,
        find,
    } = from;
    let times = count.unwrap_or(1);
    let repeat = |step: &dyn Fn(usize) -> usize| {
        let mut place = at;
        for _ in 0..times.min(text.len() + 1) {
            place = step(place);
        }
        place
    };
    let exclusive = |to| Some((to, Shape::Exclusive));
    let inclusive = |to| Some((to, Shape::Inclusive));
    let lines = |to| Some((to, Shape::Lines));
    let here = line(text, at);
    match motion {
        Motion::Left => exclusive(repeat(&|p| if p > here.start { prev(text, p) } else { p })),
        Motion::Right => exclusive(repeat(&|p| if p < here.end { next(text, p) } else { p })),
        Motion::Up => lines(vertical(text, at, goal, -times.cast_signed())?),
        Motion::Down => lines(vertical(text, at, goal, times.cast_signed())?),
        Motion::LineStart => exclusive(here.start),
        Motion::FirstWord => exclusive(first_word(text, at)),
        Motion::LineEnd => {
            let to = match times {
                1 => here.end,
                more => line(text, vertical(text, at, 0, more.cast_signed() - 1)?).end,
            };
            exclusive(to)
        }
        Motion::First => lines(numbered_line(text, times)),
        Motion::Last => lines(numbered_line(text, count.unwrap_or(usize::MAX))),
        Motion::Word(big) => exclusive(repeat(&|p| word(text, p, big))),
        Motion::End(big) => inclusive(repeat(&|p| word_end(text, p, big))),
        Motion::Back(big) => exclusive(repeat(&|p| word_back(text, p, big))),
        Motion::BackEnd(big) => inclusive(repeat(&|p| word_back_end(text, p, big))),
        Motion::Find(find) => shaped(found(text, at, find, times, false)?, find),
        Motion::Again(back) => {
            let mut find = find?;
            find.forward ^= back;
            shaped(found(text, at, find, times, true)?, find)
        }
        Motion::Match => inclusive(matching(text, at)?),
        Motion::ParagraphUp => exclusive(repeat(&|p| paragraph(text, p, false))),
        Motion::ParagraphDown => exclusive(repeat(&|p| paragraph(text, p, true))),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every arm of the caller answers with an option"
)]
const fn shaped(to: usize, find: Find) -> Option<(usize, Shape)> {
    let shape = if find.forward {
        Shape::Inclusive
    } else {
        Shape::Exclusive
    };
    Some((to, shape))
}

/// Where `cw` ends: at the end of the word, the blanks after it stay.
pub(super) fn change_end(text: &str, at: usize, big: bool, count: usize) -> usize {
    let kind = class(text, at, big);
    let mut last = at;
    while class(text, next(text, last), big) == kind {
        last = next(text, last);
    }
    for _ in 1..count {
        last = word_end(text, last, big);
    }
    next(text, last)
}
