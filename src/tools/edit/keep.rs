//! Carries over only what changes between `old_string` and `new_string`. Pure.
//!
//! After a forgiving match the file's own text differs from `old_string`: other line ends, another
//! indentation, typographic quotes, even other words. What old and new have in common therefore stays
//! as it is in the file; what is new is fitted in (line ends, indentation).

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_deadline, capture_diff_slices_deadline};

use super::apply::line_end_at;
use super::find::{By, Found, Looks};
use super::indent::Indents;
use super::lines::{Lines, body_and_end};
use super::normal::Normal;
use crate::tools::text::Splice;

/// Makes the splice for places found in one text.
#[derive(Debug)]
pub(super) struct Keeper<'a> {
    text: &'a str,
    old: &'a str,
    new: &'a str,
}

impl<'a> Keeper<'a> {
    pub(super) const fn new(text: &'a str, old: &'a str, new: &'a str) -> Self {
        Self { text, old, new }
    }

    pub(super) fn splice(&self, found: &Found) -> Splice {
        match found.by {
            By::Chars(looks) => self.by_chars(&found.range, looks),
            By::Lines { first, count } => self.by_lines(first, count),
        }
    }

    fn by_chars(&self, range: &Range<usize>, looks: Looks) -> Splice {
        let file = self.text.get(range.clone()).unwrap_or_default();
        let (mut old, mut new) = (self.old, self.new);
        // found at the end of a file whose last line lacks its line end: it goes on lacking it
        let file_ends = file.ends_with('\n');
        if !file_ends && old.ends_with('\n') {
            old = body_and_end(old).0;
            new = body_and_end(new).0;
        }
        let end = match file.find('\n') {
            Some(at) if file.as_bytes()[..at].ends_with(b"\r") => "\r\n",
            Some(_) => "\n",
            None => line_end_at(self.text, range.end),
        };
        let normal = (Normal::of(file, looks), Normal::of(old, looks));
        let kept = |part: Range<usize>| -> Option<&str> {
            let there = normal.1.offset(part.start)..normal.1.offset(part.end);
            let range = normal.0.origin(&there)?;
            file.get(range)
        };
        let mut text = String::with_capacity(new.len());
        let new_plain = new.replace("\r\n", "\n");
        let old_plain = old.replace("\r\n", "\n");
        // offsets of `old` without carriage returns, back to `old`
        let back = Normal::of(old, Looks::LineEnds);
        for piece in common(&old_plain, &new_plain) {
            match piece {
                Piece::Kept(part) => {
                    let origin = back.origin(&part);
                    let same = origin.and_then(kept);
                    text.push_str(same.unwrap_or_else(|| old_plain.get(part).unwrap_or_default()));
                }
                Piece::New(part) => {
                    let added = new_plain.get(part).unwrap_or_default();
                    text.push_str(&added.replace('\n', end));
                }
            }
        }
        Splice {
            range: range.clone(),
            text,
        }
    }

    fn by_lines(&self, first: usize, count: usize) -> Splice {
        let lines = Lines::of(self.text);
        let ((old, old_ends), (new, new_ends)) = (body_and_end(self.old), body_and_end(self.new));
        let mut range = lines.range(first, count);
        if old_ends && !new_ends {
            range.end = lines.next(first + count - 1);
        }
        if self.new.is_empty() {
            return Splice {
                range,
                text: String::new(),
            };
        }
        let new = if new_ends && !old_ends { self.new } else { new };
        let split = |text: &'a str| -> Vec<&'a str> {
            text.split('\n')
                .map(|line| line.strip_suffix('\r').unwrap_or(line))
                .collect()
        };
        let (old, new) = (split(old), split(new));
        let file: Vec<&str> = (first..first + count)
            .map(|index| lines.body(index))
            .collect();
        let place = Alignment::of(&old, &file);
        let indents = Indents::learn(place.pairs().map(|(a, b)| (old[a], file[b])));
        let main_end = (first..first + count)
            .map(|index| lines.end(index))
            .find(|end| !end.is_empty());
        let main_end = main_end.unwrap_or_else(|| line_end_at(self.text, range.end));
        let mut out: Vec<(String, &str)> = Vec::new();
        let mut shown = 0;
        for op in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, soon()) {
            if let DiffOp::Equal { old_index, len, .. } = op {
                let (from, to) = place.span(old_index, old_index + len);
                for (index, line) in file.iter().enumerate().take(to).skip(from.max(shown)) {
                    let end = lines.end(first + index);
                    out.push((
                        (*line).to_owned(),
                        if end.is_empty() { main_end } else { end },
                    ));
                }
                shown = shown.max(to);
            } else {
                let (_, old_range, new_range) = op.as_tag_tuple();
                let end = old_range.clone().next().and_then(|index| {
                    let at = place.span(index, index + 1).0;
                    (at < count)
                        .then(|| lines.end(first + at))
                        .filter(|end| !end.is_empty())
                });
                for line in &new[new_range] {
                    out.push((indents.fit(line), end.unwrap_or(main_end)));
                }
                shown = shown.max(place.span(old_range.start, old_range.end).1);
            }
        }
        let mut text = String::new();
        let last = out.len().saturating_sub(1);
        for (index, (line, end)) in out.iter().enumerate() {
            text.push_str(line);
            if index < last {
                text.push_str(end);
            }
        }
        Splice { range, text }
    }
}

