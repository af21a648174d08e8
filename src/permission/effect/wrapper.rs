//! Commands that run other commands: what they run is taken out and judged on its own.

use super::args::Args;
use super::{Command, Effects, name_of, target};
use crate::permission::place::Place;
use crate::permission::shell::{Cwd, Piece, Simple, Stdin, Word};

/// A wrapper taken apart.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    /// What the wrapper itself does; none if nothing.
    pub own: Option<Effects>,
    /// Commands it runs.
    pub inner: Vec<Simple>,
    /// Shell code it runs, and where.
    pub code: Vec<(String, Cwd)>,
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "mksh"];
const ROOT: &[&str] = &["sudo", "doas", "pkexec", "run0", "gosu", "su-exec"];

/// Programs that run the command after their own flags and change nothing about it that matters:
/// (name, flags with a value, operands of their own before the command).
const PLAIN: &[(&str, &str, usize)] = &[
    ("timeout", "s k --signal --kill-after", 1),
    ("gtimeout", "s k --signal --kill-after", 1),
    ("nice", "n --adjustment", 0),
    ("ionice", "c n --class --classdata", 0),
    ("nohup", "", 0),
    ("time", "f --format", 0),
    ("stdbuf", "i o e --input --output --error", 0),
    ("setsid", "", 0),
    ("builtin", "", 0),
    ("exec", "a", 0),
    ("chronic", "", 0),
    ("unbuffer", "", 0),
    ("coproc", "", 0),
    ("caffeinate", "", 0),
    ("busybox", "", 0),
    ("command", "", 0),
    ("xvfb-run", "", 0),
];

/// Takes a wrapper apart; none if the command is no wrapper.
pub(super) fn unwrap(simple: &Simple, place: &Place) -> Option<Unwrapped> {
    let name = name_of(simple);
    let words = simple.expanded.get(1..).unwrap_or_default();
    match name.as_str() {
        n if SHELLS.contains(&n) => Some(shell(simple, words, place)),
        n if ROOT.contains(&n) => Some(root(simple, words)),
        "env" => env(simple, words),
        "eval" => Some(code(simple, words)),
        "watch" => {
            let at = command_at(words, "n --interval", 0)?;
            Some(code(simple, words.get(at..)?))
        }
        "trap" => {
            let first = words.first()?;
            Some(code(simple, std::slice::from_ref(first)))
        }
        "xargs" => Some(xargs(simple, words)),
        "find" => find(simple, words, place),
        "command"
            if words
                .first()
                .is_some_and(|w| matches!(w.prefix(), "-v" | "-V")) =>
        {
            Some(Unwrapped {
                own: Some(Effects {
                    read_only: true,
                    ..Effects::default()
                }),
                ..Unwrapped::default()
            })
        }
        n => {
            let (_, values, own) = PLAIN.iter().find(|(p, ..)| *p == n)?;
            if words.is_empty() {
                // `exec >log` is only its redirection
                return (n == "exec").then(Unwrapped::default);
            }
            let Some(at) = command_at(words, values, *own) else {
                return Some(unclear("its flags hide the command it runs"));
            };
            Some(Unwrapped {
                inner: vec![inner(simple, words.get(at..)?.to_vec())],
                ..Unwrapped::default()
            })
        }
    }
}

/// Programs that run a command of their words in some way of their own: not taken apart, but a
/// denying rule sees what they run.
const OTHERS: &str = "strace ltrace gdb valgrind perf unshare chroot nsenter flock taskset systemd-run firejail \
    bwrap proot fakeroot faketime runuser su docker podman kubectl npx bunx uvx uv poetry pipenv pipx conda bundle \
    nix nix-shell direnv mise asdf parallel ssh screen tmux script entr watchexec hyperfine fish";

/// What an unusual wrapper may run, as rules would see it: every tail of its words.
pub(super) fn hidden_forms(simple: &Simple) -> Vec<String> {
    let name = name_of(simple);
    if !OTHERS.split_whitespace().any(|n| n == name) {
        return Vec::new();
    }
    let words: Vec<String> = simple.expanded.iter().map(Word::shown).collect();
    (1..words.len().min(24))
        .map(|at| words[at..].join(" "))
        .collect()
}

