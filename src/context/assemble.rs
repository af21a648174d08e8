//! Conversation → the messages of a request.
//!
//! A history read back at any instant is valid: every call is followed by its result, whatever
//! state it was cut in. Messages whose content did not change are shared with the request before,
//! so encoders can tell by pointer what they already encoded.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::conversation::{Conversation, Entry, Rendered};
use super::fold::{Fold, cleared_at};
use super::handle::Handles;
use crate::model::request::{Block, Messages, RequestMessage};
use crate::protocol::tool::{INTERRUPTED_OUTPUT, PRUNED_OUTPUT};
use crate::protocol::{FilePart, Part, PartBody, Role, ToolPart, ToolState};

/// What the compaction request says to the model.
pub const COMPACTION_QUESTION: &str = "What did we do so far?";

/// Gives the bytes of a file part; none if they are not to be had (a one-line note is sent instead).
pub type FileBytes<'a> = &'a dyn Fn(&FilePart) -> Option<bytes::Bytes>;

/// The messages of the next request, oldest first. Those of the last request that still hold are taken
/// over as they are: a step costs what it adds.
pub fn messages(conversation: &mut Conversation, files: FileBytes<'_>) -> Messages {
    let kept = std::mem::take(&mut conversation.assembled);
    let places = kept.ends.len()..conversation.visible().len();
    let mut growing = rendered(conversation, places, files);
    let mut kept = kept;
    // What is still growing is rendered again next time.
    let settled = match conversation.tip() {
        Some(tip) if tip.message.completed.is_none() => growing.len().saturating_sub(1),
        _ => growing.len(),
    };
    for messages in growing.drain(..settled) {
        kept.messages.extend(messages);
        kept.ends.push(kept.messages.len());
    }
    let mut all = kept.messages.clone();
    all.extend(growing.into_iter().flatten());
    conversation.assembled = kept;
    all
}

/// What a summary is made of: the messages at these places of `visible`, with every text longer
/// than `clip` characters cut in its middle. Calls and results stay together.
pub fn messages_in(
    conversation: &mut Conversation,
    places: Range<usize>,
    clip: Option<usize>,
    files: FileBytes<'_>,
) -> Messages {
    let all = rendered(conversation, places, files).into_iter().flatten();
    match clip {
        None => all.collect(),
        Some(most) => all.map(|m| Arc::new(clipped(&m, most))).collect(),
    }
}

/// What stands between a summary and a kept tail that begins with an answer: no wire takes two
/// answers in a row.
const BRIDGE: &str = "Go on from there. The newest steps follow as they were.";

/// The messages of each of these places.
fn rendered(
    conversation: &mut Conversation,
    places: Range<usize>,
    files: FileBytes<'_>,
) -> Vec<Vec<Arc<RequestMessage>>> {
    let visible = conversation.visible();
    let newest = visible.last().copied();
    let before = places.start.checked_sub(1).and_then(|at| visible.get(at));
    let mut after_summary = before.is_some_and(|&at| conversation.entries()[at].message.summary);
    let shown = visible.get(places).unwrap_or_default().to_vec();
    let folds = conversation.folds();
    let is_fresh = |entry: &Entry, at| {
        let kept = entry.rendered.as_ref();
        kept.is_some_and(|r| r.fold.as_ref() == folds.at(at))
    };
    // Handles are worked out over the whole branch: only when a marker is to be written.
    let marks = |entry: &Entry| entry.parts.iter().any(|p| cleared_at(p).is_some());
    let entries = conversation.entries();
    let needs = shown
        .iter()
        .any(|&at| !is_fresh(&entries[at], at) && marks(&entries[at]));
    let look = Look {
        files,
        handles: if needs {
            Handles::of(entries)
        } else {
            Handles::default()
        },
    };
    let entries = conversation.entries_mut();
    let mut out = Vec::with_capacity(shown.len());
    for at in shown {
        let entry = &mut entries[at];
        let mut messages = Vec::with_capacity(2);
        if after_summary && entry.message.role == Role::Assistant {
            messages.push(Arc::new(RequestMessage {
                assistant: false,
                blocks: vec![Block::Text(BRIDGE.to_owned())],
                model: entry.message.model.clone(),
            }));
        }
        after_summary = entry.message.summary;
        if is_fresh(entry, at) {
            messages.extend(
                entry
                    .rendered
                    .iter()
                    .flat_map(|r| &r.messages)
                    .map(Arc::clone),
            );
        } else {
            let fold = folds.at(at);
            let made = render(entry, fold, &look);
            messages.extend(made.iter().map(Arc::clone));
            // The newest entry is still growing or was just made; it costs one more rendering.
            if Some(at) != newest || entry.message.completed.is_some() {
                entry.rendered = Some(Rendered {
                    messages: made,
                    fold: fold.cloned(),
                });
            }
        }
        out.push(messages);
    }
    out
}

