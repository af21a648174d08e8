//! Fences: the line that opens a block of code, and the one that closes it.
//!
//! Used by the growing text only, which follows a fence line by line. As CommonMark has it.

use crate::tui::text::highlight::Key;
use crate::tui::text::markdown::code;

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) sign: u8,
    pub(super) length: usize,
    pub(super) indent: usize,
    pub(super) language: String,
    /// Where its content begins.
    pub(super) content: u32,
    /// Once closed: the key of its colours.
    pub(super) key: Option<Key>,
    /// Where its content ends, once closed.
    pub(super) end: u32,
}

impl Fence {
    /// The fence that a line opens, if it does. `content` is where the next line begins.
    pub(super) fn opened_by(line: &str, content: usize) -> Option<Self> {
        let indent = line.bytes().take_while(|b| *b == b' ').count();
        let rest = line.get(indent..).filter(|_| indent <= 3)?;
        let sign = *rest
            .as_bytes()
            .first()
            .filter(|b| matches!(b, b'`' | b'~'))?;
        let length = rest.bytes().take_while(|b| *b == sign).count();
        let info = rest.get(length..).unwrap_or_default();
        if length < 3 || (sign == b'`' && info.contains('`')) {
            return None;
        }
        Some(Self {
            sign,
            length,
            indent,
            language: code::language(info.trim()).to_owned(),
            content: content as u32,
            key: None,
            end: 0,
        })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let indent = line.bytes().take_while(|b| *b == b' ').count();
        let rest = line.get(indent..).unwrap_or_default();
        let length = rest.bytes().take_while(|b| *b == self.sign).count();
        indent <= 3
            && length >= self.length
            && rest
                .get(length..)
                .is_some_and(|r| r.trim_matches([' ', '\t']).is_empty())
    }
}

/// A line without up to so many spaces at its start.
pub(super) fn undented(line: &str, indent: usize) -> &str {
    let spaces = line.bytes().take(indent).take_while(|b| *b == b' ').count();
    line.get(spaces..).unwrap_or_default()
}

pub(super) fn dedent(text: &str, indent: usize) -> String {
    if indent == 0 {
        return text.to_owned();
    }
    text.split_inclusive('\n')
        .map(|line| undented(line, indent))
        .collect()
}
