//! Pure text engine.
