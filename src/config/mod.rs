//! What the user decided: read once at the start, passed to whoever needs a piece of it.
//!
//! ```text
//! paths ─▶ document (as typed, with lines) ─▶ keys (the one table) ─▶ load (layers) ─▶ used::Config
//! ```
//!
//! `used` is the configuration as the program means it; other modules see only that. Everything
//! that is found besides settings has a file of its own: `instructions` (AGENTS.md), `agents`,
//! `commands`, `skills` (Markdown with front matter) and `trust`. Nothing here looks at the real
//! environment: the caller passes a look-up, so tests never touch the machine.

pub mod agents;
pub mod commands;
pub mod document;
pub mod explain;
pub mod flag;
pub mod front_matter;
pub mod grants;
pub mod instructions;
pub mod key_file;
pub mod keys;
pub mod kind;
pub mod load;
pub mod markdown;
pub mod mcp;
pub mod paths;
pub mod private;
pub mod rules;
pub mod schema;
pub mod sight;
pub mod skills;
pub mod trust;
pub mod used;
pub mod value;
pub mod variables;

pub use explain::explain;
pub use load::{ConfigError, Loaded, Setting, load};
pub use paths::{Env, Paths};
pub use used::Config;
