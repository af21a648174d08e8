//! Patterns of rules: what they match, and which one to offer for a command.
//!
//! In patterns of commands `*` stands for anything and `\*` for a star; ` *` at the end also matches
//! nothing, so `git status *` covers `git status`. In patterns of paths `*` crosses folders, `?` is
//! one character, `[ab]` one of these; a pattern without `/` is matched against the file name too.

use std::path::Path;

pub use crate::protocol::wildcard::{glob, matches_command};

use super::place::Place;
use super::shell::Word;

/// True if a path is covered by a pattern: absolute, below `~`, or relative to the worktree.
pub fn matches_path(pattern: &str, path: &Path, place: &Place) -> bool {
    let text = path.to_string_lossy();
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if let Some(rest) = pattern.strip_prefix("~/") {
        return place
            .home
            .join(rest)
            .to_str()
            .is_some_and(|p| glob(p, &text));
    }
    if pattern.starts_with('/') {
        return glob(pattern, &text);
    }
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy())
        .unwrap_or_default();
    if !pattern.contains('/') && glob(pattern, &name) {
        return true;
    }
    let Ok(below) = path.strip_prefix(&place.worktree) else {
        return is_general(pattern);
    };
    let below = below.to_string_lossy();
    // `src/**` and `src/*` cover the folder itself as well
    let folder = pattern.trim_end_matches('*').strip_suffix('/');
    glob(pattern, &below) || folder.is_some_and(|f| f == below) || rooted(pattern, &below)
}

/// `**/x` also covers `x` at the root.
fn rooted(pattern: &str, below: &str) -> bool {
    pattern
        .strip_prefix("**/")
        .is_some_and(|rest| glob(rest, below))
}

/// True for patterns that cover everything: they reach neither outside nor to secrets.
pub fn is_general(pattern: &str) -> bool {
    pattern.chars().all(|c| matches!(c, '*' | '/' | '.'))
}

/// True if the pattern is one command and no other.
pub fn is_exact(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '*' => return false,
            _ => {}
        }
    }
    true
}

/// A text as a pattern that matches only it.
pub fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}

/// How many words of a command say what it does: `git commit`, `npm run test`. Longest first.
const ARITY: &[(&str, usize)] = &[
    ("docker compose", 3),
    ("docker container", 3),
    ("docker image", 3),
    ("docker volume", 3),
    ("docker network", 3),
    ("git remote", 3),
    ("git stash", 3),
    ("git worktree", 3),
    ("git submodule", 3),
    ("git config", 3),
    ("git bisect", 3),
    ("git lfs", 3),
    ("npm run", 3),
    ("npm exec", 3),
    ("npm config", 3),
    ("pnpm run", 3),
    ("pnpm exec", 3),
    ("pnpm dlx", 3),
    ("yarn run", 3),
    ("yarn dlx", 3),
    ("bun run", 3),
    ("bun x", 3),
    ("deno task", 3),
    ("go mod", 3),
    ("go tool", 3),
    ("uv run", 3),
    ("uv pip", 3),
    ("uv tool", 3),
    ("poetry run", 3),
    ("pipx run", 3),
    ("bundle exec", 3),
    ("python -m", 3),
    ("python3 -m", 3),
    ("cargo xtask", 3),
    ("cargo nextest", 3),
    ("kubectl config", 3),
    ("terraform state", 3),
    ("dotnet tool", 3),
    ("rails db", 2),
    ("gh", 3),
    ("aws", 3),
    ("gcloud", 3),
    ("az", 3),
    ("git", 2),
    ("cargo", 2),
    ("npm", 2),
    ("pnpm", 2),
    ("yarn", 2),
    ("bun", 2),
    ("deno", 2),
    ("npx", 2),
    ("pnpx", 2),
    ("bunx", 2),
    ("uvx", 2),
    ("docker", 2),
    ("podman", 2),
    ("kubectl", 2),
    ("helm", 2),
    ("go", 2),
    ("pip", 2),
    ("pip3", 2),
    ("uv", 2),
    ("poetry", 2),
    ("pipenv", 2),
    ("conda", 2),
    ("rustup", 2),
    ("make", 2),
    ("gmake", 2),
    ("just", 2),
    ("task", 2),
    ("terraform", 2),
    ("composer", 2),
    ("bundle", 2),
    ("gem", 2),
    ("rails", 2),
    ("rake", 2),
    ("mix", 2),
    ("dotnet", 2),
    ("mvn", 2),
    ("gradle", 2),
    ("./gradlew", 2),
    ("./mvnw", 2),
    ("systemctl", 2),
    ("brew", 2),
    ("apt", 2),
    ("apt-get", 2),
    ("bazel", 2),
    ("zig", 2),
    ("swift", 2),
    ("nx", 2),
    ("turbo", 2),
    ("vite", 2),
    ("next", 2),
    ("ng", 2),
    ("flutter", 2),
    ("dart", 2),
    ("python", 2),
    ("python3", 2),
    ("node", 2),
    ("ruby", 2),
    ("perl", 2),
    ("php", 2),
    ("bash", 2),
    ("sh", 2),
    ("zsh", 2),
    ("tsx", 2),
    ("ts-node", 2),
];

/// Programs of which only the exact command is offered: anything wider is everything.
const ONLY_EXACT: &str = "rm rmdir mv cp ln dd chmod chown chgrp curl wget ssh scp sftp rsync nc ncat socat kill \
    pkill killall xargs find tee sed awk perl env tar unzip install truncate shred crontab at";

