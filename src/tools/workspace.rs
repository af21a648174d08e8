//! workspace
/// Workspace
#[derive(Debug)]
pub struct Workspace;
