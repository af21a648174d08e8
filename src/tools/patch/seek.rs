//! Finds the lines of a hunk in a file: exactly, then forgiving spaces and typographic characters. Pure.

use crate::tools::edit::alike;
use crate::tools::text::runs;

/// Where `wanted` begins in `lines`, at or after `from`. With `at_end` the last place is tried first.
pub(super) fn seek(lines: &[&str], wanted: &[String], from: usize, at_end: bool) -> Option<usize> {
    if wanted.is_empty() {
        return Some(from);
    }
    let lines = lines.get(from..)?;
    let found = place(lines, wanted, at_end, |line| line)
        .or_else(|| place(lines, wanted, at_end, str::trim_end))
        .or_else(|| place(lines, wanted, at_end, str::trim))
        .or_else(|| place(lines, wanted, at_end, |line| alike::plain(line.trim())));
    found.map(|at| from + at)
}

/// The same with one idea of what makes two lines the same: their keys are equal.
fn place<'a, K: Eq>(
    lines: &[&'a str],
    wanted: &'a [String],
    at_end: bool,
    key: impl Fn(&'a str) -> K,
) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let lines: Vec<K> = lines.iter().map(|line| key(line)).collect();
    let wanted: Vec<K> = wanted.iter().map(|line| key(line)).collect();
    if at_end && lines[last..] == wanted {
        return Some(last);
    }
    runs::first(&lines, &wanted)
}
