//! `bash`, its background jobs, and the processes behind them.
//!
//! `tool` is what the model calls, `process` starts and kills process groups, `pump` carries output and
//! waits, `jobs` keeps what runs in the background, `environment` is what a command sees of ours, `guard`
//! ends commands when dunlin was killed.

pub mod environment;
mod facts;
pub mod guard;
pub mod job_tools;
pub mod jobs;
mod offspring;
pub mod process;
mod pump;
pub mod tool;
mod without;

pub use environment::Environment;
pub use guard::{Guard, guard_main};
pub use job_tools::{BashOutput, Kill};
pub use jobs::Jobs;
pub use process::{CommandWrapper, Confine};
pub use tool::Bash;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
