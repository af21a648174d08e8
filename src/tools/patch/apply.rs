//! What a patch makes of a set of files. Pure: files come from a `PatchSource`, changes go back as data.
//!
//! Lines that a hunk keeps keep their bytes (line ends, spaces, encoding); new lines get the line end
//! that most lines of the file have.

use std::collections::BTreeMap;

use super::parse::{Operation, PatchHunk, PatchLine};
use super::seek::seek;
use crate::tools::arguments::clipped;
use crate::tools::text::{Splice, TextFile, main_line_end};

/// Where the files come from.
pub trait PatchSource {
    /// Resolves a path as the patch has it to a name that is the same for the same file. The error
    /// refuses it.
    fn resolve(&self, path: &str) -> Result<String, String>;

    /// A file's bytes by its resolved name; none if there is no such file. The error says why it
    /// cannot be read (a folder, for example).
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String>;

    /// The encoding that a file was read as before, where it was a guess.
    fn encoding(&self, _name: &str) -> Option<String> {
        None
    }
}

/// One file after the patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its resolved name.
    pub name: String,
    /// Before; none if there was none.
    pub before: Option<Vec<u8>>,
    /// After; none if it is gone.
    pub after: Option<Vec<u8>>,
}

/// Works out what a patch does, in order; nothing is changed. The error is a sentence for the model.
pub fn apply_patch(
    operations: &[Operation],
    source: &dyn PatchSource,
) -> Result<Vec<Change>, String> {
    let mut state = State {
        source,
        files: BTreeMap::new(),
        order: Vec::new(),
    };
    for operation in operations {
        match operation {
            Operation::Add { path, content } => {
                let name = source.resolve(path)?;
                state.get(&name)?;
                state.set(&name, Some(content.clone().into_bytes()));
            }
            Operation::Delete { path } => {
                let name = source.resolve(path)?;
                if state.get(&name)?.is_none() {
                    return Err(format!(
                        "{path} cannot be deleted: it does not exist. Nothing was changed."
                    ));
                }
                state.set(&name, None);
            }
            Operation::Update {
                path,
                move_to,
                hunks,
            } => {
                let name = source.resolve(path)?;
                let bytes = state.get(&name)?.ok_or_else(|| {
                    format!("{path} cannot be updated: it does not exist. Nothing was changed.")
                })?;
                let known = source.encoding(&name);
                let file = TextFile::decode_as(bytes, known.as_deref()).map_err(|_binary| {
                    format!("{path} is not a text file. Nothing was changed.")
                })?;
                let after = update(path, &file, hunks)?;
                match move_to {
                    Some(target) => {
                        let target = source.resolve(target)?;
                        state.get(&target)?;
                        if target != name {
                            state.set(&name, None);
                        }
                        state.set(&target, Some(after));
                    }
                    None => state.set(&name, Some(after)),
                }
            }
        }
    }
    Ok(state.changes())
}

/// A file's bytes; none if it does not exist.
type Content = Option<Vec<u8>>;

/// The files as the operations so far leave them.
struct State<'a> {
    source: &'a dyn PatchSource,
    /// Before and now.
    files: BTreeMap<String, (Content, Content)>,
    order: Vec<String>,
}

impl State<'_> {
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        if let Some((_, now)) = self.files.get(name) {
            return Ok(now.clone());
        }
        let bytes = self.source.read(name)?;
        self.files
            .insert(name.to_owned(), (bytes.clone(), bytes.clone()));
        self.order.push(name.to_owned());
        Ok(bytes)
    }

    fn set(&mut self, name: &str, bytes: Option<Vec<u8>>) {
        if let Some((_, now)) = self.files.get_mut(name) {
            *now = bytes;
        }
    }

    fn changes(mut self) -> Vec<Change> {
        let files = &mut self.files;
        let changes = self.order.iter().filter_map(|name| {
            let (before, after) = files.remove(name)?;
            Some(Change {
                name: name.clone(),
                before,
                after,
            })
        });
        changes
            .filter(|change| change.before != change.after)
            .collect()
    }
}

/// Lines with where they are: start, end without line end, end with it.
struct Split<'a> {
    text: &'a str,
    spans: Vec<(usize, usize, usize)>,
}

impl<'a> Split<'a> {
    /// `lone_cr`: a carriage return alone ends a line too (old Mac files, mixed files).
    fn of(text: &'a str, lone_cr: bool) -> Self {
        let bytes = text.as_bytes();
        let mut spans = Vec::new();
        let mut start = 0;
        let mut at = 0;
        while at < bytes.len() {
            let width = match bytes[at] {
                b'\n' => 1,
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
                b'\r' if lone_cr => 1,
                _ => 0,
            };
            if width > 0 {
                spans.push((start, at, at + width));
                start = at + width;
            }
            at += width.max(1);
        }
        if start < bytes.len() {
            spans.push((start, bytes.len(), bytes.len()));
        }
        Self { text, spans }
    }

