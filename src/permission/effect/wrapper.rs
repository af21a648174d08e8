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

/// A wrapper that changes nothing about its command that matters.
struct Plain {
    name: &'static str,
    /// Flags without a value, separated by blanks; any other flag and nobody knows.
    flags: &'static str,
    /// Flags with a value.
    values: &'static str,
    /// Operands of its own before the command.
    own: usize,
}

const fn plain(name: &'static str, flags: &'static str, values: &'static str, own: usize) -> Plain {
    Plain {
        name,
        flags,
        values,
        own,
    }
}

/// Programs that run the command after their own flags.
const PLAIN: &[Plain] = &[
    plain(
        "timeout",
        "-v --foreground --preserve-status --verbose",
        "-s -k --signal --kill-after",
        1,
    ),
    plain(
        "gtimeout",
        "-v --foreground --preserve-status --verbose",
        "-s -k --signal --kill-after",
        1,
    ),
    plain("nice", "", "-n --adjustment", 0),
    plain("ionice", "-t", "-c -n --class --classdata", 0),
    plain("nohup", "", "", 0),
    plain("time", "-p -v --verbose --portability", "-f --format", 0),
    plain("stdbuf", "", "-i -o -e --input --output --error", 0),
    plain("setsid", "-w --wait", "", 0),
    plain("builtin", "", "", 0),
    plain("exec", "-c -l", "-a", 0),
    plain("chronic", "", "", 0),
    plain("unbuffer", "", "", 0),
    plain("coproc", "", "", 0),
    plain("caffeinate", "-i -d -s -m", "", 0),
    plain("command", "-p", "", 0),
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
            let flags = "-d -e -g -t -b -c -p -x --differences --errexit --no-title --color --precise --exec";
            let Some(at) = command_at(words, flags, "-n --interval", 0) else {
                return Some(unclear("its flags hide the command it runs"));
            };
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
            let wrapper = PLAIN.iter().find(|p| p.name == n)?;
            if words.is_empty() {
                // `exec >log` is only its redirection
                return (n == "exec").then(Unwrapped::default);
            }
            let Some(at) = command_at(words, wrapper.flags, wrapper.values, wrapper.own) else {
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
    busybox xvfb-run nix nix-shell direnv mise asdf parallel ssh screen tmux script entr watchexec hyperfine fish";

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

/// Where the wrapped command begins: after the flags and `own` operands. None if that is not sure, as
/// with a flag that is in neither list: it may write, or take a value.
fn command_at(words: &[Word], flags: &str, values: &str, own: usize) -> Option<usize> {
    let mut at = 0;
    let mut left = own;
    let is = |list: &str, text: &str| list.split_whitespace().any(|known| known == text);
    while let Some(word) = words.get(at) {
        let text = word.text()?;
        if text == "--" {
            return (words.len() > at + 1 + left).then_some(at + 1 + left);
        }
        if text.starts_with('-') && text.len() > 1 {
            // `--signal=9` and `-n10`
            let joined = match text.split_once('=') {
                Some((name, _)) if text.starts_with("--") => is(values, name),
                _ => !text.starts_with("--") && text.get(..2).is_some_and(|flag| is(values, flag)),
            };
            let number = text
                .strip_prefix('-')
                .is_some_and(|t| t.bytes().all(|b| b.is_ascii_digit()));
            let takes = is(values, &text);
            if !takes && !joined && !number && !is(flags, &text) {
                return None;
            }
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
        "-n -E -H -S -b -i -s -k -A -P --non-interactive --preserve-env --login --set-home --stdin",
        "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --chdir --chroot --prompt",
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
    let flags = "-0 -r -t -x -o --null --no-run-if-empty --verbose --exit --open-tty";
    let values = "-I -L -n -P -s -d -E --max-args --max-procs --delimiter --max-chars";
    let Some(at) = command_at(words, flags, values, 0) else {
        // `xargs` alone echoes
        return if words.is_empty() {
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
    match replaced(words.get(..at).unwrap_or_default()) {
        Replaced::Nothing => command.push(Word::unknown("…")),
        // what it reads may stand in any word, also in the middle of code
        Replaced::Mark(mark) => {
            for word in &mut command {
                if word.shown().contains(&mark) || word.text().is_none() {
                    *word = Word::unknown(&word.raw);
                }
            }
        }
        Replaced::Unsure => return unclear("its flags hide the command it runs"),
    }
    let mut inner = inner(simple, command);
    // what xargs reads is not what its command reads
    inner.stdin = Stdin::Nothing;
    Unwrapped {
        inner: vec![inner],
        ..Unwrapped::default()
    }
}

/// What `xargs` puts its input in the place of.
enum Replaced {
    Nothing,
    Mark(String),
    Unsure,
}

fn replaced(flags: &[Word]) -> Replaced {
    let mut at = Replaced::Nothing;
    let mut words = flags.iter();
    while let Some(text) = words.next().and_then(Word::text) {
        if text == "-I" {
            at = match words.next().and_then(Word::text) {
                Some(mark) if !mark.is_empty() => Replaced::Mark(mark),
                _ => Replaced::Unsure,
            };
        } else if let Some(mark) = text.strip_prefix("-I") {
            at = Replaced::Mark(mark.to_owned());
        }
    }
    at
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
    let is_file = |pair: &[Word]| pair[0].prefix() == "-type" && pair[1].prefix() == "f";
    if place.sight.is_some() && !rest.windows(2).any(is_file) {
        // what it finds may be a link
        let from = command.targets(&starts);
        own.reads.extend(super::disk::below(&from, place));
    }
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
