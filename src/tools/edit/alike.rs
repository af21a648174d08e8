//! Characters that look alike, and how much two texts have in common. Pure.

use std::borrow::Cow;
use std::time::Duration;

use similar::TextDiff;

/// The plain form of a character that models and editors mix up; none if it is plain itself. An empty
/// form is invisible.
pub(crate) fn plain_char(char: char) -> Option<&'static str> {
    Some(match char {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' => "'",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{2026}' => "...",
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => "",
        _ => return None,
    })
}

/// A text with plain characters only.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match plain_char(char) {
            Some(form) => out.push_str(form),
            None => out.push(char),
        }
    }
    out.into()
}

/// How much two texts have in common, 0 to 1. Long texts are compared line by line.
pub(crate) fn ratio(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }
    let mut config = TextDiff::configure();
    config.timeout(Duration::from_millis(50));
    if a.len() + b.len() > 20_000 {
        return config.diff_lines(a, b).ratio();
    }
    config.diff_chars(a, b).ratio()
}
