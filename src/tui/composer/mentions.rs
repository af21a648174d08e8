//! Files that a prompt names with `@`: they go along with it.
//!
//! The composer asks when a prompt is sent. Whether a path exists is not known here: the agent
//! leaves out what does not, so a handle or a decorator in a text costs nothing. Pure.

use super::attach::mime;
use crate::protocol::{FilePart, FileSource};

/// Signs around a mention that are no part of its path.
const BEFORE: &[char] = &['(', '[', '{', '<', '"', '\'', '`', '*', '“', '‘'];
const AFTER: &[char] = &[
    ',', '.', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '`', '*', '”', '’', '…',
];

/// What a text mentions, each once, in the order of the text. Paths with blanks are found only if
/// they were `chosen` from the list.
pub(super) fn files(text: &str, chosen: &[String]) -> Vec<FilePart> {
    let mut found: Vec<(usize, FilePart)> = Vec::new();
    for path in chosen {
        if let Some(at) = text.find(&format!("@{path}")) {
            let rest = text.get(at + 1 + path.len()..).unwrap_or_default();
            let lines = rest
                .split_whitespace()
                .next()
                .filter(|_| !rest.starts_with(' '));
            let word = format!("{path}{}", lines.unwrap_or_default());
            found.extend(part(&word).map(|part| (at, part)));
        }
    }
    let start = text.as_ptr() as usize;
    for word in text.split_whitespace() {
        let at = word.as_ptr() as usize - start;
        let Some(word) = word.trim_start_matches(BEFORE).strip_prefix('@') else {
            continue;
        };
        let bare = word.trim_end_matches(AFTER);
        // A bracket that the path itself opens belongs to it.
        let closes = bare.contains('(') && word[bare.len()..].starts_with(')');
        let word = if closes { &word[..=bare.len()] } else { bare };
        if found.iter().all(|(other, _)| *other != at) {
            found.extend(part(word).map(|part| (at, part)));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let mut parts: Vec<FilePart> = Vec::new();
    for (_, part) in found {
        if !parts.iter().any(|known| known.name == part.name) {
            parts.push(part);
        }
    }
    parts
}

/// The file of `path` or `path:10-40`; none for what can be no path of the worktree.
fn part(word: &str) -> Option<FilePart> {
    let path = match word.rsplit_once(':') {
        Some((path, lines)) if is_range(lines) => path,
        _ => word,
    };
    let inside = !path.starts_with(['/', '~']) && path.split('/').all(|step| step != "..");
    (inside && path.chars().any(char::is_alphanumeric)).then(|| FilePart {
        mime: mime(path).to_owned(),
        name: word.to_owned(),
        source: FileSource::Path(path.trim_end_matches('/').to_owned()),
    })
}

/// True for `10`, `10-` and `10-40`.
pub(super) fn is_range(text: &str) -> bool {
    let (from, to) = text.split_once('-').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    !from.is_empty() && digits(from) && digits(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let chosen = ["my notes.md".to_owned()];
        let parts = files(text, &chosen);
        parts.into_iter().map(|part| part.name).collect()
    }

    #[test]
    fn what_stands_around_a_mention_is_no_part_of_it() {
        for (text, wanted) in [
            ("look at @src/big.rs, and tell", "src/big.rs"),
            ("(see @src/big.rs)", "src/big.rs"),
            ("(@src/big.rs).", "src/big.rs"),
            ("why @src/big.rs?", "src/big.rs"),
            ("`@src/big.rs:10-40`", "src/big.rs:10-40"),
            ("@src/big.rs:7: there", "src/big.rs:7"),
            ("@copy(1)", "copy(1)"),
            ("@docs/", "docs/"),
            ("@my notes.md and so on", "my notes.md"),
            ("@my notes.md:3-4 please", "my notes.md:3-4"),
        ] {
            assert_eq!(names(text), [wanted], "{text}");
        }
    }

    #[test]
    fn a_path_and_its_range_are_told_apart_and_nothing_goes_along_twice() {
        let parts = files("@src/a.rs:10-40 and @src/a.rs, @src/a.rs", &[]);
        let names: Vec<&str> = parts.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["src/a.rs:10-40", "src/a.rs"]);
        assert_eq!(parts[0].source, FileSource::Path("src/a.rs".to_owned()));
    }

    #[test]
    fn what_is_outside_the_worktree_or_no_path_is_not_mentioned() {
        for text in [
            "@/etc/passwd",
            "@~/x",
            "@../x",
            "@a/../../x",
            "@",
            "@…",
            "me@x",
        ] {
            assert_eq!(names(text), Vec::<String>::new(), "{text}");
        }
    }
}
