//! The files that a prompt names with `@`, and what a file is by its name.
//!
//! Used by every front end before it sends a prompt. Pure: whether a file is there is looked at by the agent,
//! because `@` begins names of people and of packages too.

use super::{FilePart, FileSource};

/// The files that a text names with `@`. Those that are not there are left out by the agent.
pub fn mentioned(text: &str) -> Vec<FilePart> {
    let mut files: Vec<FilePart> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '[', '{', '"', '\'', '`', '<', '“', '‘', '«']);
        let Some(word) = word.strip_prefix('@') else {
            continue;
        };
        let end = |c: char| ",.;:!?)]}\"'`>”’»…".contains(c);
        let word = word.trim_end_matches(end);
        let path = word.split_once(':').map_or(word, |(path, _)| path);
        let path = path.trim_end_matches('/');
        if !path.is_empty() && !files.iter().any(|f| f.name == word) {
            files.push(FilePart {
                mime: media_type(path).to_owned(),
                name: word.to_owned(),
                source: FileSource::Path(path.to_owned()),
            });
        }
    }
    files
}

/// Media type of a path by its name: enough to tell images and folders from text.
pub fn media_type(path: &str) -> &'static str {
    if path.ends_with('/') {
        return "inode/directory";
    }
    let ending = path.rsplit('.').next().map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        _ => "text/plain",
    }
}
