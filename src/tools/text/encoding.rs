//! A file's bytes seen as text, and edits of that text carried back to the bytes.
//!
//! Bytes outside of an edit never change: an edit is a list of splices, each is mapped to byte
//! offsets and only the new text is encoded. So a file with a foreign encoding, a byte order mark or
//! a few broken bytes survives. What is not text is told apart here too.

use std::ops::Range;

use encoding_rs::Encoding;

/// Bytes at the beginning that decide whether a file is text.
const SAMPLE: usize = 64 * 1024;

/// Replace this range (bytes of `TextFile::text`) by this text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// What goes.
    pub range: Range<usize>,
    /// What comes.
    pub text: String,
}

/// Why a file is not text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotText {
    /// Media type by its first bytes, if known.
    pub mime: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Utf8,
    /// UTF-8 with broken bytes here and there; each broken piece reads as U+FFFD.
    BrokenUtf8,
    Utf16 {
        big_endian: bool,
    },
    Legacy(&'static Encoding),
}

impl Form {
    /// The text of these bytes; none where the bytes are it.
    fn read(self, body: &[u8]) -> Option<String> {
        match self {
            Self::Utf8 => None,
            Self::BrokenUtf8 => Some(String::from_utf8_lossy(body).into_owned()),
            Self::Utf16 { big_endian } => {
                Some(utf16(body, big_endian).map(|(char, _)| char).collect())
            }
            Self::Legacy(encoding) => {
                Some(encoding.decode_without_bom_handling(body).0.into_owned())
            }
        }
    }
}

/// A text file.
#[derive(Debug, Clone)]
pub struct TextFile {
    bytes: Vec<u8>,
    /// Length of the byte order mark.
    mark: usize,
    form: Form,
    /// The text, unless the bytes are it.
    decoded: Option<String>,
}

