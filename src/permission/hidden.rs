//! Characters that make a command look like something else: controls, bidi overrides, zero-width and
//! tag characters. What holds one is never allowed by a pattern, and never offered one.

/// The first hidden character, if there is one. Newline and tab are not hidden.
pub fn find(text: &str) -> Option<char> {
    text.chars().find(|c| is_hidden(*c))
}

/// True for a character that is not seen, or that changes how others are seen.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        _ => matches!(
            c as u32,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x2028..=0x202E
                | 0x2060..=0x206F
                | 0x3164
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFA0
                | 0xFFF9..=0xFFFB
                | 0xE0000..=0xE0FFF
        ),
    }
}

/// How it is named to the user.
pub fn name(c: char) -> String {
    format!("hidden character U+{:04X}", c as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_found() {
        for text in [
            "ls \u{202e}x",
            "l\u{200b}s",
            "ls\rrm",
            "a\u{1b}[2K",
            "x\u{e0041}",
            "\u{feff}ls",
        ] {
            assert!(find(text).is_some(), "{text:?}");
        }
        for text in ["ls -l\n\tcat 'é 漢字 ➜'", ""] {
            assert_eq!(find(text), None, "{text:?}");
        }
        assert_eq!(name('\u{202e}'), "hidden character U+202E");
    }
}
