//! `recall`: the model searches its own session and fetches any part of it, pruned, compacted or not.
//!
//! The tool knows arguments and words; the conversation is the driver's, so it asks through a port
//! (`driver::recall` answers it from memory, in slices, so that a long session never holds the loop
//! up). Read-only. Only the current branch is searched: what was rewound is not said again.

mod part;
mod search;
mod tool;

pub use search::Search;
pub use tool::{Recall, RecallPort};

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
