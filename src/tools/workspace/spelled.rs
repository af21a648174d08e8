//! Names that no line of text can hold: line ends, controls, bytes that are no UTF-8. They are shown to
//! the model as the shell would quote them (`$'a\nb'`, `$'bad\xff.txt'`), and that spelling is taken
//! wherever a path is.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A path or name as a model can write it again.
pub fn spell(path: &OsStr) -> String {
    let plain = path
        .to_str()
        .filter(|text| !text.contains(char::is_control) && !text.starts_with("$'"));
    if let Some(text) = plain {
        return text.to_owned();
    }
    let mut out = String::from("$'");
    for chunk in path.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\\' => out.push_str("\\\\"),
                '\'' => out.push_str("\\'"),
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        _ = write!(out, "\\x{byte:02x}");
                    }
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('\'');
    out
}

/// The path that is spelled so; none if the text is no such spelling.
#[cfg(unix)]
pub fn read(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    let inner = text.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'\'' {
            return None;
        }
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            escaped @ (b'\\' | b'\'') => escaped,
            b'x' => {
                let digit = |b: u8| char::from(b).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok().filter(|b| *b != 0)?
            }
            _ => return None,
        });
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

/// Elsewhere names are text.
#[cfg(not(unix))]
pub fn read(_text: &str) -> Option<PathBuf> {
    None
}

/// `spell` for a path.
pub fn path(path: &Path) -> String {
    spell(path.as_os_str())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn odd_names_are_spelled_and_read_again() {
        for (bytes, spelled) in [
            (&b"new\nline.txt"[..], "$'new\\nline.txt'"),
            (b"bad\xff.txt", "$'bad\\xff.txt'"),
            (b"it's\t\\", "$'it\\'s\\t\\\\'"),
            (b"esc\x1b[31m", "$'esc\\x1b[31m'"),
            (b"$'x'", "$'$\\'x\\''"),
            ("c1\u{9b}".as_bytes(), "$'c1\\xc2\\x9b'"),
        ] {
            let name = OsStr::from_bytes(bytes);
            assert_eq!(spell(name), spelled);
            assert_eq!(read(spelled).as_deref(), Some(Path::new(name)), "{spelled}");
        }
        for plain in ["a b.txt", "é 漢字", "it's", "back\\slash", "$x"] {
            assert_eq!(path(Path::new(plain)), plain);
            assert_eq!(read(plain), None);
        }
        for wrong in ["$'a", "$'a\\q'", "$'\\x00'", "$'\\xf'", "$'a'b'"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
