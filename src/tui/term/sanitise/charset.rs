//! Which characters may be shown.
//!
//! Used by `Safe` only. Control characters are the parser's business; this file knows those that
//! have no width, change the direction, or look like nothing.

use unicode_width::UnicodeWidthChar;

/// What is wrong with a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// Nothing.
    None,
    /// A tab: harmless, but no terminal cell.
    Tab,
    /// A terminal would obey it, or the eye would not see it.
    Hidden,
}

/// Judges a character by itself.
pub fn suspicion(c: char) -> Suspicion {
    match c {
        ' '..='~' => Suspicion::None,
        '\t' => Suspicion::Tab,
        c if c.is_control() || is_hidden(c) || is_odd_space(c) => Suspicion::Hidden,
        _ => Suspicion::None,
    }
}

/// True for a character that takes no part in what the eye sees: bidi controls, zero-width
/// characters, tags, variation selectors, fillers, line separators, private signs of annotation.
/// Joiners go too: terminals disagree on the width of what they join.
pub const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{13455}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
        // Not characters at all.
        | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}')
}

/// Spaces that are not the space: shown as a space in text, spelled in what is approved.
pub const fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

/// True for printable ASCII and nothing else.
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// True if any character sits on another one (or has no width of its own).
pub fn has_marks(text: &str) -> bool {
    text.chars()
        .any(|c| !c.is_ascii() && c.width().unwrap_or(0) == 0)
}
