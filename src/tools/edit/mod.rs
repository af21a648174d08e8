//! `edit`: replaces a piece of text in a file.
//!
//! The tool itself is in `tool`; `apply` is the pure part, which `dunlin debug edit` calls too.

pub(crate) mod alike;
pub mod apply;
mod find;
mod indent;
mod keep;
mod lines;
mod nearest;
mod normal;
pub mod tool;

pub use apply::{EditPlan, apply_edit, plan_edit};
pub use tool::Edit;
