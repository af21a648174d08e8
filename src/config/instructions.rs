//! `AGENTS.md`, or `CLAUDE.md` where there is none: what the user wants every model to know.
//!
//! `find` gives those of the user and of the worktree's root, for the system prompt; `nested` those
//! between the root and a file, for when that file is first read. A project's file that is a link
//! out of the worktree is left out: it could name any secret of the user's.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::paths::Paths;

/// Most bytes of one file that are used.
pub const MAX_BYTES: usize = 32 << 10;

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it is.
    pub path: PathBuf,
    /// Its name for the eye: `AGENTS.md`, `src/AGENTS.md`, `~/.config/dunlin/AGENTS.md`.
    pub label: String,
    /// What it says, cut at `MAX_BYTES` with a line that says so.
    pub text: String,
    /// Its estimated tokens, characters / 4.
    pub tokens: u64,
}

/// The user's own instructions, then those of the worktree's root.
pub fn find(paths: &Paths, worktree: &Path) -> Vec<Instruction> {
    let user = in_folder(&paths.config_dir, None, &|path| {
        path.strip_prefix(&paths.home).map_or_else(
            |_| path.display().to_string(),
            |rest| format!("~/{}", rest.display()),
        )
    });
    let root = in_folder(worktree, Some(worktree), &|path| relative(path, worktree));
    user.into_iter().chain(root).collect()
}

/// Instructions between the worktree's root and a file, root's own left out, outermost first. A file
/// outside the worktree has none.
pub fn nested(worktree: &Path, file: &Path) -> Vec<Instruction> {
    let Ok(below) = file.strip_prefix(worktree) else {
        return Vec::new();
    };
    let mut folder = worktree.to_owned();
    let mut found = Vec::new();
    for part in below.parent().into_iter().flat_map(Path::components) {
        if !matches!(part, std::path::Component::Normal(_)) {
            return found;
        }
        folder.push(part);
        found.extend(in_folder(&folder, Some(worktree), &|path| {
            relative(path, worktree)
        }));
    }
    found
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn in_folder(
    folder: &Path,
    within: Option<&Path>,
    label: &dyn Fn(&Path) -> String,
) -> Option<Instruction> {
    ["AGENTS.md", "CLAUDE.md"].iter().find_map(|name| {
        let path = folder.join(name);
        if let Some(root) = within
            && !stays_within(&path, root)
        {
            return None;
        }
        let text = read(&path, name)?;
        let tokens = text.chars().count().div_ceil(4) as u64;
        (!text.trim().is_empty()).then(|| Instruction {
            label: label(&path),
            path,
            text,
            tokens,
        })
    })
}

fn stays_within(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

fn read(path: &Path, name: &str) -> Option<String> {
    // a pipe or a device must not block the start
    let size = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?
        .len();
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(MAX_BYTES as u64 + 4)
        .read_to_end(&mut bytes)
        .ok()?;
    if bytes.len() <= MAX_BYTES {
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let newline = memchr::memrchr(b'\n', &bytes[..MAX_BYTES]);
    let mut end = newline.map_or(MAX_BYTES, |at| at + 1);
    while newline.is_none() && end > 0 && (bytes[end] & 0xC0) == 0x80 {
        end -= 1;
    }
    let text = String::from_utf8_lossy(&bytes[..end]);
    Some(format!(
        "{text}\n[{name} has {size} bytes; only the first {end} are shown. Read the file for the rest.]\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Paths, PathBuf) {
        let dir = tempfile::tempdir().expect("temp");
        let home = dir.path().join("home");
        let config_dir = home.join(".config/dunlin");
        let worktree = dir.path().join("work");
        std::fs::create_dir_all(&config_dir).expect("dir");
        std::fs::create_dir_all(worktree.join("src/deep")).expect("dir");
        let paths = Paths {
            config_dir,
            data_dir: dir.path().join("data"),
            home,
        };
        (dir, paths, worktree)
    }

    fn put(path: &Path, text: &str) {
        std::fs::write(path, text).expect("write");
    }

    #[test]
    fn agents_md_wins_over_claude_md_and_the_user_comes_first() {
        let (_dir, paths, worktree) = world();
        put(&paths.config_dir.join("AGENTS.md"), "mine");
        put(&worktree.join("CLAUDE.md"), "claude");
        let labels = |found: &[Instruction]| -> Vec<(String, String)> {
            found
                .iter()
                .map(|i| (i.label.clone(), i.text.clone()))
                .collect()
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            labels(&find(&paths, &worktree)),
            [
                pair("~/.config/dunlin/AGENTS.md", "mine"),
                pair("CLAUDE.md", "claude")
            ]
        );
        put(&worktree.join("AGENTS.md"), "agents");
        assert_eq!(
            labels(&find(&paths, &worktree))[1],
            pair("AGENTS.md", "agents")
        );
    }

    #[test]
    fn nested_ones_are_found_from_the_root_down() {
        let (_dir, _paths, worktree) = world();
        put(&worktree.join("AGENTS.md"), "root");
        put(&worktree.join("src/AGENTS.md"), "src");
        put(&worktree.join("src/deep/CLAUDE.md"), "deep");
        let found = nested(&worktree, &worktree.join("src/deep/file.rs"));
        let labels: Vec<_> = found.iter().map(|i| &*i.label).collect();
        assert_eq!(labels, ["src/AGENTS.md", "src/deep/CLAUDE.md"]);
        assert!(nested(&worktree, Path::new("/elsewhere/x")).is_empty());
        assert!(nested(&worktree, &worktree.join("../x/y")).is_empty());
    }

    #[test]
    fn a_large_file_is_cut_and_says_so() {
        let (_dir, paths, worktree) = world();
        for text in ["é".repeat(40_000), "line é\n".repeat(9_000)] {
            put(&worktree.join("AGENTS.md"), &text);
            let found = find(&paths, &worktree);
            let shown = &found[0].text;
            assert!(shown.len() < MAX_BYTES + 200);
            assert!(shown.contains(&format!("has {} bytes", text.len())));
            assert!(!shown.contains('\u{fffd}'), "cut inside a character");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_worktree_is_left_out() {
        let (dir, paths, worktree) = world();
        put(&dir.path().join("secret"), "key");
        std::os::unix::fs::symlink(dir.path().join("secret"), worktree.join("AGENTS.md"))
            .expect("link");
        assert!(find(&paths, &worktree).is_empty());
        put(&worktree.join("GUIDE.md"), "guide");
        std::os::unix::fs::symlink("GUIDE.md", worktree.join("CLAUDE.md")).expect("link");
        assert_eq!(find(&paths, &worktree)[0].text, "guide");
    }
}
