//! Searching one file and keeping what was found, within bounds.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::tools::output::cut::at_char;
use crate::tools::text::TextFile;

/// Characters of a line that are shown.
pub(super) const LINE: usize = 500;

/// A line of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub number: u64,
    pub text: String,
    pub is_match: bool,
    /// True if only its beginning is in `text`.
    pub cut: bool,
}

/// What one file has.
#[derive(Debug)]
pub(super) struct FileMatches {
    pub path: PathBuf,
    pub changed: SystemTime,
    /// Matching lines, all of them.
    pub count: u64,
    /// The first of them, with context.
    pub lines: Vec<Line>,
}

/// Collects one file's lines.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    pub lines: Vec<Line>,
    pub count: u64,
    /// Lines to keep; beyond it only counting.
    pub most: usize,
    /// Stop at the first match.
    pub first_only: bool,
    pub cancel: &'a CancellationToken,
}

impl Collector<'_> {
    fn keep(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        if self.lines.len() >= self.most {
            return;
        }
        for (index, line) in bytes
            .strip_suffix(b"\n")
            .unwrap_or(bytes)
            .split(|byte| *byte == b'\n')
            .enumerate()
        {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let keep = at_char(line, LINE);
            let mut text = String::from_utf8_lossy(&line[..keep]).into_owned();
            if keep < line.len() {
                text.push('…');
            }
            let number = number.unwrap_or_default() + index as u64;
            self.lines.push(Line {
                number,
                text,
                is_match,
                cut: keep < line.len(),
            });
        }
    }
}

impl Sink for Collector<'_> {
    type Error = std::io::Error;

    fn matched(
        &mut self,
        _searcher: &Searcher,
        found: &SinkMatch<'_>,
    ) -> Result<bool, Self::Error> {
        self.count += 1;
        self.keep(found.line_number(), found.bytes(), true);
        Ok(!self.first_only && !self.cancel.is_cancelled())
    }

    fn context(
        &mut self,
        _searcher: &Searcher,
        found: &SinkContext<'_>,
    ) -> Result<bool, Self::Error> {
        if *found.kind() != SinkContextKind::Other {
            self.keep(found.line_number(), found.bytes(), false);
        }
        Ok(!self.cancel.is_cancelled())
    }
}

/// Files above this size are not decoded to be searched.
const MOST_DECODED: u64 = 16 << 20;

/// Searches a file as the text that `read` shows where its bytes are another encoding: what was found with
/// broken characters, or not at all although the pattern has characters that such a file spells otherwise.
/// None if the file needs no decoding, or is too large or no text.
pub(super) fn search_decoded(
    searcher: &mut Searcher,
    matcher: &grep_regex::RegexMatcher,
    path: &Path,
    (known, mut collector): (Option<&str>, Collector<'_>),
) -> Option<FileMatches> {
    let small = std::fs::metadata(path).is_ok_and(|meta| meta.len() <= MOST_DECODED);
    let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
    if std::str::from_utf8(&bytes).is_ok() {
        return None;
    }
    let file = TextFile::decode_as(bytes, known).ok()?;
    file.guessed()?;
    searcher
        .search_slice(matcher, file.text().as_bytes(), &mut collector)
        .ok()?;
    Some(FileMatches {
        path: path.to_owned(),
        changed: super::walk::changed(path),
        count: collector.count,
        lines: collector.lines,
    })
}

/// Searches a file; none if nothing was found.
pub(super) fn search(
    searcher: &mut Searcher,
    matcher: &grep_regex::RegexMatcher,
    path: &Path,
    mut collector: Collector<'_>,
) -> std::io::Result<Option<FileMatches>> {
    searcher.search_path(matcher, path, &mut collector)?;
    Ok((collector.count > 0).then(|| FileMatches {
        path: path.to_owned(),
        changed: super::walk::changed(path),
        count: collector.count,
        lines: collector.lines,
    }))
}
