//! Folders of Markdown files: where agents, commands and skills are looked for.
//!
//! Files that cannot be read or understood become a warning and are left out; the rest works. A
//! project's own files are only looked at when the folder is trusted: the caller passes the folders.

use std::path::{Path, PathBuf};

use super::front_matter::{self, Page};

/// Files above this are not agents, commands or skills but accidents.
const MAX_BYTES: u64 = 256 << 10;

/// A Markdown file that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Path below the folder without `.md`, with `/`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub page: Page,
}

/// The `.md` files of a folder and its subfolders (three levels), sorted by name. A folder that is
/// not there has none.
pub fn folder(dir: &Path, warnings: &mut Vec<String>) -> Vec<Found> {
    let mut found = Vec::new();
    walk(dir, "", 0, &mut found, warnings);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn walk(
    dir: &Path,
    prefix: &str,
    depth: usize,
    found: &mut Vec<Found>,
    warnings: &mut Vec<String>,
) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str().filter(|n| !n.starts_with('.')) else {
            continue;
        };
        if path.is_dir() {
            if depth < 3 {
                walk(
                    &path,
                    &format!("{prefix}{name}/"),
                    depth + 1,
                    found,
                    warnings,
                );
            }
        } else if let Some(stem) = name.strip_suffix(".md") {
            match read(&path) {
                Ok(page) => found.push(Found {
                    name: format!("{prefix}{stem}"),
                    path,
                    page,
                }),
                Err(sentence) => warnings.push(sentence),
            }
        }
    }
}

/// Reads one file; the error is a sentence that names it.
pub fn read(path: &Path) -> Result<Page, String> {
    let too_large = std::fs::metadata(path).is_ok_and(|m| m.len() > MAX_BYTES);
    if too_large {
        return Err(format!(
            "{} is left out: it is larger than {} KiB.",
            path.display(),
            MAX_BYTES >> 10
        ));
    }
    let text = std::fs::read(path)
        .map_err(|e| format!("{} is left out: it cannot be read ({e}).", path.display()))?;
    front_matter::read(&String::from_utf8_lossy(&text))
        .map_err(|e| format!("{} is left out: {e}.", path.display()))
}
