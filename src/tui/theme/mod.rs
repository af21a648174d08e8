//! Tokens of the screen: what a style MEANS, and which colour it gets on this terminal.
//!
//! Every cell and every view asks a `Theme` for a style by meaning (UX §7). Only the files of this
//! folder name a colour. Pure: the terminal's depth and background come from the probe.

pub mod downgrade;
pub mod glyphs;
pub mod palette;
pub mod sgr;
pub mod user;

use ratatui::style::{Color, Modifier, Style};

pub use downgrade::ColourDepth;
pub use glyphs::Glyphs;
pub use palette::{Palette, Rgb, UserTheme};

/// Which theme the user wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// Dark or light, by the terminal's background; dark if that is not known.
    #[default]
    Auto,
    /// For dark backgrounds.
    Dark,
    /// For light backgrounds.
    Light,
    /// As much contrast as there is.
    HighContrast,
    /// The terminal's own 16 colours.
    Ansi16,
    /// No colour at all (`NO_COLOR`): weight, glyphs and words only.
    None,
    /// The user's own colours.
    User(UserTheme),
}

impl ThemeChoice {
    /// The built-in themes by the names that config, `/theme` and the picker use.
    pub const BUILT_IN: [(&'static str, Self); 6] = [
        ("auto", Self::Auto),
        ("dark", Self::Dark),
        ("light", Self::Light),
        ("high-contrast", Self::HighContrast),
        ("ansi16", Self::Ansi16),
        ("none", Self::None),
    ];

    /// The built-in theme of that name; none if there is no such theme.
    pub fn named(name: &str) -> Option<Self> {
        Self::BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, choice)| choice.clone())
    }
}

/// What a piece of code is, as far as colour goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeKind {
    /// Anything else.
    Plain,
    /// Comments.
    Comment,
    /// String and character literals.
    String,
    /// Numbers and named constants.
    Number,
    /// Keywords and storage words.
    Keyword,
    /// Types, classes, tags.
    Type,
    /// Function names.
    Function,
    /// Attributes, macros, decorators.
    Attribute,
    /// A line that a patch adds.
    Added,
    /// A line that a patch takes away.
    Removed,
}

impl CodeKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Plain,
        Self::Comment,
        Self::String,
        Self::Number,
        Self::Keyword,
        Self::Type,
        Self::Function,
        Self::Attribute,
        Self::Added,
        Self::Removed,
    ];
}

/// The styles of one screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// The glyphs that this terminal can show.
    pub glyphs: Glyphs,
    accent: Style,
    good: Style,
    bad: Style,
    amber: Style,
    dim: Style,
    tint_user: Style,
    tint_added: Style,
    tint_removed: Style,
    code: [Style; 10],
    depth: ColourDepth,
}

impl Default for Theme {
    fn default() -> Self {
        Self::new(ThemeChoice::Auto, ColourDepth::Ansi16, None)
    }
}

