//! A growing Markdown text, cut into blocks that never change again.
//!
//! Used by the transcript's text cells. Deltas are appended in constant time; `settle`, once a frame,
//! moves finished top-level blocks behind the *tail*. Only the tail is laid out again. Where a block
//! ends depends on the text alone, never on how it came in pieces: a block is finished when a later
//! block begins on a COMPLETE line (an incomplete one may still turn out to be anything), and block
//! structure is decided line by line. A fenced block is followed line by line, and any other block is cut
//! after `WINDOW` bytes, so no text makes the tail large.

mod fence;

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::highlight;
use super::markdown::{self, Page, code};
use super::row::Row;
use super::wrap::{self, Prefix};
use fence::{Fence, dedent, undented};

/// Bytes after which a block is cut, at a line end if there is one.
const WINDOW: usize = 8 * 1024;

/// Lines of a fenced block that make one layout.
const CODE_LINES: usize = 64;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Markdown; true if it goes on from a block that was cut.
    Prose(bool),
    /// Rows of a table that was cut; its head begins there.
    Rows(u32),
    /// Lines of this fence, from 0, beginning with this line.
    Code { fence: u32, line: u32 },
}

/// A finished block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    start: u32,
    end: u32,
    kind: Kind,
}

/// A growing Markdown text.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    source: String,
    blocks: Vec<Block>,
    fences: Vec<Fence>,
    /// Where the unfinished text begins.
    tail: usize,
    /// In a fence: lines of it that are already in blocks.
    open_fence: Option<u32>,
    /// Bytes of the tail that were looked at for block starts.
    looked: usize,
    /// What the tail is as long as it is no fence: it may go on from a block that was cut.
    open: Open,
}

/// What the text at the end goes on from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Open {
    /// From nothing: a block begins.
    #[default]
    New,
    /// From a block that was cut.
    Block,
    /// From a table that was cut, whose head begins there.
    Table(u32),
}

impl Open {
    const fn kind(self) -> Kind {
        match self {
            Self::New => Kind::Prose(false),
            Self::Block => Kind::Prose(true),
            Self::Table(head) => Kind::Rows(head),
        }
    }
}

impl Stream {
    /// A text that may still grow.
    pub fn new(text: &str) -> Self {
        let mut stream = Self::default();
        stream.push(text);
        stream
    }

    /// Appends a delta.
    pub fn push(&mut self, delta: &str) {
        // A reference definition on a later line would change links on earlier ones. Broken up by a
        // character that `Safe` takes out again, there are none.
        let mut rest = delta;
        if self.source.ends_with(']') && rest.starts_with(':') {
            self.source.push(BREAK);
        }
        while let Some(at) = rest.find(['\r', ']']) {
            let (before, from) = rest.split_at(at);
            self.source.push_str(before);
            let bracket = from.starts_with(']');
            rest = from.get(1..).unwrap_or_default();
            if bracket {
                self.source.push(']');
                if rest.starts_with(':') {
                    self.source.push(BREAK);
                }
            }
        }
        self.source.push_str(rest);
    }

    /// The text as it came, less carriage returns.
    pub fn text(&self) -> String {
        self.source.replace("]\u{200b}:", "]:")
    }