/// Where the wrapped command begins: after the flags and `own` operands. None if that is not sure.
fn command_at(words: &[Word], values: &str, own: usize) -> Option<usize> {
    let mut at = 0;
    let mut left = own;
    while let Some(word) = words.get(at) {
        let text = word.text()?;
        if text == "--" {
            return (words.len() > at + 1 + left).then_some(at + 1 + left);
        }
        if text.starts_with('-') && text.len() > 1 {
            let takes = values.split(' ').any(|v| {
                v == text || (v.len() == 1 && text.strip_prefix('-').is_some_and(|t| t == v))
            });
            at += 1 + usize::from(takes);
        } else if left > 0 {
            left -= 1;
            at += 1;
        } else {
            return Some(at);
        }
    }
    None
}

fn inner(simple: &Simple, words: Vec<Word>) -> Simple {
    let texts: Vec<&str> = words.iter().map(|w| w.raw.as_str()).collect();
    Simple {
        text: texts.join(" "),
        expanded: words.clone(),
        words,
        assignments: Vec::new(),
        redirects: Vec::new(),
        stdin: simple.stdin.clone(),
        cwd: simple.cwd.clone(),
    }
}

fn unclear(why: &str) -> Unwrapped {
    Unwrapped {
        own: Some(Effects {
            unclear: Some(why.to_owned()),
            never_wide: true,
            ..Effects::default()
        }),
        ..Unwrapped::default()
    }
}

/// Words that the shell joins and runs as code.
fn code(simple: &Simple, words: &[Word]) -> Unwrapped {
    let texts: Option<Vec<String>> = words.iter().map(Word::pattern).collect();
    match texts {
        Some(texts) => Unwrapped {
            code: vec![(texts.join(" "), simple.cwd.clone())],
            ..Unwrapped::default()
        },
        None => unclear("the code it runs is only known to the shell"),
    }
}

/// `bash -c CODE`, `bash FILE`, `… | bash`.
fn shell(simple: &Simple, words: &[Word], place: &Place) -> Unwrapped {
    let args = Args::new(words, "o O --rcfile --init-file");
    let plain = args.flags.iter().all(|(f, _)| {
        matches!(
            f.as_str(),
            "-c" | "-e"
                | "-u"
                | "-x"
                | "-l"
                | "-o"
                | "-s"
                | "-v"
                | "--login"
                | "--norc"
                | "--noprofile"
                | "--posix"
        )
    });
    if !plain || args.unsure {
        return unclear("its flags change what it runs");
    }
    if args.has("-c") {
        return match args.operands.first().and_then(|w| w.text()) {
            Some(text) => Unwrapped {
                code: vec![(text, simple.cwd.clone())],
                ..Unwrapped::default()
            },
            None => unclear("the code it runs is only known to the shell"),
        };
    }
    if let (Some(script), false) = (args.operands.first(), args.has("-s")) {
        let mut effects = Effects {
            notes: vec![format!("runs the script {}", script.raw)],
            ..Effects::default()
        };
        effects.reads.push(target(script, &simple.cwd, place));
        return Unwrapped {
            own: Some(effects),
            ..Unwrapped::default()
        };
    }
    match &simple.stdin {
        Stdin::Text(Some(text)) => Unwrapped {
            code: vec![(text.clone(), simple.cwd.clone())],
            ..Unwrapped::default()
        },
        Stdin::Nothing => Unwrapped {
            own: Some(Effects::default()),
            ..Unwrapped::default()
        },
        Stdin::Pipe | Stdin::File | Stdin::Text(None) => Unwrapped {
            own: Some(Effects {
                pipes_into_shell: true,
                dangers: vec!["runs code that nobody has read".to_owned()],
                never_wide: true,
                ..Effects::default()
            }),
            ..Unwrapped::default()
        },
    }
}

fn root(simple: &Simple, words: &[Word]) -> Unwrapped {
    let own = Effects {
        root: true,
        dangers: vec!["runs as root".to_owned()],
        never_wide: true,
        ..Effects::default()
    };
    let at = command_at(
        words,
        "u g h p C D R T U r t --user --group --host --chdir --chroot",
        0,
    );
    let words = at.and_then(|at| words.get(at..)).unwrap_or_default();
    // assignments may stand before the command
    let skip = words.iter().take_while(|w| is_assignment(w)).count();
    let command = words.get(skip..).unwrap_or_default();
    Unwrapped {
        own: Some(own),
        inner: (!command.is_empty())
            .then(|| inner(simple, command.to_vec()))
            .into_iter()
            .collect(),
        code: Vec::new(),
    }
}

