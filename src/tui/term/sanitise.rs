//! `Safe`: the only text that may reach the terminal, and the two ways to make it.
//!
//! *Strip* is for display: a full VT parser takes out what a terminal would obey, a character filter
//! takes out what it would hide. *Reveal* is for what is being approved: nothing is taken out, such
//! characters are spelled (`⟨U+202E⟩`). Spans, rows and titles are built from this type only; the
//! widgets of the TUI library are no defence (they write bidi controls and zero-width characters).

pub mod charset;
mod line;

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::Span;

use line::LineScreen;

/// Columns between tab stops in text and code.
pub const TAB: usize = 4;

/// Columns between tab stops in what programs print.
pub const TAB_OUTPUT: usize = 8;

/// Text without anything that a terminal would obey or hide; without line ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Safe(Cow<'static, str>);

impl Safe {
    /// Text of this program: a literal, so nobody else had a hand in it.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// For display, as one line: line ends become spaces.
    pub fn strip(text: &str) -> Self {
        if charset::is_plain(text) {
            return Self(Cow::Owned(text.to_owned()));
        }
        Self::strip_inline(text.trim_end_matches(['\n', '\r']))
    }

    /// Like `strip`, for a piece of a line: spaces at its ends stay, line ends become spaces.
    pub fn strip_inline(text: &str) -> Self {
        if charset::is_plain(text) {
            return Self(Cow::Owned(text.to_owned()));
        }
        let mut out = String::with_capacity(text.len());
        for (n, line) in text.split('\n').enumerate() {
            if n > 0 {
                out.push(' ');
            }
            strip_line(line, TAB, &mut out);
        }
        Self(Cow::Owned(out))
    }

    /// For display, line by line; a line end at the very end begins no line.
    pub fn lines(text: &str) -> Vec<Self> {
        text.lines().map(Self::strip).collect()
    }

    /// For display of tool output: lines of pieces, with SGR kept as style. Colours are as the
    /// program asked: `Theme::fit` brings them down to what the terminal shows.
    pub fn strip_styled(text: &str) -> Vec<Vec<(Self, Style)>> {
        let mut style = Style::new();
        let mut lines = Vec::new();
        for line in text.split_terminator('\n') {
            if style == Style::new() && charset::is_plain(line) {
                lines.push(vec![(Self(Cow::Owned(line.to_owned())), style)]);
                continue;
            }
            let mut screen = LineScreen::new(TAB_OUTPUT, style);
            screen.feed(line);
            style = screen.style();
            let mut pieces = Vec::new();
            screen.pieces(|text, style| pieces.push((Self(Cow::Owned(text)), style)));
            lines.push(pieces);
        }
        lines
    }

    /// For what is being approved: every character shows. What a terminal would obey or hide is
    /// spelled and marked `true`; tabs show as four spaces, line ends are spelled too, so split
    /// first where lines are wanted.
    pub fn reveal(text: &str) -> Vec<(Self, bool)> {
        let mut pieces: Vec<(Self, bool)> = Vec::new();
        let mut plain = String::new();
        for c in text.chars() {
            match charset::suspicion(c) {
                charset::Suspicion::None => plain.push(c),
                charset::Suspicion::Tab => plain.push_str("    "),
                charset::Suspicion::Hidden => {
                    pieces.extend(Self::capped(&std::mem::take(&mut plain)));
                    let spelled = format!("⟨U+{:04X}⟩", u32::from(c));
                    pieces.push((Self(Cow::Owned(spelled)), true));
                }
            }
        }
        pieces.extend(Self::capped(&plain));
        pieces
    }

    /// Marks on marks could still cover the line above: they are capped, and it shows that it was
    /// done.
    fn capped(plain: &str) -> Option<(Self, bool)> {
        let capped = Self::strip(plain);
        let cut = capped.as_str().len() != plain.len();
        (!plain.is_empty()).then_some((capped, cut))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a span.
    pub fn span(self, style: Style) -> Span<'static> {
        Span::styled(self.0, style)
    }

    /// A part of it, by bytes; empty if the range does not fit. Safe because any part of safe text
    /// is safe.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self(Cow::Owned(self.0.get(range).unwrap_or_default().to_owned()))
    }

    /// The first `limit` characters, with `…` if that is not all.
    #[must_use]
    pub fn cut(self, limit: usize) -> Self {
        match self.0.char_indices().nth(limit) {
            None => self,
            Some((at, _)) => {
                let mut text = self.0.get(..at).unwrap_or_default().trim_end().to_owned();
                text.push('…');
                Self(Cow::Owned(text))
            }
        }
    }
}

/// A number written by this program.
impl From<u64> for Safe {
    fn from(number: u64) -> Self {
        Self(Cow::Owned(number.to_string()))
    }
}

fn strip_line(line: &str, tab: usize, out: &mut String) {
    if charset::is_plain(line) {
        out.push_str(line);
        return;
    }
    if line
        .chars()
        .all(|c| charset::suspicion(c) == charset::Suspicion::None)
        && !charset::has_marks(line)
    {
        out.push_str(line);
        return;
    }
    let mut screen = LineScreen::new(tab, Style::new());
    screen.feed(line);
    screen.pieces(|text, _| out.push_str(&text));
}

#[cfg(test)]
#[path = "sanitise_tests.rs"]
mod tests;
