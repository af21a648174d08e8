//! The states of a tool part: running, completed, failed. Any other transition is refused by doing nothing.
//!
//! Called by `calls` and `stop`, which write what comes of it; nothing else changes a call's state.

use serde_json::Value;

use crate::protocol::{Millis, Part, PartBody, ToolState};
use crate::tools::{Failure, Success};

pub(super) fn set_running(part: &mut Part, new_title: &str, now: Millis) {
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Running { title, start, .. } = &mut tool.state
    {
        new_title.clone_into(title);
        *start = now;
    }
}

pub(super) fn set_completed(part: &mut Part, success: Success, now: Millis) {
    part.end = Some(now);
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Running {
            input,
            title,
            start,
            ..
        } = &mut tool.state
    {
        let title = if success.title.is_empty() {
            std::mem::take(title)
        } else {
            success.title
        };
        tool.state = ToolState::Completed {
            input: std::mem::take(input),
            output: success.output,
            title,
            metadata: success.metadata,
            attachments: success.attachments,
            truncated: success.truncated,
            compacted_at: None,
            start: *start,
            end: now,
        };
    }
}

pub(super) fn set_failed(part: &mut Part, mut failure: Failure, now: Millis) {
    part.end = Some(now);
    if let PartBody::Tool(tool) = &mut part.body {
        let (input, raw, start) = match &mut tool.state {
            ToolState::Running {
                input,
                title,
                metadata,
                start,
                ..
            } => {
                // What was known while it ran (a subagent's session) stays known.
                if failure.title.is_empty() {
                    failure.title = std::mem::take(title);
                }
                if failure.metadata.is_null() {
                    failure.metadata = std::mem::take(metadata);
                }
                (std::mem::take(input), String::new(), *start)
            }
            ToolState::Pending { raw } => (Value::Null, std::mem::take(raw), now),
            ToolState::Completed { .. } | ToolState::Error { .. } => return,
        };
        tool.state = ToolState::Error {
            input,
            raw,
            error: failure.message,
            title: failure.title,
            metadata: failure.metadata,
            interrupted: false,
            start,
            end: now,
        };
    }
}