/// The rule to offer for one simple command: `cargo add *`, or the exact command. None if the words
/// are not known.
pub fn suggest(words: &[Word]) -> Option<String> {
    let texts = known(words)?;
    let name = texts.first()?;
    let exact = || Some(escape(&texts.join(" ")));
    let base = name.rsplit('/').next().unwrap_or(name);
    if ONLY_EXACT.split_whitespace().any(|n| n == base) {
        return exact();
    }
    let two = texts.iter().take(2).cloned().collect::<Vec<_>>().join(" ");
    let arity = ARITY
        .iter()
        .find(|(head, _)| *head == two || head == name)
        .map_or(1, |(_, arity)| *arity);
    let head: Vec<&String> = texts.iter().take(arity).collect();
    // `+nightly` belongs to cargo, a flag to nobody knows what
    let clear = head.len() == arity
        && head
            .iter()
            .skip(1)
            .all(|w| !w.starts_with('-') || *w == "-m")
        && head.iter().all(|w| !w.contains([' ', '\n', '\t']));
    if !clear || head.iter().any(|w| w.starts_with('+')) {
        return exact();
    }
    let head: Vec<String> = head.into_iter().map(|w| escape(w)).collect();
    Some(format!("{} *", head.join(" ")))
}

/// The rule that covers one simple command and no other. None if its words are not known.
pub fn exactly(words: &[Word]) -> Option<String> {
    Some(escape(&known(words)?.join(" ")))
}

/// The words as rules see them; none if one is not known.
fn known(words: &[Word]) -> Option<Vec<String>> {
    let all = words.iter().all(|w| w.pattern().is_some());
    all.then(|| words.iter().map(Word::as_rule).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::wildcard::wild;
    use proptest::prelude::*;
    use std::path::PathBuf;

    #[test]
    fn command_patterns_match_whole_commands() {
        for (pattern, command, expected) in [
            ("*", "anything at all", true),
            ("git status *", "git status", true),
            ("git status *", "git status -s", true),
            ("git status *", "git statusx", false),
            ("git:*", "git push", true),
            ("rm \\*.o", "rm *.o", true),
            ("rm \\*.o", "rm -rf / x.o", false),
            ("cargo * --release", "cargo build --release", true),
            ("ls", "ls -l", false),
            ("a*b*c", "axxbyybzc", true),
            ("a*b*c", "axxbyybz", false),
            ("x ?", "x y", false),
        ] {
            assert_eq!(
                matches_command(pattern, command),
                expected,
                "{pattern} | {command}"
            );
        }
    }

    #[test]
    fn path_patterns_are_relative_to_the_worktree() {
        let place = Place {
            worktree: PathBuf::from("/h/w"),
            home: PathBuf::from("/h"),
            ..Place::default()
        };
        for (pattern, path, expected) in [
            ("src/*", "/h/w/src/a/b.rs", true),
            ("src/**", "/h/w/src", true),
            ("*.env", "/h/w/a/prod.env", true),
            (".env", "/h/w/a/.env", true),
            ("**/x.rs", "/h/w/x.rs", true),
            ("src/*", "/h/other/src/a", false),
            ("~/notes/*", "/h/notes/a.md", true),
            ("/etc/*", "/etc/hosts", true),
            ("*", "/etc/hosts", true),
            ("[ab].t?t", "/h/w/b.txt", true),
            ("[!ab].txt", "/h/w/b.txt", false),
        ] {
            assert_eq!(
                matches_path(pattern, Path::new(path), &place),
                expected,
                "{pattern} | {path}"
            );
        }
    }

    fn unquoted(text: &str) -> Word {
        let mut word = Word::default();
        crate::permission::shell::word::push_unquoted(&mut word, text);
        word
    }

    #[test]
    fn the_offered_rule_says_what_a_command_does() {
        for (command, expected) in [
            ("cargo add insta --dev", "cargo add *"),
            ("git commit -m x", "git commit *"),
            ("npm run test -- -x", "npm run test *"),
            ("npm test", "npm test *"),
            ("git stash pop", "git stash pop *"),
            ("pytest -x tests", "pytest *"),
            ("python -m pytest", "python -m pytest *"),
            ("python tool.py a", "python tool.py *"),
            ("python --version", "python --version"),
            ("git -C x commit", "git -C x commit"),
            ("cargo +nightly test", "cargo +nightly test"),
            ("curl https://x", "curl https://x"),
            ("rm *.o", "rm \\*.o"),
            ("docker compose up -d", "docker compose up *"),
            ("./scripts/x.sh 1", "./scripts/x.sh *"),
        ] {
            let words: Vec<Word> = command.split(' ').map(unquoted).collect();
            assert_eq!(suggest(&words).as_deref(), Some(expected), "{command}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn an_escaped_text_matches_itself_and_nothing_else(a in "[a-z*\\\\? ]{0,12}", b in "[a-z*\\\\? ]{0,12}") {
            prop_assert!(is_exact(&escape(&a)));
            prop_assert_eq!(wild(&escape(&a), &b, false), a == b);
        }

        #[test]
        fn no_pattern_makes_it_panic(p in "[a\\[\\]!*?\\\\-]{0,12}", t in "[a\\]*b]{0,12}") {
            glob(&p, &t);
            matches_command(&p, &t);
        }
    }
}
