//! Where an output is cut: how much of each tool's output stays, and at which byte.
//!
//! Pure. Works on bytes, because commands print what they like; a cut never falls inside a UTF-8
//! sequence, and falls on a line's end unless that would throw away more than half of what may stay.

use super::rules::{self, Limit};
use crate::config::used::OutputLimits;

/// What may stay of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// The beginning, up to so many lines and bytes.
    Head {
        /// Lines.
        lines: usize,
        /// Bytes.
        bytes: usize,
        /// Characters of each line; longer lines are cut.
        line_chars: usize,
    },
    /// The beginning, up to so many characters.
    HeadChars(usize),
    /// The beginning and the end, so many characters each. A command's error is at its end.
    Ends {
        /// Characters of the beginning.
        head: usize,
        /// Characters of the end.
        tail: usize,
    },
}

impl Plan {
    /// The plan for a tool, by its name; what is not ours (MCP) falls under the widest limit.
    pub fn of(tool: &str, limits: &OutputLimits) -> Self {
        let head = |lines: usize, line_chars: usize| Self::Head {
            lines,
            bytes: limits.bytes,
            line_chars,
        };
        match rules::of(tool).map(|rule| rule.limit) {
            Some(Limit::Bash) => Self::Ends {
                head: limits.bash_chars / 4,
                tail: limits.bash_chars - limits.bash_chars / 4,
            },
            Some(Limit::Read) => head(limits.read_lines, limits.read_line_chars),
            Some(Limit::Grep) => head(limits.grep_matches, usize::MAX),
            Some(Limit::Glob) => head(limits.glob_paths, usize::MAX),
            Some(Limit::General) => head(limits.lines, usize::MAX),
            None => Self::HeadChars(limits.other_chars),
        }
    }

    /// Bytes of the beginning that are enough to cut at. More bytes than `head_room` + `tail_room`
    /// never fit.
    pub(super) const fn head_room(self) -> usize {
        match self {
            // a cut line of `line_chars` characters was up to four times as many bytes
            Self::Head {
                bytes, line_chars, ..
            } if line_chars != usize::MAX => bytes.saturating_add(line_chars).saturating_mul(4),
            Self::Head { bytes, .. } => bytes.saturating_add(4),
            Self::HeadChars(chars) => chars.saturating_mul(4),
            Self::Ends { head, .. } => head.saturating_mul(4),
        }
    }

    /// Bytes of the end that are enough to cut at.
    pub(super) const fn tail_room(self) -> usize {
        match self {
            Self::Head { .. } | Self::HeadChars(_) => 0,
            Self::Ends { tail, .. } => tail.saturating_mul(4),
        }
    }

    /// Bytes of a line that are enough to cut it at; none where lines are not cut.
    pub(super) const fn line_room(self) -> Option<usize> {
        match self {
            Self::Head { line_chars, .. } if line_chars != usize::MAX => {
                Some(line_chars.saturating_mul(4))
            }
            _ => None,
        }
    }

    /// True if nothing needs to be cut.
    pub fn fits(self, text: &[u8]) -> bool {
        match self {
            Self::Head {
                lines,
                bytes,
                line_chars,
            } => {
                text.len() <= bytes
                    && line_count(text) <= lines as u64
                    && (line_chars >= text.len()
                        || text
                            .split(|byte| *byte == b'\n')
                            .all(|line| at_char(line, line_chars) == line.len()))
            }
            Self::HeadChars(chars) => chars >= text.len() || at_char(text, chars) == text.len(),
            Self::Ends { head, tail } => {
                head + tail >= text.len() || at_char(text, head + tail) == text.len()
            }
        }
    }

    /// How many bytes of the beginning stay, given (at least `head_room` bytes of) the beginning of
    /// an output that does not fit. Line ends at the cut are left out.
    pub(super) fn head_cut(self, start: &[u8]) -> usize {
        match self {
            Self::Head { lines, bytes, .. } => {
                let by_bytes = char_floor(start, bytes);
                let by_lines = nth_line_end(start, lines).unwrap_or(start.len());
                if by_lines <= by_bytes {
                    by_lines
                } else {
                    line_floor(start, by_bytes)
                }
            }
            Self::HeadChars(chars) | Self::Ends { head: chars, .. } => {
                line_floor(start, at_char(start, chars))
            }
        }
    }

