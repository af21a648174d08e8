//! The agent end to end: subagents, budgets, the queue, interrupts and crashes, with the real binary
//! and the scripted provider.

mod attribution;
mod budgets;
mod crash;
mod crash_all;
mod families;
mod flood;
mod full;
mod grants;
mod interrupt;
mod limits;
mod loops;
mod media;
pub mod orders;
mod orphans;
mod pictures;
mod replay;
mod sandbox;
mod subagents;
mod two_sessions;
