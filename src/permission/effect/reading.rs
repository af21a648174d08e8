//! The table of commands that change nothing, with what would make an exception of each.
//!
//! Only what is certain passes: a flag that writes or runs something, or a word that could turn out to
//! be such a flag, and the command is like any other.

use super::args::Args;
use super::git;
use super::scripts::{is_plain_awk, is_plain_sed};
use super::{Command, Effects};
use crate::permission::secret;
use crate::permission::shell::{Stdin, Word};

/// What the operands of a reading command are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Files to read.
    Paths,
    /// A pattern, then files.
    PatternThenPaths,
    /// Nothing that matters.
    Words,
}

/// (names, flags that take a value, flags that make it write or run something, operands)
type Row = (&'static str, &'static str, &'static str, Operands);

const ROWS: &[Row] = &[
    (
        "cat tac head tail wc nl od hexdump strings stat file du df ls dir vdir realpath readlink \
         md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum sum cmp comm cut \
         paste join fold fmt expand unexpand pr rev base64 base32 zcat bzcat xzcat lzcat zstdcat \
         lsattr getfacl namei tsort numfmt lsblk colordiff icdiff tokei exa eza lsd",
        "",
        // `file` compiles, others read lists of files
        "-C --compile --files0-from",
        Operands::Paths,
    ),
    (
        "diff sdiff diff3",
        "x I L --exclude --label",
        "-o --output",
        Operands::Paths,
    ),
    ("column", "", "", Operands::Paths),
    (
        "grep egrep fgrep zgrep",
        "A B C m e f d D --include --exclude --exclude-dir --context --max-count --regexp --file --color",
        // it follows links, and those may lead anywhere
        "-R --dereference-recursive",
        Operands::PatternThenPaths,
    ),
    (
        "rg",
        "A B C m e f g t T j M r E --glob --iglob --type --type-not --context --max-count --regexp \
         --file --max-depth --replace --sort --sortr --colors --color --engine --encoding --max-columns",
        "--pre --hostname-bin -L --follow",
        Operands::PatternThenPaths,
    ),
    (
        "jq",
        "L --indent",
        "-L -f --from-file --rawfile --slurpfile --library-path",
        Operands::PatternThenPaths,
    ),
    ("tree", "", "-o -R -l", Operands::Paths),
    (
        "fd fdfind",
        "e E t d g --extension --exclude --type --max-depth --min-depth --color",
        "-x -X -L --exec --exec-batch --follow",
        Operands::PatternThenPaths,
    ),
    (
        "echo printf pwd true false : test [ seq expr basename dirname sleep uname whoami id groups uptime \
         nproc arch tty logname which type whereis hash jobs wait shift return exit break continue ulimit \
         umask locale getconf cal tr pgrep free shopt times set",
        "",
        // `test -v` and `printf -v` take names that the shell evaluates, `hash -p` and `jobs -x` run programs
        "-v -R -p -x",
        Operands::Words,
    ),
    ("xxd", "", "-r -p", Operands::Paths),
    ("ps", "o p u C --format --pid --user", "", Operands::Words),
];

/// Fills in what a reading command does; leaves `read_only` false for every other.
pub(super) fn describe(command: &Command<'_>, effects: &mut Effects) {
    if prints_version(command) {
        effects.read_only = true;
        return;
    }
    match command.name {
        "git" => git::describe(command, effects),
        "sed" | "gsed" => sed(command, effects),
        "awk" | "gawk" | "mawk" | "nawk" => awk(command, effects),
        "sort" => sort(command, effects),
        "uniq" => uniq(command, effects),
        "find" => find(command, effects),
        "tar" | "bsdtar" => tar(command, effects),
        "unzip" | "gzip" | "gunzip" | "xz" | "zstd" => list_archive(command, effects),
        "date" | "hostname" => no_setting(command, effects),
        "cd" | "pushd" | "popd" => {
            effects.reads = command.targets(Args::new(command.words, "").operands);
            effects.reads.retain(|t| t.typed != "-");
            if command.name == "cd" && command.words.is_empty() {
                effects.reads.push(command.target(&Word {
                    tilde: true,
                    ..Word::literal("~")
                }));
            }
            effects.read_only = true;
        }
        "env" | "printenv" | "export" | "declare" | "typeset" | "local" | "readonly" | "unset" => {
            variables(command, effects);
        }
        "read" | "mapfile" | "readarray" => {
            let args = Args::new(command.words, "d i n N p t u O s c C");
            // a name such as `a[$(…)]` is evaluated
            let names = args
                .operands
                .iter()
                .all(|w| w.text().is_some_and(|t| is_name(&t)));
            effects.read_only =
                !args.unsure && names && (command.name == "read" || !args.has("-C"));
        }
        "cargo" | "rustup" | "npm" | "node" | "go" | "python" | "python3" => {}
        name => by_table(name, command, effects),
    }
}

fn by_table(name: &str, command: &Command<'_>, effects: &mut Effects) {
    let Some((_, values, forbidden, operands)) = ROWS
        .iter()
        .find(|(names, ..)| names.split_whitespace().any(|n| n == name))
    else {
        return;
    };
    let args = Args::new(command.words, values);
    let unsure = args.unsure && *operands != Operands::Words;
    let exception = !forbidden.is_empty() && (unsure || args.has(forbidden));
    let of_its_own = match name {
        // every word of `test` may be an operator
        "test" | "[" => command
            .words
            .iter()
            .any(|w| matches!(w.prefix(), "-v" | "-R")),
        "echo" | "seq" | "expr" | "which" | "type" | "pgrep" | "locale" | "uname" | "tr" => false,
        // a second operand is where it writes
        "xxd" => exception || args.operands.len() > 1,
        "jq" => exception || !args.operands.iter().take(1).all(|w| is_plain_jq(w)),
        _ => exception,
    };
    if of_its_own {
        return;
    }
    effects.read_only = true;
    match operands {
        Operands::Words => {
            // `set` and `ps e` list the environment
            let lists = match name {
                "set" => command.words.is_empty(),
                "ps" => args.operands.iter().any(|w| w.shown().contains('e')),
                _ => false,
            };
            effects.shows_secrets = lists || command.words.iter().any(shows_secret_variable);
        }
        Operands::Paths => effects.reads = command.targets(args.operands.iter().copied()),
        Operands::PatternThenPaths => {
            let given = args.has("-e -f --regexp --file --files --from-file");
            let skip = usize::from(!given);
            effects.reads = command.targets(args.operands.iter().skip(skip).copied());
            effects
                .reads
                .extend(command.targets(args.values("-f --file")));
        }
    }
    if *operands != Operands::Words && command.words.iter().any(shows_secret_variable) {
        effects.shows_secrets = true;
    }
}

/// True for a program of `jq` that reads neither the environment nor other files.
fn is_plain_jq(program: &Word) -> bool {
    program.text().is_some_and(|text| {
        let told = [
            "env",
            "ENV",
            "input_filename",
            "import",
            "include",
            "$__loc__",
        ];
        !told.iter().any(|word| text.contains(word))
    })
}

/// True if the word shows the value of a variable that is named like a secret.
fn shows_secret_variable(word: &Word) -> bool {
    word.raw.split('$').skip(1).any(|rest| {
        let name: String = rest
            .trim_start_matches(['{', '!'])
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        secret::is_secret_variable(&name)
    })
}

const VERSIONED: &str = "cargo rustc rustup node npm npx pnpm yarn bun deno python python3 pip pip3 uv go java \
    javac gcc g++ clang clang++ cmake make ruby gem perl php docker kubectl git gh rg fd jq tsc dotnet swift \
    zig gradle mvn terraform helm psql sqlite3 bash zsh ffmpeg curl wget tmux nvim vim code";

/// `cargo --version` and its like, for programs that are known to do no more than that.
fn prints_version(command: &Command<'_>) -> bool {
    let known = VERSIONED.split_whitespace().any(|n| n == command.name);
    let [word] = command.words else { return false };
    known
        && word.text().is_some_and(|text| {
            matches!(text.as_str(), "--version" | "-V" | "--help")
                || (text == "version" && matches!(command.name, "go" | "deno"))
                || (text == "-v" && matches!(command.name, "node" | "npm" | "pnpm" | "yarn"))
        })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn sed(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "e f l --expression --file --line-length");
    let quiet_flags = "-n -e -E -r -s -u -z --quiet --silent --expression --regexp-extended --posix --debug --null-data --separate";
    let plain_flags = args
        .flags
        .iter()
        .all(|(f, _)| quiet_flags.split(' ').any(|q| q == f));
    if args.unsure || !plain_flags {
        return;
    }
    let expressions = args.values("-e --expression");
    let skip = usize::from(expressions.is_empty());
    let scripts: Vec<&Word> = if skip == 1 {
        args.operands.iter().take(1).copied().collect()
    } else {
        expressions
    };
    let plain = scripts
        .iter()
        .all(|w| w.text().is_some_and(|s| is_plain_sed(&s)));
    if plain && !scripts.is_empty() {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().skip(skip).copied());
    }
}

