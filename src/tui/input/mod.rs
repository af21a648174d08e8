//! What the user did at the terminal: keys, pastes, mouse, focus, and the terminal's own replies.
//!
//! `parse` turns bytes into these words; `run` reads the bytes; `keymap` and `update` use the words.
//! We read stdin ourselves rather than through crossterm's reader: probes' replies, suspend, an
//! external editor and paste bursts all need to own the byte stream. No I/O here.

pub mod parse;
mod replies;

use std::fmt;
use std::str::FromStr;

pub use parse::Parser;

use super::picture::way::Brand;

/// One thing that came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key went down (or repeats).
    Key(Key),
    /// Bracketed paste, verbatim.
    Paste(String),
    /// The mouse.
    Mouse(Mouse),
    /// The window has the focus, or lost it.
    Focus(bool),
    /// The terminal answered a question of ours.
    Reply(Reply),
}

/// An answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// OSC 11: background colour, 8 bits each.
    Background(u8, u8, u8),
    /// The kitty keyboard flags in force.
    Keyboard(u8),
    /// Where the cursor stood after the signs of the width probe: columns that they took.
    Width(u16),
    /// XTVERSION: which terminal it is.
    Brand(Brand),
    /// Kitty's graphics: it takes them.
    Graphics,
    /// XTSMGRAPHICS: colours of a sixel picture.
    Registers(u16),
    /// Columns and rows of pixels of one cell.
    CellPixels(u16, u16),
    /// DA1: the end of the answers; every terminal sends it.
    Done {
        /// It shows sixels.
        sixel: bool,
    },
}

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// A character; letters in lower case when ctrl or alt is held.
    Char(char),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Escape.
    Esc,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
}

/// Modifiers as a bit set: 1 shift, 2 alt, 4 ctrl, 8 super (the kitty protocol's bits).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mods(pub u8);

impl Mods {
    /// None held.
    pub const NONE: Self = Self(0);
    /// Shift.
    pub const SHIFT: Self = Self(1);
    /// Alt.
    pub const ALT: Self = Self(2);
    /// Ctrl.
    pub const CTRL: Self = Self(4);

    /// True if every modifier of `other` is held.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A key with its modifiers. Shift is dropped from characters: `A` is `A`, not shift and `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Which key.
    pub code: Code,
    /// What was held.
    pub mods: Mods,
}

impl Key {
    /// A key with modifiers, in canonical form.
    pub fn new(code: Code, mods: Mods) -> Self {
        let mut mods = Mods(mods.0 & 0x0f);
        let code = match code {
            Code::Char(c) if mods.has(Mods::CTRL) || mods.has(Mods::ALT) => {
                if c.is_uppercase() {
                    mods = mods.with(Mods::SHIFT);
                }
                Code::Char(c.to_lowercase().next().unwrap_or(c))
            }
            Code::Char(c) => {
                mods = Mods(mods.0 & !Mods::SHIFT.0);
                Code::Char(c)
            }
            other => other,
        };
        Self { code, mods }
    }

    /// A key without modifiers.
    pub fn plain(code: Code) -> Self {
        Self::new(code, Mods::NONE)
    }

    /// The character this key types, if it types one.
    pub fn text(self) -> Option<char> {
        match self.code {
            Code::Char(c) if self.mods == Mods::NONE => Some(c),
            _ => None,
        }
    }
}

/// The names of keys that are not characters.
const NAMES: [(&str, Code); 16] = [
    ("enter", Code::Enter),
    ("tab", Code::Tab),
    ("esc", Code::Esc),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("insert", Code::Insert),
    ("↑", Code::Up),
    ("↓", Code::Down),
    ("←", Code::Left),
    ("→", Code::Right),
    ("home", Code::Home),
    ("end", Code::End),
    ("pgup", Code::PageUp),
    ("pgdn", Code::PageDown),
    ("space", Code::Char(' ')),
    ("plus", Code::Char('+')),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, name) in [
            (Mods::CTRL, "ctrl+"),
            (Mods::ALT, "alt+"),
            (Mods::SHIFT, "shift+"),
        ] {
            if self.mods.has(bit) {
                f.write_str(name)?;
            }
        }
        if self.mods.has(Mods(8)) {
            f.write_str("super+")?;
        }
        match self.code {
            Code::F(n) => write!(f, "f{n}"),
            code => match NAMES.iter().find(|(_, c)| *c == code) {
                Some((name, _)) => f.write_str(name),
                None => match code {
                    Code::Char(c) => write!(f, "{c}"),
                    _ => Ok(()),
                },
            },
        }
    }
}

impl FromStr for Key {
    type Err = String;

    /// Reads `ctrl+shift+up`, `alt+enter`, `f5`, `?`.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("`{text}` does not name a key: write e.g. ctrl+g, alt+enter, shift+tab, f5");
        let mut mods = Mods::NONE;
        let mut rest = text.trim();
        while let Some((word, after)) = rest.split_once('+') {
            let bit = match word.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => Mods::CTRL,
                "alt" | "option" | "meta" => Mods::ALT,
                "shift" => Mods::SHIFT,
                "super" | "cmd" => Mods(8),
                _ => break,
            };
            mods = mods.with(bit);
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (None, _) => return Err(bad()),
            (Some(c), None) if !c.is_control() && !NAMES.iter().any(|(n, _)| *n == rest) => {
                Code::Char(c)
            }
            _ => named(&rest.to_lowercase()).ok_or_else(bad)?,
        };
        Ok(Self::new(code, mods))
    }
}

fn named(word: &str) -> Option<Code> {
    let word = match word {
        "up" => "↑",
        "down" => "↓",
        "left" => "←",
        "right" => "→",
        "return" => "enter",
        "escape" => "esc",
        "del" => "delete",
        "pageup" => "pgup",
        "pagedown" => "pgdn",
        other => other,
    };
    if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Some(*code);
    }
    let number = word.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then_some(Code::F(number))
}

/// What a mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Down,
    /// The pointer moved with the left button held.
    Drag,
    /// The left button came up.
    Up,
    /// The wheel turned away from the user.
    WheelUp,
    /// The wheel turned towards the user.
    WheelDown,
}

/// A mouse event; cells count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// What happened.
    pub kind: MouseKind,
    /// Column.
    pub col: u16,
    /// Row.
    pub row: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_round_trip() {
        for name in [
            "ctrl+g",
            "alt+enter",
            "shift+tab",
            "f5",
            "?",
            "ctrl+↑",
            "space",
            "esc",
            "ctrl+shift+z",
            "A",
            "pgup",
            "+",
        ] {
            let key: Key = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let shown = key.to_string();
            assert_eq!(
                shown.parse::<Key>().as_ref(),
                Ok(&key),
                "{name} shows as {shown}"
            );
        }
        assert_eq!("ctrl+Up".parse::<Key>(), Ok(Key::new(Code::Up, Mods::CTRL)));
    }

    #[test]
    fn a_name_that_is_no_key_is_refused_with_an_example() {
        for bad in ["", "ctrl+", "hyper+x", "f99", "entr"] {
            let error = bad.parse::<Key>().expect_err(bad);
            assert!(error.contains("ctrl+g"), "{error}");
        }
    }

    #[test]
    fn shift_belongs_to_the_letter_unless_ctrl_is_held() {
        assert_eq!(
            Key::new(Code::Char('A'), Mods::SHIFT),
            Key::plain(Code::Char('A'))
        );
        let undo = Key::new(Code::Char('Z'), Mods::CTRL);
        assert!(undo.mods.has(Mods::SHIFT) && undo.code == Code::Char('z'));
    }
}
