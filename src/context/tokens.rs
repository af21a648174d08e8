//! Estimated tokens: characters over four. For pruning decisions, gauges and inspection only;
//! overflow is judged by the provider's own counts (SPEC §4).

use serde_json::Value;

use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::protocol::{Part, PartBody, ToolState};

/// What an image costs a model, about: providers scale to some 1.5 megapixels.
pub const FILE_TOKENS: u64 = 1_600;

/// What a pruned output still costs: the marker and the way back, without a title.
pub const MARKER_TOKENS: u64 = 13;

/// Estimated tokens of a text.
pub fn of_text(text: &str) -> u64 {
    // Counting bytes that are no UTF-8 continuations counts characters without decoding.
    let chars = text.bytes().filter(|b| (b & 0xc0) != 0x80).count() as u64;
    chars.div_ceil(4)
}

/// Estimated tokens of a JSON value as it is sent.
pub fn of_json(value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::String(text) => of_text(text) + 1,
        Value::Bool(_) | Value::Number(_) => 1,
        Value::Array(items) => 1 + items.iter().map(of_json).sum::<u64>(),
        Value::Object(fields) => {
            1 + fields
                .iter()
                .map(|(key, value)| of_text(key) + 1 + of_json(value))
                .sum::<u64>()
        }
    }
}

/// Estimated tokens of what a tool part shows the model as its result.
pub fn of_result(state: &ToolState) -> u64 {
    match state {
        ToolState::Pending { .. } | ToolState::Running { .. } => of_text(INTERRUPTED_OUTPUT),
        ToolState::Completed {
            compacted_at: Some(_),
            input,
            title,
            ..
        } => {
            let title = super::assemble::marker_title(input, title);
            MARKER_TOKENS + title.map_or(0, of_text)
        }
        ToolState::Completed {
            output,
            attachments,
            ..
        } => of_text(output) + attachments.len() as u64 * FILE_TOKENS,
        ToolState::Error { error, .. } => of_text(error),
    }
}

/// Estimated tokens of a part as it is sent; 0 for what is never sent.
pub fn of_part(part: &Part) -> u64 {
    match &part.body {
        PartBody::Text { ignored: true, .. } | PartBody::Reasoning { ignored: true, .. } => 0,
        PartBody::Text { text, .. } | PartBody::Reasoning { text, .. } => of_text(text),
        PartBody::Tool(tool) => {
            let call = tool.state.input().map_or(0, of_json) + of_text(&tool.tool) + 4;
            call + of_result(&tool.state)
        }
        PartBody::File(_) => FILE_TOKENS,
        PartBody::Compaction { .. } => 8,
        PartBody::Subtask { .. }
        | PartBody::StepStart { .. }
        | PartBody::StepFinish { .. }
        | PartBody::Patch { .. }
        | PartBody::Retry { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_counted_in_characters_not_bytes() {
        assert_eq!(of_text(""), 0);
        assert_eq!(of_text("abcd"), 1);
        assert_eq!(of_text("abcde"), 2);
        assert_eq!(of_text("äöüß"), 1);
        assert_eq!(of_text("日本語文"), 1);
    }
}
