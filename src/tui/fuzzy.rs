//! Fuzzy matching for every list of the UI: one way to rank and to mark what matched.
//!
//! Called by the composer's pop-ups and by pickers. An empty query keeps the order given.

use frizbee::{Config, Matcher};

/// An entry that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its place in the list that was searched.
    pub index: usize,
    /// Bytes of the entry at which characters matched, rising.
    pub marks: Vec<usize>,
}

/// The entries that match, best first, at most `most`.
pub fn rank(query: &str, entries: &[&str], most: usize) -> Vec<Hit> {
    let query = query.trim();
    if query.is_empty() {
        return (0..entries.len().min(most))
            .map(|index| Hit {
                index,
                marks: Vec::new(),
            })
            .collect();
    }
    let mut matcher = Matcher::new(query, &Config::default());
    let mut found = matcher.match_list_indices(entries);
    found.truncate(most);
    found
        .into_iter()
        .map(|m| {
            let mut marks: Vec<usize> = m.indices.iter().map(|i| *i as usize).collect();
            marks.sort_unstable();
            Hit {
                index: m.index as usize,
                marks,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_bytes_also_behind_wide_characters() {
        let hits = rank("src", &["日本/src"], 5);
        assert_eq!(hits[0].marks, [7, 8, 9]);
    }

    #[test]
    fn the_best_match_comes_first_and_an_empty_query_keeps_the_order() {
        let entries = ["src/render.rs", "src/reflow.rs", "README.md"];
        let hits = rank("reflow", &entries, 10);
        assert_eq!(hits[0].index, 1);
        assert_eq!(hits[0].marks, [4, 5, 6, 7, 8, 9]);
        assert_eq!(rank("", &entries, 2).len(), 2);
        assert!(rank("zzz", &entries, 10).is_empty());
    }
}
