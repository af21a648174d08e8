//! git: which subcommands only look, which reach the network, which throw work away.

use super::args::Args;
use super::{Command, Effects, disk, git_flags};
use crate::permission::shell::{Simple, Word};

/// A git call with its global options taken off.
pub(super) struct GitCall<'a> {
    /// The subcommand; empty if there is none or it is not known.
    pub subcommand: String,
    /// Its words.
    pub words: &'a [Word],
    /// Folders given with `-C`, `--git-dir`, `--work-tree`.
    pub folders: Vec<Word>,
    /// Those that name a repository or a worktree instead of a place to look from.
    pub named: Vec<Word>,
    /// True if configuration is given on the line, which can name programs to run.
    pub configured: bool,
}

/// Takes the global options off.
pub(super) fn call(words: &[Word]) -> GitCall<'_> {
    let mut call = GitCall {
        subcommand: String::new(),
        words: &[],
        folders: Vec::new(),
        named: Vec::new(),
        configured: false,
    };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.text() else { break };
        at += 1;
        match text.as_str() {
            "-C" | "--git-dir" | "--work-tree" => {
                call.folders.extend(words.get(at).cloned());
                if text != "-C" {
                    call.named.extend(words.get(at).cloned());
                }
                at += 1;
            }
            "-c" | "--config-env" | "--exec-path" => {
                call.configured = true;
                at += usize::from(text != "--exec-path");
            }
            "-P"
            | "--no-pager"
            | "--no-optional-locks"
            | "--literal-pathspecs"
            | "--no-replace-objects"
            | "-p"
            | "--paginate"
            | "--bare" => {}
            _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => {
                let value = text.split_once('=').map_or("", |(_, v)| v);
                call.folders.push(Word::literal(value));
                call.named.push(Word::literal(value));
            }
            _ if text.starts_with('-') => call.configured = true,
            _ => {
                call.subcommand = text;
                call.words = &words[at..];
                break;
            }
        }
    }
    call
}

/// Subcommands that only look, whatever their words, unless a flag of `EXCEPTIONS` is given.
const LOOKING: &str = "status log diff show rev-parse ls-files ls-tree blame annotate describe shortlog rev-list \
    merge-base name-rev whatchanged show-ref for-each-ref diff-tree diff-index diff-files count-objects \
    check-ignore check-attr cherry range-diff show-branch version help var verify-commit verify-tag \
    cat-file grep fsck";

/// `git SUBCOMMAND …` without the global options, which rules do not name.
pub(super) fn bare_form(simple: &Simple) -> Option<String> {
    let (name, words) = simple.expanded.split_first()?;
    let name = name.shown();
    if name.rsplit('/').next() != Some("git") {
        return None;
    }
    let call = call(words);
    let rest: Vec<String> = call.words.iter().map(Word::shown).collect();
    let form = [&["git".to_owned(), call.subcommand], rest.as_slice()].concat();
    Some(form.join(" ")).filter(|_| !call.words.is_empty() || words.len() > 1)
}

/// True if git would work on the worktree's own repository: another one may name programs to run, and
/// any folder that looks like a repository is one.
fn is_own(command: &Command<'_>, call: &GitCall<'_>) -> bool {
    let place = command.place;
    let named = call.named.iter().all(|word| {
        let target = command.target(word);
        let fits = |path: &std::path::PathBuf| {
            *path == place.worktree || *path == place.real(&place.worktree.join(".git"))
        };
        !target.unknown && target.paths.iter().all(fits)
    });
    let looked_from: Vec<&Word> = call
        .folders
        .iter()
        .filter(|word| !call.named.contains(word))
        .collect();
    let from = match looked_from.as_slice() {
        [] => command.target(&Word::literal(".")),
        [one] => command.target(one),
        // each is relative to the one before
        _ => return place.sight.is_none(),
    };
    let outside = |path: &std::path::Path| !place.in_worktree(path);
    // outside is asked anyway, and it is the user's own
    let own = |path: &std::path::PathBuf| outside(path) || disk::is_own_repository(path, place);
    named && from.paths.iter().all(own)
}

/// Flags that write a file or run a program.
const EXCEPTIONS: &str = "--output --ext-diff --textconv --filters --open-files-in-pager -O --exec --lost-found --edit --web --man --info --upload-pack --contents";