    fn bodies(&self) -> Vec<&'a str> {
        let body = |(start, end, _): &(usize, usize, usize)| {
            self.text.get(*start..*end).unwrap_or_default()
        };
        self.spans.iter().map(body).collect()
    }
}

fn update(path: &str, file: &TextFile, hunks: &[PatchHunk]) -> Result<Vec<u8>, String> {
    let text = file.text();
    let plain = splices(path, &Split::of(text, false), hunks);
    let splices = match plain {
        Err(_) if text.replace("\r\n", "").contains('\r') => {
            splices(path, &Split::of(text, true), hunks)
        }
        other => other,
    }?;
    file.splice(&splices)
}

fn splices(path: &str, split: &Split<'_>, hunks: &[PatchHunk]) -> Result<Vec<Splice>, String> {
    let lines = split.bodies();
    let main_end = main_line_end(split.text);
    let mut splices: Vec<Splice> = Vec::new();
    let mut from = 0;
    for hunk in hunks {
        for header in &hunk.headers {
            let found = seek(&lines, std::slice::from_ref(header), from, false);
            from = 1 + found.ok_or_else(|| {
                not_found(
                    path,
                    &format!("the line `{}` (after @@)", clipped(header, 200)),
                    from,
                )
            })?;
        }
        let mut wanted: Vec<String> = Vec::new();
        for line in &hunk.lines {
            if let PatchLine::Keep(text) | PatchLine::Remove(text) = line {
                wanted.push(text.clone());
            }
        }
        let at = if wanted.is_empty() {
            if hunk.headers.is_empty() || hunk.at_end {
                lines.len()
            } else {
                from
            }
        } else {
            let found = seek(&lines, &wanted, from, hunk.at_end).or_else(|| {
                // an empty last line of context often stands for the end of the file
                let shorter = wanted
                    .strip_suffix([String::new()].as_slice())
                    .filter(|rest| !rest.is_empty())?;
                let at = seek(&lines, shorter, from, hunk.at_end)?;
                (at + shorter.len() == lines.len()).then_some(at)
            });
            found.ok_or_else(|| not_found(path, &quoted(&wanted), from))?
        };
        from = place(split, hunk, at, main_end, &mut splices);
    }
    Ok(splices)
}

/// Adds the splices of one hunk found at a line; returns the line after it.
fn place(
    split: &Split<'_>,
    hunk: &PatchHunk,
    at: usize,
    main_end: &str,
    splices: &mut Vec<Splice>,
) -> usize {
    let mut line = at;
    let mut removed: Vec<usize> = Vec::new();
    let mut added: Vec<&str> = Vec::new();
    let mut flush = |line: usize, removed: &mut Vec<usize>, added: &mut Vec<&str>| {
        if removed.is_empty() && added.is_empty() {
            return;
        }
        let offset = |index: usize| {
            split
                .spans
                .get(index)
                .map_or(split.text.len(), |span| span.0)
        };
        let first = removed.first().copied().unwrap_or(line);
        let range = offset(first)
            ..removed
                .last()
                .map_or(offset(first), |last| split.spans[*last].2);
        let mut text = String::new();
        // after a last line without line end
        if range.start == split.text.len()
            && !split.text.is_empty()
            && !split.text.ends_with(['\n', '\r'])
            && !added.is_empty()
        {
            text.push_str(main_end);
        }
        for body in added.iter() {
            text.push_str(body);
            text.push_str(main_end);
        }
        splices.push(Splice { range, text });
        removed.clear();
        added.clear();
    };
    for patch_line in &hunk.lines {
        match patch_line {
            PatchLine::Keep(_) => {
                flush(line, &mut removed, &mut added);
                line = (line + 1).min(split.spans.len());
            }
            PatchLine::Remove(_) => {
                if !added.is_empty() {
                    flush(line, &mut removed, &mut added);
                }
                if line < split.spans.len() {
                    removed.push(line);
                    line += 1;
                }
            }
            PatchLine::Add(text) => added.push(text),
        }
    }
    flush(line, &mut removed, &mut added);
    line
}

fn quoted(lines: &[String]) -> String {
    let shown: Vec<String> = lines
        .iter()
        .take(6)
        .map(|line| clipped(line, 200))
        .collect();
    let more = if lines.len() > 6 { "\n…" } else { "" };
    format!("these lines:\n{}{more}\n", shown.join("\n"))
}

fn not_found(path: &str, what: &str, from: usize) -> String {
    let after = if from > 0 {
        format!(" after line {from}")
    } else {
        String::new()
    };
    format!(
        "{path} does not have {what}{after}. Nothing was changed. Read the file again; the lines of a \
         hunk must be copied exactly, and hunks must be in the file's order."
    )
}
