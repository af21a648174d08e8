//! Which characters may be shown, and text of others without those that may not.
//!
//! Used by the screen's `Safe`, which has a full parser for what a terminal would obey, and by everything
//! that prints plain lines (`dunlin exec`, `dunlin sessions`), for which `plain` is enough.

use std::borrow::Cow;
use std::str::Chars;

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

/// Text of models, tools, files and the network for a terminal: escape sequences and characters that a
/// terminal would obey or hide are left out, line ends and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    let fine = |c: char| c == '\n' || c == '\t' || !(c.is_control() || is_hidden(c));
    if text.chars().all(fine) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            c if fine(c) => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// What stands after an escape character.
fn skip_escape(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            skip_string(rest);
        }
        // Some have characters in between: `ESC ( B`.
        Some(c) if (' '..='/').contains(&c) => {
            ahead.next();
            *rest = ahead;
        }
        Some(c) if !c.is_control() => *rest = ahead,
        _ => {}
    }
}

/// A control sequence up to its last character; one that is cut ends at the line's end.
fn skip_control(rest: &mut Chars<'_>) {
    loop {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some(c) if (' '..='?').contains(&c) => *rest = ahead,
            Some(c) if ('@'..='~').contains(&c) => {
                *rest = ahead;
                return;
            }
            _ => return,
        }
    }
}

/// A string for the terminal (a title, the clipboard) up to its end; one that has none ends at the
/// line's end.
fn skip_string(rest: &mut Chars<'_>) {
    loop {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some('\u{7}' | '\u{9c}') => {
                *rest = ahead;
                return;
            }
            Some('\u{1b}') => {
                if ahead.next() == Some('\\') {
                    *rest = ahead;
                }
                return;
            }
            None | Some('\n') => return,
            Some(_) => *rest = ahead,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_nothing_that_a_terminal_obeys_or_hides() {
        for (text, shown) in [
            ("as it is\n\tlines", "as it is\n\tlines"),
            ("fin \u{1b}[2J\u{1b}]0;title\u{7} \u{202e}end", "fin  end"),
            ("\u{1b}]52;c;aGk=\u{1b}\\copied", "copied"),
            ("\u{1b}[31mred\u{1b}[0m \u{9b}1mbold", "red bold"),
            ("\u{1b}(Bset \u{1b}7saved", "set saved"),
            ("cut \u{1b}]0;no end\nnext line", "cut \nnext line"),
            ("cut \u{1b}[1;\nnext", "cut \nnext"),
            ("\u{1b}\u{1b}[1mx\r\u{8}y", "xy"),
            ("end \u{1b}", "end "),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }
}