/// Fills in what a call that only looks reads; others are left to `writing`.
pub(super) fn describe(command: &Command<'_>, effects: &mut Effects) {
    let call = call(command.words);
    effects.reads = command.targets(&call.folders);
    let args = Args::new(call.words, git_flags::VALUES);
    let plain = [git_flags::LETTERS, git_flags::LONG].join(" ");
    if call.configured || call.subcommand.is_empty() || !args.only(&plain, git_flags::VALUES) {
        return;
    }
    if !is_own(command, &call) {
        effects
            .notes
            .push("looks at another repository, whose configuration can run programs".to_owned());
        return;
    }
    let first = args.operand(0);
    let looks = match call.subcommand.as_str() {
        sub if LOOKING.split_whitespace().any(|n| n == sub) => {
            !args.has(EXCEPTIONS)
                && (!args.unsure || sub == "status")
                && (sub != "help" || args.flags.is_empty())
        }
        "branch" => {
            let lists = "-a -r -v --all --remotes --verbose --list -l --show-current --merged --no-merged --contains --no-contains --sort --format --points-at --color --no-color --column --no-column --ignore-case -i";
            let only = args.flags.iter().all(|(f, _)| lists.split(' ').any(|n| n == f));
            let names = args.operands.is_empty()
                || args.has("--list -l --merged --no-merged --contains --no-contains --points-at");
            only && names && !args.unsure
        }
        "tag" => {
            let lists = "-l --list -n --sort --format --contains --no-contains --merged --no-merged --points-at --column --color";
            let only = args.flags.iter().all(|(f, _)| lists.split(' ').any(|n| n == f));
            only && (args.operands.is_empty() || args.has("-l --list --contains --merged --no-merged --points-at")) && !args.unsure
        }
        "remote" => !args.unsure && (args.operands.is_empty() || first == "get-url"),
        "stash" => !args.unsure && matches!(first.as_str(), "list" | "show") && !args.has(EXCEPTIONS),
        "reflog" => !args.unsure && (args.operands.is_empty() || matches!(first.as_str(), "show" | "exists")) ,
        "worktree" | "notes" | "bisect" | "submodule" | "lfs" => {
            let listing = match call.subcommand.as_str() {
                "worktree" => first == "list",
                "notes" => matches!(first.as_str(), "list" | "show"),
                "bisect" => matches!(first.as_str(), "log" | "view"),
                "lfs" => matches!(first.as_str(), "ls-files" | "status" | "env"),
                _ => matches!(first.as_str(), "status" | "summary") && !call.words.is_empty(),
            };
            listing && !args.unsure
        }
        "config" => {
            !args.unsure
                && (args.has("--get --get-all --get-regexp --list -l --get-urlmatch")
                    || matches!(first.as_str(), "get" | "list"))
                && !args.has("--add --unset --unset-all --replace-all --rename-section --remove-section --edit -e")
        }
        _ => false,
    };
    if looks {
        effects.read_only = true;
        // operands that cannot be revisions are paths
        let paths = args.operands.iter().copied().filter(|w| {
            w.tilde || w.prefix().starts_with(['/', '.']) || w.prefix().contains("/../")
        });
        effects.reads.extend(command.targets(paths));
        effects.reads.extend(secret_blobs(command, &args));
    }
}

/// `git show HEAD:.env` reads a file too.
fn secret_blobs(command: &Command<'_>, args: &Args<'_>) -> Vec<super::Target> {
    args.operands
        .iter()
        .filter_map(|w| w.text())
        .filter_map(|t| {
            let path = t
                .rsplit_once(':')
                .map_or(t.as_str(), |(_, path)| path)
                .to_owned();
            let target = command.target(&Word::literal(&path));
            target.secret.then_some(target)
        })
        .collect()
}

/// What a call that changes something does.
pub(super) fn changes(command: &Command<'_>, effects: &mut Effects) {
    let call = call(command.words);
    let args = Args::new(call.words, "m C --message");
    let first = args.operand(0);
    let sub = call.subcommand.as_str();
    if call.configured {
        effects
            .notes
            .push("sets git configuration that can run programs".to_owned());
        effects.never_wide = true;
    }
    effects.network = matches!(
        sub,
        "push" | "fetch" | "pull" | "clone" | "ls-remote" | "archive" | "send-email"
    ) || (sub == "submodule" && matches!(first.as_str(), "update" | "add"))
        || (sub == "remote" && matches!(first.as_str(), "update" | "show" | "prune"))
        || (sub == "lfs" && matches!(first.as_str(), "pull" | "push" | "fetch"));
    let mut danger = |why: &str| effects.dangers.push(why.to_owned());
    match sub {
        "push" => {
            let plus = args.operands.iter().any(|w| w.prefix().starts_with('+'));
            if plus || args.has("-f --force --force-with-lease --force-if-includes --mirror") {
                danger("overwrites history of the remote");
            }
            let removes = args
                .operands
                .iter()
                .skip(1)
                .any(|w| w.prefix().starts_with(':'));
            if removes || args.has("-d --delete --prune") {
                danger("deletes on the remote");
            }
        }
        "reset" if args.has("--hard --merge --keep") => danger("throws away uncommitted changes"),
        "clean" if args.has("-f --force") => danger("deletes untracked files"),
        "checkout" | "restore" | "switch" => {
            let paths = call
                .words
                .iter()
                .any(|w| matches!(w.prefix(), "." | "--" | ":/"));
            let staged_only =
                sub == "restore" && args.has("--staged -S") && !args.has("--worktree -W");
            let restores = sub == "restore" && !staged_only;
            if paths && !staged_only || restores || args.has("-f --force --discard-changes -B -C") {
                danger("throws away uncommitted changes");
            }
        }
        "branch" if args.has("-D") || (args.has("-d --delete") && args.has("-f --force")) => {
            danger("deletes a branch that may not be merged");
        }
        "stash" if matches!(first.as_str(), "drop" | "clear") => {
            danger("throws away stashed changes");
        }
        "filter-branch" | "filter-repo" | "replace" => danger("rewrites history"),
        "reflog" if matches!(first.as_str(), "expire" | "delete") => {
            danger("deletes the way back to lost commits");
        }
        "gc" if args.has("--prune --aggressive") => danger("deletes the way back to lost commits"),
        "update-ref" if args.has("-d") => danger("deletes a reference"),
        "worktree" if first == "remove" && args.has("-f --force") => {
            danger("throws away uncommitted changes");
        }
        _ => {}
    }
    let writes = match sub {
        "add" | "stage" | "rm" | "mv" => "writes the git index",
        "commit" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => "writes git history",
        "checkout" | "switch" | "restore" | "reset" | "stash" | "pull" | "clean" | "apply" => {
            "writes files of the worktree"
        }
        "config" => "writes git configuration",
        "clone" => "writes a new folder",
        _ => "",
    };
    if !writes.is_empty() {
        effects.notes.push(writes.to_owned());
    }
    effects.deletes |= matches!(sub, "rm" | "clean");
}
