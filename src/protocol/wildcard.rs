//! What a rule's pattern covers, as a comparison of two texts.
//!
//! The permission judge decides by it; the question's pattern field uses it to tell the user while
//! a pattern is edited that it does not cover the call. No paths, no places: those are the judge's.

/// True if a command, words separated by one blank, is covered by a pattern.
pub fn matches_command(pattern: &str, command: &str) -> bool {
    // `git:*`, as other tools write it
    let rewritten = pattern.strip_suffix(":*").map(|head| format!("{head} *"));
    let pattern = rewritten.as_deref().unwrap_or(pattern);
    let bare = pattern.strip_suffix(" *").filter(|head| !head.is_empty());
    wild(pattern, command, false) || bare.is_some_and(|head| wild(head, command, false))
}

/// True if a pattern the user wrote can cover what a question shows: the command of a shell, else a
/// path as it is shown. Generous where the judge knows more (quotes, variables before a command).
pub fn may_cover(pattern: &str, tool: &str, subject: &str) -> bool {
    let words = subject.split_whitespace();
    if matches!(tool, "bash" | "shell") {
        let is_variable = |word: &&str| {
            let name = word.split_once('=').map(|(name, _)| name);
            name.is_some_and(|n| n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        };
        let command: Vec<&str> = words.skip_while(is_variable).collect();
        let command = command.join(" ");
        let bare = command.replace(['"', '\''], "");
        return [subject, &command, &bare]
            .iter()
            .any(|text| matches_command(pattern, text));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let name = subject.rsplit('/').next().unwrap_or(subject);
    let folder = pattern.trim_end_matches('*').trim_end_matches('/');
    glob(pattern, subject)
        || (!pattern.contains('/') && glob(pattern, name))
        || folder == subject
        || pattern
            .strip_prefix("**/")
            .is_some_and(|rest| glob(rest, subject))
}

/// `*`, `?` and `[…]`; `*` crosses `/`.
pub fn glob(pattern: &str, text: &str) -> bool {
    wild(pattern, text, true)
}

/// A pattern against a text, with `?` and `[…]` if `classes` says so. Linear in both, because only the last `*` is ever tried again.
pub fn wild(pattern: &str, text: &str, classes: bool) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') if classes => Some(1),
            Some('[') if classes => class(&pattern[p..], text[t]),
            Some('\\') if p + 1 < pattern.len() => (pattern[p + 1] == text[t]).then_some(2),
            Some(c) if *c == text[t] => Some(1),
            _ => None,
        };
        match (step, retry) {
            (Some(width), _) => {
                p += width;
                t += 1;
            }
            (None, Some((after, at))) => {
                p = after;
                t = at + 1;
                retry = Some((after, at + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Width of a `[…]` that matches; none if it does not match or is not closed.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let close = pattern.iter().skip(2).position(|p| *p == ']')? + 2;
    let inner = &pattern[1..close];
    let (negated, inner) = match inner.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, inner),
    };
    let mut at = 0;
    let mut found = false;
    while at < inner.len() {
        if at + 2 < inner.len() && inner[at + 1] == '-' {
            found |= (inner[at]..=inner[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= inner[at] == c;
            at += 1;
        }
    }
    (found != negated).then_some(close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_was_edited_covers_the_call_or_not() {
        for (pattern, tool, subject, covers) in [
            ("cargo add *", "bash", "cargo add insta --dev", true),
            ("cargo *", "bash", "cargo add insta --dev", true),
            ("npm *", "bash", "cargo add insta --dev", false),
            ("cargo add", "bash", "cargo add insta --dev", false),
            ("git commit *", "bash", "git commit -m \"a  b\"", true),
            ("git commit -m a b", "bash", "git commit -m 'a b'", true),
            ("cargo test *", "bash", "CI=1 cargo test", true),
            ("src/*", "edit", "src/main.rs", true),
            ("*.rs", "edit", "src/main.rs", true),
            ("docs/*", "edit", "src/main.rs", false),
            ("/etc/*", "read", "/etc/hosts", true),
        ] {
            assert_eq!(
                may_cover(pattern, tool, subject),
                covers,
                "{pattern} | {subject}"
            );
        }
    }
}
