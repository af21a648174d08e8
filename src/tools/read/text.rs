//! A text as numbered lines: a window of it, cut to the limits.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::json;

use crate::config::used::OutputLimits;
use crate::tools::file::human;
use crate::tools::output::cut::at_char;
use crate::tools::{Success, ToolContext};

/// Which lines are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// First line, from 1.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Window {
    /// What a call asked for, within the limits.
    pub(super) fn of(offset: Option<u64>, limit: Option<u64>, limits: &OutputLimits) -> Self {
        let most = limits.read_lines as u64;
        Self {
            first: offset.unwrap_or(1).max(1),
            count: limit.filter(|limit| *limit > 0).unwrap_or(most).min(most),
        }
    }
}

/// Lines as they will be shown.
#[derive(Debug)]
struct Page {
    out: String,
    width: usize,
    line_chars: usize,
    room: usize,
    shown: u64,
    cut_lines: u64,
}

impl Page {
    fn new(window: Window, limits: &OutputLimits) -> Self {
        Self {
            out: String::new(),
            width: (window.first + window.count).to_string().len().clamp(4, 12),
            line_chars: limits.read_line_chars,
            room: limits.bytes,
            shown: 0,
            cut_lines: 0,
        }
    }

    /// Adds a line; false if there is no room for it.
    fn add(&mut self, number: u64, line: &str) -> bool {
        let keep = at_char(line.as_bytes(), self.line_chars);
        let cut = keep < line.len();
        let text = line.get(..keep).unwrap_or_default();
        let more = text.len() + self.width + 5 + if cut { 40 } else { 0 };
        if self.shown > 0 && self.out.len() + more > self.room {
            return false;
        }
        _ = write!(self.out, "{number:>width$}→{text}", width = self.width);
        if cut {
            _ = write!(self.out, "… (line cut, {} bytes long)", line.len());
            self.cut_lines += 1;
        }
        self.out.push('\n');
        self.shown += 1;
        true
    }
}

/// Shows a window of a text that is in memory.
pub(super) fn page(
    text: &str,
    window: Window,
    path: &Path,
    context: &ToolContext,
) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    if text.is_empty() {
        return Ok(Success {
            output: format!("{name} is empty."),
            metadata: json!({"kind": "text", "total": 0, "from": 0, "shown": 0}),
            ..Success::default()
        });
    }
    let total = {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        ends + u64::from(!text.ends_with('\n'))
    };
    if window.first > total {
        return Err(format!(
            "{name} has only {total} lines; there is no line {}. Use a smaller offset.",
            window.first
        ));
    }
    let mut page = Page::new(window, context.output.limits());
    let lines = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    let count = window.count.min(total - window.first + 1);
    for (index, line) in lines
        .enumerate()
        .skip(window.first as usize - 1)
        .take(count as usize)
    {
        if !page.add(index as u64 + 1, line) {
            break;
        }
    }
    let last = window.first + page.shown - 1;
    if last < total {
        let next = last + 1;
        _ = write!(
            page.out,
            "\n(Lines {}-{last} of {total}. Go on with offset={next}.)",
            window.first
        );
    }
    Ok(finish(page, window, Some(total)))
}

/// Shows a window of a file that is too large for memory; reads no further than needed.
pub(super) fn stream(
    path: &Path,
    window: Window,
    size: u64,
    context: &ToolContext,
) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    let bad = |error: std::io::Error| format!("{name} cannot be read: {error}.");
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(bad)?);
    let mut page = Page::new(window, context.output.limits());
    let mut number = 0;
    let mut more = true;
    while page.shown < window.count {
        if context.cancel.is_cancelled() {
            return Err(crate::protocol::tool::INTERRUPTED_OUTPUT.to_owned());
        }
        let wanted = number + 1 >= window.first;
        let Some(line) = next_line(&mut reader, wanted, page.line_chars).map_err(bad)? else {
            more = false;
            break;
        };
        number += 1;
        if wanted && !page.add(number, &line) {
            break;
        }
    }
    if page.shown == 0 {
        return Err(format!(
            "{name} has only {number} lines; there is no line {}. Use a smaller offset.",
            window.first
        ));
    }
    let last = window.first + page.shown - 1;
    if more {
        _ = write!(
            page.out,
            "\n(Lines {}-{last}; the file is {} large and goes on. Go on with offset={}, or search it with grep.)",
            window.first,
            human(size),
            last + 1
        );
    }
    let total = (!more).then_some(number);
    Ok(finish(page, window, total))
}

/// The next line, as much of it as may be shown; empty text for lines that are only skipped.
fn next_line(
    reader: &mut impl BufRead,
    wanted: bool,
    chars: usize,
) -> std::io::Result<Option<String>> {
    let room = if wanted {
        chars.saturating_mul(4) + 4
    } else {
        0
    };
    let mut kept: Vec<u8> = Vec::new();
    let mut any = false;
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        any = true;
        let end = memchr::memchr(b'\n', piece);
        let body = &piece[..end.unwrap_or(piece.len())];
        let free = room.saturating_sub(kept.len()).min(body.len());
        kept.extend_from_slice(&body[..free]);
        let used = end.map_or(piece.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    if kept.last() == Some(&b'\r') {
        kept.pop();
    }
    Ok(any.then(|| String::from_utf8_lossy(&kept).into_owned()))
}

fn finish(page: Page, window: Window, total: Option<u64>) -> Success {
    Success {
        metadata: json!({
            "kind": "text", "from": window.first, "shown": page.shown, "total": total, "cut_lines": page.cut_lines,
        }),
        output: page.out,
        ..Success::default()
    }
}
