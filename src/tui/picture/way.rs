//! How this terminal shows pictures: decided from the environment and from what the terminal says.
//!
//! `run` starts with `Way::at_start`; `update` asks again with every answer to the probe. Pure. Inside
//! a multiplexer the outer terminal is not known, so pictures are made of half-blocks there.

use crate::tui::theme::ColourDepth;

/// How pictures are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// Not at all: name and size in words.
    #[default]
    Text,
    /// `▀` with a colour for each half.
    HalfBlocks,
    /// Kitty's graphics, placed by characters that stand for its cells.
    Kitty,
    /// iTerm2's inline images.
    Iterm,
    /// Sixels.
    Sixel,
}

impl Way {
    /// True where pixels are painted over cells, which then hold half-blocks for the time between.
    pub const fn paints(self) -> bool {
        matches!(self, Self::Iterm | Self::Sixel)
    }
}

/// The terminal's name, as far as it matters here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Brand {
    /// Anything else, or not known.
    #[default]
    Other,
    /// kitty or ghostty: pictures by placeholders.
    Placeholders,
    /// iTerm2 or WezTerm.
    Inline,
    /// tmux, screen or zellij.
    Multiplexer,
}

impl Brand {
    /// What XTVERSION answers, e.g. `kitty(0.42.1)`.
    pub fn of_version(version: &str) -> Self {
        let name = version.to_lowercase();
        let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
        if begins(&["kitty", "ghostty"]) {
            Self::Placeholders
        } else if begins(&["iterm2", "wezterm"]) {
            Self::Inline
        } else if begins(&["tmux", "screen", "zellij"]) {
            Self::Multiplexer
        } else {
            Self::Other
        }
    }

    /// What the environment says.
    pub fn of_environment(get: &dyn Fn(&str) -> Option<String>) -> Self {
        let value = |name| get(name).unwrap_or_default();
        let set = |name| !value(name).is_empty();
        let term = value("TERM");
        let program = value("TERM_PROGRAM");
        if set("TMUX")
            || set("STY")
            || set("ZELLIJ")
            || term.starts_with("tmux")
            || term.starts_with("screen")
        {
            return Self::Multiplexer;
        }
        let names = [term.as_str(), program.as_str()];
        if names
            .iter()
            .any(|n| n.contains("kitty") || n.contains("ghostty"))
        {
            return Self::Placeholders;
        }
        let inline = ["iTerm.app", "WezTerm"].contains(&program.as_str());
        if inline || value("LC_TERMINAL") == "iTerm2" {
            return Self::Inline;
        }
        Self::Other
    }
}

/// What is known about the terminal's pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub brand: Brand,
    /// It answered kitty's question about graphics with yes.
    pub kitty: bool,
    /// DA1 names sixels.
    pub sixel: bool,
    /// Colours of a sixel picture; 0 if not known.
    pub registers: u16,
    /// Columns and rows of pixels of one cell, if known.
    pub cell: Option<(u16, u16)>,
}

impl Facts {
    /// How pictures are shown by what is known. `wanted` is the user's setting; it wins, except that
    /// nothing is shown without colours or without the signs for it.
    pub fn way(&self, wanted: &str, depth: ColourDepth, ascii: bool) -> Way {
        let coloured = depth >= ColourDepth::Ansi256 && !ascii;
        let blocks = if coloured { Way::HalfBlocks } else { Way::Text };
        if depth == ColourDepth::None || !cfg!(feature = "images") {
            return Way::Text;
        }
        match wanted {
            "off" => Way::Text,
            "blocks" => blocks,
            "kitty" => Way::Kitty,
            "iterm" => Way::Iterm,
            "sixel" => Way::Sixel,
            _ => match self.brand {
                Brand::Multiplexer => blocks,
                Brand::Placeholders if self.kitty => Way::Kitty,
                Brand::Inline if coloured => Way::Iterm,
                _ if self.sixel && coloured => Way::Sixel,
                _ => blocks,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brand(set: &[(&str, &str)]) -> Brand {
        let set: Vec<(String, String)> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Brand::of_environment(&move |asked| {
            let found = set.iter().find(|(name, _)| name == asked);
            found.map(|(_, value)| value.clone())
        })
    }

    #[test]
    fn the_environment_names_the_terminal_and_a_multiplexer_hides_it() {
        assert_eq!(brand(&[("TERM", "xterm-kitty")]), Brand::Placeholders);
        assert_eq!(brand(&[("TERM_PROGRAM", "ghostty")]), Brand::Placeholders);
        assert_eq!(brand(&[("TERM_PROGRAM", "WezTerm")]), Brand::Inline);
        assert_eq!(brand(&[("LC_TERMINAL", "iTerm2")]), Brand::Inline);
        assert_eq!(brand(&[("TERM", "xterm-256color")]), Brand::Other);
        let inside = [("TERM", "tmux-256color"), ("TERM_PROGRAM", "WezTerm")];
        assert_eq!(brand(&inside), Brand::Multiplexer);
        assert_eq!(
            brand(&[("ZELLIJ", "0"), ("TERM", "xterm-kitty")]),
            Brand::Multiplexer
        );
    }

    #[test]
    fn each_terminal_gets_the_best_it_said_it_can() {
        let full = ColourDepth::Truecolour;
        let way = |facts: Facts| facts.way("auto", full, false);
        let of = |brand| Facts {
            brand,
            ..Facts::default()
        };
        assert_eq!(way(of(Brand::Other)), Way::HalfBlocks);
        assert_eq!(
            way(of(Brand::Placeholders)),
            Way::HalfBlocks,
            "until it answers"
        );
        assert_eq!(
            way(Facts {
                kitty: true,
                ..of(Brand::Placeholders)
            }),
            Way::Kitty
        );
        assert_eq!(
            way(Facts {
                kitty: true,
                ..of(Brand::Other)
            }),
            Way::HalfBlocks
        );
        assert_eq!(way(of(Brand::Inline)), Way::Iterm);
        assert_eq!(
            way(Facts {
                sixel: true,
                ..of(Brand::Other)
            }),
            Way::Sixel
        );
        let tmux = Facts {
            sixel: true,
            kitty: true,
            ..of(Brand::Multiplexer)
        };
        assert_eq!(way(tmux), Way::HalfBlocks);
    }

    #[test]
    fn without_colours_or_signs_there_are_words() {
        let facts = Facts {
            sixel: true,
            ..Facts::default()
        };
        assert_eq!(facts.way("auto", ColourDepth::None, false), Way::Text);
        assert_eq!(facts.way("kitty", ColourDepth::None, false), Way::Text);
        assert_eq!(facts.way("auto", ColourDepth::Ansi16, false), Way::Text);
        assert_eq!(facts.way("auto", ColourDepth::Truecolour, true), Way::Text);
        assert_eq!(facts.way("off", ColourDepth::Truecolour, false), Way::Text);
        assert_eq!(
            facts.way("blocks", ColourDepth::Truecolour, false),
            Way::HalfBlocks
        );
    }

    #[test]
    fn a_version_names_the_terminal() {
        assert_eq!(Brand::of_version("kitty(0.42.1)"), Brand::Placeholders);
        assert_eq!(Brand::of_version("WezTerm 20240203"), Brand::Inline);
        assert_eq!(Brand::of_version("tmux 3.5a"), Brand::Multiplexer);
        assert_eq!(Brand::of_version("XTerm(390)"), Brand::Other);
    }
}
