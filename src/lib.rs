//! dunlin: a terminal coding agent that never loses work. The map, in flow order:
//!
//! ```text
//! keys ─▶ tui::input ─▶ keymap ─▶ Msg ─▶ update(state) ──Op──▶ agent::driver ─▶ turn (pure) ─▶ effects ─┬▶ model
//!                          ▲                      │    ▲                               ├▶ permission ▶ tools ▶ sandbox
//! screen ◀─ view ◀─ state             │    └── deltas, results, answers ◀──┼▶ snapshot
//!                          ▲                      ▼                                    └▶ context (pure)
//!                          └───────Event──── session store  (written first, then announced)
//! ```
//!
//! `docs/architecture.md` has the flow and the invariants; `tests/it/tidy.rs` checks who imports whom.

pub mod agent;
pub mod app;
pub mod cli;
pub mod config;
pub mod context;
pub mod error;
pub mod headless;
pub mod mcp;
pub mod model;
pub mod permission;
pub mod protocol;
pub mod sandbox;
pub mod session;
pub mod snapshot;
pub mod tools;
pub mod tui;
pub mod web;
