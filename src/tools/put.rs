//! Putting a file on disk on a tool's behalf: told first, then done.
//!
//! The only way in which `edit`, `write` and `apply_patch` change files, so that account is kept of all of it.

use std::fs::Metadata;
use std::path::Path;

use super::ToolContext;
use super::text::save;

/// What is replaced: its bytes and the metadata that went with them.
pub(crate) type Replaced<'a> = Option<(&'a [u8], &'a Metadata)>;

/// Writes a file; see `save` for what is refused.
pub(crate) fn put(
    path: &Path,
    before: Replaced<'_>,
    after: &[u8],
    context: &ToolContext,
) -> Result<Metadata, String> {
    let write = || save(path, after, before.map(|(_, meta)| meta));
    told(path, (before, Some(after)), context, write)
}

/// Removes a file.
pub(crate) fn remove(
    path: &Path,
    before: Replaced<'_>,
    context: &ToolContext,
) -> Result<(), String> {
    told(path, (before, None), context, || {
        let name = context.workspace.model_path(path);
        std::fs::remove_file(path).map_err(|error| format!("{name} could not be deleted: {error}."))
    })
}

fn told<T>(
    path: &Path,
    (before, after): (Replaced<'_>, Option<&[u8]>),
    context: &ToolContext,
    write: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    let Some(sink) = &context.writes else {
        return write();
    };
    let before = before.map(|(bytes, meta)| (bytes, bits(meta)));
    let told = sink.about_to_write(path, before, after);
    let done = write();
    if let (Err(_), Some(told)) = (&done, told) {
        sink.did_not_write(told);
    }
    done
}

/// Permission bits.
fn bits(meta: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o777
}
