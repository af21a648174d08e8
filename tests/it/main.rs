//! All integration tests, in one binary.

mod provider;
mod wire;
