//! What a part is to `recall`: how it is found by a name, what of it is searched, how it is told.

use serde_json::Value;

use crate::context::Entry;
use crate::context::handle::{Handles, SHORTEST};
use crate::protocol::{Part, PartBody, PartId, Role, ToolState};
use crate::tools::arguments::short;

/// Parts that are named when a short id could be several.
const NAMED: usize = 5;

/// A part by its id or its handle, or by the beginning or the end of its id if no other part has the
/// same.
pub(super) fn find_part<'a>(entries: &'a [Entry], id: &str) -> Result<&'a Part, String> {
    let given = id.trim().trim_end_matches('…').to_ascii_lowercase();
    let digits = given.trim_start_matches(PartId::PREFIX);
    let parts = || entries.iter().rev().flat_map(|e| e.parts.iter().rev());
    let full = format!("{}{digits}", PartId::PREFIX).parse::<PartId>();
    let none = || {
        format!(
            "There is no part {} in this session. Search for it with query.",
            short(id)
        )
    };
    if let Ok(full) = full {
        return parts().find(|p| p.id == full).ok_or_else(none);
    }
    if digits.len() < SHORTEST {
        return Err(none());
    }
    let same: Vec<&Part> = parts()
        .filter(|part| {
            let own = part.id.to_string();
            let own = own.trim_start_matches(PartId::PREFIX);
            own.starts_with(digits) || own.ends_with(digits)
        })
        .collect();
    // A handle is its part's alone, also where the end of a newer id reads the same.
    let handles = Handles::of(entries);
    let handle = format!("{}{digits}", PartId::PREFIX);
    if let Some(named) = same.iter().find(|p| handles.name(p.id) == handle) {
        return Ok(named);
    }
    match same.as_slice() {
        [one] => Ok(one),
        [] => Err(none()),
        several => {
            let ids = several.iter().take(NAMED).map(|p| p.id.to_string());
            Err(format!(
                "{} parts are called {id}. Give the whole id of the one that you mean: {}.",
                several.len(),
                ids.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// `turn 12, bash cargo test (cleared)`
pub(super) fn heading(entry: &Entry, part: &Part, turn: usize, in_context: bool) -> String {
    let (what, pruned) = match &part.body {
        PartBody::Tool(tool) => {
            let (title, pruned) = match &tool.state {
                ToolState::Completed {
                    title,
                    compacted_at,
                    ..
                } => (title.as_str(), compacted_at.is_some()),
                ToolState::Error { title, .. } | ToolState::Running { title, .. } => {
                    (title.as_str(), false)
                }
                ToolState::Pending { .. } => ("", false),
            };
            (format!("{} {title}", tool.tool), pruned)
        }
        PartBody::Text { .. } if entry.message.summary => ("notes".to_owned(), false),
        PartBody::Text { .. } if entry.message.role == Role::User => ("user".to_owned(), false),
        PartBody::Text { .. } => ("assistant".to_owned(), false),
        body => (body.kind().to_owned(), false),
    };
    let state = match (in_context, pruned) {
        (false, _) => " (summarised)",
        (true, true) => " (cleared)",
        (true, false) => "",
    };
    format!("turn {turn}, {}{state}", what.trim_end())
}

/// The texts of a part that are searched.
pub(super) fn texts(part: &Part) -> Vec<&str> {
    match &part.body {
        PartBody::Text { text, .. } | PartBody::Reasoning { text, .. } => vec![text],
        PartBody::Tool(tool) => {
            let mut texts = Vec::new();
            match &tool.state {
                ToolState::Completed { output, .. } => texts.push(output.as_str()),
                ToolState::Error { error, raw, .. } => texts.extend([error.as_str(), raw.as_str()]),
                ToolState::Running { .. } | ToolState::Pending { .. } => {}
            }
            texts.extend(tool.state.input().into_iter().flat_map(strings));
            texts
        }
        PartBody::File(file) => vec![&file.name],
        PartBody::Patch { files, .. } => files.iter().map(|f| f.path.as_str()).collect(),
        PartBody::Subtask { prompt, .. } => vec![prompt],
        PartBody::Compaction { focus, .. } => vec![focus],
        PartBody::StepStart { .. } | PartBody::StepFinish { .. } | PartBody::Retry { .. } => {
            Vec::new()
        }
    }
}

/// All strings in a JSON value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn names_file(part: &Part, file: &str) -> bool {
    match &part.body {
        PartBody::Tool(tool) => {
            let named = |text: &&str| text.contains(file);
            tool.state
                .input()
                .is_some_and(|input| strings(input).iter().any(named))
        }
        PartBody::Patch { files, .. } => files.iter().any(|f| f.path.contains(file)),
        PartBody::File(attached) => attached.name.contains(file),
        _ => false,
    }
}

/// All of a part: its lines are counted as a search counts them, so the arguments of a call stand apart.
#[derive(Debug)]
pub(super) struct Whole {
    /// The arguments of a call, on one line.
    pub(super) input: Option<String>,
    /// Everything else.
    pub(super) body: String,
}

/// All of a part that was ever shown to a model.
pub(super) fn whole(part: &Part) -> Whole {
    let PartBody::Tool(tool) = &part.body else {
        return Whole {
            input: None,
            body: texts(part).join("\n"),
        };
    };
    let input = tool.state.input().filter(|i| !i.is_null());
    let input = input.map(|input| format!("input: {input}"));
    let mut text = String::new();
    match &tool.state {
        ToolState::Completed {
            output,
            attachments,
            truncated,
            ..
        } => {
            text.push_str(output);
            for file in attachments {
                text.push_str(&format!("\n[attached: {} ({})]", file.name, file.mime));
            }
            // The output says so itself while the file is kept; the path is what counts here.
            if let Some(full) = truncated.as_ref().filter(|f| !output.contains(&f.path)) {
                text.push_str(&format!("\nFull output saved to: {}", full.path));
            }
        }
        ToolState::Error { error, raw, .. } => {
            text.push_str(raw);
            text.push_str(error);
        }
        ToolState::Running { .. } | ToolState::Pending { .. } => {
            text.push_str("It has no result yet.");
        }
    }
    Whole { input, body: text }
}
