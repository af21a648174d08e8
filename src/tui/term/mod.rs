//! The terminal itself: what may be written to it, and who restores it.
//!
//! Called by `run` and by everything that makes text for the screen. Nothing outside this folder
//! writes to the terminal.

pub mod gallery;
pub mod guard;
pub mod osc;
pub mod paint;
pub mod sanitise;
mod shift;
mod write;