impl TextFile {
    /// Finds out how the bytes are to be read.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, NotText> {
        let not_text = |bytes: &[u8]| NotText {
            mime: infer::get(bytes).map(|kind| kind.mime_type()),
        };
        let (mark, form) = match bytes.as_slice() {
            [0xff, 0xfe, 0, 0, ..] => return Err(not_text(&bytes)),
            [0xef, 0xbb, 0xbf, ..] => (3, None),
            [0xff, 0xfe, ..] => (2, Some(Form::Utf16 { big_endian: false })),
            [0xfe, 0xff, ..] => (2, Some(Form::Utf16 { big_endian: true })),
            _ => (0, None),
        };
        let body = &bytes[mark..];
        let form = match form {
            Some(form) => form,
            None => detect(body).ok_or_else(|| not_text(&bytes))?,
        };
        let decoded = form.read(body);
        Ok(Self {
            bytes,
            mark,
            form,
            decoded,
        })
    }

    /// The same for a file that was read as this encoding before: a guess from what it holds now could be
    /// another one. Only where the bytes speak against it they are looked at anew.
    pub fn decode_as(bytes: Vec<u8>, before: Option<&str>) -> Result<Self, NotText> {
        let known = before
            .and_then(|name| Encoding::for_label(name.as_bytes()))
            .filter(|known| *known != encoding_rs::UTF_8);
        let Some(encoding) = known else {
            return Self::decode(bytes);
        };
        let zero = memchr::memchr(0, &bytes).is_some();
        let other = !bytes.is_ascii() && std::str::from_utf8(&bytes).is_ok();
        let (text, broken) = encoding.decode_without_bom_handling(&bytes);
        if zero || other || broken {
            return Self::decode(bytes);
        }
        let decoded = Some(text.into_owned());
        Ok(Self {
            bytes,
            mark: 0,
            form: Form::Legacy(encoding),
            decoded,
        })
    }

    /// The name of an encoding that had to be guessed; none for those that show themselves.
    pub fn guessed(&self) -> Option<&'static str> {
        match self.form {
            Form::Legacy(encoding) => Some(encoding.name()),
            Form::Utf8 | Form::BrokenUtf8 | Form::Utf16 { .. } => None,
        }
    }

    /// Other bytes of the same file, read as these were: a guess from the new bytes alone could be
    /// another encoding.
    #[must_use]
    pub fn changed_to(&self, bytes: Vec<u8>) -> Self {
        let mark = self.bytes.get(..self.mark).unwrap_or_default();
        let mark = if bytes.starts_with(mark) {
            self.mark
        } else {
            0
        };
        let body = bytes.get(mark..).unwrap_or_default();
        let form = match self.form {
            Form::Utf8 if std::str::from_utf8(body).is_err() => Form::BrokenUtf8,
            form => form,
        };
        let decoded = form.read(body);
        Self {
            bytes,
            mark,
            form,
            decoded,
        }
    }

    /// The text without a byte order mark.
    pub fn text(&self) -> &str {
        match &self.decoded {
            Some(text) => text,
            // `detect` has validated it
            None => std::str::from_utf8(&self.bytes[self.mark..]).unwrap_or_default(),
        }
    }

    /// The bytes as they are on disk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The encoding's name; `UTF-8` for nearly everything.
    pub fn encoding(&self) -> &'static str {
        match self.form {
            Form::Utf8 => "UTF-8",
            Form::BrokenUtf8 => "UTF-8 with invalid bytes",
            Form::Utf16 { big_endian: true } => "UTF-16BE",
            Form::Utf16 { big_endian: false } => "UTF-16LE",
            Form::Legacy(encoding) => encoding.name(),
        }
    }

    /// True if the text is the bytes, with or without a mark.
    pub fn is_plain(&self) -> bool {
        self.form == Form::Utf8
    }

    /// The bytes after the splices, which must be sorted and apart. All other bytes stay. The error
    /// is a sentence for the model.
    pub fn splice(&self, splices: &[Splice]) -> Result<Vec<u8>, String> {
        let text = self.text();
        let splices: Vec<Splice> = splices.iter().map(|splice| shrink(text, splice)).collect();
        let cuts = splices
            .iter()
            .flat_map(|splice| [splice.range.start, splice.range.end]);
        let offsets = self.byte_offsets(&cuts.collect::<Vec<_>>())?;
        let mut after = Vec::with_capacity(self.bytes.len() + 64);
        let mut at = 0;
        for (splice, cut) in splices.iter().zip(offsets.chunks_exact(2)) {
            after.extend_from_slice(&self.bytes[at..cut[0]]);
            self.encode_into(&splice.text, &mut after)?;
            at = cut[1];
        }
        after.extend_from_slice(&self.bytes[at..]);
        Ok(after)
    }

    /// A whole new text in this file's encoding, with its mark.
    pub fn replace(&self, text: &str) -> Result<Vec<u8>, String> {
        let mut bytes = self.bytes[..self.mark].to_vec();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        self.encode_into(text, &mut bytes)?;
        Ok(bytes)
    }

    fn encode_into(&self, text: &str, bytes: &mut Vec<u8>) -> Result<(), String> {
        match self.form {
            Form::Utf8 | Form::BrokenUtf8 => bytes.extend_from_slice(text.as_bytes()),
            Form::Utf16 { big_endian } => {
                for unit in text.encode_utf16() {
                    bytes.extend_from_slice(&if big_endian {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    });
                }
            }
            Form::Legacy(encoding) => {
                let (encoded, _, lossy) = encoding.encode(text);
                if lossy {
                    let odd = text.chars().find(|char| {
                        let mut buffer = [0; 4];
                        encoding.encode(char.encode_utf8(&mut buffer)).2
                    });
                    return Err(format!(
                        "The file is encoded as {}, which has no character `{}`. Use only characters \
                         of that encoding, or convert the whole file to UTF-8 first.",
                        encoding.name(),
                        odd.unwrap_or(char::REPLACEMENT_CHARACTER)
                    ));
                }
                bytes.extend_from_slice(&encoded);
            }
        }
        Ok(())
    }

    /// Byte offsets (in the file) of text offsets, which must be sorted.
    fn byte_offsets(&self, cuts: &[usize]) -> Result<Vec<usize>, String> {
        let body = &self.bytes[self.mark..];
        let mut finder = Finder {
            cuts,
            found: Vec::with_capacity(cuts.len()),
            mark: self.mark,
        };
        match self.form {
            Form::Utf8 => finder.found.extend(cuts.iter().map(|cut| cut + self.mark)),
            Form::BrokenUtf8 => {
                let (mut text, mut byte) = (0, 0);
                for chunk in body.utf8_chunks() {
                    let valid = chunk.valid().len();
                    finder.run(text..=text + valid, byte);
                    text += valid;
                    byte += valid;
                    if !chunk.invalid().is_empty() {
                        text += char::REPLACEMENT_CHARACTER.len_utf8();
                        byte += chunk.invalid().len();
                    }
                }
                finder.run(text..=text, byte);
            }
            Form::Utf16 { big_endian } => {
                let (mut text, mut byte) = (0, 0);
                for (char, width) in utf16(body, big_endian) {
                    finder.run(text..=text, byte);
                    text += char.len_utf8();
                    byte += width;
                }
                finder.run(text..=text, byte);
            }
            Form::Legacy(encoding) => walk_legacy(encoding, body, self.text(), &mut finder)?,
        }
        if finder.found.len() == cuts.len() {
            return Ok(finder.found);
        }
        Err(format!(
            "The edit would begin or end inside a sequence that is not valid {}. Choose a piece of \
             text that does not touch the broken characters.",
            self.encoding()
        ))
    }
}

/// Collects the byte offsets of the cuts while somebody walks over the text.
struct Finder<'a> {
    cuts: &'a [usize],
    found: Vec<usize>,
    mark: usize,
}

