//! Truecolour → 256 → 16 → none: the nearest colour that a terminal can show.
//!
//! Called by `Theme::new` only. Knows nothing of meaning.

use ratatui::style::Color;

use super::Rgb;

/// How many colours the terminal shows, rising.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ColourDepth {
    /// None.
    None,
    /// The 16 of the terminal's own palette.
    #[default]
    Ansi16,
    /// The xterm cube.
    Ansi256,
    /// 24 bit.
    Truecolour,
}

/// The levels of the xterm colour cube.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The nearest colour at this depth; none without colour.
pub fn colour(rgb: Rgb, depth: ColourDepth) -> Option<Color> {
    match depth {
        ColourDepth::None => None,
        ColourDepth::Ansi16 => Some(nearest_16(rgb)),
        ColourDepth::Ansi256 => Some(Color::Indexed(nearest_256(rgb))),
        ColourDepth::Truecolour => Some(Color::Rgb(rgb.0, rgb.1, rgb.2)),
    }
}

/// A colour that another program named, as far as this depth goes.
pub fn foreign(colour: Color, depth: ColourDepth) -> Option<Color> {
    match (colour, depth) {
        (_, ColourDepth::None) => None,
        (Color::Rgb(r, g, b), _) => self::colour(Rgb(r, g, b), depth),
        (Color::Indexed(n @ 16..), ColourDepth::Ansi16) => Some(nearest_16(cube(n))),
        (other, _) => Some(other),
    }
}

/// The xterm value of an index from 16 on.
fn cube(n: u8) -> Rgb {
    if n >= 232 {
        let grey = 8 + (n - 232) * 10;
        return Rgb(grey, grey, grey);
    }
    let n = n.saturating_sub(16);
    let at = |i: u8| LEVELS[usize::from(i)];
    Rgb(at(n / 36), at(n / 6 % 6), at(n % 6))
}

/// Squared distance, green weighted as the eye does.
fn distance(a: Rgb, b: Rgb) -> u32 {
    let d = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    d(a.0, b.0) * 3 + d(a.1, b.1) * 4 + d(a.2, b.2) * 2
}

fn nearest_256(rgb: Rgb) -> u8 {
    let level = |v: u8| {
        (0..6_u8)
            .min_by_key(|i| v.abs_diff(LEVELS[usize::from(*i)]))
            .unwrap_or(0)
    };
    let (r, g, b) = (level(rgb.0), level(rgb.1), level(rgb.2));
    let at = |i: u8| LEVELS[usize::from(i)];
    let cube = Rgb(at(r), at(g), at(b));
    let mean = (u16::from(rgb.0) + u16::from(rgb.1) + u16::from(rgb.2)) / 3;
    let step = (mean.saturating_sub(3) / 10).min(23) as u8;
    let grey_level = 8 + step * 10;
    let grey = Rgb(grey_level, grey_level, grey_level);
    if distance(rgb, grey) < distance(rgb, cube) {
        232 + step
    } else {
        16 + 36 * r + 6 * g + b
    }
}

/// By hue and weight rather than by distance: the 16 colours are whatever the user made them, so
/// their real values are not known.
fn nearest_16(rgb: Rgb) -> Color {
    let Rgb(r, g, b) = rgb;
    let high = r.max(g).max(b);
    let low = r.min(g).min(b);
    if high - low < 32 {
        return match high {
            0..=63 => Color::Black,
            64..=159 => Color::DarkGray,
            160..=223 => Color::Gray,
            _ => Color::White,
        };
    }
    let strong = |v: u8| u16::from(v - low) * 2 >= u16::from(high - low);
    match (strong(r), strong(g), strong(b)) {
        (true, false, false) => Color::Red,
        (false, true, false) => Color::Green,
        (true, true, _) => Color::Yellow,
        // The plain blue of many palettes cannot be read on black.
        (false, false, _) => Color::LightBlue,
        (true, false, true) => Color::Magenta,
        (false, true, true) => Color::Cyan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_and_grey_are_both_reached() {
        assert_eq!(nearest_256(Rgb(255, 0, 0)), 196);
        assert_eq!(nearest_256(Rgb(0, 0, 0)), 16);
        assert_eq!(nearest_256(Rgb(128, 128, 128)), 244);
        assert_eq!(nearest_256(Rgb(255, 255, 255)), 231);
    }

    #[test]
    fn every_colour_has_a_neighbour_at_every_depth() {
        for v in (0..=255).step_by(15) {
            for w in (0..=255).step_by(15) {
                let rgb = Rgb(v as u8, w as u8, (v ^ w) as u8);
                assert!(colour(rgb, ColourDepth::Ansi16).is_some());
                assert!(colour(rgb, ColourDepth::Ansi256).is_some());
                assert_eq!(colour(rgb, ColourDepth::None), None);
            }
        }
    }
}
