//! A text as lines, each with its bytes and its line end. Pure.

use std::ops::Range;

/// The lines of a text. A text that ends with a line end has no empty line after it.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Start, end without line end, end with it.
    spans: Vec<(usize, usize, usize)>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut spans = Vec::new();
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            let cr = at > start && bytes[at - 1] == b'\r';
            spans.push((start, at - usize::from(cr), at + 1));
            start = at + 1;
        }
        if start < text.len() {
            spans.push((start, text.len(), text.len()));
        }
        Self { text, spans }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// A line without its line end.
    pub(super) fn body(&self, index: usize) -> &'a str {
        let (start, end, _) = self.spans[index];
        self.text.get(start..end).unwrap_or_default()
    }

    /// A line's line end; empty for a last line without one.
    pub(super) fn end(&self, index: usize) -> &'a str {
        let (_, end, next) = self.spans[index];
        self.text.get(end..next).unwrap_or_default()
    }

    /// The bytes of so many lines (at least one), without the last one's line end.
    pub(super) fn range(&self, first: usize, count: usize) -> Range<usize> {
        self.spans[first].0..self.spans[first + count - 1].1
    }

    /// Where the line ends, its line end included.
    pub(super) fn next(&self, index: usize) -> usize {
        self.spans[index].2
    }
}

/// A text without its last line end, and whether it had one.
pub(super) fn body_and_end(text: &str) -> (&str, bool) {
    match text
        .strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
    {
        Some(body) => (body, true),
        None => (text, false),
    }
}
