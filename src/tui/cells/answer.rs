//! What the assistant says: streamed Markdown.

use super::frame::Cx;
use crate::tui::text::Row;
use crate::tui::text::stream::Stream;

/// What the assistant says.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The text so far.
    pub stream: Stream,
    /// True while it grows.
    pub open: bool,
}

impl Answer {
    pub(super) fn lay_out(&self, n: usize, cx: &Cx<'_>) -> Vec<Row> {
        self.stream.lay_out(n, &cx.page())
    }
}
