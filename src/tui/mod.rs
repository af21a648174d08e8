//! TERMINAL → MSG → STATE → SCREEN: the interactive front end.
//!
//! ```text
//! bytes ─▶ input ─▶ Msg ─▶ update(state) ─▶ effects ─▶ run (terminal, agent, editor, clipboard)
//!                             │
//! screen ◀─ term::paint ◀─ view(state)
//! ```
//!
//! `run` owns the loop; `update` is the only place that changes `state`; `view` draws it; `term` is
//! the only folder that writes to the terminal. `Op` out and `Event` in are all that it shares with
//! the agent. `Harness` drives the same parts without a terminal. `plain` is the front end without a
//! screen: lines only.

pub mod cells;
pub mod command;
pub mod composer;
pub mod fuzzy;
pub mod harness;
pub mod input;
pub mod keymap;
pub mod overlay;
pub mod picture;
mod plain;
pub mod run;
pub mod scroll;
pub mod state;
pub mod term;
pub mod text;
pub mod theme;
pub mod transcript;
pub mod update;
pub mod view;

pub use harness::Harness;
pub use run::{AgentLink, Exit, Next, Start, TuiError, run};
pub use state::First;
