//! Tests of themes: no colour, sixteen colours, tints, light and dark backgrounds.

use super::*;
use ratatui::style::Color;

#[test]
fn without_colour_no_style_names_one() {
    for theme in [
        Theme::new(ThemeChoice::None, ColourDepth::Truecolour, Some((0, 0, 0))),
        Theme::new(ThemeChoice::Dark, ColourDepth::None, Some((0, 0, 0))),
    ] {
        let mut styles = vec![
            theme.accent(),
            theme.good(),
            theme.bad(),
            theme.amber(),
            theme.tint_user(),
            theme.tint_added(),
            theme.tint_removed(),
        ];
        styles.extend(CodeKind::ALL.map(|kind| theme.code(kind)));
        assert!(styles.iter().all(|s| s.fg.is_none() && s.bg.is_none()));
        assert!(theme.accent().add_modifier.contains(Modifier::BOLD));
    }
}

#[test]
fn tints_need_a_known_background() {
    let known = Theme::new(
        ThemeChoice::Auto,
        ColourDepth::Truecolour,
        Some((16, 16, 20)),
    );
    let unknown = Theme::new(ThemeChoice::Auto, ColourDepth::Truecolour, None);
    assert!(matches!(known.tint_added().bg, Some(Color::Rgb(..))));
    assert_eq!(unknown.tint_added().bg, None);
    assert_eq!(unknown.tint_user().bg, None);
}

#[test]
fn a_light_background_gets_darker_ink_than_a_dark_one() {
    let ink = |background| {
        let theme = Theme::new(ThemeChoice::Auto, ColourDepth::Truecolour, Some(background));
        match theme.accent().fg {
            Some(Color::Rgb(r, g, b)) => u32::from(r) + u32::from(g) + u32::from(b),
            other => panic!("{other:?}"),
        }
    };
    assert!(ink((255, 255, 255)) < ink((0, 0, 0)));
}

#[test]
fn sixteen_colours_use_the_terminals_own() {
    let theme = Theme::new(ThemeChoice::Dark, ColourDepth::Ansi16, None);
    assert_eq!(theme.accent().fg, Some(Color::Cyan));
    assert_eq!(theme.good().fg, Some(Color::Green));
    assert_eq!(theme.bad().fg, Some(Color::Red));
    assert_eq!(theme.amber().fg, Some(Color::Yellow));
}
