//! The table of commands that change nothing, with what would make an exception of each.
//!
//! Only what is certain passes: a flag that is not known to be harmless, or a word that could turn out
//! to be a flag, and the command is like any other. `table` holds the flags, `shell_words` the builtins.

use super::args::Args;
use super::scripts::{is_plain_awk, is_plain_jq, is_plain_sed};
use super::table::{self, Operands};
use super::{Command, Effects, disk, git, shell_words};
use crate::permission::secret;
use crate::permission::shell::{Piece, Word};

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
        "jq" => jq(command, effects),
        "xxd" => xxd(command, effects),
        "uniq" => uniq(command, effects),
        "find" => find(command, effects),
        "tar" | "bsdtar" => tar(command, effects),
        "unzip" | "zipinfo" | "gzip" | "gunzip" | "xz" | "zstd" => list_archive(command, effects),
        "date" => date(command, effects),
        name if shell_words::describe(name, command, effects) => {}
        name => by_table(name, command, effects),
    }
    if command.words.iter().any(shows_secret_variable) {
        effects.shows_secrets |= effects.read_only;
    }
}

fn by_table(name: &str, command: &Command<'_>, effects: &mut Effects) {
    let Some(row) = table::row(name) else {
        return;
    };
    let values = [row.values, row.files].join(" ");
    let args = Args::new(command.words, &values);
    if row.plain != "*" && (args.unsure || !args.only(row.plain, &values)) {
        return;
    }
    // binutils read words from a file that is named like this
    if name == "strings" && args.operands.iter().any(|w| w.prefix().starts_with('@')) {
        return;
    }
    // `hostname x` names the machine
    if name == "hostname" && !args.operands.is_empty() {
        return;
    }
    effects.read_only = true;
    match row.operands {
        Operands::Words => {
            // `ps e` lists the environment
            effects.shows_secrets =
                name == "ps" && args.operands.iter().any(|w| w.shown().contains('e'));
        }
        Operands::Paths => effects.reads = command.targets(args.operands.iter().copied()),
        Operands::PatternThenPaths => {
            let given = args.has("-e -f --regexp --file --files --type-list");
            let skip = usize::from(!given);
            effects.reads = command.targets(args.operands.iter().skip(skip).copied());
        }
    }
    effects
        .reads
        .extend(command.targets(args.values(&flags_of(row.files))));
    if follows_links(name, &args) {
        let mut from = effects.reads.clone();
        if from.is_empty() {
            from.push(command.target(&Word::literal(".")));
        }
        effects.reads.extend(disk::below(&from, command.place));
    }
}

/// `f --file` as flags are called in `Args`: `-f --file`.
fn flags_of(values: &str) -> String {
    let dashed = values.split_whitespace().map(|v| match v.len() {
        1 => format!("-{v}"),
        _ => v.to_owned(),
    });
    dashed.collect::<Vec<_>>().join(" ")
}

