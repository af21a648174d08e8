//! The colours of the built-in themes, and user themes in TOML.
//!
//! Called by `Theme::new`; a user theme's text is read by whoever loads the configuration. Holds
//! colours only: what they mean is in `mod.rs`.

use super::{CodeKind, ThemeChoice};

/// A colour, 24 bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// This colour laid over `base`; `share` of 255 is opaque.
    pub fn over(self, base: (u8, u8, u8), share: u8) -> Self {
        let mix = |top: u8, under: u8| {
            let share = u16::from(share);
            ((u16::from(top) * share + u16::from(under) * (255 - share)) / 255) as u8
        };
        Self(
            mix(self.0, base.0),
            mix(self.1, base.1),
            mix(self.2, base.2),
        )
    }

    /// `#rrggbb`.
    fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix('#').filter(|h| h.len() == 6)?;
        let value = u32::from_str_radix(hex, 16).ok()?;
        Some(Self((value >> 16) as u8, (value >> 8) as u8, value as u8))
    }
}

/// The colours of one theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Palette {
    /// Yours, or yours to press.
    pub accent: Rgb,
    /// Succeeded, added.
    pub good: Rgb,
    /// Failed, removed.
    pub bad: Rgb,
    /// Needs you.
    pub amber: Rgb,
    string: Option<Rgb>,
    number: Option<Rgb>,
    keyword: Option<Rgb>,
    kind: Option<Rgb>,
    function: Option<Rgb>,
    comment: Option<Rgb>,
}

const DARK: Palette = Palette {
    accent: Rgb(86, 196, 206),
    good: Rgb(120, 190, 110),
    bad: Rgb(232, 104, 104),
    amber: Rgb(224, 176, 84),
    string: Some(Rgb(152, 190, 132)),
    number: Some(Rgb(210, 158, 120)),
    keyword: Some(Rgb(140, 170, 226)),
    kind: Some(Rgb(120, 196, 190)),
    function: Some(Rgb(206, 190, 140)),
    comment: None,
};

const LIGHT: Palette = Palette {
    accent: Rgb(0, 112, 128),
    good: Rgb(36, 118, 40),
    bad: Rgb(184, 32, 40),
    amber: Rgb(150, 96, 0),
    string: Some(Rgb(56, 110, 40)),
    number: Some(Rgb(150, 84, 20)),
    keyword: Some(Rgb(40, 76, 160)),
    kind: Some(Rgb(0, 104, 104)),
    function: Some(Rgb(110, 84, 0)),
    comment: None,
};

const HIGH_CONTRAST_DARK: Palette = Palette {
    accent: Rgb(0, 255, 255),
    good: Rgb(80, 255, 80),
    bad: Rgb(255, 96, 96),
    amber: Rgb(255, 216, 0),
    string: None,
    number: None,
    keyword: None,
    kind: None,
    function: None,
    comment: None,
};

const HIGH_CONTRAST_LIGHT: Palette = Palette {
    accent: Rgb(0, 70, 90),
    good: Rgb(0, 84, 0),
    bad: Rgb(150, 0, 0),
    amber: Rgb(110, 60, 0),
    ..HIGH_CONTRAST_DARK
};

impl Palette {
    /// The colours of a choice; `background` decides where the choice leaves it open.
    pub fn of(choice: &ThemeChoice, background: Option<(u8, u8, u8)>) -> Self {
        let light = background.is_some_and(is_light);
        match choice {
            ThemeChoice::Light => LIGHT,
            ThemeChoice::HighContrast if light => HIGH_CONTRAST_LIGHT,
            ThemeChoice::HighContrast => HIGH_CONTRAST_DARK,
            ThemeChoice::Auto if light => LIGHT,
            ThemeChoice::User(user) => user.over(if light { LIGHT } else { DARK }),
            ThemeChoice::Auto | ThemeChoice::Dark | ThemeChoice::Ansi16 | ThemeChoice::None => DARK,
        }
    }

    /// The colour of a kind of code; none for the default ink.
    pub const fn code(&self, kind: CodeKind) -> Option<Rgb> {
        match kind {
            CodeKind::Plain => None,
            CodeKind::Comment => self.comment,
            CodeKind::String => self.string,
            CodeKind::Number => self.number,
            CodeKind::Keyword | CodeKind::Attribute => self.keyword,
            CodeKind::Type => self.kind,
            CodeKind::Function => self.function,
            CodeKind::Added => Some(self.good),
            CodeKind::Removed => Some(self.bad),
        }
    }
}

/// By the luma of Rec. 601.
pub(super) fn is_light((r, g, b): (u8, u8, u8)) -> bool {
    u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114 > 128 * 1000
}

/// The user's own colours, over the dark or light theme.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserTheme {
    colours: Vec<(String, Rgb)>,
}

/// The names that a user theme may give a colour.
const NAMES: [&str; 10] = [
    "accent", "good", "bad", "amber", "string", "number", "keyword", "type", "function", "comment",
];

impl UserTheme {
    /// Reads a theme: TOML, one `name = "#rrggbb"` a line. `place` names the file in errors.
    ///
    /// # Errors
    /// A sentence that names the file and the line's name, and says what may stand there.
    pub fn from_toml(text: &str, place: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            format!(
                "The theme {place} is not TOML: {}. Write lines such as accent = \"#56c4ce\".",
                error.message()
            )
        })?;
        let mut colours = Vec::new();
        for (name, value) in table {
            if !NAMES.contains(&name.as_str()) {
                return Err(format!(
                    "The theme {place} sets `{name}`, which no theme has. Use one of {}.",
                    NAMES.join(", ")
                ));
            }
            let rgb = value.as_str().and_then(Rgb::parse).ok_or_else(|| {
                format!("The theme {place} gives `{name}` no colour. Write it as \"#rrggbb\".")
            })?;
            colours.push((name, rgb));
        }
        Ok(Self { colours })
    }

    fn over(&self, base: Palette) -> Palette {
        let mut palette = base;
        for (name, rgb) in &self.colours {
            match name.as_str() {
                "accent" => palette.accent = *rgb,
                "good" => palette.good = *rgb,
                "bad" => palette.bad = *rgb,
                "amber" => palette.amber = *rgb,
                "string" => palette.string = Some(*rgb),
                "number" => palette.number = Some(*rgb),
                "keyword" => palette.keyword = Some(*rgb),
                "type" => palette.kind = Some(*rgb),
                "function" => palette.function = Some(*rgb),
                _ => palette.comment = Some(*rgb),
            }
        }
        palette
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_theme_changes_what_it_names_and_nothing_else() {
        let user = UserTheme::from_toml("accent = \"#010203\"\ntype = \"#ffffff\"", "mine.toml");
        let palette = Palette::of(&ThemeChoice::User(user.expect("valid")), None);
        assert_eq!(palette.accent, Rgb(1, 2, 3));
        assert_eq!(palette.code(CodeKind::Type), Some(Rgb(255, 255, 255)));
        assert_eq!(palette.good, DARK.good);
    }

    #[test]
    fn a_bad_user_theme_says_where_and_what() {
        for (text, wanted) in [
            ("accent = 3", "`accent`"),
            ("accent = \"#12\"", "#rrggbb"),
            ("acent = \"#123456\"", "`acent`"),
            ("accent", "not TOML"),
        ] {
            let error = UserTheme::from_toml(text, "mine.toml").expect_err(text);
            assert!(
                error.contains("mine.toml") && error.contains(wanted),
                "{error}"
            );
        }
    }
}
