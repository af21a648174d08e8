//! What we tell the terminal besides frames: title, notification, clipboard.
//!
//! Made here as bytes from `Safe` text only, length-capped; `run` lets them go along in a frame.
//! Clipboard writes happen only on the user's own key: that is `update`'s to keep.

use base64::Engine as _;

use super::sanitise::Safe;

const MOST_TITLE: usize = 120;
const MOST_NOTE: usize = 200;
/// Terminals drop longer OSC 52 strings; many cap them at 100,000 bytes of base64.
const MOST_CLIP: usize = 74_000;

fn capped(text: &Safe, most: usize) -> String {
    text.as_str()
        .chars()
        .filter(|c| !c.is_control())
        .take(most)
        .collect()
}

/// Sets the window's title.
pub fn title(text: &Safe) -> String {
    format!("\x1b]2;{}\x1b\\", capped(text, MOST_TITLE))
}

/// A desktop notification where the terminal can, and the bell. `kitty`: it takes OSC 99.
pub fn notification(text: &Safe, kitty: bool) -> String {
    let text = capped(text, MOST_NOTE);
    if kitty {
        format!("\x1b]99;;{text}\x1b\\\x07")
    } else {
        format!("\x1b]9;{text}\x1b\\\x07")
    }
}

/// Asks the terminal to put text on the clipboard; none if it is too long for that.
pub fn clipboard(text: &str) -> Option<String> {
    if text.len() > MOST_CLIP {
        return None;
    }
    let data = base64::engine::general_purpose::STANDARD.encode(text);
    Some(format!("\x1b]52;c;{data}\x1b\\"))
}

/// The desktop's clipboard. Kept open: on some desktops a copy lives as long as its owner.
#[derive(Default)]
pub struct Clipboard {
    #[cfg(feature = "clipboard")]
    open: Option<arboard::Clipboard>,
}

impl std::fmt::Debug for Clipboard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clipboard")
    }
}

impl Clipboard {
    /// Puts text on it; true if that is known to have worked. False without a desktop.
    #[cfg(feature = "clipboard")]
    pub fn put(&mut self, text: &str) -> bool {
        // Without a display arboard would wait for one; over ssh it would be the wrong desktop.
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let display = !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY");
        if !display || set("SSH_CONNECTION") {
            return false;
        }
        if self.open.is_none() {
            self.open = arboard::Clipboard::new().ok();
        }
        self.open
            .as_mut()
            .is_some_and(|open| open.set_text(text.to_owned()).is_ok())
    }

    /// Never: this build has no desktop clipboard.
    #[cfg(not(feature = "clipboard"))]
    pub fn put(&mut self, _text: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_holds_nothing_that_a_terminal_would_obey() {
        let hostile = Safe::strip("a\x1b]52;c;ZXZpbA==\x07b\u{9c}c\n");
        let bytes = title(&hostile);
        let inner = bytes
            .strip_prefix("\x1b]2;")
            .and_then(|t| t.strip_suffix("\x1b\\"));
        assert!(
            inner.is_some_and(|t| !t.chars().any(char::is_control)),
            "{bytes:?}"
        );
        let long = title(&Safe::strip(&"x".repeat(10_000)));
        assert!(long.len() < 200);
    }

    #[test]
    fn a_notification_is_one_string_whatever_it_says() {
        let hostile = Safe::strip("done\x1b]52;c;ZXZpbA==\x07\nnow");
        assert_eq!(notification(&hostile, false), "\x1b]9;done now\x1b\\\x07");
        assert_eq!(notification(&hostile, true), "\x1b]99;;done now\x1b\\\x07");
    }

    #[test]
    fn a_clip_that_terminals_would_drop_is_not_sent() {
        assert_eq!(clipboard("hi").as_deref(), Some("\x1b]52;c;aGk=\x1b\\"));
        assert_eq!(clipboard(&"x".repeat(100_000)), None);
    }
}
