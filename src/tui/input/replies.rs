//! What a terminal answers to the probe: colours, keyboard, its name, what it can show.
//!
//! Called by `parse` with complete sequences. An answer that cannot be read is none. Pure.

use super::Reply;
use crate::tui::picture::way::Brand;

/// An answer that came as a string: OSC (`]`), DCS (`P`) or APC (`_`).
pub(super) fn string(kind: u8, body: &[u8]) -> Option<Reply> {
    match kind {
        b']' => background(body),
        b'P' => {
            let version = std::str::from_utf8(body).ok()?.strip_prefix(">|")?;
            Some(Reply::Brand(Brand::of_version(version)))
        }
        b'_' => {
            let (keys, answer) = std::str::from_utf8(body).ok()?.split_once(';')?;
            (keys.starts_with('G') && answer == "OK").then_some(Reply::Graphics)
        }
        _ => None,
    }
}

/// An answer of the form `CSI ? … letter`.
pub(super) fn private(text: &str, last: u8) -> Option<Reply> {
    let mut numbers = text.split(';');
    match last {
        b'u' => Some(Reply::Keyboard(text.parse().ok()?)),
        b'c' => Some(Reply::Done {
            // The first one names the terminal's class.
            sixel: numbers.skip(1).any(|number| number == "4"),
        }),
        b'S' => match (numbers.next()?, numbers.next()?, numbers.next()?) {
            ("1", "0", count) => Some(Reply::Registers(count.parse().ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// `6;height;width`, from `CSI 16 t`.
pub(super) fn window(text: &str) -> Option<Reply> {
    let mut numbers = text.strip_prefix("6;")?.split(';');
    let (height, width) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    (height > 0 && width > 0).then_some(Reply::CellPixels(width, height))
}

/// `11;rgb:RRRR/GGGG/BBBB`, with one to four hex digits a channel.
fn background(body: &[u8]) -> Option<Reply> {
    let text = std::str::from_utf8(body).ok()?;
    let colour = text.strip_prefix("11;")?;
    let channels = colour
        .strip_prefix("rgb:")
        .or_else(|| colour.strip_prefix("rgba:"))?;
    let mut eight = channels.split('/').map(|hex| {
        let most = (1_u32 << (4 * u32::try_from(hex.len()).ok()?.clamp(1, 4))) - 1;
        let value = u32::from_str_radix(hex, 16).ok()?.min(most);
        u8::try_from(value * 255 / most).ok()
    });
    Some(Reply::Background(
        eight.next()??,
        eight.next()??,
        eight.next()??,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_says_what_it_is_and_can() {
        assert_eq!(
            string(b'P', b">|kitty(0.42.1)"),
            Some(Reply::Brand(Brand::Placeholders))
        );
        assert_eq!(string(b'_', b"Gi=31;OK"), Some(Reply::Graphics));
        assert_eq!(string(b'_', b"Gi=31;EINVAL:bad"), None);
        assert_eq!(private("64;4;22", b'c'), Some(Reply::Done { sixel: true }));
        assert_eq!(private("4;22", b'c'), Some(Reply::Done { sixel: false }));
        assert_eq!(private("1;0;256", b'S'), Some(Reply::Registers(256)));
        assert_eq!(private("1;3;0", b'S'), None);
        assert_eq!(window("6;20;10"), Some(Reply::CellPixels(10, 20)));
        assert_eq!(window("6;0;0"), None);
        assert_eq!(window("4;800;600"), None);
    }

    #[test]
    fn nonsense_is_no_answer() {
        for body in [&b""[..], b";", b"G", b">|", b"\xff\xfe", b"11;rgb:"] {
            for kind in b"]P_X" {
                assert!(
                    !matches!(string(*kind, body), Some(Reply::Graphics)),
                    "{body:?}"
                );
            }
        }
    }
}