fn awk(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "F v --field-separator --assign");
    let plain_flags = args
        .flags
        .iter()
        .all(|(f, _)| matches!(f.as_str(), "-F" | "-v" | "--field-separator" | "--assign"));
    let plain = args
        .operands
        .first()
        .and_then(|w| w.text())
        .is_some_and(|p| is_plain_awk(&p));
    if plain && plain_flags && !args.unsure {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().skip(1).copied());
    }
}

fn sort(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(
        command.words,
        "k t S T o --key --field-separator --parallel",
    );
    if !args.unsure
        && !args.has("-o --output -T --temporary-directory --compress-program --files0-from")
    {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().copied());
    }
}

fn uniq(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "f s w");
    // a second operand is where it writes
    if args.operands.len() < 2
        && args
            .operands
            .iter()
            .all(|w| !w.has_glob() && w.pattern().is_some())
    {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().copied());
    }
}

/// `find` without an action; those with `-exec` come through `wrapper` as well.
fn find(command: &Command<'_>, effects: &mut Effects) {
    let actions = [
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-delete",
        "-fprint",
        "-fprint0",
        "-fprintf",
        "-fls",
        "-files0-from",
    ];
    let starts: Vec<&Word> = command
        .words
        .iter()
        .take_while(|w| !w.is_flag() && !matches!(w.prefix(), "(" | "!"))
        .collect();
    let uncertain = command
        .words
        .iter()
        .any(|w| w.text().is_none() && w.may_be_flag() && !w.has_glob());
    // what follows links may lead anywhere
    let acts = command
        .words
        .iter()
        .any(|w| actions.contains(&w.prefix()) || matches!(w.prefix(), "-L" | "-follow"));
    if !uncertain && !acts {
        effects.read_only = true;
    }
    effects.reads = command.targets(starts);
}

