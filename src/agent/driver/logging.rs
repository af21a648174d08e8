//! What happens, in the log: sessions, turns, retries, compactions, calls and errors, a line each.
//!
//! Called with every event that is announced. What the model and the tools say is not logged, and no
//! argument of a call: a log may be sent to somebody.

use crate::protocol::{Event, PartBody, ToolState};

/// Writes a line for what a reader of the log wants to know; nothing for the rest.
pub(super) fn log(event: &Event) {
    match event {
        Event::SessionStarted {
            session, writable, ..
        } => {
            tracing::info!(session = %session.id, model = %session.model, writable, "session");
        }
        Event::TurnStarted => tracing::info!("turn begins"),
        Event::TurnFinished { reason } => tracing::info!(?reason, "turn ends"),
        Event::StepFinished { tokens, .. } => {
            tracing::info!(
                input = tokens.input,
                output = tokens.output,
                cached = tokens.cache.read,
                "step"
            );
        }
        Event::Retry {
            attempt,
            delay_ms,
            error,
        } => tracing::warn!(attempt, delay_ms, kind = ?error.kind, "retry"),
        Event::Pruned {
            count,
            tokens_saved,
        } => tracing::info!(count, tokens_saved, "outputs cleared"),
        Event::Compacted {
            strategy,
            before_tokens,
            after_tokens,
        } => tracing::info!(strategy, before_tokens, after_tokens, "compacted"),
        Event::Error { error } => tracing::error!(kind = ?error.kind, "{}", error.message),
        Event::PartUpdated { part } => {
            if let PartBody::Tool(tool) = &part.body
                && let Some(end) = end_of(&tool.state)
            {
                tracing::info!(part = %part.id, tool = %tool.tool, end, "call");
            }
        }
        _ => {}
    }
}

/// How a call ended; none while it runs.
const fn end_of(state: &ToolState) -> Option<&'static str> {
    match state {
        ToolState::Completed { .. } => Some("completed"),
        ToolState::Error { .. } => Some("failed"),
        _ => None,
    }
}