impl Theme {
    /// The theme for this terminal. `background` is the terminal's own, if the probe learned it:
    /// without it there are no tints.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a choice is made for one theme; callers hand it over"
    )]
    pub fn new(choice: ThemeChoice, depth: ColourDepth, background: Option<(u8, u8, u8)>) -> Self {
        let depth = match choice {
            ThemeChoice::None => ColourDepth::None,
            ThemeChoice::Ansi16 => depth.min(ColourDepth::Ansi16),
            _ => depth,
        };
        let palette = Palette::of(&choice, background);
        let ink = |rgb: Rgb, without: Modifier| match downgrade::colour(rgb, depth) {
            Some(colour) => Style::new().fg(colour),
            None => Style::new().add_modifier(without),
        };
        let tint = |rgb: Rgb, share: u8| match background {
            Some(base) if depth >= ColourDepth::Ansi256 => {
                downgrade::colour(rgb.over(base, share), depth)
                    .map_or(Style::new(), |colour| Style::new().bg(colour))
            }
            _ => Style::new(),
        };
        let none = Modifier::empty();
        let dim = dim(&choice, depth, background);
        let mut code = [Style::new(); CodeKind::ALL.len()];
        for kind in CodeKind::ALL {
            code[kind as usize] = match (palette.code(kind), kind) {
                // Sixteen colours are few: red and yellow stay with what they mean elsewhere.
                (Some(_), CodeKind::Number) if is_16(&choice, depth) => {
                    Style::new().fg(Color::Magenta)
                }
                (Some(_), CodeKind::Function) if is_16(&choice, depth) => Style::new(),
                (Some(rgb), _) => ink(rgb, none),
                (None, CodeKind::Comment) => dim,
                (None, _) => Style::new(),
            };
        }
        Self {
            glyphs: Glyphs::UNICODE,
            accent: ink(palette.accent, Modifier::BOLD),
            good: ink(palette.good, none),
            bad: ink(palette.bad, none),
            amber: ink(palette.amber, none),
            dim,
            tint_user: tint(palette.accent, 20),
            tint_added: tint(palette.good, 32),
            tint_removed: tint(palette.bad, 32),
            code,
            depth,
        }
    }

    /// The same theme with another set of glyphs.
    #[must_use]
    pub const fn with_glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }

    /// A style that another program asked for, as far as this terminal and theme show it.
    pub fn fit(&self, style: Style) -> Style {
        let fit = |colour| downgrade::foreign(colour, self.depth);
        let mut fitted = style;
        fitted.fg = style.fg.and_then(fit);
        fitted.bg = style.bg.and_then(fit);
        if fitted.fg.is_some() && fitted.fg == fitted.bg {
            // Ink of the paper's colour would hide text from the user that the model reads.
            (fitted.fg, fitted.bg) = (None, None);
        }
        fitted
    }

    /// The colours of a picture's cell, as far as this terminal shows them.
    pub fn paint(&self, style: Style) -> Style {
        let fit = |colour| downgrade::foreign(colour, self.depth);
        Style {
            fg: style.fg.and_then(fit),
            bg: style.bg.and_then(fit),
            ..style
        }
    }

    /// How many colours there are.
    pub const fn depth(&self) -> ColourDepth {
        self.depth
    }

    /// True if there is any colour: without, words need marks of their own.
    pub fn has_colour(&self) -> bool {
        self.depth > ColourDepth::None
    }

    /// What the assistant says.
    pub fn default(&self) -> Style {
        Style::new()
    }

    /// The current thing.
    pub fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Already true: done tools, durations, hints, paths.
    pub const fn dim(&self) -> Style {
        self.dim
    }

    /// Yours, or yours to press.
    pub const fn accent(&self) -> Style {
        self.accent
    }

    /// Succeeded, added.
    pub const fn good(&self) -> Style {
        self.good
    }

    /// Failed, removed, revealed characters.
    pub const fn bad(&self) -> Style {
        self.bad
    }

    /// Needs you, or near a limit.
    pub const fn amber(&self) -> Style {
        self.amber
    }

    /// Reasoning and quoted claims of the model.
    pub fn thought(&self) -> Style {
        self.dim.add_modifier(Modifier::ITALIC)
    }

    /// Selection and search hits.
    pub fn reverse(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Behind user messages.
    pub const fn tint_user(&self) -> Style {
        self.tint_user
    }

    /// Behind added lines.
    pub const fn tint_added(&self) -> Style {
        self.tint_added
    }

    /// Behind removed lines.
    pub const fn tint_removed(&self) -> Style {
        self.tint_removed
    }

    /// A piece of code.
    pub const fn code(&self, kind: CodeKind) -> Style {
        self.code[kind as usize]
    }
}

/// Sixteen colours, and the built-in ones of code.
const fn is_16(choice: &ThemeChoice, depth: ColourDepth) -> bool {
    matches!(depth, ColourDepth::Ansi16) && !matches!(choice, ThemeChoice::User(_))
}

/// Faint ink. Terminals make ink faint by making it darker, which on a light background shows nothing
/// (seen in xterm): there it is grey.
fn dim(choice: &ThemeChoice, depth: ColourDepth, background: Option<(u8, u8, u8)>) -> Style {
    let light = match (choice, background) {
        (_, Some(background)) => palette::is_light(background),
        (ThemeChoice::Light, None) => true,
        _ => false,
    };
    if !light || depth == ColourDepth::None {
        return Style::new().add_modifier(Modifier::DIM);
    }
    if depth == ColourDepth::Ansi16 {
        return Style::new().fg(Color::DarkGray);
    }
    let share = match choice {
        ThemeChoice::HighContrast => 200,
        _ => 164,
    };
    let grey = Rgb(28, 28, 28).over(background.unwrap_or((255, 255, 255)), share);
    downgrade::colour(grey, depth).map_or(Style::new(), |grey| Style::new().fg(grey))
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
