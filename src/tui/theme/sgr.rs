//! SGR parameters of tool output, as style.
//!
//! Called by the sanitiser; the only place where another program names a colour. `Theme::fit` later
//! brings the result down to what the terminal shows.

use ratatui::style::{Color, Modifier, Style};

/// The style after one SGR sequence. Each parameter comes with its sub-parameters (`38:2::r:g:b`).
/// What hides text (conceal) or moves (blink) is ignored.
pub fn apply(style: Style, params: &[&[u16]]) -> Style {
    let mut style = style;
    let mut at = 0;
    if params.is_empty() {
        return Style::new();
    }
    while let Some(param) = params.get(at) {
        at += 1;
        let code = param.first().copied().unwrap_or(0);
        match code {
            0 => style = Style::new(),
            1..=9 | 21..=29 => style = weight(style, code),
            30..=37 => style.fg = Some(Color::Indexed((code - 30) as u8)),
            90..=97 => style.fg = Some(Color::Indexed((code - 82) as u8)),
            39 => style.fg = None,
            40..=47 => style.bg = Some(Color::Indexed((code - 40) as u8)),
            100..=107 => style.bg = Some(Color::Indexed((code - 92) as u8)),
            49 => style.bg = None,
            38 | 48 | 58 => {
                let (colour, used) = extended(param, params.get(at..).unwrap_or_default());
                at += used;
                match code {
                    38 => style.fg = colour.or(style.fg),
                    48 => style.bg = colour.or(style.bg),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    style
}

fn weight(style: Style, code: u16) -> Style {
    let add = |modifier| style.add_modifier(modifier);
    let drop = |modifier: Modifier| {
        let mut style = style;
        style.add_modifier.remove(modifier);
        style
    };
    match code {
        1 => add(Modifier::BOLD),
        2 => add(Modifier::DIM),
        3 => add(Modifier::ITALIC),
        4 | 21 => add(Modifier::UNDERLINED),
        7 => add(Modifier::REVERSED),
        9 => add(Modifier::CROSSED_OUT),
        22 => drop(Modifier::BOLD | Modifier::DIM),
        23 => drop(Modifier::ITALIC),
        24 => drop(Modifier::UNDERLINED),
        27 => drop(Modifier::REVERSED),
        29 => drop(Modifier::CROSSED_OUT),
        _ => style,
    }
}

/// `38;5;n`, `38;2;r;g;b`, `38:5:n`, `38:2:r:g:b`, `38:2::r:g:b`; and how many parameters it used.
fn extended(param: &[u16], rest: &[&[u16]]) -> (Option<Color>, usize) {
    let byte = |v: u16| u8::try_from(v).ok();
    let rgb = |r, g, b| Some(Color::Rgb(byte(r)?, byte(g)?, byte(b)?));
    match param {
        [_, 5, n, ..] => return (byte(*n).map(Color::Indexed), 0),
        [_, 2, _, r, g, b, ..] | [_, 2, r, g, b] => return (rgb(*r, *g, *b), 0),
        [_, _, ..] => return (None, 0),
        _ => {}
    }
    let first = |i: usize| rest.get(i).and_then(|p| p.first().copied());
    match first(0) {
        Some(5) => (first(1).and_then(byte).map(Color::Indexed), 2),
        Some(2) => match (first(1), first(2), first(3)) {
            (Some(r), Some(g), Some(b)) => (rgb(r, g, b), 4),
            _ => (None, rest.len()),
        },
        _ => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_in_every_spelling() {
        let fg = |params: &[&[u16]]| apply(Style::new(), params).fg;
        assert_eq!(fg(&[&[31]]), Some(Color::Indexed(1)));
        assert_eq!(fg(&[&[94]]), Some(Color::Indexed(12)));
        assert_eq!(fg(&[&[38], &[5], &[200]]), Some(Color::Indexed(200)));
        assert_eq!(fg(&[&[38, 5, 200]]), Some(Color::Indexed(200)));
        assert_eq!(
            fg(&[&[38], &[2], &[1], &[2], &[3]]),
            Some(Color::Rgb(1, 2, 3))
        );
        assert_eq!(fg(&[&[38, 2, 0, 1, 2, 3]]), Some(Color::Rgb(1, 2, 3)));
        assert_eq!(fg(&[&[38, 2, 1, 2, 3]]), Some(Color::Rgb(1, 2, 3)));
    }

    #[test]
    fn what_follows_a_colour_still_counts() {
        let style = apply(Style::new(), &[&[38], &[5], &[9], &[1]]);
        assert_eq!(style.fg, Some(Color::Indexed(9)));
        assert!(style.add_modifier.contains(Modifier::BOLD));
        assert_eq!(apply(style, &[]), Style::new());
        assert_eq!(apply(style, &[&[0]]), Style::new());
    }

    #[test]
    fn conceal_and_blink_are_ignored() {
        assert_eq!(apply(Style::new(), &[&[8], &[5]]), Style::new());
    }
}