fn is_assignment(word: &Word) -> bool {
    word.prefix().split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// `env A=b cmd`; none without a command, then it lists variables.
fn env(simple: &Simple, words: &[Word]) -> Option<Unwrapped> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.text() else {
            return Some(unclear("its words are only known to the shell"));
        };
        match text.as_str() {
            "-i" | "-" | "--ignore-environment" | "-0" | "--null" => at += 1,
            "-u" | "--unset" => at += 2,
            "--" => {
                at += 1;
                break;
            }
            _ if text.starts_with('-') => {
                return Some(unclear("its flags hide the command it runs"));
            }
            _ if is_assignment(word) => break,
            _ => break,
        }
    }
    let rest = words.get(at..)?;
    let count = rest.iter().take_while(|w| is_assignment(w)).count();
    let (assignments, command) = rest.split_at(count);
    if command.is_empty() {
        return None;
    }
    let mut simple_inner = inner(simple, command.to_vec());
    simple_inner.assignments = assignments
        .iter()
        .filter_map(|w| {
            let text = w.shown();
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), Word::literal(value)))
        })
        .collect();
    Some(Unwrapped {
        inner: vec![simple_inner],
        ..Unwrapped::default()
    })
}

/// `xargs cmd`: the command with words that nobody knows yet.
fn xargs(simple: &Simple, words: &[Word]) -> Unwrapped {
    let values = "I L n P s d E a --max-args --max-procs --max-lines --replace --delimiter --arg-file --max-chars --process-slot-var";
    let Some(at) = command_at(words, values, 0) else {
        // `xargs` alone echoes
        let only_flags = words.iter().all(|w| w.text().is_some());
        return if only_flags {
            Unwrapped {
                own: Some(Effects {
                    read_only: true,
                    ..Effects::default()
                }),
                ..Unwrapped::default()
            }
        } else {
            unclear("its flags hide the command it runs")
        };
    };
    let mut command = words.get(at..).unwrap_or_default().to_vec();
    command.push(Word {
        pieces: vec![Piece::Unknown],
        raw: "…".to_owned(),
        tilde: false,
    });
    let mut inner = inner(simple, command);
    // what xargs reads is not what its command reads
    inner.stdin = Stdin::Nothing;
    Unwrapped {
        inner: vec![inner],
        ..Unwrapped::default()
    }
}

/// `find … -exec cmd {} ;`; none without an action that runs something.
fn find(simple: &Simple, words: &[Word], place: &Place) -> Option<Unwrapped> {
    let runs = |w: &&Word| matches!(w.prefix(), "-exec" | "-execdir" | "-ok" | "-okdir");
    if !words.iter().any(|w| runs(&w)) {
        return None;
    }
    let starts: Vec<Word> = words
        .iter()
        .take_while(|w| !w.is_flag() && !matches!(w.prefix(), "(" | "!"))
        .cloned()
        .collect();
    let starts = if starts.is_empty() {
        vec![Word::literal(".")]
    } else {
        starts
    };
    let mut rest = Vec::new();
    let mut commands = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if !runs(&word) {
            rest.push(word.clone());
            continue;
        }
        let body: Vec<Word> = words
            .iter()
            .skip(at)
            .take_while(|w| !matches!(w.text().as_deref(), Some(";" | "+")))
            .cloned()
            .collect();
        at += body.len() + 1;
        let mut command = Vec::new();
        for word in body {
            if word.raw.contains("{}") {
                command.extend(starts.iter().map(|s| found_below(s, &word)));
            } else {
                command.push(word);
            }
        }
        let mut inner = inner(simple, command);
        inner.stdin = Stdin::Nothing;
        if word.prefix().ends_with("dir") {
            inner.cwd = inner.cwd.changed(None);
        }
        commands.push(inner);
    }
    let mut own = Effects::default();
    let command = Command {
        name: "find",
        words: &rest,
        cwd: &simple.cwd,
        stdin: &simple.stdin,
        place,
    };
    super::reading::describe(&command, &mut own);
    super::writing::describe(&command, &mut own);
    super::danger::describe(&command, &mut own);
    Some(Unwrapped {
        own: Some(own),
        inner: commands,
        code: Vec::new(),
    })
}

/// `{}` stands for something below the starting point; alone it can be no flag, because it begins
/// with the starting point.
fn found_below(start: &Word, word: &Word) -> Word {
    let mut out = Word {
        raw: word.raw.clone(),
        pieces: Vec::new(),
        tilde: start.tilde,
    };
    if word.raw.trim_matches(['"', '\'']) == "{}" {
        out.pieces.clone_from(&start.pieces);
        out.push_text("/{}");
    } else {
        out.pieces.push(Piece::Unknown);
    }
    out
}
