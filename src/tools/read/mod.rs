//! `read`: files as numbered lines, folders as listings, images and PDFs as attachments, notebooks as
//! cells.
//!
//! `tool` decides what is at the path; each kind has a file of its own. What was read is recorded in
//! the ledger, which is what lets `edit` and `write` change it.

mod folder;
pub(crate) mod media;
mod notebook;
mod text;
pub mod tool;

pub use tool::Read;

#[cfg(test)]
#[cfg(unix)]
mod tests;