/// True if it reads what links below a folder lead to.
fn follows_links(name: &str, args: &Args<'_>) -> bool {
    let given = |flags: &str| {
        args.flags
            .iter()
            .any(|(f, _)| flags.split(' ').any(|n| n == f))
    };
    match name {
        "grep" | "egrep" | "fgrep" => given("-R --dereference-recursive"),
        "rg" | "fd" | "fdfind" => given("-L --follow"),
        "tree" => given("-l"),
        "ls" | "dir" | "vdir" => given("-R --recursive") && given("-L --dereference"),
        "diff" | "colordiff" => given("-r --recursive") && !given("--no-dereference"),
        _ => false,
    }
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

/// Programs whose `--version` runs nothing of the project. Not here: those that first hand over to a
/// program that the project names (`yarn`, `pnpm`, `mvn`, `gradle`).
const VERSIONED: &str = "cargo rustc rustup node npm bun deno python python3 pip pip3 uv go java javac gcc g++ \
    clang clang++ cmake make ruby gem perl php docker kubectl git gh rg fd jq tsc dotnet swift zig terraform helm \
    psql sqlite3 bash zsh ffmpeg curl wget tmux nvim vim code";

/// `cargo --version` and its like, for programs that are known to do no more than that.
fn prints_version(command: &Command<'_>) -> bool {
    let known = VERSIONED.split_whitespace().any(|n| n == command.name);
    let [word] = command.words else { return false };
    known
        && word.text().is_some_and(|text| {
            matches!(text.as_str(), "--version" | "-V" | "--help")
                || (text == "version" && matches!(command.name, "go" | "deno"))
                || (text == "-v" && matches!(command.name, "node" | "npm"))
        })
}

/// `jq` without programs that show the environment or take in other files.
fn jq(command: &Command<'_>, effects: &mut Effects) {
    let plain = "-ncrjaSCMesR --null-input --compact-output --raw-output --join-output --ascii-output --sort-keys \
        --color-output --monochrome-output --exit-status --slurp --raw-input --tab --seq --stream --args --jsonargs \
        --unbuffered --raw-output0";
    // `--arg name value`
    let mut words = Vec::new();
    let mut rest = command.words.iter();
    while let Some(word) = rest.next() {
        if matches!(word.text().as_deref(), Some("--arg" | "--argjson")) {
            rest.nth(1);
        } else {
            words.push(word.clone());
        }
    }
    let args = Args::new(&words, "--indent");
    let program = args.operands.first().and_then(|w| w.text());
    if !args.unsure && args.only(plain, "--indent") && program.is_some_and(|p| is_plain_jq(&p)) {
        effects.read_only = true;
        let positional = args.has("--args") || args.has("--jsonargs");
        let files = args
            .operands
            .iter()
            .skip(1)
            .filter(|_| !positional)
            .copied();
        effects.reads = command.targets(files);
    }
}

/// `xxd`: its flags are whole words, and a second operand is where it writes.
fn xxd(command: &Command<'_>, effects: &mut Effects) {
    let mut files = Vec::new();
    let mut words = command.words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text() else { return };
        match text.as_str() {
            "-a" | "-b" | "-d" | "-e" | "-E" | "-i" | "-p" | "-ps" | "-u" => {}
            "-c" | "-g" | "-l" | "-o" | "-s" | "-n" => {
                if words.next().and_then(Word::text).is_none() {
                    return;
                }
            }
            _ if text.starts_with('-') && text.len() > 1 => {
                let (flag, value) = text.split_at(2);
                let number = value.bytes().all(|b| b.is_ascii_digit());
                if !matches!(flag, "-c" | "-g" | "-l" | "-o" | "-s") || !number {
                    return;
                }
            }
            _ => files.push(word),
        }
    }
    if files.len() < 2 {
        effects.read_only = true;
        effects.reads = command.targets(files);
    }
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

fn uniq(command: &Command<'_>, effects: &mut Effects) {
    let values = "f s w --skip-fields --skip-chars --check-chars";
    let args = Args::new(command.words, values);
    let plain = "-cdDiuz0123456789 --count --repeated --all-repeated --group --ignore-case --unique --zero-terminated";
    // a second operand is where it writes
    if args.operands.len() < 2
        && !args.unsure
        && args.only(plain, values)
        && args
            .operands
            .iter()
            .all(|w| !w.has_glob() && w.pattern().is_some())
    {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().copied());
    }
}

/// Tests and options of `find` that take no word; those of `FIND_WORD` take one.
const FIND_PLAIN: &str = "-print -print0 -prune -quit -depth -d -mount -xdev -not -a -and -o -or -true -false -empty \
    -executable -readable -writable -nouser -nogroup -ls -daystart -noleaf -warn -nowarn -ignore_readdir_race \
    -follow -H -L -P";
const FIND_WORD: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size \
    -mtime -mmin -ctime -cmin -atime -amin -newer -anewer -cnewer -newermt -newerct -newerat -maxdepth -mindepth \
    -perm -user -group -uid -gid -links -inum -samefile -printf -lname -ilname -fstype -used";

