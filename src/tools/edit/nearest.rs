//! What to tell a model whose text was not found: where the file comes closest. Pure.

use std::fmt::Write as _;

use super::alike;
use super::find::exact;
use super::lines::Lines;

/// Files longer than this are not searched for a near match.
const MOST_BYTES: usize = 4 << 20;

/// Lines of the near match that are shown.
const MOST_LINES: usize = 12;

/// The error for a text that was not found by any way.
pub(super) fn not_found(text: &str, old: &str, new: &str) -> String {
    let mut error = "old_string was not found in the file, not even approximately.".to_owned();
    if new.trim().len() > 8 && !exact(text, new).is_empty() {
        error.push_str(" But new_string is already there, so this edit may have been made before.");
    }
    let Some((first, count, score)) = nearest(text, old) else {
        error.push_str(" Read the file again and copy the text exactly, without line numbers.");
        return error;
    };
    let lines = Lines::of(text);
    _ = writeln!(
        error,
        " The closest place is line {}{} ({:.0} % alike):",
        first + 1,
        if count > 1 {
            format!("-{}", first + count)
        } else {
            String::new()
        },
        score * 100.0
    );
    for index in first..first + count.min(MOST_LINES) {
        let line: String = lines.body(index).chars().take(200).collect();
        _ = writeln!(error, "{}→{line}", index + 1);
    }
    error.push_str(
        "Copy the text exactly as it is there (without line numbers), or read the file again.",
    );
    error
}

/// First line, number of lines and likeness of the block that comes closest.
fn nearest(text: &str, old: &str) -> Option<(usize, usize, f32)> {
    if text.len() > MOST_BYTES || old.len() > MOST_BYTES {
        return None;
    }
    let lines = Lines::of(text);
    let wanted: Vec<&str> = old.trim_end().lines().collect();
    // the line that says most
    let (anchor, longest) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len())?;
    let sign = Sign::of(longest);
    let mut best: Vec<(u32, usize)> = (0..lines.len())
        .map(|index| (sign.likeness(&Sign::of(lines.body(index))), index))
        .filter(|(likeness, _)| *likeness > 0)
        .collect();
    best.sort_by(|a, b| b.cmp(a));
    best.iter()
        .take(8)
        .filter_map(|(_, index)| {
            let first = index.saturating_sub(anchor);
            let count = wanted.len().min(lines.len() - first);
            let block: Vec<&str> = (first..first + count)
                .map(|index| lines.body(index).trim())
                .collect();
            let wanted: Vec<&str> = wanted.iter().map(|line| line.trim()).collect();
            let score = alike::ratio(&block.join("\n"), &wanted.join("\n"));
            (score >= 0.5).then_some((first, count, score))
        })
        .max_by(|a, b| a.2.total_cmp(&b.2))
}

/// Which pairs of letters a line has, as a bit set: enough to sort out the hopeless lines.
struct Sign([u64; 4]);

impl Sign {
    fn of(line: &str) -> Self {
        let mut bits = [0u64; 4];
        let bytes = line.trim().as_bytes();
        for pair in bytes.windows(2).take(400) {
            let hash = (usize::from(pair[0]) * 31 + usize::from(pair[1]) * 7) % 256;
            bits[hash / 64] |= 1 << (hash % 64);
        }
        Self(bits)
    }

    /// Common pairs per mille.
    fn likeness(&self, other: &Self) -> u32 {
        let count = |bits: &[u64; 4]| bits.iter().map(|part| part.count_ones()).sum::<u32>();
        let common: u32 = self
            .0
            .iter()
            .zip(other.0)
            .map(|(a, b)| (a & b).count_ones())
            .sum();
        let all = count(&self.0) + count(&other.0);
        (common * 2_000).checked_div(all).unwrap_or(0)
    }
}