impl Finder<'_> {
    /// In this run of text, offsets and bytes advance together; it begins at this byte.
    fn run(&mut self, text: std::ops::RangeInclusive<usize>, byte: usize) {
        while let Some(cut) = self.cuts.get(self.found.len()) {
            if !text.contains(cut) {
                break;
            }
            self.found.push(self.mark + byte + cut - text.start());
        }
    }
}

/// Decodes byte by byte to learn where each character's bytes end.
fn walk_legacy(
    encoding: &'static Encoding,
    body: &[u8],
    text: &str,
    finder: &mut Finder<'_>,
) -> Result<(), String> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut out = [0; 32];
    let mut at = 0;
    finder.run(0..=0, 0);
    for index in 0..body.len() {
        let last = index + 1 == body.len();
        let (_, _, written, _) = decoder.decode_to_utf8(&body[index..=index], &mut out, last);
        if text.as_bytes().get(at..at + written) != Some(&out[..written]) {
            return Err(format!(
                "The file cannot be decoded reliably as {}; edit it with a command instead.",
                encoding.name()
            ));
        }
        if written > 0 {
            at += written;
            finder.run(at..=at, index + 1);
        }
    }
    Ok(())
}

/// Characters and their widths in bytes.
fn utf16(body: &[u8], big_endian: bool) -> impl Iterator<Item = (char, usize)> + '_ {
    let unit = move |pair: &[u8]| match pair {
        [a, b] if big_endian => u16::from_be_bytes([*a, *b]),
        [a, b] => u16::from_le_bytes([*a, *b]),
        _ => 0xd800, // an odd last byte: a lone surrogate, so it reads as U+FFFD
    };
    let odd = body.len() % 2;
    let count = body.len().div_ceil(2);
    char::decode_utf16(body.chunks(2).map(unit)).scan(0usize, move |units, decoded| {
        let (char, width) = match decoded {
            Ok(char) => (char, char.len_utf16()),
            Err(_lone) => (char::REPLACEMENT_CHARACTER, 1),
        };
        *units += width;
        let missing = if *units == count { odd } else { 0 };
        Some((char, width * 2 - missing))
    })
}

/// How bytes without a mark of UTF-16 are to be read; none if they are not text.
fn detect(body: &[u8]) -> Option<Form> {
    let sample = &body[..body.len().min(SAMPLE)];
    if memchr::memchr(0, sample).is_some() {
        return detect_utf16(sample);
    }
    if std::str::from_utf8(body).is_ok() {
        return Some(Form::Utf8);
    }
    let odd = sample
        .iter()
        .filter(|byte| matches!(**byte, 0..=6 | 14..=26 | 28..=31 | 127));
    if odd.count() * 10 > sample.len() || infer::get(body).is_some() {
        return None;
    }
    let (mut broken, mut whole) = (0usize, 0usize);
    for chunk in body.utf8_chunks() {
        whole += chunk
            .valid()
            .chars()
            .filter(|char| !char.is_ascii())
            .count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    // text in another encoding hardly ever contains a valid multi-byte sequence by accident
    if whole > broken * 2 {
        return Some(Form::BrokenUtf8);
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    let head = &body[..body.len().min(1 << 20)];
    detector.feed(head, true);
    Some(Form::Legacy(
        detector.guess(None, chardetng::Utf8Detection::Deny),
    ))
}

/// UTF-16 without a mark: mostly Latin text has its zero bytes all on one side.
fn detect_utf16(sample: &[u8]) -> Option<Form> {
    let pairs = sample.len() / 2;
    let zeros = |offset: usize| {
        sample
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let one_side =
        |many: usize, few: usize| pairs >= 4 && many * 10 >= pairs * 6 && few * 50 <= pairs;
    if !sample.len().is_multiple_of(2) && sample.len() < SAMPLE {
        return None;
    }
    match (one_side(odd, even), one_side(even, odd)) {
        (true, _) => Some(Form::Utf16 { big_endian: false }),
        (_, true) => Some(Form::Utf16 { big_endian: true }),
        _ => None,
    }
}

/// The splice without what it would replace by itself.
fn shrink(text: &str, splice: &Splice) -> Splice {
    let old = text.get(splice.range.clone()).unwrap_or_default();
    let same = |a: char, b: char| a == b;
    let start: usize = old
        .chars()
        .zip(splice.text.chars())
        .take_while(|(a, b)| same(*a, *b))
        .map(|(char, _)| char.len_utf8())
        .sum();
    let (old_rest, new_rest) = (
        old.get(start..).unwrap_or_default(),
        splice.text.get(start..).unwrap_or_default(),
    );
    let end: usize = old_rest
        .chars()
        .rev()
        .zip(new_rest.chars().rev())
        .take_while(|(a, b)| same(*a, *b))
        .map(|(char, _)| char.len_utf8())
        .sum();
    Splice {
        range: splice.range.start + start..splice.range.end - end,
        text: new_rest
            .get(..new_rest.len() - end)
            .unwrap_or_default()
            .to_owned(),
    }
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;
