//! Search in the transcript: smart case, by cell, with the hits marked where they show.
//!
//! Counting looks at what cells say, not at layouts, so it costs no wrapping.

use regex::{Regex, RegexBuilder};

/// A running search.
#[derive(Debug, Clone)]
pub struct Find {
    /// What is searched.
    pub pattern: Regex,
    /// Cells with hits, and how many, in order.
    pub hits: Vec<(u64, usize)>,
    /// The current hit: index into `hits`, and which of its hits.
    pub current: Option<(usize, usize)>,
}

impl Find {
    /// A search without hits yet; none if there is nothing to search. Upper case in the query makes
    /// case matter.
    pub fn new(query: &str) -> Option<Self> {
        if query.is_empty() {
            return None;
        }
        let pattern = RegexBuilder::new(&regex::escape(query))
            .case_insensitive(!query.chars().any(char::is_uppercase))
            .build()
            .ok()?;
        Some(Self {
            pattern,
            hits: Vec::new(),
            current: None,
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
