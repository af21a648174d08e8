//! All integration tests, in one binary. `support` has the world they run in.

mod cli;
mod snapshot;
mod support;
mod tidy;
mod provider;
mod wire;
//! All integration tests, in one binary.
mod session;
