//! What files were: a tree of the worktree at every step, and the way back.
//!
//! ```text
//! agent ─▶ handle (async, never blocks) ─Job─▶ owner (one thread) ─┬▶ worktree: state, visit, watch, rules, seed
//!                                                                  ├▶ repo: the only file that names git2
//!                                                                  ├▶ diff · undo (plan) · disk (apply) · gc
//!                                                                  └▶ writelog, share: whose change it is
//! ```
//!
//! Snapshots are git trees in a shadow repository; the user's own `.git` is only ever read.
//! `docs/snapshots.md` has the rules and the figures. Nothing here knows of sessions or turns.

mod aside;
mod diff;
mod disk;
mod gc;
mod handle;
mod head;
mod hunk;
mod naming;
mod noted;
mod owner;
mod pass;
mod path;
mod place;
mod record;
mod repo;
mod reported;
mod rules;
mod seed;
mod share;
mod stat;
mod state;
mod tracked;
mod tree;
mod undo;
mod visit;
mod watch;
mod writelog;

pub use gc::{GcReport, collect, disk_use, survey};
pub use handle::{Running, Snapshots};
pub use record::{
    FileState, FileWrite, Hints, Restored, SnapshotError, SnapshotState, Step, Taken,
};
pub use repo::make_repository;
