//! Paths of the worktree as bytes inside, as text outside.
//!
//! File names on Unix are bytes; reports, records and screens hold text. A name that is not UTF-8,
//! or that begins with a quotation mark, is quoted the way git quotes it, so that it survives the
//! way out and back. Also decides whether a path may be touched at all. Pure.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// The text form of a path.
pub(super) fn to_text(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        _ => quote(path),
    }
}

fn quote(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len() + 8);
    out.push('"');
    for &byte in path {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            0x20..=0x7e => out.push(byte as char),
            // writing to a String cannot fail
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// The bytes of a text form; none if it is quoted badly.
pub(super) fn from_text(text: &str) -> Option<Vec<u8>> {
    let Some(body) = text.strip_prefix('"') else {
        return Some(text.as_bytes().to_vec());
    };
    let body = body.strip_suffix('"')?.as_bytes();
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let next = *body.get(at + 1)?;
        if next.is_ascii_digit() {
            let digits = std::str::from_utf8(body.get(at + 1..at + 4)?).ok()?;
            out.push(u8::from_str_radix(digits, 8).ok()?);
            at += 4;
        } else {
            out.push(next);
            at += 2;
        }
    }
    Some(out)
}

/// True if the path names something strictly below the worktree, without detours and outside any
/// `.git`: the only paths that a restore may touch.
pub(super) fn is_safe(path: &[u8]) -> bool {
    !path.is_empty()
        && !path.contains(&0)
        && path.split(|&b| b == b'/').all(|part| {
            !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git")
        })
}

/// A hinted path relative to the worktree, as bytes; none if it is outside or the root itself.
pub(super) fn relative(path: &Path, roots: &[&Path]) -> Option<Vec<u8>> {
    let inside = if path.is_absolute() {
        roots.iter().find_map(|root| path.strip_prefix(root).ok())?
    } else {
        path
    };
    let mut out: Vec<u8> = Vec::new();
    for part in inside.components() {
        match part {
            Component::Normal(name) => {
                if !out.is_empty() {
                    out.push(b'/');
                }
                out.extend_from_slice(name.as_bytes());
            }
            Component::CurDir => {}
            Component::ParentDir => {
                let cut = out.iter().rposition(|&b| b == b'/');
                match cut {
                    Some(cut) => out.truncate(cut),
                    None if out.is_empty() => return None,
                    None => out.clear(),
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!out.is_empty()).then_some(out)
}

/// `dir` and `name` joined with a slash; the root is the empty path.
pub(super) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(dir.len() + name.len() + 1);
    if !dir.is_empty() {
        out.extend_from_slice(dir);
        out.push(b'/');
    }
    out.extend_from_slice(name);
    out
}

/// Folder and last name of a path.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&b| b == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_name_survives_the_way_out_and_back(path in proptest::collection::vec(1_u8.., 1..40)) {
            prop_assert_eq!(from_text(&to_text(&path)), Some(path));
        }
    }

    #[test]
    fn names_that_are_text_stay_as_they_are() {
        assert_eq!(to_text("src/ü b.rs".as_bytes()), "src/ü b.rs");
        assert_eq!(to_text(b"caf\xe9"), r#""caf\351""#);
        assert_eq!(to_text(b"\"q\""), r#""\"q\"""#);
    }

    #[test]
    fn paths_that_leave_the_worktree_are_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            ".git/config",
            "a/.GIT/x",
            ".",
        ] {
            assert!(!is_safe(bad.as_bytes()), "{bad}");
        }
        for good in ["a", "a/b", ".gitignore", "a/.github/x"] {
            assert!(is_safe(good.as_bytes()), "{good}");
        }
    }

    #[test]
    fn hints_become_relative_to_either_name_of_the_root() {
        let roots = [Path::new("/real/w"), Path::new("/link")];
        let of = |p: &str| relative(Path::new(p), &roots).map(|p| to_text(&p));
        assert_eq!(of("/real/w/a/b"), Some("a/b".into()));
        assert_eq!(of("/link/./a/../c"), Some("c".into()));
        assert_eq!(of("x/y"), Some("x/y".into()));
        assert_eq!(of("/other/a"), None);
        assert_eq!(of("../a"), None);
        assert_eq!(of("/real/w"), None);
    }
}
