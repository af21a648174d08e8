//! CALL → RESULT: the tools a model can use.
//!
//! A tool says first what a call would touch (`access`, judged by `permission`), then runs. Every
//! output is truncated at the source (`output`), every path goes through `workspace`. The words are
//! in `contract`; `registry` builds the tools; there is one file or folder per tool.

pub mod arguments;
pub mod bash;
pub mod blocking;
pub mod contract;
pub mod edit;
pub(crate) mod file;
pub mod media;
pub mod output;
pub mod patch;
pub(crate) mod put;
pub mod question;
pub mod read;
pub mod reads;
pub mod registry;
pub mod search;
pub mod skill;
pub(crate) mod suggest;
#[cfg(test)]
pub(crate) mod test_world;
pub mod text;
pub mod todo;
pub mod web_fetch;
pub mod workspace;
pub mod write;

pub use contract::{
    Access, AskUser, BlobSink, Failure, Need, Outside, Progress, ProgressUpdate, Success, Tool,
    ToolContext, WriteSink,
};
pub use registry::{ToolSettings, by_name, offered, registry};

#[cfg(test)]
mod small_tests;

#[cfg(test)]
mod limits_tests;
