//! Images and PDFs as attachments of a call's result.

use std::path::Path;

use serde_json::json;

use crate::protocol::{FilePart, FileSource};
use crate::tools::file::human;
use crate::tools::media::{self, Fitted};
use crate::tools::{Success, ToolContext};

/// The file as an attachment.
pub(super) fn attach(
    path: &Path,
    bytes: Vec<u8>,
    context: &ToolContext,
) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    // Without a blob store a file of the worktree is referred to where it is.
    let place = context
        .workspace
        .is_inside(path)
        .then(|| FileSource::Path(context.workspace.display(path)));
    attach_as(&name, bytes, (context, place))
}

/// Bytes that came from elsewhere as an attachment; `name` is their path or address.
pub(crate) fn keep(name: &str, bytes: Vec<u8>, context: &ToolContext) -> Result<Success, String> {
    attach_as(name, bytes, (context, None))
}

fn attach_as(
    name: &str,
    bytes: Vec<u8>,
    (context, place): (&ToolContext, Option<FileSource>),
) -> Result<Success, String> {
    let size = bytes.len();
    let Fitted {
        mime,
        bytes,
        scaled,
    } = media::fit(bytes).map_err(|why| format!("{name} {why}"))?;
    let source = match (&context.blobs, place) {
        (Some(blobs), _) => blobs.keep(mime, &bytes)?,
        (None, Some(place)) => place,
        (None, None) => {
            return Err(format!(
                "{name} cannot be attached: it is outside of the worktree."
            ));
        }
    };
    let kind = if mime == "application/pdf" {
        "PDF"
    } else {
        "image"
    };
    let mut output = format!("{name} is attached ({kind}, {}", human(size as u64));
    if let Some((width, height)) = scaled {
        output.push_str(&[", scaled to ", &width.to_string(), "×", &height.to_string()].concat());
    }
    output.push_str(").");
    let file_name = name
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(name);
    Ok(Success {
        output,
        metadata: json!({"kind": kind.to_lowercase(), "mime": mime, "bytes": size}),
        attachments: vec![FilePart {
            mime: mime.to_owned(),
            name: file_name.to_owned(),
            source,
        }],
        ..Success::default()
    })
}
