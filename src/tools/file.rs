//! Loading a file for a tool that reads or changes it, and sentences for what can be wrong with it.
//!
//! Shared by `read`, `edit`, `write` and `apply_patch`. Never opens what is not a regular file: opening
//! a pipe would hang.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::text::{NotText, TextFile};
use super::{ToolContext, suggest};
use crate::protocol::Millis;

/// Files up to this size are handled on the async thread; a hop to another one would cost more.
pub(crate) const SMALL: u64 = 256 * 1024;

/// Files above this size are not loaded whole.
pub(crate) const MOST: u64 = 64 << 20;

/// A file's bytes with the metadata from before they were read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub bytes: Vec<u8>,
    pub meta: Metadata,
}

/// What is at a path.
#[derive(Debug)]
pub(crate) enum Kind {
    File(Metadata),
    Folder,
    Missing,
}

/// Looks what is at a path. The error is a sentence: it exists but cannot be used.
pub(crate) fn kind(path: &Path, context: &ToolContext) -> Result<Kind, String> {
    let name = context.workspace.model_path(path);
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Kind::File(meta)),
        Ok(meta) if meta.is_dir() => Ok(Kind::Folder),
        Ok(_) => Err(format!(
            "{name} is a device, pipe or socket, not a file. Use a command for it if you must."
        )),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(Kind::Missing),
            io::ErrorKind::NotADirectory => Err(format!(
                "{name} does not exist: a part of the path is a file, not a folder. Check it with list."
            )),
            io::ErrorKind::PermissionDenied => Err(format!(
                "{name} cannot be reached: permission denied. Ask the user or use another file."
            )),
            _ => Err(format!(
                "{name} cannot be reached: {error}. Check the path."
            )),
        },
    }
}

/// Loads a regular file whole.
pub(crate) fn load(path: &Path, context: &ToolContext) -> Result<Loaded, String> {
    let name = context.workspace.model_path(path);
    let bad = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{name} cannot be read: permission denied. Ask the user or use another file.")
        }
        _ => format!("{name} cannot be read: {error}. Check the path."),
    };
    let mut file = File::open(path).map_err(bad)?;
    // of the open file, so that metadata and content belong together
    let meta = file.metadata().map_err(bad)?;
    if meta.len() > MOST {
        return Err(format!(
            "{name} is {} large, too large to be loaded. Use a command (sed, awk, split) for it.",
            human(meta.len())
        ));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    // files of /proc say 0 and have content; growing ones must not grow without end
    file.by_ref()
        .take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(bad)?;
    Ok(Loaded { bytes, meta })
}

/// Decodes a file, or says what it is instead of text.
pub(crate) fn decode(
    bytes: Vec<u8>,
    path: &Path,
    context: &ToolContext,
) -> Result<TextFile, String> {
    let size = bytes.len() as u64;
    let known = context.reads.encoding(path);
    let decoded = TextFile::decode_as(bytes, known.as_deref());
    if let Some(guess) = decoded.as_ref().ok().and_then(TextFile::guessed) {
        context.reads.note_encoding(path, guess);
    }
    decoded.map_err(|NotText { mime }| {
        let name = context.workspace.model_path(path);
        let what = mime.map_or_else(String::new, |mime| format!(" ({mime})"));
        format!(
            "{name} is a binary file{what} of {}, not text. Use a command that knows the format, or \
             `file` and `xxd {name} | head` to look at it.",
            human(size)
        )
    })
}

/// The sentence for a file that does not exist, with what may have been meant.
pub(crate) fn missing(path: &Path, context: &ToolContext) -> String {
    let name = context.workspace.model_path(path);
    let near = suggest::near(path, &context.workspace);
    if near.is_empty() {
        return format!("{name} does not exist. Find the right path with glob or list.");
    }
    let near: Vec<String> = near
        .iter()
        .map(|path| context.workspace.model_path(path))
        .collect();
    format!(
        "{name} does not exist. Did you mean {}?",
        near.join(", or ")
    )
}

/// Milliseconds since the epoch, now.
pub(crate) fn now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as Millis)
}

/// A size for people.
pub(crate) fn human(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", units[unit])
}
