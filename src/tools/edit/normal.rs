//! A text in a plain form, with the way back to the original's bytes. Pure.

use std::ops::Range;

use super::alike::plain_char;
use super::find::Looks;

/// A normalised text.
#[derive(Debug)]
pub(super) struct Normal {
    pub(super) text: String,
    /// For each byte of `text`, and for its end, where the original character began.
    from: Vec<usize>,
}

impl Normal {
    pub(super) fn of(original: &str, looks: Looks) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut from = Vec::with_capacity(original.len() + 1);
        let mut chars = original.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let line_end = char == '\r' && matches!(chars.peek(), Some((_, '\n')));
            if line_end {
                chars.next();
                text.push('\n');
            } else {
                let form = if looks == Looks::Alike {
                    plain_char(char)
                } else {
                    None
                };
                match form {
                    Some(form) => text.push_str(form),
                    None => text.push(char),
                }
            }
            from.resize(text.len(), at);
        }
        from.push(original.len());
        Self { text, from }
    }

    /// The original bytes of a range; none if it begins or ends inside an original character.
    pub(super) fn origin(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let edge = |at: usize| at == 0 || self.from[at] != self.from[at - 1];
        (edge(range.start) && edge(range.end)).then(|| self.from[range.start]..self.from[range.end])
    }

    /// The normalised offset at which an original offset's character begins.
    pub(super) fn offset(&self, original: usize) -> usize {
        self.from.partition_point(|from| *from < original)
    }
}
