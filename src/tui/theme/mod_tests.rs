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
fn faint_ink_is_grey_where_making_it_darker_would_not_show() {
    let dim = |choice, depth, background| Theme::new(choice, depth, background).dim();
    let faint = Style::new().add_modifier(Modifier::DIM);
    let (dark, light) = (Some((18, 20, 24)), Some((251, 251, 248)));
    for depth in [ColourDepth::Ansi16, ColourDepth::Truecolour] {
        assert_eq!(dim(ThemeChoice::Auto, depth, dark), faint);
        assert_eq!(dim(ThemeChoice::Auto, depth, None), faint);
        let grey = dim(ThemeChoice::Auto, depth, light);
        assert!(
            grey.fg.is_some() && grey.add_modifier.is_empty(),
            "{grey:?}"
        );
    }
    assert!(
        dim(ThemeChoice::Light, ColourDepth::Ansi256, None)
            .fg
            .is_some()
    );
    assert_eq!(
        dim(ThemeChoice::None, ColourDepth::Truecolour, light),
        faint
    );
    assert_eq!(dim(ThemeChoice::Auto, ColourDepth::None, light), faint);
}

/// Contrast of two colours after WCAG 2: 1 to 21.
fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    let light = |(r, g, b): (u8, u8, u8)| {
        let part = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b) + 0.05
    };
    let (a, b) = (light(a), light(b));
    a.max(b) / a.min(b)
}

#[test]
fn all_ink_can_be_read_on_its_background_and_on_its_tints() {
    for (choice, background) in [
        (ThemeChoice::Auto, (18, 20, 24)),
        (ThemeChoice::Auto, (0, 0, 0)),
        (ThemeChoice::Auto, (40, 42, 54)),
        (ThemeChoice::Auto, (251, 251, 248)),
        (ThemeChoice::Auto, (255, 255, 255)),
        (ThemeChoice::Auto, (253, 246, 227)),
        (ThemeChoice::HighContrast, (0, 0, 0)),
        (ThemeChoice::HighContrast, (255, 255, 255)),
    ] {
        let theme = Theme::new(choice.clone(), ColourDepth::Truecolour, Some(background));
        let rgb = |colour| match colour {
            Some(Color::Rgb(r, g, b)) => Some((r, g, b)),
            _ => None,
        };
        let mut inks = vec![
            theme.accent(),
            theme.good(),
            theme.bad(),
            theme.amber(),
            theme.dim(),
        ];
        inks.extend(CodeKind::ALL.map(|kind| theme.code(kind)));
        let tints = [theme.tint_user(), theme.tint_added(), theme.tint_removed()];
        for ink in inks.iter().filter_map(|style| rgb(style.fg)) {
            let papers = tints.iter().filter_map(|style| rgb(style.bg));
            for paper in papers.chain([background]) {
                let found = contrast(ink, paper);
                assert!(
                    found >= 3.5,
                    "{choice:?}: {ink:?} on {paper:?} is {found:.1}"
                );
            }
        }
    }
}

#[test]
fn sixteen_colours_use_the_terminals_own() {
    let theme = Theme::new(ThemeChoice::Dark, ColourDepth::Ansi16, None);
    assert_eq!(theme.accent().fg, Some(Color::Cyan));
    assert_eq!(theme.good().fg, Some(Color::Green));
    assert_eq!(theme.bad().fg, Some(Color::Red));
    assert_eq!(theme.amber().fg, Some(Color::Yellow));
}
