//! `Safe`: the only text that may reach the terminal.

use ratatui::style::Style;
use ratatui::text::Span;

/// Text without anything that a terminal would obey or hide.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Safe(std::borrow::Cow<'static, str>);

impl Safe {
    /// Text of this program.
    pub const fn fixed(text: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(text))
    }

    /// For display: what a terminal would obey or hide goes.
    pub fn strip(text: &str) -> Self {
        Self(
            text.chars()
                .filter(|c| !c.is_control())
                .collect::<String>()
                .into(),
        )
    }

    /// For display of tool output: lines of pieces, SGR kept as style.
    pub fn strip_styled(text: &str) -> Vec<Vec<(Self, Style)>> {
        text.lines()
            .map(|line| vec![(Self::strip(line), Style::new())])
            .collect()
    }

    /// For what is being approved: hidden characters are shown, `true` marks them.
    pub fn reveal(text: &str) -> Vec<(Self, bool)> {
        vec![(Self::strip(text), false)]
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a span.
    pub fn span(self, style: Style) -> Span<'static> {
        Span::styled(self.0, style)
    }
}
