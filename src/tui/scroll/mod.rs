//! Scrolling.
