//! May it run? Pure: no I/O, no clock; paths arrive resolved, and the disk is seen only through the
//! functions that the caller passes in (`Sight`).
//!
//! ```text
//! command ─▶ shell (grammar: simple commands, words) ─▶ effect (what each would do) ─┐
//! path, URL, tool ───────────────────────────────────────────────────────────────────┼▶ judge ─▶ Verdict
//! rules (user, project, agent, answers) ─────────────────────────────────────────────┘
//! ```
//!
//! `judge` decides, `check` explains a decision for `dunlin permissions check`, `pattern` says what a
//! rule matches and which rule to offer. docs/permissions.md is the contract.

pub mod check;
pub mod effect;
pub mod hidden;
pub mod judge;
pub mod pattern;
pub mod place;
pub mod request;
pub mod secret;
pub mod shell;

pub use check::{Checked, check, command_line, layer};
pub use judge::Judge;
pub use place::{Place, Sight};
pub use request::{AskDetail, Request, Verdict, What};
