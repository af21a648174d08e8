//! All integration tests, in one binary. `support` has the world they run in.

mod cli;
mod context;
mod provider;
mod session;
mod snapshot;
mod support;
mod tidy;
mod tui;
mod wire;
