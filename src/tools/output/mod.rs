//! Tier 1 of context management: every output is cut at its source, the full text goes to a file.
//!
//! Every tool passes its text through `OutputStore::fit` or streams it through a `Spill`; so do MCP
//! tools. `rules` is the table of limits, `cut` knows where to cut, `spill` keeps memory bounded,
//! `bound` is the last guard over all of a result, `retention` deletes old files. What is pruned or
//! compacted later is none of its business.

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::config::used::OutputLimits;
use crate::protocol::OutputRef;

pub mod bound;
pub mod cut;
pub mod retention;
pub mod rules;
pub mod spill;

pub use cut::Plan;
pub use retention::Cleaned;
pub use spill::Spill;

/// An output as the model gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fitted {
    /// The text, with the way to the rest if it was cut.
    pub text: String,
    /// The full output, if it was cut and could be saved.
    pub full: Option<OutputRef>,
    /// Bytes that the text leaves out; 0 if nothing was cut.
    pub omitted: u64,
}

/// The limits, and the folder where full outputs go. One per session.
#[derive(Debug, Clone)]
pub struct OutputStore {
    limits: OutputLimits,
    dir: PathBuf,
}

impl OutputStore {
    /// A store that saves to `dir`, which is created when the first output needs it.
    pub fn new(limits: OutputLimits, dir: impl Into<PathBuf>) -> Self {
        Self {
            limits,
            dir: dir.into(),
        }
    }

    /// The limits.
    pub const fn limits(&self) -> &OutputLimits {
        &self.limits
    }

    /// Where full outputs go.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Cuts a text that is already in memory by the rule of `tool`.
    pub fn fit(&self, tool: &str, text: String) -> Fitted {
        self.fit_plan(Plan::of(tool, &self.limits), tool, text)
    }

    /// As `fit`, for a list of which only the first so many lines may be shown.
    pub fn fit_lines(&self, tool: &str, text: String, lines: usize) -> Fitted {
        let plan = Plan::Head {
            lines: lines.min(self.limits.lines),
            bytes: self.limits.bytes,
            line_chars: usize::MAX,
        };
        if plan.fits(text.as_bytes()) {
            return self.fit(tool, text);
        }
        self.fit_plan(plan, tool, text)
    }

    fn fit_plan(&self, plan: Plan, tool: &str, text: String) -> Fitted {
        if plan.fits(text.as_bytes()) {
            return Fitted {
                text,
                ..Fitted::default()
            };
        }
        let mut spill = Spill::new(plan, tool, &self.dir);
        spill.push(text.as_bytes());
        spill.finish()
    }

    /// Cuts what a tool gave back and forgot to cut. `cut` is true if it says that it was cut: then what
    /// it adds comes on top. None if nothing is to be done.
    fn guard(&self, tool: &str, text: &mut String, cut: bool) -> Option<OutputRef> {
        let plan = Plan::of(tool, &self.limits);
        let fine = if cut || bound::cuts_itself(tool) {
            !bound::slipped_through(plan, &self.limits, text)
        } else {
            plan.fits(text.as_bytes())
        };
        if fine {
            return None;
        }
        let fitted = self.fit(tool, std::mem::take(text));
        *text = fitted.text;
        fitted.full
    }

    /// A writer for output of unknown length, by the rule of `tool`.
    pub fn spill(&self, tool: &str) -> Spill {
        Spill::new(Plan::of(tool, &self.limits), tool, &self.dir)
    }

    /// Deletes full outputs that are older than the limits allow.
    pub fn clean(&self, now: SystemTime) -> io::Result<Cleaned> {
        let days = u64::from(self.limits.keep_days);
        retention::clean(&self.dir, Duration::from_secs(days * 86_400), now)
    }
}

/// A section of a saved output that still grows (a background job's), by the rule of `tool`: the bytes
/// from `from` to `to` of `file`. Reads only the ends if it is long.
pub fn section(
    tool: &str,
    store: &OutputStore,
    file: &Path,
    range: (u64, u64),
) -> io::Result<Fitted> {
    let plan = Plan::of(tool, &store.limits);
    let (from, to) = (range.0, range.1.max(range.0));
    let mut source = std::fs::File::open(file)?;
    let mut part = |from: u64, to: u64| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        source.seek(io::SeekFrom::Start(from))?;
        source.by_ref().take(to - from).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let (head_room, tail_room) = (plan.head_room() as u64, plan.tail_room() as u64);
    if to - from <= head_room + tail_room {
        let all = part(from, to)?;
        if plan.fits(&all) {
            let text = String::from_utf8_lossy(&all).into_owned();
            return Ok(Fitted {
                text,
                ..Fitted::default()
            });
        }
    }
    let head = part(from, to.min(from + head_room))?;
    let tail = part(from.max(to.saturating_sub(tail_room)), to)?;
    let full = OutputRef {
        path: file.to_string_lossy().into_owned(),
        bytes: to,
        lines: 0,
    };
    Ok(spill::compose(
        plan,
        (&head, &tail),
        to - from,
        Ok((full, None)),
    ))
}

/// Filters a stream by the rule of `tool` with bounded memory; `dunlin debug truncate` is this.
/// An error means that the reader failed.
pub fn truncate(tool: &str, mut reader: impl Read, store: &OutputStore) -> io::Result<Fitted> {
    let mut spill = store.spill(tool);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(spill.finish()),
            Ok(read) => spill.push(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
