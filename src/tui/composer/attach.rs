//! What stands in the text as one thing: a long paste, a picture; and which pastes are pictures.
//!
//! The composer keeps them by number; `run` looks at files and at the clipboard and gives pictures
//! back. Pure: whether a path exists is not known here.

use crate::protocol::mentions::media_type;
use crate::protocol::{FilePart, FileSource};

/// A picture or a document that goes along with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its name for the eye and for the model.
    pub name: String,
    /// Media type.
    pub mime: String,
    /// Where it is: absolute.
    pub path: String,
    /// Its length in bytes; 0 if not known.
    pub bytes: u64,
    /// Columns and rows of pixels, if known.
    pub pixels: Option<(u32, u32)>,
}

impl Picture {
    /// As it goes along with the prompt.
    pub fn part(&self) -> FilePart {
        FilePart {
            mime: self.mime.clone(),
            name: self.name.clone(),
            source: FileSource::Path(self.path.clone()),
        }
    }

    /// What stands for it in the text that is sent.
    pub fn mark(&self) -> String {
        format!("[{}]", self.name)
    }

    fn label(&self) -> String {
        let mut words = vec![self.name.clone()];
        if let Some((width, height)) = self.pixels {
            words.push(format!("{width}x{height}"));
        }
        if self.bytes > 0 {
            words.push(size(self.bytes));
        }
        format!("[{}]", words.join(" "))
    }
}

/// One thing in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chip {
    /// A paste, verbatim.
    Text(String),
    /// A picture, or a file part that came back from the queue.
    Picture(Picture),
}

impl Chip {
    /// How it reads.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Picture(picture) => picture.label(),
            Self::Text(content) => {
                let (lines, chars) = (content.lines().count().max(1), content.chars().count());
                if lines > 1 {
                    format!("[pasted {lines} lines]")
                } else {
                    format!("[pasted {chars} characters]")
                }
            }
        }
    }

    /// What is sent for it.
    pub(super) fn sent(&self) -> String {
        match self {
            Self::Text(content) => content.clone(),
            Self::Picture(picture) => picture.mark(),
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes.div_ceil(1_024)),
        _ => format!("{}.{} MB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20),
    }
}

/// The paths in a paste that is nothing but paths of pictures or documents, as terminals write them
/// when files are dropped: quoted, with `\ `, or as `file://`.
pub fn dropped(pasted: &str) -> Option<Vec<String>> {
    let text = pasted.trim();
    if text.is_empty() || text.len() > 8_192 || text.contains('\n') {
        return None;
    }
    let is_one = |path: &str| {
        let rooted = path.starts_with(['/', '~', '.']) || !path.contains([' ', ':']);
        rooted && media_type(path) != "text/plain" && !path.ends_with('/')
    };
    let words: Vec<String> = words(text).iter().map(|word| plain(word)).collect();
    if words.iter().all(|word| is_one(word)) {
        return Some(words);
    }
    // Some terminals write a blank in a name as it is.
    let whole = plain(text);
    is_one(&whole).then(|| vec![whole])
}

/// Shell words: quotes and backslashes keep blanks together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\\') => word.extend(chars.next()),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ' | '\t') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// `file://host/a%20b` as `/a b`; anything else as it is.
fn plain(word: &str) -> String {
    let Some(rest) = word.strip_prefix("file://") else {
        return word.to_owned();
    };
    // What stands before the first slash is a host.
    let Some((_, path)) = rest.split_once('/') else {
        return word.to_owned();
    };
    let mut bytes = vec![b'/'];
    let mut left = path.as_bytes();
    while let Some((first, after)) = left.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let value = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                left = &after[2..];
            }
            None => {
                bytes.push(*first);
                left = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pastes_that_are_picture_paths_are_told_from_text() {
        let one = |path: &str| Some(vec![path.to_owned()]);
        for (pasted, wanted) in [
            ("/tmp/shot.png", one("/tmp/shot.png")),
            ("/tmp/my\\ shot.PNG ", one("/tmp/my shot.PNG")),
            ("'/tmp/my shot.png'", one("/tmp/my shot.png")),
            ("/tmp/my shot.png", one("/tmp/my shot.png")),
            ("file:///tmp/my%20shot.jpg\n", one("/tmp/my shot.jpg")),
            ("docs/plan.pdf", one("docs/plan.pdf")),
            (
                "/a.png /b.webp",
                Some(vec!["/a.png".to_owned(), "/b.webp".to_owned()]),
            ),
            ("look at /tmp/shot.png please", None),
            ("/tmp/main.rs", None),
            ("https://example.org/a.png", None),
            ("/a.png\n/b.png", None),
            ("", None),
        ] {
            assert_eq!(dropped(pasted), wanted, "{pasted:?}");
        }
    }

    #[test]
    fn a_chip_says_what_it_is_and_how_large() {
        let picture = Picture {
            name: "shot.png".to_owned(),
            mime: "image/png".to_owned(),
            path: "/tmp/shot.png".to_owned(),
            bytes: 86_000,
            pixels: Some((640, 480)),
        };
        assert_eq!(Chip::Picture(picture).label(), "[shot.png 640x480 84 KB]");
        assert_eq!(size(3 << 20), "3.0 MB");
        assert_eq!(size(12), "12 B");
    }
}
