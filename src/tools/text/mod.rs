//! Text files as they are on disk: encodings, line ends, differences, safe writing.
//!
//! Shared by `read`, `edit`, `write` and `apply_patch`. Knows nothing of tools, models or permission.

pub mod diff;
pub mod encoding;
pub(crate) mod runs;
pub mod save;

pub use diff::{Diff, diff};
pub use encoding::{NotText, Splice, TextFile};
pub use save::save;

/// The line end that most lines of a text have; `\n` if it has none.
pub fn main_line_end(text: &str) -> &'static str {
    let all = memchr::memchr_iter(b'\n', text.as_bytes());
    let (mut crlf, mut lf) = (0usize, 0usize);
    for at in all {
        if at > 0 && text.as_bytes()[at - 1] == b'\r' {
            crlf += 1;
        } else {
            lf += 1;
        }
    }
    if crlf > lf { "\r\n" } else { "\n" }
}
