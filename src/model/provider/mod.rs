//! Which models there are and how each is reached: built-in providers, the user's, their keys.
//!
//! `app` makes one `Registry`; the agent asks it for models by name, pickers for choices, onboarding for
//! what was found. Reads the environment, the configuration and `auth.json` once; the catalog is parsed
//! on first use; no network.

mod endpoint;
mod registry;
mod table;

pub use registry::{KeyFound, Registry};