fn soon() -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(200))
}

/// A piece of a new text.
enum Piece {
    /// This part of the old text.
    Kept(Range<usize>),
    /// This part of the new text.
    New(Range<usize>),
}

/// The new text as pieces, by lines and, inside of changed lines, by characters.
fn common(old: &str, new: &str) -> Vec<Piece> {
    let (old_lines, new_lines) = (starts(old), starts(new));
    let line = |text: &str, starts: &[usize], index: usize| {
        text.get(starts[index]..starts[index + 1])
            .unwrap_or_default()
            .to_owned()
    };
    let old_texts: Vec<String> = (0..old_lines.len() - 1)
        .map(|index| line(old, &old_lines, index))
        .collect();
    let new_texts: Vec<String> = (0..new_lines.len() - 1)
        .map(|index| line(new, &new_lines, index))
        .collect();
    let mut pieces = Vec::new();
    for op in capture_diff_slices_deadline(Algorithm::Myers, &old_texts, &new_texts, soon()) {
        let (_, old_range, new_range) = op.as_tag_tuple();
        let old_part = old_lines[old_range.start]..old_lines[old_range.end];
        let new_part = new_lines[new_range.start]..new_lines[new_range.end];
        if matches!(op, DiffOp::Equal { .. }) {
            pieces.push(Piece::Kept(old_part));
        } else {
            inside(old, old_part, new, new_part, &mut pieces);
        }
    }
    pieces
}

fn inside(
    old: &str,
    old_part: Range<usize>,
    new: &str,
    new_part: Range<usize>,
    pieces: &mut Vec<Piece>,
) {
    let chars = |text: &str, part: &Range<usize>| -> Vec<(usize, char)> {
        let piece = text.get(part.clone()).unwrap_or_default();
        piece
            .char_indices()
            .map(|(at, char)| (part.start + at, char))
            .collect()
    };
    let (old_chars, new_chars) = (chars(old, &old_part), chars(new, &new_part));
    if old_chars.len() * new_chars.len() > 4_000_000 {
        pieces.push(Piece::New(new_part));
        return;
    }
    let (a, b): (Vec<char>, Vec<char>) = (
        old_chars.iter().map(|(_, char)| *char).collect(),
        new_chars.iter().map(|(_, char)| *char).collect(),
    );
    let offset = |chars: &[(usize, char)], index: usize, end: usize| {
        chars.get(index).map_or(end, |(at, _)| *at)
    };
    for op in capture_diff_deadline(
        Algorithm::Myers,
        &a[..],
        0..a.len(),
        &b[..],
        0..b.len(),
        soon(),
    ) {
        let (_, old_range, new_range) = op.as_tag_tuple();
        if matches!(op, DiffOp::Equal { .. }) {
            let from = offset(&old_chars, old_range.start, old_part.end);
            pieces.push(Piece::Kept(
                from..offset(&old_chars, old_range.end, old_part.end),
            ));
        } else if !new_range.is_empty() {
            let from = offset(&new_chars, new_range.start, new_part.end);
            pieces.push(Piece::New(
                from..offset(&new_chars, new_range.end, new_part.end),
            ));
        }
    }
}

/// Where each line begins, and the end.
fn starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
    if starts.last() != Some(&text.len()) {
        starts.push(text.len());
    }
    starts
}

/// Which lines of the file belong to which lines of `old_string`.
struct Alignment {
    ops: Vec<DiffOp>,
}

impl Alignment {
    fn of(old: &[&str], file: &[&str]) -> Self {
        if old.len() == file.len() {
            let len = old.len();
            let ops = vec![DiffOp::Equal {
                old_index: 0,
                new_index: 0,
                len,
            }];
            return Self { ops };
        }
        let trimmed = |lines: &[&str]| {
            lines
                .iter()
                .map(|line| line.trim().to_owned())
                .collect::<Vec<_>>()
        };
        let ops =
            capture_diff_slices_deadline(Algorithm::Myers, &trimmed(old), &trimmed(file), soon());
        Self { ops }
    }

    /// Lines that belong together one by one.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.ops.iter().flat_map(|op| {
            let (old, file, len) = match *op {
                DiffOp::Equal {
                    old_index,
                    new_index,
                    len,
                } => (old_index, new_index, len),
                _ => (0, 0, 0),
            };
            (0..len).map(move |index| (old + index, file + index))
        })
    }

    /// The file's lines for a run of old lines; lines that only the file has at its edges included.
    fn span(&self, from: usize, to: usize) -> (usize, usize) {
        let mut start = None;
        let mut end = 0;
        for op in &self.ops {
            let (_, old, file) = op.as_tag_tuple();
            if old.is_empty() {
                // only in the file: belongs to a run that touches this boundary
                if (from..=to).contains(&old.start) {
                    start.get_or_insert(file.start);
                    end = end.max(file.end);
                }
                continue;
            }
            let (first, last) = (old.start.max(from), old.end.min(to));
            if first >= last {
                continue;
            }
            let whole_end = last == old.end;
            let map = |line: usize| (file.start + (line - old.start)).min(file.end);
            start.get_or_insert(map(first));
            end = end.max(if whole_end { file.end } else { map(last) });
        }
        let start = start.unwrap_or(end);
        (start, end.max(start))
    }
}
