//! A folder as a listing.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use crate::tools::workspace::spelled;
use crate::tools::{Success, ToolContext};

/// Names in order, folders with `/`, links with their target.
pub(super) fn list(path: &Path, context: &ToolContext) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    let entries =
        std::fs::read_dir(path).map_err(|error| format!("{name} cannot be listed: {error}."))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let name = spelled::spell(&entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => format!("{name}/"),
                Ok(kind) if kind.is_symlink() => match std::fs::read_link(entry.path()) {
                    Ok(target) => format!("{name} -> {}", spelled::path(&target)),
                    Err(_gone) => name,
                },
                _ => name,
            }
        })
        .collect();
    names.sort();
    let most = context.output.limits().glob_paths;
    let mut output = format!("{name} is a folder with {} entries:\n", names.len());
    for name in names.iter().take(most) {
        _ = writeln!(output, "{name}");
    }
    if names.len() > most {
        _ = writeln!(
            output,
            "(and {} more; use glob with a pattern)",
            names.len() - most
        );
    }
    if names.is_empty() {
        output = format!("{name} is an empty folder.");
    }
    let metadata = json!({"kind": "folder", "entries": names.len()});
    Ok(Success {
        output,
        metadata,
        ..Success::default()
    })
}
