//! Hints that retire: who has used a sign often enough need not be told about it any more.
//!
//! `update` notes uses, `view::start` asks what is still to be said, `run` keeps the counts for the
//! user. Pure data.

use std::collections::BTreeMap;

/// A hint goes after so many uses of what it is about.
const ENOUGH: u32 = 5;

/// How often each thing was used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    uses: BTreeMap<String, u32>,
}

impl Hints {
    /// With the counts that were kept.
    pub const fn new(uses: BTreeMap<String, u32>) -> Self {
        Self { uses }
    }

    /// True while the hint is still worth its place.
    pub fn shows(&self, name: &str) -> bool {
        self.uses.get(name).is_none_or(|uses| *uses < ENOUGH)
    }

    /// Counts a use; true if that is to be kept.
    pub fn used(&mut self, name: &str) -> bool {
        if !self.shows(name) {
            return false;
        }
        *self.uses.entry(name.to_owned()).or_default() += 1;
        true
    }

    /// The counts.
    pub const fn uses(&self) -> &BTreeMap<String, u32> {
        &self.uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_goes_when_it_is_known() {
        let mut hints = Hints::default();
        for _ in 0..ENOUGH {
            assert!(hints.shows("@"));
            assert!(hints.used("@"));
        }
        assert!(!hints.shows("@"));
        assert!(!hints.used("@"), "nothing more to keep");
        assert!(hints.shows("/"));
    }
}
