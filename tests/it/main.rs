//! All integration tests, in one binary. `support` has the world they run in.

#![expect(
    clippy::expect_used,
    clippy::string_slice,
    clippy::panic,
    reason = "a test that cannot go on must fail with what it saw"
)]

mod agent;
mod cli;
mod context;
mod provider;
mod pty;
mod session;
mod snapshot;
mod support;
mod tidy;
mod tui;
mod wire;
