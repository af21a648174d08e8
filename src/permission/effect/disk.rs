//! What is on the disk, as far as a judgement needs it: which files a pattern matches, whether links
//! below a folder lead out, which repository git would find.
//!
//! Everything is bounded: where there is too much to look at, the answer is that nobody knows, and
//! that is asked. Without `Place::sight` nothing is looked at.

use std::path::{Path, PathBuf};

use super::{Simple, Target};
use crate::permission::pattern;
use crate::permission::place::{Kind, Place, Sight};
use crate::permission::shell::{Cwd, Piece, Word};

/// A pattern that matches more files than this is not followed.
const MOST_MATCHES: usize = 2_000;
/// Folders are looked through for links up to this many entries.
const MOST_ENTRIES: usize = 50_000;

/// The command with the file-name patterns among its words replaced by what they match.
pub(super) fn matched(simple: &Simple, place: &Place) -> Simple {
    let mut out = simple.clone();
    let Some((name, words)) = simple.expanded.split_first() else {
        return out;
    };
    if place.sight.is_none() || !words.iter().any(Word::has_glob) {
        return out;
    }
    out.expanded = vec![name.clone()];
    for word in words {
        if word.has_glob() {
            out.expanded.extend(matches(word, &simple.cwd, place));
        } else {
            out.expanded.push(word.clone());
        }
    }
    if out.expanded.len() > 2 * MOST_MATCHES {
        out.expanded = vec![name.clone(), Word::unknown("…")];
    }
    out
}

/// What a word with a pattern stands for: the files it matches, itself if there is none, something
/// unknown if there are too many.
pub(super) fn matches(word: &Word, cwd: &Cwd, place: &Place) -> Vec<Word> {
    let (Some(sight), Some(shown)) = (place.sight, word.pattern()) else {
        return vec![word.clone()];
    };
    if !word.has_glob() {
        return vec![word.clone()];
    }
    let absolute = shown.starts_with('/') || word.tilde;
    if cwd.unknown && !absolute {
        return vec![word.clone()];
    }
    // classes with names, and what a user's home is, are the shell's to know
    let strange = ["[:", "[.", "[="].iter().any(|class| shown.contains(class));
    if strange || (word.tilde && !shown.starts_with("~/")) {
        return vec![Word::unknown(&word.raw)];
    }
    let mut found = Vec::new();
    for folder in &cwd.folders {
        let Some(names) = walk(sight, place, folder, &escaped(word), word.tilde) else {
            return vec![Word::unknown(&word.raw)];
        };
        found.extend(names);
    }
    if found.is_empty() {
        // the shell leaves it as it is: no such file
        return vec![Word {
            raw: word.raw.clone(),
            ..Word::literal(&shown)
        }];
    }
    found.sort();
    found.dedup();
    found
        .iter()
        .map(|name| Word {
            raw: name.clone(),
            ..Word::literal(name)
        })
        .collect()
}

/// The pattern with a backslash before every character that is meant as it stands.
fn escaped(word: &Word) -> String {
    let mut out = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(text) => {
                for c in text.chars() {
                    if matches!(c, '*' | '?' | '[' | '\\') {
                        out.push('\\');
                    }
                    out.push(c);
                }
            }
            Piece::Glob(c) => out.push(*c),
            Piece::Var { .. } | Piece::Unknown => {}
        }
    }
    out
}

/// Matches component by component; the names are as the shell would put them in.
fn walk(
    sight: Sight,
    place: &Place,
    folder: &Path,
    pattern: &str,
    tilde: bool,
) -> Option<Vec<String>> {
    let pattern = if tilde {
        format!(
            "{}{}",
            plain_escape(&place.home.to_string_lossy()),
            pattern.strip_prefix('~')?
        )
    } else {
        pattern.to_owned()
    };
    let (mut at, pattern) = match pattern.strip_prefix('/') {
        Some(rest) => (vec![(PathBuf::from("/"), "/".to_owned())], rest.to_owned()),
        None => (vec![(folder.to_owned(), String::new())], pattern),
    };
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        let is_pattern = has_open_glob(part);
        for (path, typed) in at {
            if !is_pattern {
                let name = unescaped(part);
                next.push((path.join(&name), join(&typed, &name)));
                continue;
            }
            let mut names: Vec<String> = (sight.entries)(&(sight.resolve)(&path))?
                .into_iter()
                .map(|(name, _)| name)
                .collect();
            names.extend([".".to_owned(), "..".to_owned()]);
            for name in names {
                let hidden = name.starts_with('.') && !part.starts_with('.');
                if !hidden && pattern::glob(part, &name) {
                    next.push((path.join(&name), join(&typed, &name)));
                }
            }
            if next.len() > MOST_MATCHES {
                return None;
            }
        }
        at = next;
    }
    // a part after the last pattern may name nothing
    at.retain(|(path, _)| (sight.exists)(path));
    Some(at.into_iter().map(|(_, typed)| typed).collect())
}

fn plain_escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escape = matches!(c, '*' | '?' | '[' | '\\').then_some('\\');
            escape.into_iter().chain([c])
        })
        .collect()
}

fn unescaped(part: &str) -> String {
    let mut out = String::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

fn has_open_glob(part: &str) -> bool {
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '*' | '?' | '[' => return true,
            _ => {}
        }
    }
    false
}

fn join(typed: &str, name: &str) -> String {
    match typed {
        "" => name.to_owned(),
        "/" => format!("/{name}"),
        _ => format!("{typed}/{name}"),
    }
}

/// What a command reads that follows links below these folders (`grep -R`): something outside, if a
/// link leads there or there is too much to look at.
pub(super) fn below(targets: &[Target], place: &Place) -> Vec<Target> {
    let out = |path: &PathBuf| {
        place
            .sight
            .is_none_or(|sight| leads_out(sight, place, path))
    };
    targets
        .iter()
        .filter(|target| target.paths.iter().any(out))
        .map(|target| Target {
            typed: format!("what links in {} lead to", target.typed),
            paths: Vec::new(),
            unknown: true,
            secret: false,
        })
        .collect()
}

fn leads_out(sight: Sight, place: &Place, start: &Path) -> bool {
    let mut folders = vec![start.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let Some(entries) = (sight.entries)(&folder) else {
            return true;
        };
        seen += entries.len();
        if seen > MOST_ENTRIES {
            return true;
        }
        for (name, kind) in entries {
            let path = folder.join(name);
            match kind {
                Kind::File => {}
                Kind::Folder => folders.push(path),
                Kind::Link => {
                    let real = (sight.resolve)(&path);
                    if !place.reads_inside(&real) || crate::permission::secret::is_secret(&real) {
                        return true;
                    }
                }
            }
        }
    }
    false
}

/// True if git, started in this folder, finds the worktree's own repository or none. Another one may
/// bring configuration that runs programs: a folder that merely looks like a repository is enough.
pub(super) fn is_own_repository(folder: &Path, place: &Place) -> bool {
    let Some(sight) = place.sight else {
        return true;
    };
    let folder = (sight.resolve)(folder);
    for dir in folder.ancestors() {
        let dot_git = dir.join(".git");
        if (sight.exists)(&dot_git) {
            // that of a submodule lies in the worktree's own
            return place.worktree.starts_with(dir)
                || (sight.git_link)(&dot_git).is_some_and(|real| {
                    place.real(&real).starts_with(place.worktree.join(".git"))
                });
        }
        let bare = ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| (sight.exists)(&dir.join(name)));
        if bare {
            return false;
        }
    }
    true
}
