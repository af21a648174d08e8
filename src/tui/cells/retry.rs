//! An attempt failed, another follows: `⟲ Overloaded (529)   this step starts again`.

use super::failure;
use super::frame::Cx;
use crate::protocol::Fault;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// An attempt failed, another follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// Which attempt failed, from 1.
    pub attempt: u32,
    /// Why.
    pub error: Fault,
    /// True if part of an answer stands above.
    pub partial: bool,
    /// How often the step failed so, one attempt after the other.
    pub times: u32,
}

impl Retry {
    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut title = Styled::of(&failure::heading(&self.error), theme.default());
        if self.times > 1 {
            title.pad(2);
            let times = Safe::strip(&format!("{} times", self.times));
            title.push(&times, theme.default());
        }
        title.pad(3);
        let words = if self.partial {
            "the partial answer above is kept; this step starts again"
        } else {
            "this step starts again"
        };
        title.fixed(words, theme.dim());
        let mut rows = vec![cx.header((theme.glyphs.retry, theme.amber()), title, &[])];
        if cx.unfolded {
            cx.prose(&self.error.message, theme.dim(), &mut rows);
            cx.prose(&self.error.hint, theme.dim(), &mut rows);
        }
        rows
    }
}
