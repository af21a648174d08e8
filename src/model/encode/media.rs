//! Files on their way to a model: what becomes base64, what becomes text, what becomes a note.
//!
//! Called by every wire; pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::history::File;
use super::quirks::Quirks;

/// What a file is sent as.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Media<'a> {
    /// An image in base64.
    Image {
        /// Media type that providers know.
        mime: &'a str,
        /// Base64.
        data: String,
    },
    /// A PDF in base64.
    Pdf {
        /// Name.
        name: &'a str,
        /// Base64.
        data: String,
    },
    /// Its text, or the note that the model cannot take it.
    Text(String),
}

/// The four image kinds that every provider with images takes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Decides for one file.
pub(super) fn media<'a>(file: File<'a>, quirks: &Quirks) -> Media<'a> {
    let mime = match file.mime {
        "image/jpg" => "image/jpeg",
        mime => mime.split(';').next().unwrap_or(mime).trim(),
    };
    if IMAGES.contains(&mime) && quirks.images && !file.bytes.is_empty() {
        return Media::Image {
            mime,
            data: STANDARD.encode(file.bytes),
        };
    }
    if mime == "application/pdf" && quirks.pdf && !file.bytes.is_empty() {
        return Media::Pdf {
            name: file.name,
            data: STANDARD.encode(file.bytes),
        };
    }
    if is_text(mime) {
        let text = String::from_utf8_lossy(file.bytes);
        return Media::Text(format!("[file {}]\n{text}", file.name));
    }
    Media::Text(format!(
        "[file {} ({mime}) was left out: this model does not take such files]",
        file.name
    ))
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/")
        || mime.ends_with("+json")
        || mime.ends_with("+xml")
        || matches!(
            mime,
            "application/json" | "application/xml" | "application/toml" | "application/yaml"
        )
}
