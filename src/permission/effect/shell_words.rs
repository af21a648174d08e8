//! Builtins of the shell that set variables, change how it works, or evaluate their words: which of
//! their forms are known to do nothing else.

use super::args::Args;
use super::scripts::{is_harmless_name, is_plain_name, is_powerful};
use super::{Command, Effects};
use crate::permission::secret;
use crate::permission::shell::{Stdin, Word};

/// Fills in what a builtin does; false if it is none of these.
pub(super) fn describe(name: &str, command: &Command<'_>, effects: &mut Effects) -> bool {
    match name {
        "cd" | "pushd" | "popd" => {
            effects.reads = command.targets(Args::new(command.words, "").operands);
            effects.reads.retain(|t| t.typed != "-");
            if name == "cd" && command.words.is_empty() {
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
        "read" => {
            let values = "a d n N t p u";
            let args = Args::new(command.words, values);
            let arrays = args.values("-a");
            effects.read_only = fills(&args, "-rs", values)
                && arrays
                    .iter()
                    .all(|w| w.text().is_some_and(|t| may_be_set(&t)));
        }
        "mapfile" | "readarray" => {
            let values = "d n O s u";
            effects.read_only = fills(&Args::new(command.words, values), "-t", values);
        }
        "printf" => printf(command, effects),
        "test" => test(command, effects),
        "set" => set(command, effects),
        "shopt" => {
            let args = Args::new(command.words, "");
            let quiet = ["nullglob", "failglob"];
            let harmless = args
                .operands
                .iter()
                .all(|w| w.text().is_some_and(|t| quiet.contains(&t.as_str())));
            let asks = !args.has("-s") && !args.has("-u");
            effects.read_only = !args.unsure && args.only("-supq", "") && (harmless || asks);
        }
        _ => return false,
    }
    true
}

/// `read` and its like: every name is a plain variable of the script's own.
fn fills(args: &Args<'_>, plain: &str, values: &str) -> bool {
    let names = args
        .operands
        .iter()
        .all(|w| w.text().is_some_and(|t| may_be_set(&t)));
    names && !args.unsure && args.only(plain, values)
}

fn may_be_set(name: &str) -> bool {
    is_plain_name(name) && !is_powerful(name)
}

/// `printf FORMAT …`; `-v` sets a variable, and evaluates its subscript.
fn printf(command: &Command<'_>, effects: &mut Effects) {
    let format = match command.words {
        [dashes, format, ..] if dashes.text().as_deref() == Some("--") => Some(format),
        [format, ..] => Some(format),
        [] => None,
    };
    effects.read_only = format.is_none_or(|w| {
        let known = w.text().is_some_and(|t| t.is_empty() || t == "-");
        known || !w.prefix().is_empty() && !w.prefix().starts_with('-')
    });
}

/// `test …`: `-v` evaluates a subscript, and a value that nobody knows may turn out to be `-v`.
fn test(command: &Command<'_>, effects: &mut Effects) {
    let words = command.words;
    let evaluates = |w: &Word| w.text().is_some_and(|t| matches!(t.as_str(), "-v" | "-R"));
    let joined = words
        .iter()
        .any(|w| w.text().is_some_and(|t| matches!(t.as_str(), "-a" | "-o")));
    let unknown = |w: &Word| w.text().is_none();
    let quoted = |w: &Word| w.raw.starts_with('"') && w.raw.ends_with('"') && w.raw.len() > 1;
    let operator = words.get(1).and_then(Word::text).unwrap_or_default();
    let compared = matches!(
        operator.as_str(),
        "=" | "==" | "!=" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-nt" | "-ot" | "-ef"
    );
    let leads = words.first().is_some_and(unknown) && words.len() > 1 && !compared;
    let split = words.iter().any(|w| unknown(w) && !quoted(w));
    let foreign = words.iter().any(unknown);
    let asks = words.iter().any(evaluates) || leads || split || (joined && foreign);
    effects.read_only = !asks;
}

/// `set`: lists everything alone; `-a` and `-k` change what programs get.
fn set(command: &Command<'_>, effects: &mut Effects) {
    effects.shows_secrets = command.words.is_empty();
    let mut words = command.words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text() else { return };
        if text == "--" || !text.starts_with(['-', '+']) {
            break;
        }
        let letters = text.trim_start_matches(['-', '+']);
        if !letters.chars().all(|c| "euxvfno".contains(c)) {
            return;
        }
        if letters.contains('o') {
            let option = words.next().and_then(Word::text).unwrap_or_default();
            if !matches!(
                option.as_str(),
                "" | "pipefail"
                    | "errexit"
                    | "nounset"
                    | "xtrace"
                    | "verbose"
                    | "noglob"
                    | "noclobber"
            ) {
                return;
            }
        }
    }
    effects.read_only = true;
}

/// Commands that show or set variables of the shell.
fn variables(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(command.words, "");
    let exports = command.name == "export";
    let fits = |text: &str| {
        let name = text.split('=').next().unwrap_or_default();
        // reading a name is all that these do
        command.name == "printenv"
            || is_plain_name(name)
                && if exports {
                    is_harmless_name(name)
                } else {
                    !is_powerful(name)
                }
    };
    let names = args
        .operands
        .iter()
        .all(|w| w.text().is_some_and(|t| fits(&t)));
    let plain = match command.name {
        "env" | "printenv" => "-0 --null",
        "declare" | "typeset" | "local" => "-aAfFgpr",
        "readonly" => "-aAfp",
        "unset" => "-fv",
        _ => "-p",
    };
    effects.read_only = names && !args.unsure && args.only(plain, "");
    let shows_all = matches!(
        command.name,
        "env" | "printenv" | "export" | "declare" | "typeset"
    ) && (args.operands.is_empty() || args.has("-p") || command.name == "env")
        && !args.has("-f")
        && !args.has("-F");
    let shows_secret = command.name == "printenv"
        && args
            .operands
            .iter()
            .any(|w| secret::is_secret_variable(&w.shown()));
    // an assignment after `export` makes a declaration, not a listing
    effects.shows_secrets = shows_secret || (shows_all && command.stdin != &Stdin::File);
}
