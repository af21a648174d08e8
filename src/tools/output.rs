//! output
/// OutputStore
#[derive(Debug)]
pub struct OutputStore;
