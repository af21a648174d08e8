//! `glob`, `grep` and `list`: finding files and text with ripgrep's own libraries.
//!
//! All three walk with `walk`: ignore files are respected, `.git` is left out, links are not followed.
//! They run on blocking threads and end soon after a cancel.

pub mod glob;
pub mod grep;
pub mod list;
mod matches;
mod walk;

pub use glob::Glob;
pub use grep::Grep;
pub use list::List;

#[cfg(test)]
#[cfg(unix)]
mod tests;
