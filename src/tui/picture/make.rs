//! BYTES → PICTURE: decoding within limits, scaling, encoding for the terminal.
//!
//! Runs on the worker's thread of `Pictures` only. What a file claims is checked before anything is
//! decoded, a decoder that panics costs its picture and nothing else, and what goes to the terminal
//! is bounded by `ESCAPE`.

use std::hash::{Hash as _, Hasher as _};
use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder as _, ImageReader, Rgb, RgbImage};

use super::way::Way;
use super::{Canvas, Made, sixel};

/// Pixels of a side, and in all, beyond which a picture is refused.
const SIDE: u32 = 16_384;
const PIXELS: u64 = 40_000_000;
/// Bytes that decoding may take.
const MEMORY: u64 = 192 << 20;
/// Bytes of an encoded picture beyond which it is made smaller.
const ESCAPE: usize = 256 << 10;
/// The same for sixels, which have colours taken away: nothing scales them again.
const SIXELS: usize = 1 << 20;
/// A smaller picture is enlarged to so many columns and rows, if it fits.
const LEAST: (f64, f64) = (8.0, 4.0);

/// The picture in at most so many columns and rows; why not, as a few words.
pub(super) fn picture(bytes: &[u8], most: (u16, u16), canvas: &Canvas) -> Result<Made, String> {
    let made = std::panic::catch_unwind(|| make(bytes, most, canvas));
    made.unwrap_or_else(|_| Err("its decoder failed".to_owned()))
}

fn make(bytes: &[u8], most: (u16, u16), canvas: &Canvas) -> Result<Made, String> {
    let (image, pixels) = decode(bytes)?;
    let (cols, rows) = cells(pixels, most, canvas.cell);
    let id = number(bytes, most);
    let halves = flat(&image, (u32::from(cols), u32::from(rows) * 2), canvas.paper);
    let size = (
        u32::from(cols) * u32::from(canvas.cell.0),
        u32::from(rows) * u32::from(canvas.cell.1),
    );
    let escape = match canvas.way {
        Way::Text | Way::HalfBlocks => String::new(),
        Way::Kitty => kitty(id, (cols, rows), &png(&image, size)?),
        Way::Iterm => iterm((cols, rows), &png(&image, size)?),
        Way::Sixel => {
            let flat = flat(&image, size, canvas.paper);
            let tries = [canvas.registers, 64, 16, 4];
            let texts = tries.iter().map(|colours| sixel::encode(&flat, *colours));
            let mut short = texts.skip_while(|text| text.len() > SIXELS);
            short.next().ok_or("it has too many details")?
        }
    };
    Ok(Made {
        id,
        way: canvas.way,
        cols,
        rows,
        pixels,
        halves: halves.pixels().map(|pixel| pixel.0).collect(),
        escape,
    })
}

fn decode(bytes: &[u8]) -> Result<(DynamicImage, (u32, u32)), String> {
    let unknown = |_| "its format is not known".to_owned();
    let reader = || ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let opened = reader().map_err(|_unread| "it cannot be read".to_owned())?;
    let (width, height) = opened.into_dimensions().map_err(unknown)?;
    let area = u64::from(width) * u64::from(height);
    if width.max(height) > SIDE || area > PIXELS {
        return Err(format!("{width}×{height} pixels are too many"));
    }
    if area == 0 {
        return Err("it has no pixels".to_owned());
    }
    let mut reader = reader().map_err(|_unread| "it cannot be read".to_owned())?;
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(unknown)?;
    // A photograph says how the camera was held.
    let turned = decoder.orientation().ok();
    let damaged = |_| "it is damaged".to_owned();
    let mut image = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    if let Some(turned) = turned {
        image.apply_orientation(turned);
    }
    let pixels = (image.width(), image.height());
    Ok((image, pixels))
}

