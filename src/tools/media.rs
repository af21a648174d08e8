//! Images and PDFs as models take them: known by their bytes, made smaller where they are too large.
//!
//! Whatever goes along with a request comes through `fit`: what `read`, `web_fetch` and servers of tools give,
//! and what the user attaches. A picture that a provider refuses would spoil every later request of the
//! session. Pure, and slow for large pictures: callers run it off the loop.

use crate::tools::file::human;

/// The longest side that providers look at; more is scaled down by them anyway, and costs upload.
#[cfg(feature = "images")]
const LONGEST_SIDE: u32 = 2_000;

/// Larger attachments are refused by providers.
const MOST_IMAGE: usize = 5 << 20;
const MOST_PDF: usize = 30 << 20;
/// A picture of a gigapixel would take gigabytes to decode.
#[cfg(feature = "images")]
const MOST_PIXELS: u64 = 100_000_000;

/// The media type of an image or PDF that models take, by its first bytes.
pub fn mime(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

/// A picture or a document that models take.
#[derive(Debug)]
pub struct Fitted {
    /// Media type, by its bytes.
    pub mime: &'static str,
    /// Its bytes, at most 5 MiB of a picture.
    pub bytes: Vec<u8>,
    /// Columns and rows, if it was made smaller.
    pub scaled: Option<(u32, u32)>,
}

/// Makes a file fit for models. The error is what follows its name in a sentence.
pub fn fit(bytes: Vec<u8>) -> Result<Fitted, String> {
    let Some(mime) = mime(&bytes) else {
        return Err(
            "is no picture or document that models take (PNG, JPEG, GIF, WebP, PDF).".to_owned(),
        );
    };
    let size = bytes.len();
    let pdf = mime == "application/pdf";
    let fitted = if pdf {
        Fitted {
            mime,
            bytes,
            scaled: None,
        }
    } else {
        shrink(mime, bytes)?
    };
    let most = if pdf { MOST_PDF } else { MOST_IMAGE };
    if fitted.bytes.len() > most {
        return Err(format!(
            "is {} large; models take at most {}. Make it smaller with a command first.",
            human(size as u64),
            human(most as u64)
        ));
    }
    Ok(fitted)
}

/// An image that is not larger than models look at; an error if it cannot be decoded.
#[cfg(feature = "images")]
fn shrink(mime: &'static str, bytes: Vec<u8>) -> Result<Fitted, String> {
    use image::ImageFormat;
    let broken = |_| "cannot be decoded: it is damaged or cut off.".to_owned();
    let reader = image::ImageReader::new(std::io::Cursor::new(&bytes)).with_guessed_format();
    let reader = reader.map_err(|e| e.to_string())?;
    let (width, height) = reader.into_dimensions().map_err(broken)?;
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(format!(
            "has {width}×{height} pixels, too many to look at. Make it smaller with a command first."
        ));
    }
    let picture = image::load_from_memory(&bytes).map_err(broken)?;
    if width.max(height) <= LONGEST_SIDE && bytes.len() <= MOST_IMAGE {
        return Ok(Fitted {
            mime,
            bytes,
            scaled: None,
        });
    }
    let picture = picture.resize(
        LONGEST_SIDE,
        LONGEST_SIDE,
        image::imageops::FilterType::Triangle,
    );
    let photo = mime == "image/jpeg" || (mime == "image/webp" && !picture.color().has_alpha());
    let (format, mime) = if photo {
        (ImageFormat::Jpeg, "image/jpeg")
    } else {
        (ImageFormat::Png, "image/png")
    };
    let picture = if photo {
        picture.to_rgb8().into()
    } else {
        picture
    };
    let mut out = std::io::Cursor::new(Vec::new());
    let scaled = Some((picture.width(), picture.height()));
    match picture.write_to(&mut out, format) {
        Ok(()) => Ok(Fitted {
            mime,
            bytes: out.into_inner(),
            scaled,
        }),
        Err(error) => Err(format!("cannot be made smaller: {error}.")),
    }
}

#[cfg(not(feature = "images"))]
fn shrink(mime: &'static str, bytes: Vec<u8>) -> Result<Fitted, String> {
    Ok(Fitted {
        mime,
        bytes,
        scaled: None,
    })
}

#[cfg(all(test, feature = "images"))]
#[expect(clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn png(columns: u32, rows: u32) -> Vec<u8> {
        let mut out = std::io::Cursor::new(Vec::new());
        let picture = image::RgbaImage::from_fn(columns, rows, |x, y| {
            image::Rgba([(x % 256) as u8, (y % 256) as u8, 7, 255])
        });
        picture
            .write_to(&mut out, image::ImageFormat::Png)
            .expect("a picture");
        out.into_inner()
    }

    #[test]
    fn a_picture_that_fits_stays_as_it_is_and_a_large_one_is_made_smaller() {
        let small = png(300, 200);
        let fitted = fit(small.clone()).expect("it fits");
        assert_eq!((fitted.mime, fitted.scaled), ("image/png", None));
        assert_eq!(fitted.bytes, small);
        let fitted = fit(png(2_001, 1_000)).expect("it can be made smaller");
        assert_eq!(fitted.scaled, Some((2_000, 1_000)));
        let fitted = fit(png(10, 6_000)).expect("it can be made smaller");
        assert_eq!(fitted.scaled.map(|(_, rows)| rows), Some(2_000));
    }

    #[test]
    fn what_cannot_be_decoded_is_refused_with_the_reason() {
        let whole = png(300, 200);
        for bytes in [
            &whole[..100],
            &whole[..whole.len() / 2],
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
            b"\xff\xd8\xff",
        ] {
            let why = fit(bytes.to_vec()).expect_err("no picture");
            assert!(why.starts_with("cannot be decoded"), "{why}");
        }
        for bytes in [&b"words"[..], b"", b"BM\0\0"] {
            let why = fit(bytes.to_vec()).expect_err("no picture");
            assert!(why.starts_with("is no picture or document"), "{why}");
        }
        assert_eq!(
            fit(b"%PDF-1.7 whatever".to_vec()).expect("a document").mime,
            "application/pdf"
        );
    }
}
