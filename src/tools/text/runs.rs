//! Finds a run of lines within lines, in time that grows with their number and not with its square.
//! Pure. Called by `edit` and `apply_patch`, each with its own idea of when two lines are the same.

/// Lines that overlapping places may cover together; beyond that only places apart from each other count.
const OVERLAPPING: usize = 1 << 20;

/// The first place of a run at or after an index; an empty run is there at once.
pub(crate) fn first<K: Eq>(lines: &[K], run: &[K]) -> Option<usize> {
    if run.is_empty() {
        return Some(0);
    }
    Places::new(lines, run).next()
}

/// All places of a run, overlapping ones too as long as there are few of them.
pub(crate) fn all<K: Eq>(lines: &[K], run: &[K]) -> Vec<usize> {
    let (mut found, mut covered, mut end) = (Vec::new(), 0, 0);
    if run.is_empty() {
        return found;
    }
    for at in Places::new(lines, run) {
        covered += run.len();
        if covered > OVERLAPPING && at < end {
            continue;
        }
        end = at + run.len();
        found.push(at);
    }
    found
}

/// Knuth, Morris and Pratt: `back[n]` is how much of the run still fits where `n` lines of it fitted.
struct Places<'a, K> {
    lines: &'a [K],
    run: &'a [K],
    back: Vec<usize>,
    at: usize,
    fits: usize,
}

impl<'a, K: Eq> Places<'a, K> {
    fn new(lines: &'a [K], run: &'a [K]) -> Self {
        let mut back = vec![0; run.len() + 1];
        let mut fits = 0;
        for at in 1..run.len() {
            while fits > 0 && run[at] != run[fits] {
                fits = back[fits];
            }
            fits += usize::from(run[at] == run[fits]);
            back[at + 1] = fits;
        }
        Self {
            lines,
            run,
            back,
            at: 0,
            fits: 0,
        }
    }
}

impl<K: Eq> Iterator for Places<'_, K> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(line) = self.lines.get(self.at) {
            if self.fits == self.run.len() {
                self.fits = self.back[self.fits];
            }
            while self.fits > 0 && *line != self.run[self.fits] {
                self.fits = self.back[self.fits];
            }
            self.fits += usize::from(*line == self.run[self.fits]);
            self.at += 1;
            if self.fits == self.run.len() {
                return Some(self.at - self.fits);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_places_are_those_of_a_plain_search(
            lines in proptest::collection::vec(0u8..3, 0..40),
            run in proptest::collection::vec(0u8..3, 1..5),
        ) {
            let plain: Vec<usize> = lines
                .windows(run.len())
                .enumerate()
                .filter(|(_, window)| *window == run.as_slice())
                .map(|(at, _)| at)
                .collect();
            prop_assert_eq!(first(&lines, &run), plain.first().copied());
            prop_assert_eq!(all(&lines, &run), plain);
        }
    }

    #[test]
    fn places_that_overlap_without_end_are_told_apart() {
        let lines = vec!["same"; 60_000];
        let run = vec!["same"; 20_000];
        let found = all(&lines, &run);
        assert!((3..=60).contains(&found.len()), "{}", found.len());
        assert_eq!((found.first(), first(&lines, &[])), (Some(&0), Some(0)));
    }
}
