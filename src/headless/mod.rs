//! The second front end: text and JSON lines.
