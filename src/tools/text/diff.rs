//! What an edit changed, as a unified diff and as hunks for the screen. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::protocol::{DiffLine, Hunk, LineKind};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// A diff that is longer than so many bytes is not kept in metadata.
const MOST_BYTES: usize = 256 * 1024;

/// The difference of two texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    /// Unified, with `---`/`+++` lines; empty if nothing differs.
    pub unified: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// The same as data.
    pub hunks: Vec<Hunk>,
}

impl Diff {
    /// `{diff, added, removed, hunks}`; a huge diff is left out with `cut: true`.
    pub fn metadata(&self) -> Value {
        if self.unified.len() > MOST_BYTES {
            return json!({"diff": "", "added": self.added, "removed": self.removed, "hunks": [], "cut": true});
        }
        json!({"diff": self.unified, "added": self.added, "removed": self.removed, "hunks": self.hunks})
    }

    /// First and last line that changed, in the new text, from 1; none if nothing was added.
    pub fn changed_lines(&self) -> Option<(u32, u32)> {
        let mut lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let mut added = lines
            .by_ref()
            .filter(|line| line.kind == LineKind::Added)
            .filter_map(|line| line.new);
        let first = added.next()?;
        Some((first, added.last().unwrap_or(first)))
    }
}

/// Compares two texts line by line; `old`/`new` are the names, none for a file that is not there.
pub fn diff(old: (Option<&str>, &str), new: (Option<&str>, &str)) -> Diff {
    let mut result = Diff::default();
    let (before, after) = (old.1, new.1);
    if before == after {
        return result;
    }
    let (skip, lines_skipped, keep_end) = unchanged(before, after);
    let middle = |text: &str| {
        text.get(skip..text.len() - keep_end)
            .unwrap_or_default()
            .to_owned()
    };
    let (before, after) = (middle(before), middle(after));
    let texts = TextDiff::configure()
        .timeout(Duration::from_millis(500))
        .diff_lines(before.as_str(), after.as_str());
    let name = |side: &str, name: Option<&str>| match name {
        Some(name) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    _ = writeln!(result.unified, "--- {}", name("a", old.0));
    _ = writeln!(result.unified, "+++ {}", name("b", new.0));
    for group in texts.grouped_ops(CONTEXT) {
        let mut hunk = Hunk {
            heading: String::new(),
            lines: Vec::new(),
        };
        let mut body = String::new();
        for change in group.iter().flat_map(|op| texts.iter_changes(op)) {
            let number =
                |index: Option<usize>| index.map(|index| (index + lines_skipped + 1) as u32);
            let (kind, sign) = match change.tag() {
                ChangeTag::Equal => (LineKind::Context, ' '),
                ChangeTag::Insert => (LineKind::Added, '+'),
                ChangeTag::Delete => (LineKind::Removed, '-'),
            };
            result.added += u32::from(kind == LineKind::Added);
            result.removed += u32::from(kind == LineKind::Removed);
            let text = change.value();
            let line = text.strip_suffix('\n').unwrap_or(text);
            _ = writeln!(body, "{sign}{line}");
            if !text.ends_with('\n') {
                body.push_str("\\ No newline at end of file\n");
            }
            hunk.lines.push(DiffLine {
                kind,
                old: number(change.old_index()),
                new: number(change.new_index()),
                text: line.strip_suffix('\r').unwrap_or(line).to_owned(),
            });
        }
        _ = writeln!(result.unified, "{}", heading(&hunk));
        result.unified.push_str(&body);
        result.hunks.push(hunk);
    }
    result
}

/// The `@@` line of a hunk.
fn heading(hunk: &Hunk) -> String {
    let side = |number: fn(&DiffLine) -> Option<u32>| {
        let mut numbers = hunk.lines.iter().filter_map(number);
        match numbers.next() {
            Some(first) => (first, 1 + numbers.count()),
            None => (0, 0),
        }
    };
    let ((old, old_count), (new, new_count)) = (side(|line| line.old), side(|line| line.new));
    let range = |start: u32, count: usize| match count {
        1 => start.to_string(),
        _ => format!("{start},{count}"),
    };
    format!(
        "@@ -{} +{} @@",
        range(old, old_count),
        range(new, new_count)
    )
}

/// What both texts have in common at their ends, less the context: bytes and lines to skip at the
/// beginning, bytes to leave at the end. Large files with small edits are compared in no time.
fn unchanged(before: &str, after: &str) -> (usize, usize, usize) {
    let (a, b) = (before.as_bytes(), after.as_bytes());
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let mut start = same;
    for _ in 0..=CONTEXT {
        start = memchr::memrchr(b'\n', &a[..start]).unwrap_or(0);
    }
    let start = if start == 0 { 0 } else { start + 1 };
    let (a, b) = (&a[start..], &b[start..]);
    let room = a
        .len()
        .min(b.len())
        .min(a.len() + start - same)
        .min(b.len() + start - same);
    let same_end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(room)
        .take_while(|(a, b)| a == b)
        .count();
    let tail = &a[a.len() - same_end..];
    let end = memchr::memchr_iter(b'\n', tail)
        .nth(CONTEXT + 1)
        .map_or(0, |at| tail.len() - at - 1);
    let skipped = memchr::memchr_iter(b'\n', &before.as_bytes()[..start]).count();
    (start, skipped, end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_change_in_the_middle_of_a_long_file_has_three_lines_around_it() {
        let before: Vec<String> = (1..=50).map(|n| format!("line {n}\n")).collect();
        let mut after = before.clone();
        after[24] = "changed\n".to_owned();
        after.insert(25, "new\n".to_owned());
        let diff = diff(
            (Some("a.txt"), &before.concat()),
            (Some("a.txt"), &after.concat()),
        );
        assert_eq!((diff.added, diff.removed), (2, 1));
        assert_eq!(diff.changed_lines(), Some((25, 26)));
        let expected = "--- a/a.txt\n+++ b/a.txt\n@@ -22,7 +22,8 @@\n line 22\n line 23\n line 24\n\
                        -line 25\n+changed\n+new\n line 26\n line 27\n line 28\n";
        assert_eq!(diff.unified, expected);
    }

    #[test]
    fn a_new_file_and_a_missing_line_end_are_shown_as_git_shows_them() {
        let diff = diff((None, ""), (Some("a"), "one"));
        let expected =
            "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n";
        assert_eq!(diff.unified, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_hunks_turn_the_old_text_into_the_new(
            before in proptest::collection::vec("[ab]{0,2}\n", 0..30),
            after in proptest::collection::vec("[ab]{0,2}\n", 0..30),
        ) {
            let texts = (before.concat(), after.concat());
            let diff = diff((Some("x"), &texts.0), (Some("x"), &texts.1));
            let mut rebuilt = Vec::new();
            let mut next = 1;
            for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
                if let Some(old) = line.old {
                    while next < old {
                        rebuilt.push(before[next as usize - 1].clone());
                        next += 1;
                    }
                    prop_assert_eq!(format!("{}\n", line.text), before[old as usize - 1].clone());
                    next = old + 1;
                }
                if let Some(new) = line.new {
                    // a hunk that only inserts says where by its new line numbers
                    while rebuilt.len() + 1 < new as usize {
                        rebuilt.push(before[next as usize - 1].clone());
                        next += 1;
                    }
                    rebuilt.push(format!("{}\n", line.text));
                }
            }
            rebuilt.extend(before[next as usize - 1..].iter().cloned());
            prop_assert_eq!(rebuilt.concat(), texts.1);
        }
    }
}
