//! What models, tools and files say, before it reaches a terminal without a screen of ours: characters that a
//! terminal would obey or hide are left out.
//!
//! The screen has its own, stricter gate (`tui::term::sanitise`). Used by `text` and by the subcommands that
//! print what was said; what goes into a pipe or a file stays as it is.

use std::borrow::Cow;
use std::io::{self, Write};

/// True for what may be printed: line ends and tabs, and everything that is seen.
fn is_seen(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // marks that turn the direction, that hide or tag text
        '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}

/// The text without what a terminal would obey or hide; it keeps its lines.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_seen) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| is_seen(*c)).collect())
}

/// The same on one line.
pub fn printable_line(text: &str) -> String {
    let seen = printable(text);
    seen.replace(['\n', '\t'], " ")
}

/// Passes on what is printable, if it goes to a terminal; everything otherwise. Each piece that is written
/// must be whole characters, as the formatting macros write them.
#[derive(Debug)]
pub struct Cleaned<W> {
    inner: W,
    terminal: bool,
}

impl<W: Write> Cleaned<W> {
    /// A writer to `inner`, which is a terminal or not.
    pub const fn new(inner: W, terminal: bool) -> Self {
        Self { inner, terminal }
    }
}

impl<W: Write> Write for Cleaned<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.inner.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.inner.write_all(printable(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_nothing_it_would_obey_and_a_pipe_gets_everything() {
        let hostile = "a\u{1b}]0;pwn\u{7}b\u{202e}c\u{9b}31md\u{200b}\r\ne\u{e0041}\tü👩\u{200d}🚀";
        for (terminal, expected) in [(true, "a]0;pwnbc31md\ne\tü👩\u{200d}🚀"), (false, hostile)]
        {
            let mut out = Vec::new();
            let mut cleaned = Cleaned::new(&mut out, terminal);
            write!(cleaned, "{hostile}").expect("a vector");
            assert_eq!(String::from_utf8(out).expect("text"), expected);
        }
        assert_eq!(printable_line("a\nb\u{202e}"), "a b");
    }
}
