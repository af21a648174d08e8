//! What all tool cells share: how the call stands, and the little of its output that is kept.
//!
//! Made from a `ToolPart` by `transcript::apply`. Keeps at most `KEPT` lines from each end and
//! `BYTES` bytes, so that a thousand steps stay small.

use serde_json::Value;

use super::frame::Cx;
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::protocol::{Millis, ToolPart, ToolState};
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// Lines kept from each end of an output.
const KEPT: usize = 20;

/// Bytes kept of one line.
const LINE: usize = 240;

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its arguments are streaming; so many bytes so far.
    Pending(usize),
    /// It runs.
    Running,
    /// It has a result.
    Done,
    /// It failed or was refused.
    Failed,
    /// It was cut.
    Interrupted,
}

impl Outcome {
    /// True while it can still change by itself.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Pending(_) | Self::Running)
    }
}

/// The kept part of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The first lines.
    pub head: Vec<String>,
    /// The last lines, none of them in `head`.
    pub tail: Vec<String>,
    /// Lines of the whole output.
    pub total: usize,
}

impl Kept {
    /// Keeps both ends of an output.
    pub fn of(output: &str) -> Self {
        let output = output.trim_end_matches(['\n', '\r']);
        if output.trim().is_empty() {
            return Self::default();
        }
        let total = memchr::memchr_iter(b'\n', output.as_bytes()).count() + 1;
        let head: Vec<String> = output.split('\n').take(KEPT).map(cut).collect();
        let rest = (total - head.len()).min(KEPT);
        let mut tail: Vec<String> = output.rsplit('\n').take(rest).map(cut).collect();
        tail.reverse();
        Self { head, tail, total }
    }

    /// The last lines.
    pub fn last(&self, n: usize) -> Vec<&str> {
        let all: Vec<&str> = self
            .head
            .iter()
            .chain(&self.tail)
            .map(String::as_str)
            .collect();
        all[all.len().saturating_sub(n)..].to_vec()
    }

    /// Lines that are not kept.
    pub const fn lost(&self) -> usize {
        self.total.saturating_sub(self.head.len() + self.tail.len())
    }
}

/// A line short enough to keep. A sequence that is cut is closed by the next line's parser.
fn cut(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let end = (0..=LINE)
        .rev()
        .find(|n| line.is_char_boundary(*n))
        .unwrap_or(0);
    let mut kept = line.get(..end).unwrap_or_default().to_owned();
    kept.push('…');
    kept
}

/// What all tool cells share.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFacts {
    /// The tool.
    pub tool: String,
    /// One line about the call.
    pub title: String,
    /// How it stands.
    pub outcome: Outcome,
    /// True while the user is asked about it.
    pub asked: bool,
    /// What the question says about it, e.g. `4th identical call`; may be empty.
    pub asked_why: String,
    /// The user's words if they refused it, empty for a plain no.
    pub refused: Option<String>,
    /// True if its output was pruned from the requests.
    pub pruned: bool,
    /// When it began.
    pub start: Millis,
    /// When it ended.
    pub end: Millis,
    /// What is kept of its output, or of its live tail.
    pub output: Kept,
}