    /// Where the end that stays begins, given (at least `tail_room` bytes of) the end of an output
    /// that does not fit.
    pub(super) fn tail_cut(self, end: &[u8]) -> usize {
        let Self::Ends { tail, .. } = self else {
            return end.len();
        };
        let from = at_char_from_end(end, tail);
        // a line begins here already, or the next one begins early enough
        if from == 0 || end[from - 1] == b'\n' {
            return from;
        }
        match memchr::memchr(b'\n', &end[from..]) {
            Some(skip) if skip < (end.len() - from) / 2 => from + skip + 1,
            _ => from,
        }
    }
}

/// Lines of a text: line ends, and one more if something follows the last one.
pub fn line_count(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

/// Byte length of the first `chars` characters; each byte that is no UTF-8 counts as one.
pub fn at_char(text: &[u8], chars: usize) -> usize {
    let mut left = chars;
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        // a character has at least one byte, so short chunks need no walk
        if valid.len() <= left && valid.is_ascii() {
            left -= valid.len();
            at += valid.len();
        } else {
            for char in valid.chars() {
                if left == 0 {
                    return at;
                }
                left -= 1;
                at += char.len_utf8();
            }
        }
        let broken = chunk.invalid().len();
        if broken > 0 {
            if left == 0 {
                return at;
            }
            left -= 1;
            at += broken;
        }
    }
    at
}

/// Byte offset at which the last `chars` characters begin.
fn at_char_from_end(text: &[u8], chars: usize) -> usize {
    let mut at = text.len();
    for _ in 0..chars {
        if at == 0 {
            break;
        }
        at = char_start_before(text, at);
    }
    at
}

/// Start of the character that ends at `end` (> 0); a stray byte is its own character.
fn char_start_before(text: &[u8], end: usize) -> usize {
    let first = end.saturating_sub(4);
    let lead = (first..end).rev().find(|at| text[*at] & 0xc0 != 0x80);
    match lead {
        Some(at) if std::str::from_utf8(&text[at..end]).is_ok() => at,
        _ => end - 1,
    }
}

/// The nearest offset at or below `at` that is not inside a UTF-8 sequence.
pub fn char_floor(text: &[u8], at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let first = at.saturating_sub(3);
    let Some(lead) = (first..=at).rev().find(|index| text[*index] & 0xc0 != 0x80) else {
        return at;
    };
    let width = match text[lead] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let end = (lead + width).min(text.len());
    let whole = std::str::from_utf8(&text[lead..end]).is_ok();
    if lead < at && at < end && whole {
        lead
    } else {
        at
    }
}

/// The last line end before `at`, unless that gives away more than half; without the line end.
fn line_floor(text: &[u8], at: usize) -> usize {
    if text.get(at) == Some(&b'\n') {
        return at;
    }
    match memchr::memrchr(b'\n', &text[..at]) {
        Some(end) if end >= at / 2 => end,
        _ => at,
    }
}

/// Where the `n`th line ends (before its line end); none if there are not more than `n` lines.
fn nth_line_end(text: &[u8], n: usize) -> Option<usize> {
    if n == 0 {
        return Some(0);
    }
    let end = memchr::memchr_iter(b'\n', text).nth(n - 1)?;
    (end + 1 < text.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn character_offsets_agree_with_str(text in "\\PC{0,60}", chars in 0usize..80) {
            let expected = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
            prop_assert_eq!(at_char(text.as_bytes(), chars), expected);
            let count = text.chars().count();
            let from = text.char_indices().nth(count.saturating_sub(chars)).map_or(text.len(), |(at, _)| at);
            prop_assert_eq!(at_char_from_end(text.as_bytes(), chars), from);
            for at in 0..=text.len() {
                prop_assert_eq!(char_floor(text.as_bytes(), at), text.floor_char_boundary(at));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..220) {
            prop_assert!(char_floor(&bytes, at) <= bytes.len());
            prop_assert!(at_char(&bytes, at) <= bytes.len());
            prop_assert!(at_char_from_end(&bytes, at) <= bytes.len());
        }
    }

    #[test]
    fn lines_are_counted_with_and_without_a_last_line_end() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(line_count(text.as_bytes()), lines, "{text:?}");
        }
    }
}
