//! reads
/// ReadLedger
#[derive(Debug)]
pub struct ReadLedger;
