//! TERMINAL → MSG → STATE → SCREEN.

pub mod cells;
pub mod scroll;
pub mod term;
pub mod text;
pub mod theme;
pub mod transcript;
