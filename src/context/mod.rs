//! What the model is shown, and how a conversation stays inside its window. Pure.
//!
//! Functions from (conversation, usage, limits, settings) to a plan, carried out by the agent's
//! turn: `assemble` makes the messages of a request, `prune` and `compact` make room, `overflow`
//! says when. No clock, no I/O, no ids made here.

pub mod assemble;
pub mod cache;
pub mod compact;
pub mod conversation;
pub mod fold;
pub mod handle;
pub mod inspect;
pub mod overflow;
pub mod prompt;
pub mod prune;
pub mod said;
pub mod tokens;

#[cfg(test)]
pub(crate) mod test_world;

pub use conversation::{Conversation, Entry};