/// Columns and rows that a picture takes: its own size if that fits, its shape always.
pub(super) fn cells(pixels: (u32, u32), most: (u16, u16), cell: (u16, u16)) -> (u16, u16) {
    let (cell_w, cell_h) = (f64::from(cell.0.max(1)), f64::from(cell.1.max(1)));
    let cols = f64::from(pixels.0) / cell_w;
    let rows = f64::from(pixels.1) / cell_h;
    let (most_cols, most_rows) = (f64::from(most.0.max(1)), f64::from(most.1.max(1)));
    let fits = (most_cols / cols).min(most_rows / rows);
    let enlarged = (LEAST.0 / cols).min(LEAST.1 / rows).max(1.0);
    let scale = fits.min(enlarged);
    let round = |value: f64, most: f64| (value * scale).round().clamp(1.0, most) as u16;
    (round(cols, most_cols), round(rows, most_rows))
}

fn number(bytes: &[u8], most: (u16, u16)) -> u32 {
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    bytes.hash(&mut hasher);
    most.hash(&mut hasher);
    (hasher.finish() as u32 & 0x00ff_ffff).max(1)
}

/// The picture in that size on paper of that colour.
fn flat(image: &DynamicImage, size: (u32, u32), paper: (u8, u8, u8)) -> RgbImage {
    let scaled = scaled(image, size).into_rgba8();
    RgbImage::from_fn(scaled.width(), scaled.height(), |x, y| {
        let [r, g, b, a] = scaled.get_pixel(x, y).0;
        let over = |ink: u8, paper: u8| {
            let (ink, paper, a) = (u32::from(ink), u32::from(paper), u32::from(a));
            ((ink * a + paper * (255 - a) + 127) / 255) as u8
        };
        Rgb([over(r, paper.0), over(g, paper.1), over(b, paper.2)])
    })
}

fn scaled(image: &DynamicImage, (width, height): (u32, u32)) -> DynamicImage {
    if width < image.width() && height < image.height() {
        // Every pixel counts: much faster than a filter, and as good when shrinking.
        image.thumbnail_exact(width, height)
    } else {
        image.resize_exact(width, height, FilterType::Triangle)
    }
}

/// A PNG of at most that many pixels and `ESCAPE` bytes.
fn png(image: &DynamicImage, most: (u32, u32)) -> Result<Vec<u8>, String> {
    let (mut width, mut height) = most;
    if image.width() <= width && image.height() <= height {
        (width, height) = (image.width(), image.height());
    }
    loop {
        let small = if (width, height) == (image.width(), image.height()) {
            image.clone()
        } else {
            scaled(image, (width, height))
        };
        let mut bytes = Vec::new();
        let small = if small.color().has_alpha() {
            DynamicImage::from(small.into_rgba8())
        } else {
            DynamicImage::from(small.into_rgb8())
        };
        small
            .write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png)
            .map_err(|_unwritten| "it cannot be encoded".to_owned())?;
        if bytes.len() * 4 / 3 <= ESCAPE || width.min(height) < 16 {
            return Ok(bytes);
        }
        (width, height) = (width * 3 / 4, height * 3 / 4);
    }
}

/// Hands the picture over under a number, to be shown where characters stand for its cells. Quiet:
/// answers would come between keys.
fn kitty(id: u32, (cols, rows): (u16, u16), png: &[u8]) -> String {
    let data = STANDARD.encode(png);
    let mut escape = String::with_capacity(data.len() + data.len() / 256 + 64);
    let mut rest = data.as_str();
    let mut first = true;
    loop {
        let (chunk, after) = rest.split_at(rest.len().min(4_096));
        let more = u8::from(!after.is_empty());
        escape.push_str("\x1b_G");
        if first {
            escape.push_str(&format!("a=T,U=1,f=100,t=d,i={id},c={cols},r={rows},q=2,"));
        } else {
            escape.push_str("q=2,");
        }
        escape.push_str(&format!("m={more};{chunk}\x1b\\"));
        (rest, first) = (after, false);
        if rest.is_empty() {
            return escape;
        }
    }
}

fn iterm((cols, rows): (u16, u16), png: &[u8]) -> String {
    let size = png.len();
    let data = STANDARD.encode(png);
    format!(
        "\x1b]1337;File=inline=1;size={size};width={cols};height={rows};\
         preserveAspectRatio=0;doNotMoveCursor=1:{data}\x07"
    )
}
