//! Little languages on the command line: sed scripts, awk programs, assignments. Only what is surely
//! harmless passes.

use crate::permission::shell::Word;

/// True if a sed script only prints, deletes, substitutes in the stream: no `w`, `r`, `e`.
pub(super) fn is_plain_sed(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', '\t', ';', '\n', '{', '}']);
    while !rest.is_empty() {
        rest = match sed_command(rest) {
            Some(after) => after.trim_start_matches([' ', '\t', ';', '\n', '{', '}']),
            None => return false,
        };
    }
    true
}

/// Reads one command with its address; what follows it, or none if it is not plain.
fn sed_command(text: &str) -> Option<&str> {
    let mut rest = text;
    for _ in 0..2 {
        rest = sed_address(rest)?;
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start_matches(['+', '~', ' ']),
            None => break,
        }
    }
    let rest = rest.trim_start_matches([' ', '!']);
    let command = rest.chars().next()?;
    let after = rest.strip_prefix(command)?;
    match command {
        'p' | 'd' | 'q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | 'l' | 'Q' => {
            Some(after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        '{' | '}' => Some(after),
        's' | 'y' => {
            let delimiter = after
                .chars()
                .next()
                .filter(|c| !c.is_alphanumeric() && *c != '\\')?;
            let after = after.strip_prefix(delimiter)?;
            let after = past(past(after, delimiter)?, delimiter)?;
            let flags = after.trim_start_matches(['g', 'p', 'i', 'I', 'm', 'M']);
            let flags = flags.trim_start_matches(|c: char| c.is_ascii_digit());
            let flags = flags.trim_start_matches(['g', 'p', 'i', 'I']);
            flags
                .is_empty()
                .then_some(flags)
                .or_else(|| flags.starts_with([';', '\n', ' ', '}']).then_some(flags))
        }
        _ => None,
    }
}

fn sed_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('/') {
        return past(rest, '/').map(|r| r.trim_start_matches('I'));
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | '~'));
    Some(rest)
}

/// What follows the next unescaped delimiter.
fn past(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == delimiter {
            return text.get(at + c.len_utf8()..);
        }
    }
    None
}

/// True if an awk program only prints what it reads: no commands, no files, no environment.
pub(super) fn is_plain_awk(program: &str) -> bool {
    ![
        "system", "getline", "ENVIRON", "fflush", "close", "|", ">", "@", "ARGV", "SYMTAB",
        "FUNCTAB", "\\\n",
    ]
    .iter()
    .any(|word| program.contains(word))
}

/// True if a jq program shows neither the environment nor other files.
pub(super) fn is_plain_jq(program: &str) -> bool {
    const SHOWING: &[&str] = &[
        "env",
        "import",
        "include",
        "modulemeta",
        "input_filename",
        "get_search_list",
    ];
    if program.contains("$ENV") || program.contains("$__prog") {
        return false;
    }
    let mut before = ' ';
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let after = rest.strip_prefix(c).unwrap_or_default();
        if c.is_ascii_alphabetic() || c == '_' {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            // `.env` is a field, `$env` a variable
            if !matches!(before, '.' | '$') && SHOWING.contains(&word) {
                return false;
            }
            before = 'x';
            rest = after;
        } else {
            before = c;
            rest = after;
        }
    }
    true
}

/// Variables that change only how a program looks, not what it does.
const HARMLESS: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "TERM",
    "COLUMNS",
    "LINES",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CI",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "NODE_ENV",
    "DEBUG",
];

