//! The scripted provider: plays a script file through the same trait as a real model.
//!
//! It is what `dunlin demo`, a first start without a key and the tests run on; tools are real. The
//! registry builds it. Stateless between processes: `position` derives the step from the conversation.
//! In memory is only how often a fault was played.

mod model;
mod play;
mod position;
mod script;

pub use model::ScriptedModel;
pub use script::{
    Abilities, Branch, Call, FaultName, FaultSpec, PartSpec, Script, Step, Text, UsageSpec,
};

/// Provider id.
pub const PROVIDER: &str = "scripted";

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
