//! Sixels: a picture as bands of six rows, one colour after the other.
//!
//! Called by `make` on the worker's thread. The palette is learnt from the picture (NeuQuant).

use std::fmt::Write as _;

use color_quant::NeuQuant;
use image::RgbImage;

/// Rows of a band.
const BAND: u32 = 6;

/// How carefully the palette is learnt: 1 looks at every pixel, 30 at every thirtieth.
const CARE: i32 = 10;

/// The picture as an escape sequence, in at most that many colours.
pub(super) fn encode(image: &RgbImage, colours: u16) -> String {
    let (width, height) = image.dimensions();
    let rgba: Vec<u8> = image
        .pixels()
        .flat_map(|pixel| [pixel.0[0], pixel.0[1], pixel.0[2], 255])
        .collect();
    let colours = usize::from(colours.clamp(2, 256));
    let palette = NeuQuant::new(CARE, colours.max(64), &rgba);
    let map = palette.color_map_rgb();
    let (indices, map) = reduced(&rgba, &palette, &map, colours);
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    for (n, colour) in map.chunks_exact(3).enumerate() {
        let percent = |value: u8| (u32::from(value) * 100 + 127) / 255;
        let (r, g, b) = (percent(colour[0]), percent(colour[1]), percent(colour[2]));
        let _ = write!(out, "#{n};2;{r};{g};{b}");
    }
    for top in (0..height).step_by(BAND as usize) {
        band(&indices, (width, height), top, &mut out);
        out.push('-');
    }
    out.push_str("\x1b\\");
    out
}

/// The palette index of each pixel, and the palette. NeuQuant knows no fewer than 64 colours: for
/// fewer the most used ones stay and the others become the nearest of them.
fn reduced(rgba: &[u8], palette: &NeuQuant, map: &[u8], colours: usize) -> (Vec<u8>, Vec<u8>) {
    let mut indices: Vec<u8> = rgba
        .chunks_exact(4)
        .map(|pixel| palette.index_of(pixel) as u8)
        .collect();
    if map.len() / 3 <= colours {
        return (indices, map.to_vec());
    }
    let mut counts = vec![0_u32; map.len() / 3];
    for index in &indices {
        counts[usize::from(*index)] += 1;
    }
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|n| std::cmp::Reverse(counts[*n]));
    order.truncate(colours);
    let colour = |n: usize| &map[n * 3..n * 3 + 3];
    let distance = |a: usize, b: usize| -> u32 {
        let pairs = colour(a).iter().zip(colour(b));
        pairs.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let nearest: Vec<u8> = (0..counts.len())
        .map(|n| {
            let best = (0..order.len()).min_by_key(|kept| distance(n, order[*kept]));
            best.unwrap_or(0) as u8
        })
        .collect();
    for index in &mut indices {
        *index = nearest[usize::from(*index)];
    }
    let kept = order.iter().flat_map(|n| colour(*n).to_vec()).collect();
    (indices, kept)
}

/// One band: for each of its colours the columns where it stands.
fn band(indices: &[u8], (width, height): (u32, u32), top: u32, out: &mut String) {
    let rows = BAND.min(height - top);
    let at = |x: u32, y: u32| indices[((top + y) * width + x) as usize];
    let mut used = [false; 256];
    for y in 0..rows {
        for x in 0..width {
            used[usize::from(at(x, y))] = true;
        }
    }
    let mut first = true;
    for colour in (0..=255_u8).filter(|n| used[usize::from(*n)]) {
        if !std::mem::take(&mut first) {
            out.push('$');
        }
        let _ = write!(out, "#{colour}");
        let bits =
            |x: u32| (0..rows).fold(0_u8, |bits, y| bits | u8::from(at(x, y) == colour) << y);
        let mut x = 0;
        while x < width {
            let sign = bits(x);
            let mut end = x + 1;
            while end < width && bits(end) == sign {
                end += 1;
            }
            if end == width && sign == 0 {
                break;
            }
            let (count, letter) = (end - x, char::from(63 + sign));
            if count > 3 {
                let _ = write!(out, "!{count}{letter}");
            } else {
                out.extend(std::iter::repeat_n(letter, count as usize));
            }
            x = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    /// What a terminal makes of it: the colour of each pixel, in percent.
    fn decoded(text: &str, width: usize, height: usize) -> Vec<Option<[u32; 3]>> {
        let body = text
            .strip_prefix("\x1bP0;1;0q")
            .and_then(|t| t.strip_suffix("\x1b\\"));
        let mut signs = body.expect("a sixel string").chars().peekable();
        let mut pixels = vec![None; width * height];
        let mut palette = vec![[0_u32; 3]; 256];
        let (mut column, mut top, mut colour, mut times) = (0, 0, 0, 1);
        let numbers = |signs: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut text = String::new();
            while let Some(c) = signs.next_if(|c| c.is_ascii_digit() || *c == ';') {
                text.push(c);
            }
            let parsed = text.split(';').filter_map(|n| n.parse().ok());
            parsed.collect::<Vec<usize>>()
        };
        while let Some(sign) = signs.next() {
            match sign {
                '"' => assert_eq!(numbers(&mut signs), [1, 1, width, height]),
                '#' => match numbers(&mut signs).as_slice() {
                    [n] => colour = *n,
                    [n, 2, rgb @ ..] => {
                        for (value, at) in rgb.iter().zip(0_usize..) {
                            palette[*n][at] = *value as u32;
                        }
                    }
                    other => panic!("{other:?}"),
                },
                '!' => times = numbers(&mut signs)[0],
                '$' => column = 0,
                '-' => (column, top) = (0, top + 6),
                '?'..='~' => {
                    for _ in 0..std::mem::replace(&mut times, 1) {
                        for y in (0..6).filter(|y| (sign as u32 - 63) >> y & 1 == 1) {
                            pixels[(top + y) * width + column] = Some(palette[colour]);
                        }
                        column += 1;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        pixels
    }

    #[test]
    fn every_pixel_is_painted_in_about_its_colour() {
        let (width, height) = (37, 20);
        let image = RgbImage::from_fn(width, height, |x, y| match (x / 13, y / 9) {
            (0, _) => Rgb([255, 0, 0]),
            (1, 0) => Rgb([0, 200, 0]),
            _ => Rgb([20, 20, 240]),
        });
        for colours in [256, 16] {
            let text = encode(&image, colours);
            let pixels = decoded(&text, width as usize, height as usize);
            for (n, (pixel, meant)) in pixels.iter().zip(image.pixels()).enumerate() {
                let pixel = pixel.unwrap_or_else(|| panic!("pixel {n} is not painted"));
                for (is, meant) in pixel.iter().zip(meant.0) {
                    let meant = u32::from(meant) * 100 / 255;
                    assert!(
                        is.abs_diff(meant) <= 6,
                        "pixel {n}: {pixel:?} for {meant:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn runs_are_counted() {
        let image = RgbImage::from_pixel(600, 12, Rgb([9, 9, 9]));
        let text = encode(&image, 16);
        let bands = text.matches("!600~").count();
        assert_eq!(bands, 2, "{text}");
    }
}
