//! Which untracked files count: `.gitignore` files, `info/exclude`, `core.excludesFile`.
//!
//! The matching is ripgrep's `ignore`; this file keeps git's order (the deepest file first, then
//! `info/exclude`, then the user's own), notices when a file outside the worktree changed, and says
//! nothing about tracked files, which are always kept. Called by `visit`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::place::Place;
use super::stat::stat_path;
use super::state::{DirId, Dirs, ROOT, Stat};

/// Rules of files outside the worktree: those of parent folders within the repository, then
/// `info/exclude`, then the user's own.
#[derive(Debug, Default)]
pub(super) struct OuterRules {
    files: Vec<RuleFile>,
    /// The worktree's path within the repository, ending in a slash; empty at its root.
    prefix: Vec<u8>,
}

#[derive(Debug)]
struct RuleFile {
    path: PathBuf,
    /// How much of the repository path stands before what its patterns are matched against.
    skip: usize,
    stat: Option<Stat>,
    rules: Option<Arc<Gitignore>>,
}

/// Parses the bytes of an ignore file. Lines that are no patterns are passed over, as git does.
pub(super) fn parse(bytes: &[u8]) -> Option<Arc<Gitignore>> {
    let mut builder = GitignoreBuilder::new("");
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for line in bytes.split(|&b| b == b'\n') {
        let line = String::from_utf8_lossy(line);
        builder.add_line(None, &line).ok();
    }
    let rules = builder.build().ok()?;
    (!rules.is_empty()).then(|| Arc::new(rules))
}

/// What one file's rules say: ignore, keep, or nothing.
fn verdict(rules: &Gitignore, path: &[u8], is_dir: bool) -> Option<bool> {
    let found = rules.matched(Path::new(OsStr::from_bytes(path)), is_dir);
    if found.is_ignore() {
        Some(true)
    } else if found.is_whitelist() {
        Some(false)
    } else {
        None
    }
}

impl OuterRules {
    /// The rule files that apply at this place, not read yet.
    pub(super) fn new(place: &Place) -> Self {
        let mut outer = Self::default();
        let mut add = |path: PathBuf, skip: usize| {
            outer.files.push(RuleFile {
                path,
                skip,
                stat: None,
                rules: None,
            });
        };
        if let Some(git) = &place.git {
            let mut above = place.worktree.as_path();
            while above != git.root
                && let Some(parent) = above.parent()
            {
                above = parent;
                let inside = above.strip_prefix(&git.root).unwrap_or(Path::new(""));
                let len = inside.as_os_str().len();
                add(above.join(".gitignore"), if len == 0 { 0 } else { len + 1 });
            }
            add(git.common_dir.join("info/exclude"), 0);
            outer.prefix.clone_from(&git.prefix);
            if !outer.prefix.is_empty() {
                outer.prefix.push(b'/');
            }
        }
        if let Some(excludes) = &place.excludes {
            outer.files.push(RuleFile {
                path: excludes.clone(),
                skip: 0,
                stat: None,
                rules: None,
            });
        }
        outer
    }

    /// Reads again what changed since the last call; true if anything did.
    pub(super) fn reload(&mut self) -> bool {
        let mut changed = false;
        for file in &mut self.files {
            let now = stat_path(&file.path);
            if now == file.stat {
                continue;
            }
            file.stat = now;
            file.rules = std::fs::read(&file.path).ok().and_then(|b| parse(&b));
            changed = true;
        }
        changed
    }

    fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        if self.files.iter().all(|file| file.rules.is_none()) {
            return false;
        }
        let mut full = self.prefix.clone();
        full.extend_from_slice(path);
        self.files
            .iter()
            .find_map(|file| verdict(file.rules.as_deref()?, full.get(file.skip..)?, is_dir))
            .unwrap_or(false)
    }
}

/// True if the rules exclude this name of a folder that is not excluded itself.
pub(super) fn is_ignored(
    dirs: &Dirs,
    outer: &OuterRules,
    dir: DirId,
    (dir_path, name): (&[u8], &[u8]),
    is_dir: bool,
) -> bool {
    let path = super::path::join(dir_path, name);
    let mut start = path.len() - name.len();
    let mut at = dir;
    loop {
        let here = &dirs[at];
        if let Some(rules) = &here.rules
            && let Some(ignored) = verdict(rules, &path[start..], is_dir)
        {
            return ignored;
        }
        if at == ROOT {
            return outer.ignores(&path, is_dir);
        }
        start -= here.name.len() + 1;
        at = here.parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_utf8_does_not_hide_the_others() {
        let rules = parse(b"# caf\xe9\n*.log\n!keep.log\n[\nbuild/\n").unwrap();
        assert_eq!(verdict(&rules, b"a.log", false), Some(true));
        assert_eq!(verdict(&rules, b"keep.log", false), Some(false));
        assert_eq!(verdict(&rules, b"build", true), Some(true));
        assert_eq!(verdict(&rules, b"build", false), None);
    }

    #[test]
    fn the_deepest_file_decides() {
        let mut dirs = Dirs::new();
        let sub = dirs.add(ROOT, b"sub", false);
        dirs[ROOT].rules = parse(b"*.txt\n/sub/only.md\n");
        dirs[sub].rules = parse(b"!a.txt\n");
        let outer = OuterRules::default();
        let says = |dir, at, name: &[u8]| is_ignored(&dirs, &outer, dir, (at, name), false);
        assert!(says(ROOT, b"", b"a.txt"));
        assert!(!says(sub, b"sub", b"a.txt"));
        assert!(says(sub, b"sub", b"b.txt"));
        assert!(says(sub, b"sub", b"only.md"));
        assert!(!says(ROOT, b"", b"only.md"));
    }
}
