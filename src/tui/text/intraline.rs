//! intraline
