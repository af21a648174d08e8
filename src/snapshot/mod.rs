//! What files were. See docs/architecture.md.
