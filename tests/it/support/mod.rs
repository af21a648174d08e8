//! What integration tests share: a world that cannot touch the machine, a model server over HTTP, a
//! real pseudo-terminal.

pub mod pty;
pub mod server;
pub mod world;