/// `find` without an action; those with `-exec` come through `wrapper` as well.
fn find(command: &Command<'_>, effects: &mut Effects) {
    let is = |list: &str, text: &str| list.split_whitespace().any(|n| n == text);
    let leads = |text: &str| text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",");
    let mut starts = Vec::new();
    let mut words = command.words.iter().peekable();
    while let Some(word) = words.next_if(|w| {
        w.text().map_or(!w.may_be_flag(), |t| !leads(&t))
            || matches!(w.prefix(), "-H" | "-L" | "-P")
    }) {
        if !word.is_flag() {
            starts.push(word);
        }
    }
    let mut known = true;
    while let Some(word) = words.next() {
        let Some(text) = word.text() else {
            known = false;
            break;
        };
        if is(FIND_WORD, &text) {
            known &= words.next().is_some_and(|w| w.pattern().is_some());
        } else {
            known &= is(FIND_PLAIN, &text) || matches!(text.as_str(), "(" | ")" | "!" | ",");
        }
    }
    effects.read_only = known;
    effects.reads = command.targets(starts);
    let follows = command
        .words
        .iter()
        .any(|w| matches!(w.prefix(), "-L" | "-follow"));
    if follows {
        let from = if effects.reads.is_empty() {
            vec![command.target(&Word::literal("."))]
        } else {
            effects.reads.clone()
        };
        effects.reads.extend(disk::below(&from, command.place));
    }
}

fn tar(command: &Command<'_>, effects: &mut Effects) {
    let first = command.words.first().map(Word::shown).unwrap_or_default();
    let old_style = !first.starts_with('-') && !first.is_empty();
    let values = "f --file";
    let mut words = command.words.to_vec();
    if old_style {
        // `tvf x.tar` is `-tvf x.tar` as long as only `f` takes a value
        words[0] = Word::literal(&format!("-{}", first.replace('f', "")));
        if first.contains('f') {
            words.insert(1, Word::literal("-f"));
        }
    }
    let args = Args::new(&words, values);
    let plain = "-tvzjJ --list --verbose --gzip --bzip2 --xz --zstd";
    let archives = args.values("-f --file");
    // `host:file` is fetched by a program
    let local = archives
        .iter()
        .all(|w| w.text().is_some_and(|t| !t.contains(':')));
    if args.has("-t --list") && args.only(plain, values) && !args.unsure && local {
        effects.read_only = true;
        effects.reads = command.targets(archives);
    }
}

fn list_archive(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "");
    let lists = match command.name {
        "zipinfo" => args.only("-12smlvhMtTzZ", ""),
        "unzip" => args.has("-l -v -t -Z -p") && args.only("-lvtZpqCj12zT", ""),
        _ => {
            args.has("-l --list -t --test")
                && args.only("-ltvq --list --test --verbose --quiet", "")
        }
    };
    if lists && !args.unsure {
        effects.read_only = true;
        effects.reads = command.targets(args.operands.iter().take(1).copied());
        if !matches!(command.name, "unzip" | "zipinfo") {
            effects.reads = command.targets(args.operands.iter().copied());
        }
    }
}

fn date(command: &Command<'_>, effects: &mut Effects) {
    let values = "d r v --date --reference";
    let words: Vec<Word> = command
        .words
        .iter()
        .filter(|w| !w.text().is_some_and(|t| t.starts_with("-I")))
        .cloned()
        .collect();
    let args = Args::new(&words, values);
    let plain = "-uRjn --utc --universal --rfc-email --iso-8601 --rfc-3339";
    let sets = args
        .operands
        .iter()
        .any(|w| !matches!(w.pieces.first(), Some(Piece::Text(text)) if text.starts_with('+')));
    effects.read_only = !sets && !args.unsure && args.only(plain, values);
    effects.reads = command.targets(args.values("-r --reference"));
}
