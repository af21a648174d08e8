//! What was said, kept. See docs/architecture.md.
