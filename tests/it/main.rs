//! All integration tests, in one binary.

mod snapshot;
mod wire;
