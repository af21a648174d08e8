//! All integration tests, in one binary. `support` has the world they run in.

#![expect(
    clippy::expect_used,
    clippy::string_slice,
    clippy::panic,
    reason = "a test that cannot go on must fail with what it saw"
)]
#![expect(
    unreachable_pub,
    clippy::assigning_clones,
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::needless_pass_by_value,
    reason = "one binary without users; polling a condition needs a short sleep"
)]

mod agent;
mod cli;
mod context;
mod mcp;
mod provider;
mod pty;
mod session;
mod snapshot;
mod support;
mod tidy;
mod tui;
mod wire;
