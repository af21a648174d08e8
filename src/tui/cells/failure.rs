//! Something failed: what, why, and what to do.

use super::frame::Cx;
use crate::protocol::{Fault, FaultKind};
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// Something failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What.
    pub fault: Fault,
}

/// What a kind of failure is called.
pub(super) const fn name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::RateLimit => "Rate limit",
        FaultKind::Overloaded => "Overloaded",
        FaultKind::ContextOverflow => "Context overflow",
        FaultKind::Auth => "Not authorised",
        FaultKind::Quota => "Out of quota",
        FaultKind::BadRequest => "Request refused",
        FaultKind::Server => "Server error",
        FaultKind::NotFound => "Not found",
        FaultKind::Network => "No connection",
        FaultKind::Timeout => "Timed out",
        FaultKind::StreamTruncated => "Stream broke off",
        FaultKind::Protocol => "Stream not understood",
        FaultKind::ContentFilter => "Answer withheld",
        FaultKind::Storage => "Could not be stored",
        FaultKind::Budget => "Budget reached",
        FaultKind::DoomLoop => "Stopped a loop",
        FaultKind::Refused => "Refused",
        FaultKind::Interrupted => "Interrupted",
        FaultKind::Config => "Configuration",
        FaultKind::Internal => "A bug in dunlin",
    }
}

/// `Overloaded (529)`.
pub(super) fn heading(fault: &Fault) -> Safe {
    let name = name(fault.kind);
    match fault.status {
        Some(status) => Safe::strip(&format!("{name} ({status})")),
        None => Safe::fixed(name),
    }
}

impl Failure {
    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let title = Styled::of(&heading(&self.fault), theme.bold());
        let mut rows = vec![cx.header((theme.glyphs.failed, theme.bad()), title, &[])];
        cx.prose(&self.fault.message, theme.default(), &mut rows);
        cx.prose(&self.fault.hint, theme.dim(), &mut rows);
        rows
    }
}
