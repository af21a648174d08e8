//! One changed place taken back: the bytes of a file with one hunk as it was before.
//!
//! Called by the owner with both contents. The hunk is the one the user saw; if the file does not
//! read so any more, nothing is done.

use crate::protocol::{DiffLine, Hunk, LineKind};

/// `new` with the hunk's lines as `old` has them, byte for byte; none if one of the two does not
/// read as the hunk says.
pub(super) fn back(old: &[u8], new: &[u8], hunk: &Hunk) -> Option<Vec<u8>> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let before = place(&old_lines, hunk, LineKind::Added)?;
    let after = place(&new_lines, hunk, LineKind::Removed)?;
    let mut out = Vec::with_capacity(new.len() + old.len());
    for line in new_lines
        .get(..after.start)?
        .iter()
        .chain(old_lines.get(before)?)
        .chain(new_lines.get(after.end..)?)
    {
        if out.last().is_some_and(|byte| *byte != b'\n') {
            // The line before ended its file without a line end and stands further up now.
            out.push(b'\n');
        }
        out.extend_from_slice(line);
    }
    Some(out)
}

/// Lines with their ends.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Where the hunk's side stands in these lines, if it reads so; `without` is the other side's kind.
fn place(lines: &[&[u8]], hunk: &Hunk, without: LineKind) -> Option<std::ops::Range<usize>> {
    let side: Vec<&DiffLine> = hunk.lines.iter().filter(|l| l.kind != without).collect();
    let number = |line: &DiffLine| {
        let number = if without == LineKind::Added {
            line.old
        } else {
            line.new
        };
        number.and_then(|n| usize::try_from(n).ok()?.checked_sub(1))
    };
    let Some(first) = side.first() else {
        // An empty side is an empty file.
        return lines.is_empty().then_some(0..0);
    };
    let start = number(first)?;
    let range = start..start + side.len();
    let there = lines.get(range.clone())?;
    let same = there.iter().zip(&side).all(|(bytes, line)| {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        text.strip_suffix('\r').unwrap_or(text) == line.text
    });
    same.then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::repo;

    fn hunks(old: &str, new: &str) -> Vec<Hunk> {
        repo::hunks(old.as_bytes(), new.as_bytes(), 3)
            .expect("compared")
            .expect("text")
    }

    #[test]
    fn taking_all_hunks_back_one_by_one_in_any_order_gives_the_old_file() {
        let mut old: Vec<String> = (0..60).map(|n| format!("line {n}\r\n")).collect();
        let before = old.concat();
        old[3] = "changed\r\n".to_owned();
        old.insert(20, "one more\r\n".to_owned());
        old.remove(40);
        old[59] = "the end without a line end".to_owned();
        let after = old.concat();
        for first in 0..hunks(&before, &after).len() {
            let mut now = after.clone();
            let mut next = first;
            loop {
                let left = hunks(&before, &now);
                let Some(hunk) = left.get(next.min(left.len().saturating_sub(1))) else {
                    break;
                };
                let bytes = back(before.as_bytes(), now.as_bytes(), hunk).expect("taken back");
                now = String::from_utf8(bytes).expect("text");
                assert_eq!(hunks(&before, &now).len(), left.len() - 1);
                next = 0;
            }
            assert_eq!(now, before);
        }
    }

    #[test]
    fn a_file_that_reads_otherwise_by_now_is_left_alone() {
        let (old, new) = ("a\nb\nc\n", "a\nB\nc\n");
        let hunk = &hunks(old, new)[0];
        assert_eq!(back(old.as_bytes(), b"a\nX\nc\n", hunk), None);
        assert_eq!(back(old.as_bytes(), b"", hunk), None);
        assert_eq!(
            back(old.as_bytes(), new.as_bytes(), hunk).as_deref(),
            Some(old.as_bytes())
        );
    }

    #[test]
    fn a_new_file_s_only_hunk_is_all_of_it() {
        let hunk = &hunks("", "x\ny\n")[0];
        assert_eq!(back(b"", b"x\ny\n", hunk).as_deref(), Some(&b""[..]));
        let hunk = &hunks("x\ny", "")[0];
        assert_eq!(back(b"x\ny", b"", hunk).as_deref(), Some(&b"x\ny"[..]));
    }
}
