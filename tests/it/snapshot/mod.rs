//! Snapshots against git itself: every tree must be the one that `git add -A` would make, and every
//! undo must bring back the files byte for byte.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what fails here is a failed test"
)]

mod aside;
mod limits;
mod odd;
mod places;
mod random;
mod sessions;
mod store;
mod trees;
mod undo;
mod world;