    /// The text, for looking at: with marks of our own in it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// True if there is nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.source.trim().is_empty()
    }

    /// Bytes of memory.
    pub fn weight(&self) -> usize {
        self.source.capacity() + self.blocks.capacity() * size_of::<Block>()
    }

    /// True if the text so far is `text`.
    pub fn is(&self, text: &str) -> bool {
        let mut other = Self::default();
        if text.contains(['\r', ']']) {
            other.push(text);
            return other.source == self.source;
        }
        self.source == text
    }

    /// Finds finished blocks; gives the number of layouts: one per block and one for the tail.
    pub fn settle(&mut self) -> usize {
        while self.step() {}
        self.count()
    }

    /// The number of layouts since the last `settle`.
    pub fn count(&self) -> usize {
        self.blocks.len() + usize::from(self.tail < self.source.len())
    }

    /// True if this layout can no longer change by deltas.
    pub fn is_finished(&self, n: usize) -> bool {
        n < self.blocks.len()
    }

    /// The text of a layout.
    pub fn part(&self, n: usize) -> &str {
        let range = match self.blocks.get(n) {
            Some(block) => block.start as usize..block.end as usize,
            None => self.tail..self.source.len(),
        };
        self.source.get(range).unwrap_or_default()
    }

    /// Lays out one block or the tail; a blank row before each but the first.
    pub fn lay_out(&self, n: usize, page: &Page<'_>) -> Vec<Row> {
        let (kind, text) = match (self.blocks.get(n), self.open_fence) {
            (Some(block), _) => (block.kind, self.part(n)),
            (None, Some(line)) => {
                let fence = self.fences.len().saturating_sub(1) as u32;
                (Kind::Code { fence, line }, self.part(n))
            }
            (None, None) => (self.open.kind(), self.part(n)),
        };
        let rows = match kind {
            Kind::Prose(_) => markdown::rows(text, page),
            Kind::Rows(head) => markdown::more_rows(self.table_head(head as usize), text, page),
            Kind::Code { fence, line } => self.code_rows(fence as usize, line as usize, text, page),
        };
        let goes_on = matches!(
            kind,
            Kind::Code { line: 1.., .. } | Kind::Prose(true) | Kind::Rows(_)
        );
        if n == 0 || goes_on || rows.is_empty() {
            return rows;
        }
        let mut spaced = Vec::with_capacity(rows.len() + 1);
        spaced.push(Row::BLANK);
        spaced.extend(rows);
        spaced
    }

    fn code_rows(&self, fence: usize, first: usize, text: &str, page: &Page<'_>) -> Vec<Row> {
        let Some(fence) = self.fences.get(fence) else {
            return Vec::new();
        };
        let painted = fence.key.and_then(|key| {
            page.highlights.get(key, &fence.language, || {
                let range = fence.content as usize..fence.end as usize;
                dedent(self.source.get(range).unwrap_or_default(), fence.indent)
            })
        });
        let prefix = |goes_on| {
            let mut prefix = Prefix::blank(page.left);
            code::indent(&mut prefix, page, goes_on);
            prefix
        };
        let (first_row, other_rows) = (prefix(false), prefix(true));
        let width = page.left + page.room;
        let mut rows = Vec::new();
        for (n, line) in text.split_terminator('\n').enumerate() {
            if fence.is_closed_by(line) {
                // Only the tail can hold it: a text that ends without a line end.
                break;
            }
            let line = undented(line, fence.indent);
            let runs = painted.as_deref().and_then(|p| p.line(first + n));
            let styled = code::styled(line, runs, page);
            rows.extend(wrap::chop(&styled, &first_row, &other_rows, width));
        }
        rows
    }

    /// Finishes some blocks; false if there is nothing to finish yet.
    fn step(&mut self) -> bool {
        if let Some(line) = self.open_fence {
            return self.step_fence(line);
        }
        self.skip_blank_lines();
        let tail = self.source.get(self.tail..).unwrap_or_default();
        if let Some(end) = tail.find('\n')
            && let Some(fence) =
                Fence::opened_by(tail.get(..end).unwrap_or_default(), self.tail + end + 1)
        {
            self.tail += end + 1;
            self.fences.push(fence);
            self.open_fence = Some(0);
            self.looked = 0;
            self.open = Open::New;
            return true;
        }
        let full = tail.len() >= WINDOW;
        let window = if full {
            floor(tail, WINDOW)
        } else {
            tail.len()
        };
        let window = tail.get(..window).unwrap_or_default();
        let complete = window.rfind('\n').map_or(0, |at| at + 1);
        if complete <= self.looked && !full {
            return false;
        }
        let starts = starts_up_to_fence(window.get(..complete).unwrap_or_default());
        let mut ends = starts.get(1..).unwrap_or_default().to_vec();
        if ends.is_empty() && full {
            ends.push(cut(window));
        }
        let cut_here = starts.len() < 2 && full;
        self.looked = complete;
        let base = self.tail;
        for end in &ends {
            let end = base + end;
            let begun = self.tail;
            self.finish(end, self.open.kind());
            self.open = match self.open {
                _ if !cut_here => Open::New,
                Open::Table(head) => Open::Table(head),
                Open::New if !self.table_head(begun).is_empty() => Open::Table(begun as u32),
                Open::New | Open::Block => Open::Block,
            };
            let rest = self.source.get(end..).unwrap_or_default();
            if Fence::opened_by(rest.lines().next().unwrap_or_default(), 0).is_some() {
                break;
            }
        }
        !ends.is_empty()
    }

    /// The two lines that make a table of what begins there; empty if it is none.
    fn table_head(&self, begin: usize) -> &str {
        let text = self.source.get(begin..).unwrap_or_default();
        let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let head = ends
            .nth(1)
            .and_then(|end| text.get(..end))
            .unwrap_or_default();
        let first = Parser::new_ext(head, markdown::OPTIONS).next();
        if matches!(first, Some(Event::Start(Tag::Table(_)))) {
            head
        } else {
            ""
        }
    }

    fn finish(&mut self, end: usize, kind: Kind) {
        self.blocks.push(Block {
            start: self.tail as u32,
            end: end as u32,
            kind,
        });
        self.tail = end;
        self.looked = 0;
    }

    fn skip_blank_lines(&mut self) {
        while let Some(tail) = self.source.get(self.tail..)
            && let Some(end) = tail.find('\n')
            && tail
                .get(..end)
                .is_some_and(|line| line.trim_matches([' ', '\t']).is_empty())
        {
            self.tail += end + 1;
            self.open = Open::New;
            self.looked = 0;
        }
    }

    /// Follows an open fence; `line` lines of it are in blocks.
    fn step_fence(&mut self, line: u32) -> bool {
        let tail = self.source.get(self.tail..).unwrap_or_default();
        let Some(fence) = self.fences.last() else {
            self.open_fence = None;
            return true;
        };
        let number = self.fences.len() as u32 - 1;
        let (mut at, mut lines) = (self.looked, 0);
        if at == 0 || !tail.is_char_boundary(at) {
            at = 0;
        } else {
            lines = memchr::memchr_iter(b'\n', &tail.as_bytes()[..at]).count();
        }
        while let Some(length) = tail.get(at..).and_then(|rest| rest.find('\n')) {
            let text = tail.get(at..at + length).unwrap_or_default();
            if fence.is_closed_by(text) {
                let end = self.tail + at;
                let after = end + length + 1;
                if at > 0 {
                    self.finish(
                        end,
                        Kind::Code {
                            fence: number,
                            line,
                        },
                    );
                }
                self.close_fence(end);
                self.tail = after;
                self.looked = 0;
                return true;
            }
            at += length + 1;
            lines += 1;
            if lines == CODE_LINES {
                self.finish(
                    self.tail + at,
                    Kind::Code {
                        fence: number,
                        line,
                    },
                );
                self.open_fence = Some(line + CODE_LINES as u32);
                return true;
            }
        }
        self.looked = at;
        false
    }

    fn close_fence(&mut self, end: usize) {
        self.open_fence = None;
        let Some(fence) = self.fences.last_mut() else {
            return;
        };
        fence.end = end as u32;
        let content = self
            .source
            .get(fence.content as usize..end)
            .unwrap_or_default();
        if !fence.language.is_empty() && content.len() <= highlight::LARGEST {
            fence.key = Some(highlight::key(
                &fence.language,
                &dedent(content, fence.indent),
            ));
        }
    }
}

