//! The program: parse, log, run, print error, exit code.
fn main() {}
