//! Context management over long conversations: the turn machine is driven directly, with a simulated
//! model and tools, so that a hundred turns take seconds (docs/context.md).

mod campaign;
mod flood;
mod real;
mod recalling;
mod simulation;