impl ToolFacts {
    /// The facts of a call.
    pub fn of(part: &ToolPart, began: Millis) -> Self {
        let mut facts = Self {
            tool: part.tool.clone(),
            title: String::new(),
            outcome: Outcome::Running,
            asked: false,
            asked_why: String::new(),
            refused: None,
            pruned: false,
            start: began,
            end: began,
            output: Kept::default(),
        };
        match &part.state {
            ToolState::Pending { raw } => facts.outcome = Outcome::Pending(raw.len()),
            ToolState::Running {
                input,
                title,
                tail,
                start,
                ..
            } => {
                facts.title = title_of(title, input);
                facts.start = *start;
                facts.output = Kept::of(tail);
            }
            ToolState::Completed {
                input,
                output,
                title,
                truncated,
                compacted_at,
                start,
                end,
                ..
            } => {
                facts.outcome = Outcome::Done;
                facts.title = title_of(title, input);
                facts.pruned = compacted_at.is_some();
                (facts.start, facts.end) = (*start, *end);
                facts.output = Kept::of(output);
                if let Some(whole) = truncated {
                    facts.output.total = facts.output.total.max(whole.lines as usize);
                }
            }
            ToolState::Error {
                input,
                error,
                title,
                interrupted,
                metadata,
                start,
                end,
                ..
            } => {
                facts.outcome = if *interrupted {
                    Outcome::Interrupted
                } else {
                    Outcome::Failed
                };
                facts.title = title_of(title, input);
                (facts.start, facts.end) = (*start, *end);
                facts.refused = refused(metadata);
                // The mark at the end is for the model: the row says it for the user.
                let error = error.trim_end();
                let said = if *interrupted {
                    error.strip_suffix(INTERRUPTED_OUTPUT).unwrap_or(error)
                } else {
                    error
                };
                facts.output = Kept::of(said.trim_end());
            }
        }
        facts
    }

    /// The first line of the title, to be shown.
    pub fn shown_title(&self) -> Safe {
        let mut lines = self.title.lines();
        let first = Safe::strip(lines.next().unwrap_or_default());
        if lines.next().is_some() {
            let mut text = first.as_str().to_owned();
            text.push_str(" …");
            return Safe::strip(&text);
        }
        first
    }

    /// `✗ Refused cargo add insta   by you` and what the user said; none if it was not refused. It
    /// never ran, so there is no time and no result to tell.
    pub(super) fn refusal(&self, cx: &Cx<'_>) -> Option<Vec<Row>> {
        let words = self.refused.as_ref()?;
        let theme = cx.theme;
        let mut title = Styled::new();
        title.fixed("Refused ", theme.default());
        if self.title.is_empty() {
            title.push(&Safe::strip(&self.tool), theme.default());
        } else {
            title.push(&self.shown_title(), theme.default());
        }
        let by = cx.dim(&Safe::fixed("by you"));
        let mut rows = vec![cx.header((theme.glyphs.failed, theme.bad()), title, &[by])];
        for line in words.lines().filter(|line| !line.trim().is_empty()) {
            cx.output(&[(Safe::strip(line), theme.default())], &mut rows);
        }
        Some(rows)
    }

    /// Milliseconds it took.
    pub const fn took(&self) -> i64 {
        self.end - self.start
    }

    /// Title and kept output, for search and copying.
    pub fn text(&self) -> String {
        let mut text = self.title.clone();
        for line in self.output.head.iter().chain(&self.output.tail) {
            text.push('\n');
            text.push_str(line);
        }
        text
    }

    /// Bytes of memory, about.
    pub fn weight(&self) -> usize {
        let lines = self.output.head.iter().chain(&self.output.tail);
        self.title.len() + lines.map(|l| l.len() + size_of::<String>()).sum::<usize>()
    }
}

/// The user's words, if a call's facts say that they refused it.
fn refused(metadata: &Value) -> Option<String> {
    let words = metadata.get("refused")?.get("words")?.as_str()?;
    Some(words.trim().to_owned())
}

/// Bytes of a title that are kept.
const TITLE: usize = 600;

fn title_of(title: &str, input: &Value) -> String {
    let text = if title.is_empty() {
        [
            "command",
            "path",
            "file_path",
            "pattern",
            "query",
            "url",
            "description",
            "name",
        ]
        .iter()
        .find_map(|name| input.get(name).and_then(Value::as_str))
        .unwrap_or_default()
    } else {
        title
    };
    let end = (0..=TITLE.min(text.len()))
        .rev()
        .find(|n| text.is_char_boundary(*n))
        .unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

/// The facts for the UI of a call, null if there are none.
pub(crate) fn metadata(state: &ToolState) -> &Value {
    state.metadata().unwrap_or(&Value::Null)
}
