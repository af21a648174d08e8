//! Reads a V4A patch. Pure.
//!
//! Lenient where models drift (spaces around markers, a heredoc or code fence around it all, a first
//! hunk without `@@`), strict about everything else, with the line number in every error.

use crate::tools::arguments::short;

/// One file's part of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Create (or overwrite) a file.
    Add {
        /// The file, as written.
        path: String,
        /// Its content.
        content: String,
    },
    /// Delete a file.
    Delete {
        /// The file, as written.
        path: String,
    },
    /// Change a file, and perhaps move it.
    Update {
        /// The file, as written.
        path: String,
        /// Its new path.
        move_to: Option<String>,
        /// The changes, in the file's order.
        hunks: Vec<PatchHunk>,
    },
}

/// One change of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchHunk {
    /// Lines after `@@`, to be found one after the other before the change.
    pub headers: Vec<String>,
    /// Its lines.
    pub lines: Vec<PatchLine>,
    /// True if it must be at the end of the file.
    pub at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchLine {
    /// Stays.
    Keep(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Reads a patch. The error is a sentence for the model.
pub fn parse_patch(text: &str) -> Result<Vec<Operation>, String> {
    let lines = body(text)?;
    let mut operations = Vec::new();
    let mut at = 0;
    while let Some((number, line)) = lines.get(at) {
        at += 1;
        let marker = line.trim();
        if let Some(path) = marker.strip_prefix("*** Add File: ") {
            operations.push(add(path, &lines, &mut at)?);
        } else if let Some(path) = marker.strip_prefix("*** Delete File: ") {
            operations.push(Operation::Delete {
                path: path.trim().to_owned(),
            });
        } else if let Some(path) = marker.strip_prefix("*** Update File: ") {
            operations.push(update(path, &lines, &mut at)?);
        } else if !marker.is_empty() {
            return Err(format!(
                "Line {number} of the patch (`{}`) is not the beginning of a file. Write `*** Add File: \
                 path`, `*** Delete File: path` or `*** Update File: path`.",
                short(line)
            ));
        }
    }
    if operations.is_empty() {
        return Err(
            "The patch is empty. Between `*** Begin Patch` and `*** End Patch` there must be at \
             least one `*** Add File:`, `*** Delete File:` or `*** Update File:`."
                .to_owned(),
        );
    }
    Ok(operations)
}

/// The lines between the markers, with their numbers.
fn body(text: &str) -> Result<Vec<(usize, &str)>, String> {
    let lines: Vec<(usize, &str)> = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .collect();
    let begin = lines.iter().position(|(_, line)| line.trim() == BEGIN);
    let begin = begin.ok_or_else(|| format!("The patch must begin with the line `{BEGIN}`."))?;
    // what stands before can only be the opening of a heredoc or a code fence
    if let Some((number, line)) = lines[..begin].iter().find(|(_, line)| !is_wrapping(line)) {
        return Err(format!(
            "Line {number} (`{}`) stands before `{BEGIN}`; the patch must begin with that line.",
            short(line)
        ));
    }
    let end = lines.iter().rposition(|(_, line)| line.trim() == END);
    let end = end.filter(|end| *end > begin).ok_or_else(|| {
        format!("The patch must end with the line `{END}`; it may have been cut off. Send it again whole.")
    })?;
    if let Some((number, line)) = lines[end + 1..].iter().find(|(_, line)| !is_wrapping(line)) {
        return Err(format!(
            "Line {number} (`{}`) stands after `{END}`; send one patch only.",
            short(line)
        ));
    }
    Ok(lines[begin + 1..end].to_vec())
}

fn is_wrapping(line: &str) -> bool {
    let line = line.trim();
    let word = |text: &str| {
        text.chars()
            .all(|char| char.is_alphanumeric() || "_'\"-".contains(char))
    };
    line.is_empty()
        || line.starts_with("```")
        || line.strip_prefix("<<").is_some_and(word)
        || line.ends_with("<<EOF")
        || line.ends_with("<<'EOF'")
        || line.ends_with("<<\"EOF\"")
        || matches!(line, "EOF" | "PATCH" | "END")
}

fn is_marker(line: &str) -> bool {
    let line = line.trim();
    ["*** Add File: ", "*** Delete File: ", "*** Update File: "]
        .iter()
        .any(|marker| line.starts_with(marker))
}

fn add(path: &str, lines: &[(usize, &str)], at: &mut usize) -> Result<Operation, String> {
    let mut content = String::new();
    while let Some((number, line)) = lines.get(*at) {
        if is_marker(line) {
            break;
        }
        let Some(text) = line.strip_prefix('+') else {
            if line.trim().is_empty()
                && lines[*at..]
                    .iter()
                    .all(|(_, line)| line.trim().is_empty() || is_marker(line))
            {
                break;
            }
            return Err(format!(
                "Line {number} of the patch (`{}`) must begin with `+`: every line of an added file does.",
                short(line)
            ));
        };
        content.push_str(text);
        content.push('\n');
        *at += 1;
    }
    Ok(Operation::Add {
        path: path.trim().to_owned(),
        content,
    })
}

fn update(path: &str, lines: &[(usize, &str)], at: &mut usize) -> Result<Operation, String> {
    let path = path.trim().to_owned();
    let mut move_to = None;
    if let Some((_, line)) = lines.get(*at)
        && let Some(target) = line.trim().strip_prefix("*** Move to: ")
    {
        move_to = Some(target.trim().to_owned());
        *at += 1;
    }
    let mut hunks: Vec<PatchHunk> = Vec::new();
    let mut current = PatchHunk::default();
    while let Some((number, line)) = lines.get(*at) {
        if is_marker(line) {
            break;
        }
        *at += 1;
        if line.trim() == "*** End of File" {
            current.at_end = true;
            finish(&mut hunks, &mut current);
        } else if let Some(header) = line.strip_prefix("@@") {
            finish(&mut hunks, &mut current);
            let header = header.strip_prefix(' ').unwrap_or(header);
            let header = header.strip_suffix(" @@").unwrap_or(header).trim_end();
            if !header.is_empty() && !is_range(header) {
                current.headers.push(header.to_owned());
            }
        } else {
            current.lines.push(hunk_line(*number, line)?);
        }
    }
    finish(&mut hunks, &mut current);
    if let Some(last) = hunks.last_mut() {
        // blank lines before the next marker separate, they are no context
        while matches!(last.lines.last(), Some(PatchLine::Keep(line)) if line.is_empty())
            && !last.at_end
        {
            last.lines.pop();
        }
        if last.lines.is_empty() {
            hunks.pop();
        }
    }
    if hunks.is_empty() && move_to.is_none() {
        return Err(format!(
            "The update of {path} has no changes. Give at least one hunk with `-` or `+` lines."
        ));
    }
    Ok(Operation::Update {
        path,
        move_to,
        hunks,
    })
}

/// Adds a hunk that has lines; one with headers only passes them on to the next.
fn finish(hunks: &mut Vec<PatchHunk>, current: &mut PatchHunk) {
    if !current.lines.is_empty() {
        hunks.push(std::mem::take(current));
    }
}

/// `-1,2 +3,4`, as in unified diffs: says nothing that we can trust.
fn is_range(header: &str) -> bool {
    header.starts_with('-')
        && header.contains(" +")
        && header
            .chars()
            .all(|char| char.is_ascii_digit() || "-+, ".contains(char))
}

fn hunk_line(number: usize, line: &str) -> Result<PatchLine, String> {
    let mut chars = line.chars();
    let rest = |chars: std::str::Chars<'_>| chars.as_str().to_owned();
    match chars.next() {
        None => Ok(PatchLine::Keep(String::new())),
        Some(' ') => Ok(PatchLine::Keep(rest(chars))),
        Some('+') => Ok(PatchLine::Add(rest(chars))),
        Some('-') => Ok(PatchLine::Remove(rest(chars))),
        Some(_) => Err(format!(
            "Line {number} of the patch (`{}`) must begin with a space, `-`, `+` or `@@`.",
            short(line)
        )),
    }
}