/// What rendering needs besides the entry.
struct Look<'a> {
    files: FileBytes<'a>,
    handles: Handles,
}

fn clipped(message: &RequestMessage, most: usize) -> RequestMessage {
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text(text) => Block::Text(middle_out(text, most)),
        Block::Result {
            id,
            name,
            output,
            error,
            ..
        } => Block::Result {
            id: id.clone(),
            name: name.clone(),
            output: middle_out(output, most),
            error: *error,
            files: Vec::new(),
        },
        // Images cost more than they say about what was done.
        Block::File { name, .. } => Block::Text(format!("[file {name}]")),
        other => other.clone(),
    });
    RequestMessage {
        blocks: blocks.collect(),
        ..message.clone()
    }
}

/// The beginning and the end of a text that is longer than `most` bytes.
fn middle_out(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut head = most / 2;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - most / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let (from, to) = (text.get(..head), text.get(tail..));
    format!(
        "{}\n[… {} bytes left out …]\n{}",
        from.unwrap_or_default(),
        tail - head,
        to.unwrap_or_default()
    )
}

fn render(entry: &Entry, fold: Option<&Fold>, look: &Look<'_>) -> Vec<Arc<RequestMessage>> {
    let mut said = Vec::new();
    let mut results = Vec::new();
    let is_folded = |part: &Part| match part.body {
        // Thoughts without their calls are refused by some wires and say nothing.
        PartBody::Reasoning { .. } => fold.is_some_and(|f| f.whole),
        _ => fold.is_some_and(|f| f.calls.contains(&part.id)),
    };
    for part in entry.parts.iter().filter(|part| !is_folded(part)) {
        render_part(part, look, &mut said, &mut results);
    }
    let message = |assistant, blocks| {
        Arc::new(RequestMessage {
            assistant,
            blocks,
            model: entry.message.model.clone(),
        })
    };
    let mut out = Vec::new();
    // In the user's place, so that the model does not take it for its own way of speaking.
    if let Some(line) = fold.and_then(|f| f.line.as_ref()) {
        out.push(message(false, vec![Block::Text(line.clone())]));
    }
    if !said.is_empty() {
        out.push(message(entry.message.role == Role::Assistant, said));
    }
    if !results.is_empty() {
        out.push(message(false, results));
    }
    out
}

fn render_part(part: &Part, look: &Look<'_>, said: &mut Vec<Block>, results: &mut Vec<Block>) {
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
            if let Some((call, result)) = render_tool(part, tool, look) {
                said.push(call);
                results.push(result);
            }
        }
        PartBody::File(file) => said.push(file_block(file, look.files)),
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

fn render_tool(part: &Part, tool: &ToolPart, look: &Look<'_>) -> Option<(Block, Block)> {
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
            title,
            ..
        } => (
            pruned_marker(&look.handles.name(part.id), &input, title),
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
        files: attachments
            .iter()
            .map(|f| file_block(f, look.files))
            .collect(),
    };
    Some((call, result))
}

/// What stands in the place of a pruned output: the marker, the way back, and the title if the
/// arguments do not say the same.
fn pruned_marker(handle: &str, input: &Value, title: &str) -> String {
    let mut text = format!("{PRUNED_OUTPUT} (recall {handle})");
    if let Some(title) = marker_title(input, title) {
        text.push(' ');
        text.push_str(title);
    }
    text
}

/// The title of a call, if its arguments do not say the same.
pub fn marker_title<'a>(input: &Value, title: &'a str) -> Option<&'a str> {
    let said = |value: &Value| value.as_str().is_some_and(|s| s.contains(title));
    let known = input.as_object().is_some_and(|o| o.values().any(said));
    (!title.is_empty() && !known).then_some(title)
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
