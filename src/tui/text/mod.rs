//! TEXT → ROWS. Wrapping, Markdown, diffs, highlighting: pure functions of (text, width, theme).
//!
//! Called by the transcript's cells and by the overlays that show text. Does no I/O and knows no
//! clock; the one thread (`highlight`) is started by whoever polls it.

pub mod cache;
pub mod diff;
#[cfg(feature = "highlight")]
pub mod highlight;
#[cfg(not(feature = "highlight"))]
#[path = "no_highlight.rs"]
pub mod highlight;
pub mod intraline;
pub mod link;
pub mod markdown;
pub mod row;
pub mod stream;
pub mod width;
pub mod wrap;

pub use row::{Join, PictureRow, Row, Styled};
