//! Does a command line name a file? Evidence in a dispute: two commands ran, one file changed.
//!
//! A word names a file if it is its path or the end of it, its last name, a pattern that fits that, or a
//! folder above it. No shell is imitated: variables stand for anything, a script's inner names are not
//! known. Pure.

/// A command line that fills this many bytes may have been cut, so it may name anything.
const CUT: usize = 3_000;

/// True if the command line names the file at this path (relative to the worktree).
pub(super) fn names(command: &str, path: &[u8]) -> bool {
    if command.len() >= CUT {
        return true;
    }
    let mut moves = false;
    for word in command.split(is_between).filter(|word| !word.is_empty()) {
        let after_cd = std::mem::replace(&mut moves, matches!(word, "cd" | "pushd"));
        if word_names(word, path, after_cd) {
            return true;
        }
    }
    false
}

/// What stands between words, inside programs that are given on the line too.
fn is_between(c: char) -> bool {
    c.is_whitespace() || ";|&<>()'\"`=,:#@!".contains(c)
}

fn word_names(word: &str, path: &[u8], after_cd: bool) -> bool {
    let word = word.strip_prefix("./").unwrap_or(word);
    if word == "." {
        return !after_cd;
    }
    let trimmed = word.trim_end_matches('/').as_bytes();
    let (folder, last) = super::path::split(trimmed);
    let (_, name) = super::path::split(path);
    let Some(pattern) = pattern(last) else {
        return false;
    };
    let whole = pattern.len() == 1 && pattern[0] == Token::Any;
    if fits(&pattern, name) && !word.ends_with('/') {
        // the folder must not be another one, as far as it is spelled out
        let (above, _) = super::path::split(path);
        let known = !folder.is_empty() && !folder.iter().any(|b| b"$*?[{~".contains(b));
        return if known {
            is_tail(folder, above) || is_tail(above, folder)
        } else {
            !whole || last == b"*"
        };
    }
    !after_cd && is_above(trimmed, path)
}

/// True if one is the other or ends with it, by whole names. The root is the end of everything.
fn is_tail(long: &[u8], short: &[u8]) -> bool {
    short.is_empty()
        || long == short
        || long.ends_with(short) && long[..long.len() - short.len()].ends_with(b"/")
}

/// True if the word is a folder above the path: spelled from the root, or with the folders before it.
fn is_above(word: &[u8], path: &[u8]) -> bool {
    let mut above = super::path::split(path).0;
    while !above.is_empty() {
        if !word.is_empty() && (is_tail(word, above) || is_tail(above, word)) {
            return true;
        }
        above = super::path::split(above).0;
    }
    false
}

/// A piece of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Byte(u8),
    One,
    Any,
}

/// A name with its wildcards and variables; none if nothing but a variable is left.
fn pattern(name: &[u8]) -> Option<Vec<Token>> {
    let mut out = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        at += 1;
        let token = match byte {
            b'*' => Token::Any,
            b'?' => Token::One,
            b'[' | b'{' => {
                let close = if byte == b'[' { b']' } else { b'}' };
                match name[at..].iter().position(|b| *b == close) {
                    Some(end) => {
                        at += end + 1;
                        Token::Any
                    }
                    None => Token::Byte(byte),
                }
            }
            b'$' => {
                let rest = &name[at..];
                let end = match rest.first() {
                    Some(b'{') => rest
                        .iter()
                        .position(|b| *b == b'}')
                        .map_or(0, |end| end + 1),
                    _ => {
                        let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
                        rest.iter().position(|b| !word(b)).unwrap_or(rest.len())
                    }
                };
                at += end;
                Token::Any
            }
            byte => Token::Byte(byte),
        };
        if token != Token::Any || out.last() != Some(&Token::Any) {
            out.push(token);
        }
    }
    let spelled = out.iter().any(|token| matches!(token, Token::Byte(_)));
    (spelled || name.contains(&b'*')).then_some(out)
}

/// True if the name fits the pattern.
fn fits(pattern: &[Token], name: &[u8]) -> bool {
    // where the last `Any` stands, and how much of the name it takes
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(Token::Any) => {
                star = Some((p, n));
                p += 1;
            }
            Some(Token::One) => (p, n) = (p + 1, n + 1),
            Some(Token::Byte(byte)) if *byte == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|token| *token == Token::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_the_file_or_fits_it_names_it() {
        let path = b"src/deep/s3-1.txt";
        for line in [
            "echo x >> src/deep/s3-1.txt",
            "cat x>./src/deep/s3-1.txt",
            "cd src/deep && echo >s3-1.txt",
            "cp a /home/me/work/src/deep/s3-1.txt",
            "python3 -c \"open('s3-1.txt','a').write('x')\"",
            "for i in 1 2; do echo > s3-$i.txt; done",
            "for i in 1 2; do echo > src/deep/s3-${i}.txt; done",
            "rm src/deep/*.txt",
            "rm s?-[0-9].txt",
            "prettier --write src",
            "prettier --write src/",
            "rm -rf src/deep",
            "git checkout -- .",
            "sed -i s/a/b/ */*/*",
        ] {
            assert!(names(line, path), "{line}");
        }
    }

    #[test]
    fn other_files_and_bare_variables_name_nothing() {
        let path = b"src/deep/s3-1.txt";
        for line in [
            "cargo fmt",
            "echo x > src/deep/s4-1.txt",
            "echo x > ss3-1.txt",
            "echo x > other/s3-1.txt",
            "cd src/deep && make",
            "for f in $(ls); do touch \"$f\"; done",
            "echo deeper > x",
            "",
        ] {
            assert!(!names(line, path), "{line}");
        }
        assert!(names(&"x ".repeat(2_000), path), "it may have been cut");
    }

    #[test]
    fn patterns_fit_as_a_shell_has_them() {
        let fit = |pat: &str, name: &str| {
            pattern(pat.as_bytes()).is_some_and(|pat| fits(&pat, name.as_bytes()))
        };
        assert!(fit("a*c", "abbc") && fit("*.rs", "x.rs") && fit("a?c", "abc") && fit("*", "x"));
        assert!(fit("a*b*c", "a-b-b-c") && !fit("a*b*c", "a-c-b"));
        assert!(!fit("a?c", "ac") && !fit("*.rs", "x.rst") && !fit("$x", "anything"));
    }
}
