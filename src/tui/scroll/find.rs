//! Search in the transcript: smart case, by cell, with the hits marked where they show.
//!
//! Counting looks at what cells say, not at layouts, so it costs no wrapping.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::anchor::Unit;
use crate::tui::text::{Join, Row};

/// A piece of a hit: the row, and bytes of its line.
pub type Piece = (usize, Range<usize>);

/// The hits in rows of a layout, piece by piece: one that was wrapped has a piece in each row.
pub fn hits(rows: &[Row], pattern: &Regex) -> Vec<Vec<Piece>> {
    let mut found = Vec::new();
    let mut from = 0;
    while from < rows.len() {
        let more = rows[from + 1..]
            .iter()
            .take_while(|row| row.join != Join::Line);
        let to = from + 1 + more.count();
        line_hits(rows, from..to, pattern, &mut found);
        from = to;
    }
    found
}

/// The hits in one line that takes these rows.
fn line_hits(rows: &[Row], line: Range<usize>, pattern: &Regex, found: &mut Vec<Vec<Piece>>) {
    let mut text = String::new();
    // Where each row's part begins in the text, and in the row.
    let mut parts: Vec<(usize, usize, usize)> = Vec::with_capacity(line.len());
    for at in line {
        let row = &rows[at];
        let cut = if parts.is_empty() { 0 } else { row.gutter };
        if row.join == Join::Space {
            text.push(' ');
        }
        parts.push((at, text.len(), cut));
        text.push_str(row.line.as_str().get(cut..).unwrap_or_default());
    }
    for hit in pattern.find_iter(&text) {
        let pieces = parts
            .iter()
            .enumerate()
            .filter_map(|(n, (at, begin, cut))| {
                let end = parts.get(n + 1).map_or(text.len(), |(_, next, _)| *next);
                let piece = hit.start().max(*begin)..hit.end().min(end);
                let length = rows[*at].line.len();
                (piece.start < piece.end).then(|| {
                    let to = (piece.end - begin + cut).min(length);
                    (*at, (piece.start - begin + cut).min(to)..to)
                })
            });
        let pieces: Vec<Piece> = pieces.filter(|(_, range)| !range.is_empty()).collect();
        if !pieces.is_empty() {
            found.push(pieces);
        }
    }
}

/// A running search.
#[derive(Debug, Clone)]
pub struct Find {
    /// What is searched.
    pub pattern: Regex,
    /// Cells with hits, and how many, in order.
    pub hits: Vec<(u64, usize)>,
    /// The current hit: index into `hits`, and which of its hits.
    pub current: Option<(usize, usize)>,
    /// Where the current hit is laid out: the unit, and which of its hits.
    pub place: Option<(Unit, usize)>,
}

impl Find {
    /// A search without hits yet; none if there is nothing to search. Upper case in the query makes
    /// case matter.
    pub fn new(query: &str) -> Option<Self> {
        if query.is_empty() {
            return None;
        }
        Self::of(
            &regex::escape(query),
            !query.chars().any(char::is_uppercase),
        )
    }

    /// A search for any of the words of a query, whatever their case.
    pub fn words(query: &str) -> Option<Self> {
        let words: Vec<String> = query.split_whitespace().map(regex::escape).collect();
        if words.is_empty() {
            return None;
        }
        Self::of(&words.join("|"), true)
    }

    fn of(pattern: &str, any_case: bool) -> Option<Self> {
        let pattern = RegexBuilder::new(pattern)
            .case_insensitive(any_case)
            .build()
            .ok()?;
        Some(Self {
            pattern,
            hits: Vec::new(),
            current: None,
            place: None,
        })
    }

    /// Hits in all.
    pub fn count(&self) -> usize {
        self.hits.iter().map(|(_, n)| n).sum()
    }

    /// The next or the previous hit after the current one, round the ends; at first the last one.
    pub fn step(&mut self, forward: bool) -> Option<(u64, usize)> {
        let last = self.hits.len().checked_sub(1)?;
        let end = |cell: usize| self.hits[cell].1 - 1;
        let next = match (self.current, forward) {
            (Some((cell, hit)), true) if hit < end(cell) => (cell, hit + 1),
            (Some((cell, _)), true) if cell < last => (cell + 1, 0),
            (_, true) => (0, 0),
            (Some((cell, hit)), false) if hit > 0 => (cell, hit - 1),
            (Some((cell, _)), false) if cell > 0 => (cell - 1, end(cell - 1)),
            (_, false) => (last, end(last)),
        };
        self.current = Some(next);
        Some((self.hits[next.0].0, next.1))
    }

    /// The number of the current hit, from 1.
    pub fn number(&self) -> Option<usize> {
        let (cell, hit) = self.current?;
        Some(self.hits.iter().take(cell).map(|(_, n)| n).sum::<usize>() + hit + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_round_and_are_numbered() {
        let mut find = Find::new("x").expect("a query");
        find.hits = vec![(7, 2), (9, 1)];
        assert_eq!(find.count(), 3);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push((find.step(true), find.number()));
        }
        assert_eq!(
            seen,
            [
                (Some((7, 0)), Some(1)),
                (Some((7, 1)), Some(2)),
                (Some((9, 0)), Some(3)),
                (Some((7, 0)), Some(1))
            ]
        );
        assert_eq!(find.step(false), Some((9, 0)));
    }

    #[test]
    fn upper_case_makes_case_matter() {
        assert!(Find::new("abc").expect("a query").pattern.is_match("xABCx"));
        assert!(!Find::new("Abc").expect("a query").pattern.is_match("xABCx"));
        assert!(
            Find::new("a.c")
                .expect("a query")
                .pattern
                .find("abc")
                .is_none()
        );
        assert!(Find::new("").is_none());
    }
}