fn tar(command: &Command<'_>, effects: &mut Effects) {
    let first = command.words.first().map(Word::shown).unwrap_or_default();
    let old_style = !first.starts_with('-') && !first.is_empty();
    let args = Args::new(command.words, "f C --file --directory");
    let lists = if old_style {
        // any other letter may take a word that runs or writes something
        first.contains('t') && first.chars().all(|c| "tfvzjJ".contains(c))
    } else {
        args.has("-t --list") && !args.has("-c -x -r -u -A")
    };
    let known = args.flags.iter().all(|(f, _)| {
        matches!(
            f.as_str(),
            "-t" | "-f"
                | "-v"
                | "-z"
                | "-j"
                | "-J"
                | "--list"
                | "--file"
                | "--verbose"
                | "--gzip"
                | "--zstd"
        )
    });
    if lists && known && !args.unsure {
        effects.read_only = true;
        effects.reads = command.targets(args.values("-f --file"));
        effects
            .reads
            .extend(command.targets(args.operands.iter().skip(usize::from(old_style)).copied()));
    }
}

fn list_archive(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "");
    let lists = match command.name {
        "unzip" => args.has("-l -v -t -Z") && !args.has("-d -o"),
        _ => args.has("-l --list -t --test"),
    };
    if lists && !args.unsure {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().copied());
    }
}

fn no_setting(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "d r f --date --reference");
    let sets = args.has("-s --set -f -F --file -b --boot")
        || args.operands.iter().any(|w| !w.prefix().starts_with('+'));
    effects.read_only = !sets && !args.unsure;
}

/// Commands that show or set variables of the shell.
fn variables(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "");
    let names_only = args.operands.iter().all(|w| {
        w.text().is_some_and(|t| {
            t.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'=')
        })
    });
    // an integer variable evaluates what it is given
    effects.read_only = names_only && !args.unsure && !args.has("-i -n");
    let shows_all = matches!(
        command.name,
        "env" | "printenv" | "export" | "declare" | "typeset"
    ) && (args.operands.is_empty() || args.has("-p"));
    let shows_secret = command.name == "printenv"
        && args
            .operands
            .iter()
            .any(|w| secret::is_secret_variable(&w.shown()));
    // an assignment after `export` makes a declaration, not a listing
    effects.shows_secrets = shows_secret || (shows_all && command.stdin != &Stdin::File);
}
