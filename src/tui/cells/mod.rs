//! Cells: what the transcript is made of. One file per kind; each is a pure function of (what it
//! holds, `Cx`) to rows.
//!
//! Made and changed by `transcript::apply`, laid out by `transcript::render`. A cell keeps no more
//! of a tool's output than it can show (a few KB); the whole of it is one `Op::ReadOutput` away.

mod answer;
mod call;
mod changes;
mod compaction;
mod edit;
mod exec;
mod explored;
mod failure;
mod file;
mod frame;
mod notice;
mod prompt;
mod retry;
mod task;
mod thought;
mod todo;
mod tool;
mod words;

pub use answer::Answer;
pub use call::Call;
pub use changes::Changes;
pub use compaction::Compaction;
pub use edit::Edit;
pub(in crate::tui) use edit::extension;
pub use exec::Exec;
pub use explored::{Entry as ExploredEntry, Explored, Kind as ExploredKind};
pub use failure::Failure;
pub use file::FileCell;
pub use frame::{Cx, Geometry};
pub use notice::Notice;
pub use prompt::Prompt;
pub use retry::Retry;
pub use task::Task;
pub use thought::Thought;
pub use todo::{Stand, Todo};
pub(crate) use tool::metadata;
pub use tool::{Kept, Outcome, ToolFacts};

use crate::tui::text::Row;

/// One cell.
#[derive(Debug, Clone)]
pub enum Cell {
    /// What the user said.
    Prompt(Prompt),
    /// What the assistant says.
    Answer(Answer),
    /// What the model thought.
    Thought(Thought),
    /// Reads and searches, folded into one line.
    Explored(Explored),
    /// A command.
    Exec(Exec),
    /// A change of files by a tool.
    Edit(Edit),
    /// The plan.
    Todo(Todo),
    /// A subagent.
    Task(Task),
    /// Any other tool.
    Call(Call),
    /// An image or a document.
    File(FileCell),
    /// A sentence of dunlin.
    Notice(Notice),
    /// Something failed.
    Failure(Failure),
    /// Another attempt follows.
    Retry(Retry),
    /// A compaction and its summary.
    Compaction(Compaction),
    /// What a step changed without an edit tool.
    Changes(Changes),
}

impl Cell {
    /// Lays out one of its layouts (only answers have several).
    pub fn lay_out(&self, n: usize, cx: &Cx<'_>) -> Vec<Row> {
        match self {
            Self::Prompt(cell) => cell.lay_out(cx),
            Self::Answer(cell) => cell.lay_out(n, cx),
            Self::Thought(cell) => cell.lay_out(cx),
            Self::Explored(cell) => cell.lay_out(cx),
            Self::Exec(cell) => cell.lay_out(cx),
            Self::Edit(cell) => cell.lay_out(cx),
            Self::Todo(cell) => cell.lay_out(cx),
            Self::Task(cell) => cell.lay_out(cx),
            Self::Call(cell) => cell.lay_out(cx),
            Self::File(cell) => cell.lay_out(cx),
            Self::Notice(cell) => cell.lay_out(cx),
            Self::Failure(cell) => cell.lay_out(cx),
            Self::Retry(cell) => cell.lay_out(cx),
            Self::Compaction(cell) => cell.lay_out(cx),
            Self::Changes(cell) => cell.lay_out(cx),
        }
    }

    /// How many layouts it has now; text that came in since is taken into account.
    pub fn layouts(&mut self) -> usize {
        match self {
            Self::Answer(cell) => cell.stream.settle(),
            _ => 1,
        }
    }

    /// True if time alone changes how it looks.
    pub const fn is_animated(&self) -> bool {
        match self {
            Self::Thought(cell) => cell.end.is_none(),
            Self::Explored(cell) => cell.is_running(),
            Self::Exec(cell) => cell.facts.outcome.is_running(),
            Self::Edit(cell) => cell.facts.outcome.is_running(),
            Self::Task(cell) => cell.facts.outcome.is_running(),
            Self::Call(cell) => cell.facts.outcome.is_running(),
            Self::Compaction(cell) => cell.is_running(),
            _ => false,
        }
    }

    /// True while the user is asked about it.
    pub fn is_asked(&self) -> bool {
        match self {
            Self::Explored(cell) => cell.asked().is_some(),
            Self::Exec(cell) => cell.facts.asked,
            Self::Edit(cell) => cell.facts.asked,
            Self::Task(cell) => cell.facts.asked,
            Self::Call(cell) => cell.facts.asked,
            _ => false,
        }
    }

    /// True for what a tool did: such cells stand together where each is one row.
    pub const fn is_tool(&self) -> bool {
        matches!(
            self,
            Self::Explored(_)
                | Self::Exec(_)
                | Self::Edit(_)
                | Self::Todo(_)
                | Self::Task(_)
                | Self::Call(_)
                | Self::Changes(_)
        )
    }

    /// True if it says more when unfolded.
    pub fn can_unfold(&self) -> bool {
        match self {
            Self::Prompt(cell) => cell.is_long(),
            Self::Thought(cell) => !cell.text.trim().is_empty(),
            Self::Explored(_) | Self::Todo(_) | Self::Changes(_) => true,
            Self::Exec(cell) => cell.facts.output.total > 0,
            Self::Edit(cell) => !cell.hunks.is_empty() || cell.facts.output.total > 0,
            Self::Task(cell) => cell.facts.output.total > 0,
            Self::Call(cell) => cell.facts.output.total > 0,
            Self::Compaction(cell) => !cell.summary.trim().is_empty(),
            Self::Retry(cell) => !cell.error.message.trim().is_empty(),
            Self::File(cell) => cell.is_picture(),
            Self::Answer(_) | Self::Notice(_) | Self::Failure(_) => false,
        }
    }

    /// What it says, for search and for copying.
    pub fn text(&self) -> String {
        match self {
            Self::Prompt(cell) => cell.text.clone(),
            Self::Answer(cell) => cell.stream.text(),
            Self::Thought(cell) => cell.text.clone(),
            Self::Explored(cell) => cell.text(),
            Self::Exec(cell) => cell.facts.text(),
            Self::Edit(cell) => cell.text(),
            Self::Todo(cell) => cell.text(),
            Self::Task(cell) => cell.facts.text(),
            Self::Call(cell) => cell.facts.text(),
            Self::File(cell) => cell.name.clone(),
            Self::Notice(cell) => cell.text.clone(),
            Self::Failure(cell) => cell.fault.to_string(),
            Self::Retry(cell) => cell.error.to_string(),
            Self::Compaction(cell) => cell.summary.clone(),
            Self::Changes(cell) => cell.text(),
        }
    }

    /// Bytes of memory, about.
    pub fn weight(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Prompt(cell) => cell.text.len(),
                Self::Answer(cell) => cell.stream.weight(),
                Self::Thought(cell) => cell.text.len(),
                Self::Explored(cell) => cell.weight(),
                Self::Exec(cell) => cell.facts.weight(),
                Self::Edit(cell) => cell.weight(),
                Self::Todo(cell) => cell.text().len(),
                Self::Task(cell) => cell.facts.weight(),
                Self::Call(cell) => cell.facts.weight(),
                Self::Compaction(cell) => cell.summary.len(),
                Self::Changes(cell) => cell.text().len(),
                Self::File(_) | Self::Notice(_) | Self::Failure(_) | Self::Retry(_) => 256,
            }
    }
}
