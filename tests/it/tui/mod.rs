//! The interactive front end on a screen in memory: frames, keys, questions, sizes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

mod asks;
mod bytes;
mod clicks;
mod copying;
mod everything;
mod fixtures;
mod frames;
mod hostile;
mod keys;
mod lists;
mod modes;
mod never_lost;
mod overlays;
mod pastes;
mod queue;
mod reading;
mod reports;
mod sessions;
mod sizes;
mod spending;
mod subagents;
mod vim;
