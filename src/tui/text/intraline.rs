//! Which words of a changed line differ: byte ranges for the old and the new line.
//!
//! Used by `diff` for pairs of removed and added lines. Lines that have little in common get no
//! marks: a line that is all marks says nothing.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Bytes beyond which lines are not compared word by word.
const LONGEST: usize = 400;

/// Share of equal text below which nothing is marked, in percent.
const ALIKE: usize = 35;

/// The differing ranges of the old and of the new line.
pub fn ranges(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old == new {
        return (Vec::new(), Vec::new());
    }
    if old.len() > LONGEST || new.len() > LONGEST {
        return middles(old, new);
    }
    let (words_of_old, words_of_new) = (words(old), words(new));
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .diff_slices(&words_of_old, &words_of_new);
    let (mut at_old, mut at_new, mut same) = (0, 0, 0);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                same += text.trim().len();
                at_old += text.len();
                at_new += text.len();
            }
            ChangeTag::Delete => {
                grow(&mut removed, at_old..at_old + text.len());
                at_old += text.len();
            }
            ChangeTag::Insert => {
                grow(&mut added, at_new..at_new + text.len());
                at_new += text.len();
            }
        }
    }
    for (ranges, line) in [(&mut removed, old), (&mut added, new)] {
        for range in ranges.iter_mut() {
            trim(range, line);
        }
    }
    let longer = old.trim().len().max(new.trim().len());
    if same * 100 < longer * ALIKE {
        return (Vec::new(), Vec::new());
    }
    (removed, added)
}

/// A line's words, as code has them: names and numbers, runs of blanks, and every other sign alone.
/// (Words of prose would take `self.reflow` for one.)
fn words(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let (mut start, mut last) = (0, 0);
    for (at, c) in line.char_indices() {
        let this = kind(c);
        if at > start && (this == 0 || this != last) {
            words.extend(line.get(start..at));
            start = at;
        }
        last = this;
    }
    words.extend(line.get(start..).filter(|rest| !rest.is_empty()));
    words
}

/// Leaves the blanks at its ends out of a range that has more than blanks.
fn trim(range: &mut Range<usize>, line: &str) {
    let text = line.get(range.clone()).unwrap_or_default();
    if !text.trim().is_empty() {
        range.start += text.len() - text.trim_start().len();
        range.end -= text.len() - text.trim_end().len();
    }
}

/// Bytes at the beginning that both lines share.
pub fn common(old: &str, new: &str) -> usize {
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// What lies between the common beginning and the common end: enough for lines too long to compare.
fn middles(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let head = common(old, new);
    let tails = (
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let same = tails.0.chars().rev().zip(tails.1.chars().rev());
    let tail: usize = same
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    if (head + tail) * 100 < old.len().max(new.len()) * ALIKE {
        return (Vec::new(), Vec::new());
    }
    let middle = |line: &str| {
        let range = head..line.len() - tail;
        if range.is_empty() {
            Vec::new()
        } else {
            vec![range]
        }
    };
    (middle(old), middle(new))
}

fn grow(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_are_marked_and_nothing_else() {
        let (old, new) = ranges("self.reflow(width);", "self.reflow(cells, width);");
        assert_eq!(old, Vec::<Range<usize>>::new());
        let marked: String = new
            .iter()
            .map(|r| {
                "self.reflow(cells, width);"
                    .get(r.clone())
                    .expect("a range of it")
            })
            .collect();
        assert_eq!(marked.trim(), "cells,");
    }

    #[test]
    fn a_name_behind_a_dot_is_a_word_of_its_own() {
        let (old, new) = (
            "self.request_frame(cells);",
            "self.request_frames(cells + 1);",
        );
        let (removed, added) = ranges(old, new);
        let said = |line: &str, ranges: &[Range<usize>]| -> Vec<String> {
            let piece = |r: &Range<usize>| line.get(r.clone()).expect("a range of it").to_owned();
            ranges.iter().map(piece).collect()
        };
        assert_eq!(said(old, &removed), ["request_frame"]);
        assert_eq!(said(new, &added), ["request_frames", "+ 1"]);
    }

    #[test]
    fn lines_with_little_in_common_get_no_marks() {
        assert_eq!(
            ranges("fn a() {}", "let widths = compute();"),
            (Vec::new(), Vec::new())
        );
    }
}