/// Breaks up reference definitions; `Safe` takes it out again.
const BREAK: char = '\u{200b}';

/// Block starts up to the first fenced block: what follows a fence is looked at once it is closed,
/// so parsing beyond it would be done again and again.
fn starts_up_to_fence(text: &str) -> Vec<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && Fence::opened_by(line.trim_end_matches('\n'), 0).is_some() {
            let starts = block_starts(text.get(..at + line.len()).unwrap_or_default());
            if starts.last() == Some(&at) {
                return starts;
            }
            break;
        }
        at += line.len();
    }
    block_starts(text)
}

/// Where top-level blocks begin: the starts of their lines, rising.
fn block_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut depth = 0_usize;
    let mut note = |range: Range<usize>| {
        let line = text
            .get(..range.start)
            .and_then(|t| t.rfind('\n'))
            .map_or(0, |at| at + 1);
        if starts.last().is_none_or(|last| *last < line) {
            starts.push(line);
        }
    };
    for (event, range) in Parser::new_ext(text, markdown::OPTIONS).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 && !matches!(tag, Tag::Item) {
                    note(range);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => note(range),
            _ => {}
        }
    }
    starts
}

/// Where a block that fills the window is cut.
fn cut(window: &str) -> usize {
    let at = |sign: char| window.rfind(sign).map(|at| at + 1).filter(|at| *at > 0);
    at('\n').or_else(|| at(' ')).unwrap_or(window.len())
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|n| text.is_char_boundary(*n))
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stream_random_tests.rs"]
mod random_tests;
