//! Finds the lines of a hunk in a file: exactly, then forgiving spaces and typographic characters. Pure.

use crate::tools::edit::alike;

/// Where `wanted` begins in `lines`, at or after `from`. With `at_end` the last place is tried first.
pub(super) fn seek(lines: &[&str], wanted: &[String], from: usize, at_end: bool) -> Option<usize> {
    if wanted.is_empty() {
        return Some(from);
    }
    let last = lines.len().checked_sub(wanted.len())?;
    let passes: [fn(&str, &str) -> bool; 4] = [
        |file, wanted| file == wanted,
        |file, wanted| file.trim_end() == wanted.trim_end(),
        |file, wanted| file.trim() == wanted.trim(),
        |file, wanted| alike::plain(file.trim()) == alike::plain(wanted.trim()),
    ];
    for same in passes {
        let here = |at: usize| {
            wanted
                .iter()
                .zip(&lines[at..])
                .all(|(wanted, file)| same(file, wanted))
        };
        if at_end && last >= from && here(last) {
            return Some(last);
        }
        if let Some(at) = (from..=last).find(|at| here(*at)) {
            return Some(at);
        }
    }
    None
}
