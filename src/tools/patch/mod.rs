//! `apply_patch`: the V4A patch format that some models are trained on.
//!
//! `parse` reads the format, `apply` works out the result on an abstract set of files, `tool` puts it on
//! disk. Either all of a patch is applied or nothing: a model that repeats a half-applied patch would
//! find its own changes in the way.

pub mod apply;
pub mod parse;
mod seek;
pub mod tool;

pub use apply::{Change, PatchSource, apply_patch};
pub use parse::{Operation, parse_patch};
pub use tool::ApplyPatch;

#[cfg(test)]
#[cfg(unix)]
mod tests;
