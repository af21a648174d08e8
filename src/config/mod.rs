//! What the user decided: read once at the start, passed to whoever needs a piece of it.
//!
//! `used` is the configuration as the program means it; other modules see only that. `raw` (as
//! typed), `paths`, `schema` and `trust` belong to reading it.

pub mod used;

pub use used::Config;