/// Beginnings of names that change what programs do, also without `export`, because they may be
/// exported already.
const POWERFUL: &[&str] = &[
    "PATH",
    "HOME",
    "IFS",
    "LD_",
    "DYLD_",
    "BASH",
    "ENV",
    "SHELL",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "GIT_",
    "PAGER",
    "LESS",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "PYTHON",
    "NODE",
    "RUBY",
    "PERL",
    "RUST",
    "CARGO",
    "CC",
    "CXX",
    "TMPDIR",
    "XDG_",
    "SSH",
    "GPG",
    "JAVA",
    "NPM",
    "RIPGREP",
    "GREP",
    "FZF",
    "BAT",
    "JQ",
    "TAR",
    "ZDOTDIR",
    "MAKEFLAGS",
    "UNZIP",
    "EXECIGNORE",
    "PWD",
    "OLDPWD",
    "GCC",
    "GCONV",
    "TZDIR",
    "MAGIC",
    "XZ",
    "GZIP",
    "ZSTD",
    "BZIP",
    "EXA",
    "EZA",
    "LOCAL",
    "RES_",
    "FIGNORE",
    "MAIL",
    "_JAVA",
    "JDK_",
    "DIRSTACK",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "EPOCH",
    "DUNLIN",
    "GLIBC",
    "MALLOC",
    "TERMINFO",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RESOLV",
    "OPENSSL",
    "FPATH",
    "HIST",
    "INPUTRC",
    "TIMEFORMAT",
    "OPT",
    "AWK",
    "POSIX",
    "COMP_",
    "FUNC",
];

/// True for the name of a variable, without a subscript.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// True if exporting this variable changes only how programs look.
pub(super) fn is_harmless_name(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// True for a variable that changes what programs or the shell do: setting it is more than keeping a
/// value. Names in small letters are the script's own.
pub(super) fn is_powerful(name: &str) -> bool {
    let small = name.contains(|c: char| c.is_ascii_lowercase());
    if small {
        return name == "histchars"
            || name.to_lowercase().ends_with("_proxy")
            || name.starts_with("npm_");
    }
    name == "_" || POWERFUL.iter().any(|p| name.starts_with(p))
}

/// True if setting this variable changes nothing that matters here.
pub(super) fn is_harmless_assignment(name: &str, value: &Word, exported: bool) -> bool {
    if HARMLESS.contains(&name) || name.starts_with("LC_") {
        return true;
    }
    if matches!(name, "PAGER" | "GIT_PAGER" | "MANPAGER") {
        return value.text().is_some_and(|v| v == "cat" || v.is_empty());
    }
    !exported && is_plain_name(name) && !is_powerful(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts_that_write_or_run_are_not_plain() {
        for script in [
            "1,20p",
            "$d",
            "s/a/b/g",
            "s|a\\|b|c|",
            "/x/d",
            "/a/,/b/p",
            "1~2p",
            "s/a/b/;s/c/d/2",
            "10q",
            "/x/!d",
            "s/w/e/",
            "/foo/{p;q}",
            "y/abc/xyz/",
            "$!N;P;D",
            "",
        ] {
            assert!(is_plain_sed(script), "{script}");
        }
        for script in [
            "w out",
            "s/a/b/w out",
            "s/a/id/e",
            "e id",
            "1e rm x",
            "r /etc/passwd",
            "s/a/b/ge",
            "$w x",
            "/x/w y",
            "p;w z",
            "s/a/b",
            "1!e ls",
            "p\nw f",
            "{w x\n}",
            "a\\\ntext",
            "W f",
            "F",
            "s/a/b/we",
        ] {
            assert!(!is_plain_sed(script), "{script}");
        }
    }

    #[test]
    fn assignments_that_change_programs_are_seen() {
        let word = Word::literal("cat");
        assert!(is_harmless_assignment("GIT_PAGER", &word, true));
        assert!(is_harmless_assignment("LC_ALL", &word, true));
        assert!(is_harmless_assignment("FILES", &word, false));
        for name in [
            "PATH",
            "LD_PRELOAD",
            "BASH_ENV",
            "GIT_SSH_COMMAND",
            "RIPGREP_CONFIG_PATH",
            "a[0]",
        ] {
            assert!(!is_harmless_assignment(name, &word, false), "{name}");
        }
        assert!(!is_harmless_assignment("FOO", &word, true));
    }
}
