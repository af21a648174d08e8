//! Conversation → the messages of a request.
//!
//! A history read back at any instant is valid: every call is followed by its result, whatever
//! state it was cut in. Messages whose content did not change are shared with the request before,
//! so encoders can tell by pointer what they already encoded.

use std::sync::Arc;

use super::conversation::{Conversation, Entry};
use crate::model::request::{Block, RequestMessage};
use crate::protocol::tool::{INTERRUPTED_OUTPUT, PRUNED_OUTPUT};
use crate::protocol::{FilePart, MessageId, Part, PartBody, Role, ToolPart, ToolState};

/// What the compaction request says to the model.
pub const COMPACTION_QUESTION: &str = "What did we do so far?";

/// Gives the bytes of a file part; none if they are not to be had (a one-line note is sent instead).
pub type FileBytes<'a> = &'a dyn Fn(&FilePart) -> Option<bytes::Bytes>;

/// The messages of the next request, oldest first.
pub fn messages(conversation: &mut Conversation, files: FileBytes<'_>) -> Vec<Arc<RequestMessage>> {
    messages_until(conversation, None, files)
}

/// The same, without the message `end` and what comes after it (the kept tail of a compaction).
pub fn messages_until(
    conversation: &mut Conversation,
    end: Option<MessageId>,
    files: FileBytes<'_>,
) -> Vec<Arc<RequestMessage>> {
    let mut visible = conversation.visible();
    if let Some(end) = end {
        let entries = conversation.entries();
        let cut = visible.iter().position(|&at| entries[at].message.id == end);
        visible.truncate(cut.unwrap_or(visible.len()));
    }
    let newest = visible.last().copied();
    let entries = conversation.entries_mut();
    let mut out = Vec::with_capacity(visible.len() * 2);
    for at in visible {
        let entry = &mut entries[at];
        if entry.rendered.is_none() {
            let rendered = render(entry, files);
            // The newest entry is still growing or was just made; it costs one more rendering.
            if Some(at) == newest && entry.message.completed.is_none() {
                out.extend(rendered);
                continue;
            }
            entry.rendered = Some(rendered);
        }
        out.extend(entry.rendered.iter().flatten().map(Arc::clone));
    }
    out
}

fn render(entry: &Entry, files: FileBytes<'_>) -> Vec<Arc<RequestMessage>> {
    let mut said = Vec::new();
    let mut results = Vec::new();
    for part in &entry.parts {
        render_part(part, files, &mut said, &mut results);
    }
    let message = |assistant, blocks| {
        Arc::new(RequestMessage {
            assistant,
            blocks,
            model: entry.message.model.clone(),
        })
    };
    let mut out = Vec::new();
    if !said.is_empty() {
        out.push(message(entry.message.role == Role::Assistant, said));
    }
    if !results.is_empty() {
        out.push(message(false, results));
    }
    out
}

fn render_part(part: &Part, files: FileBytes<'_>, said: &mut Vec<Block>, results: &mut Vec<Block>) {
    match &part.body {
        PartBody::Text {
            text,
            ignored: false,
            ..
        } if !text.is_empty() => {
            said.push(Block::Text(text.clone()));
        }
        PartBody::Reasoning {
            text,
            provider,
            ignored: false,
        } => {
            said.push(Block::Reasoning {
                text: text.clone(),
                provider: provider.clone(),
            });
        }
        PartBody::Tool(tool) => {
            if let Some((call, result)) = render_tool(part, tool, files) {
                said.push(call);
                results.push(result);
            }
        }
        PartBody::File(file) => said.push(file_block(file, files)),
        PartBody::Compaction { focus, .. } => {
            let mut text = COMPACTION_QUESTION.to_owned();
            if !focus.is_empty() {
                text.push_str("\n\nPay special attention to: ");
                text.push_str(focus);
            }
            said.push(Block::Text(text));
        }
        _ => {}
    }
}

fn render_tool(part: &Part, tool: &ToolPart, files: FileBytes<'_>) -> Option<(Block, Block)> {
    let input = match &tool.state {
        // Arguments that never became JSON: the model gets an empty object and the error.
        ToolState::Pending { .. } => serde_json::json!({}),
        ToolState::Error { input, .. } if input.is_null() => serde_json::json!({}),
        state => state.input()?.clone(),
    };
    let (output, error, attachments) = match &tool.state {
        ToolState::Pending { .. } | ToolState::Running { .. } => {
            (INTERRUPTED_OUTPUT.to_owned(), true, &[][..])
        }
        ToolState::Completed {
            compacted_at: Some(_),
            ..
        } => (
            format!("{PRUNED_OUTPUT} (recall {})", part.id),
            false,
            &[][..],
        ),
        ToolState::Completed {
            output,
            attachments,
            ..
        } => (output.clone(), false, attachments.as_slice()),
        ToolState::Error { error, .. } => (error.clone(), true, &[][..]),
    };
    let call = Block::Call {
        id: tool.call.clone(),
        name: tool.tool.clone(),
        input,
        provider: tool.provider.clone(),
    };
    let result = Block::Result {
        id: tool.call.clone(),
        name: tool.tool.clone(),
        output,
        error,
        files: attachments.iter().map(|f| file_block(f, files)).collect(),
    };
    Some((call, result))
}

fn file_block(file: &FilePart, files: FileBytes<'_>) -> Block {
    match files(file) {
        Some(bytes) => Block::File {
            mime: file.mime.clone(),
            name: file.name.clone(),
            bytes,
        },
        None => Block::Text(format!(
            "[The file {} could not be read and was left out]",
            file.name
        )),
    }
}
