//! Images and PDFs as attachments; large images are made smaller first.

use std::path::Path;

use serde_json::json;

use crate::protocol::{FilePart, FileSource};
use crate::tools::file::human;
use crate::tools::{Success, ToolContext};

/// The longest side that providers look at; more is scaled down by them anyway, and costs upload.
#[cfg(feature = "images")]
const LONGEST_SIDE: u32 = 2_000;

/// Larger attachments are refused by providers.
const MOST_IMAGE: usize = 5 << 20;
const MOST_PDF: usize = 30 << 20;

/// The media type of an image or PDF that models take, by its first bytes.
pub(crate) fn mime(bytes: &[u8]) -> Option<&'static str> {
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

/// The file as an attachment.
pub(super) fn attach(
    path: &Path,
    mime: &'static str,
    bytes: Vec<u8>,
    context: &ToolContext,
) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    // Without a blob store a file of the worktree is referred to where it is.
    let place = context
        .workspace
        .is_inside(path)
        .then(|| FileSource::Path(context.workspace.display(path)));
    attach_as(&name, mime, bytes, (context, place))
}

/// Bytes that came from elsewhere as an attachment; `name` is their path or address.
pub(crate) fn keep(
    name: &str,
    mime: &'static str,
    bytes: Vec<u8>,
    context: &ToolContext,
) -> Result<Success, String> {
    attach_as(name, mime, bytes, (context, None))
}

fn attach_as(
    name: &str,
    mime: &'static str,
    bytes: Vec<u8>,
    (context, place): (&ToolContext, Option<FileSource>),
) -> Result<Success, String> {
    let size = bytes.len();
    let (mime, bytes, scaled) = if mime == "application/pdf" {
        (mime, bytes, None)
    } else {
        shrink(mime, bytes)
    };
    let most = if mime == "application/pdf" {
        MOST_PDF
    } else {
        MOST_IMAGE
    };
    if bytes.len() > most {
        return Err(format!(
            "{name} is {} large; models take at most {}. Make it smaller with a command first.",
            human(size as u64),
            human(most as u64)
        ));
    }
    let source = match (&context.blobs, place) {
        (Some(blobs), _) => blobs.keep(mime, &bytes)?,
        (None, Some(place)) => place,
        (None, None) => {
            return Err(format!(
                "{name} cannot be attached: it is outside of the worktree."
            ));
        }
    };
    let kind = if mime == "application/pdf" {
        "PDF"
    } else {
        "image"
    };
    let mut output = format!("{name} is attached ({kind}, {}", human(size as u64));
    if let Some((width, height)) = scaled {
        output.push_str(&[", scaled to ", &width.to_string(), "×", &height.to_string()].concat());
    }
    output.push_str(").");
    let file_name = name
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(name);
    Ok(Success {
        output,
        metadata: json!({"kind": kind.to_lowercase(), "mime": mime, "bytes": size}),
        attachments: vec![FilePart {
            mime: mime.to_owned(),
            name: file_name.to_owned(),
            source,
        }],
        ..Success::default()
    })
}

/// An image that is not larger than models look at; as it is if it cannot be decoded.
#[cfg(feature = "images")]
fn shrink(mime: &'static str, bytes: Vec<u8>) -> (&'static str, Vec<u8>, Option<(u32, u32)>) {
    use image::ImageFormat;
    let reader = image::ImageReader::new(std::io::Cursor::new(&bytes)).with_guessed_format();
    let Some(reader) = reader.ok() else {
        return (mime, bytes, None);
    };
    let Ok((width, height)) = reader.into_dimensions() else {
        return (mime, bytes, None);
    };
    let small = width.max(height) <= LONGEST_SIDE && bytes.len() <= MOST_IMAGE;
    // a picture of a gigapixel would take gigabytes to decode
    if small || u64::from(width) * u64::from(height) > 100_000_000 {
        return (mime, bytes, None);
    }
    let Ok(picture) = image::load_from_memory(&bytes) else {
        return (mime, bytes, None);
    };
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
    match picture.write_to(&mut out, format) {
        Ok(()) => (
            mime,
            out.into_inner(),
            Some((picture.width(), picture.height())),
        ),
        Err(_unencodable) => (mime, bytes, None),
    }
}

#[cfg(not(feature = "images"))]
fn shrink(mime: &'static str, bytes: Vec<u8>) -> (&'static str, Vec<u8>, Option<(u32, u32)>) {
    (mime, bytes, None)
}
