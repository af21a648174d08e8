//! What commands that are not read-only touch: files, the network, the project's own code. Only
//! said, never allowed by being known here.

use super::args::Args;
use super::{Command, Effects, git};
use crate::permission::shell::Word;

/// Programs that reach the network whatever their words.
const NETWORK: &str = "curl wget ssh scp sftp nc ncat netcat socat telnet ftp ping dig nslookup host whois \
    traceroute mtr http https xh aria2c rclone gh glab hub aws gcloud az kubectl helm terraform tofu pulumi flyctl \
    fly vercel netlify heroku wrangler ansible ansible-playbook npx pnpx bunx uvx pipx apt apt-get dnf yum \
    pacman apk zypper brew port snap flatpak twine mosh rdesktop telnetd yt-dlp ffsend";

/// (program, subcommands that reach the network)
const NETWORK_SUBCOMMANDS: &[(&str, &str)] = &[
    (
        "cargo",
        "add install fetch update publish search login yank owner vendor upgrade",
    ),
    (
        "npm",
        "install i ci add update upgrade publish audit outdated view info exec create init login dedupe",
    ),
    (
        "pnpm",
        "install i add update up publish audit outdated dlx create",
    ),
    (
        "yarn",
        "install add up upgrade publish audit outdated dlx create",
    ),
    ("bun", "install i add update publish x create"),
    ("deno", "install add cache publish"),
    ("pip", "install download index search"),
    ("pip3", "install download index search"),
    ("uv", "add sync pip lock tool publish python"),
    ("poetry", "add install update lock publish"),
    ("go", "get install mod"),
    ("gem", "install update push"),
    ("bundle", "install update add"),
    ("composer", "install update require"),
    ("docker", "pull push build login run compose buildx"),
    ("podman", "pull push build login run"),
    ("rustup", "update install toolchain component target self"),
    ("dotnet", "restore add"),
    ("mix", "deps.get"),
    ("helm", "repo install upgrade"),
];

/// (program, subcommand, what it writes)
const WRITES: &[(&str, &str, &str)] = &[
    ("cargo", "add", "writes Cargo.toml and Cargo.lock"),
    ("cargo", "remove", "writes Cargo.toml and Cargo.lock"),
    ("cargo", "rm", "writes Cargo.toml and Cargo.lock"),
    ("cargo", "update", "writes Cargo.lock"),
    ("cargo", "install", "installs a program"),
    ("cargo", "fmt", "writes source files"),
    ("cargo", "fix", "writes source files"),
    ("cargo", "clean", "deletes target"),
    ("cargo", "new", "writes a new folder"),
    ("cargo", "init", "writes Cargo.toml and src"),
    (
        "npm",
        "install",
        "writes package.json, package-lock.json and node_modules",
    ),
    (
        "npm",
        "i",
        "writes package.json, package-lock.json and node_modules",
    ),
    (
        "npm",
        "add",
        "writes package.json, package-lock.json and node_modules",
    ),
    ("npm", "ci", "writes node_modules"),
    ("npm", "update", "writes package-lock.json and node_modules"),
    (
        "npm",
        "uninstall",
        "writes package.json, package-lock.json and node_modules",
    ),
    (
        "pnpm",
        "add",
        "writes package.json, pnpm-lock.yaml and node_modules",
    ),
    ("pnpm", "install", "writes pnpm-lock.yaml and node_modules"),
    (
        "yarn",
        "add",
        "writes package.json, yarn.lock and node_modules",
    ),
    ("yarn", "install", "writes yarn.lock and node_modules"),
    (
        "bun",
        "add",
        "writes package.json, bun.lock and node_modules",
    ),
    ("bun", "install", "writes bun.lock and node_modules"),
    ("pip", "install", "installs Python packages"),
    ("pip3", "install", "installs Python packages"),
    ("uv", "add", "writes pyproject.toml and uv.lock"),
    ("uv", "sync", "writes the Python environment"),
    ("poetry", "add", "writes pyproject.toml and poetry.lock"),
    ("go", "get", "writes go.mod and go.sum"),
    ("go", "fmt", "writes source files"),
    ("gem", "install", "installs Ruby packages"),
    ("bundle", "install", "writes Gemfile.lock"),
    (
        "composer",
        "require",
        "writes composer.json and composer.lock",
    ),
];

/// Programs that run code of the project: (program, subcommands; empty for any).
const RUNS_PROJECT: &[(&str, &str)] = &[
    (
        "cargo",
        "build b test t run r check c clippy bench doc nextest miri tarpaulin",
    ),
    ("npm", "test t run run-script start exec ci install i"),
    ("pnpm", "test run start exec install"),
    ("yarn", ""),
    ("bun", "test run"),
    ("deno", "run test task"),
    ("go", "build test run generate vet"),
    ("make", ""),
    ("gmake", ""),
    ("ninja", ""),
    ("just", ""),
    ("cmake", ""),
    ("ctest", ""),
    ("pytest", ""),
    ("tox", ""),
    ("nox", ""),
    ("rake", ""),
    ("rspec", ""),
    ("mvn", ""),
    ("gradle", ""),
    ("dotnet", "build test run"),
    ("poetry", "run"),
    ("uv", "run"),
    ("bundle", "exec"),
    ("npx", ""),
    ("zig", "build test run"),
    ("swift", "build test run"),
    ("mix", ""),
    ("bazel", ""),
    ("buck2", ""),
];

/// Interpreters: (name, flags that give code on the line).
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "-c"),
    ("python3", "-c"),
    ("python2", "-c"),
    ("node", "-e -p --eval --print"),
    ("bun", "-e --eval"),
    ("deno", "eval"),
    ("ruby", "-e"),
    ("perl", "-e -E"),
    ("php", "-r"),
    ("lua", "-e"),
    ("Rscript", "-e"),
    ("osascript", "-e"),
    ("pwsh", "-c -Command"),
    ("fish", "-c"),
];

/// Fills in what a command that is not read-only touches.
pub(super) fn describe(command: &Command<'_>, effects: &mut Effects) {
    if command.name == "git" {
        git::changes(command, effects);
        return;
    }
    files(command, effects);
    let sub = command
        .words
        .iter()
        .find(|w| !w.is_flag() && !w.prefix().starts_with('+'));
    let sub = sub.and_then(Word::text).unwrap_or_default();
    let in_list = |list: &str, word: &str| list.split_whitespace().any(|n| n == word);
    effects.network |= in_list(NETWORK, command.name)
        || NETWORK_SUBCOMMANDS
            .iter()
            .any(|(p, subs)| *p == command.name && in_list(subs, &sub));
    effects.notes.extend(
        WRITES
            .iter()
            .filter(|(p, s, _)| *p == command.name && *s == sub)
            .map(|(.., what)| (*what).to_owned()),
    );
    let wrapper_script = matches!(command.name, "./gradlew" | "./mvnw");
    if wrapper_script
        || RUNS_PROJECT
            .iter()
            .any(|(p, subs)| *p == command.name && (subs.is_empty() || in_list(subs, &sub)))
    {
        effects.notes.push("runs code of this project".to_owned());
    }
    if let Some((_, flags)) = INTERPRETERS.iter().find(|(p, _)| *p == command.name) {
        interpreter(command, flags, effects);
    }
    if matches!(command.name, "source" | ".") {
        effects.notes.push("runs a script in this shell".to_owned());
    }
    if command.name.contains('/') {
        effects.notes.push(format!("runs {}", command.name));
    }
}

fn interpreter(command: &Command<'_>, flags: &str, effects: &mut Effects) {
    let on_line = command.words.iter().any(|w| {
        let text = w.shown();
        flags
            .split(' ')
            .any(|f| text == f || (f.len() == 2 && text.starts_with(f)))
    });
    let script = command.words.iter().find(|w| !w.is_flag());
    if on_line {
        effects
            .notes
            .push("runs code that stands on the command line".to_owned());
        effects.never_wide = true;
    } else if script.is_none() && *command.stdin != crate::permission::shell::Stdin::Nothing {
        effects.pipes_into_shell |= *command.stdin == crate::permission::shell::Stdin::Pipe;
        effects.notes.push("runs code from its input".to_owned());
        effects.never_wide = true;
    } else if let Some(script) = script {
        effects.notes.push(format!("runs {}", script.raw));
    }
}

/// Commands whose operands are files they write.
fn files(command: &Command<'_>, effects: &mut Effects) {
    let args = Args::new(
        command.words,
        "m t o C d s S T --mode --target-directory --output --size --reference --owner --group",
    );
    let all = || command.targets(args.operands.iter().copied());
    let split_last = || -> (Vec<&Word>, Vec<&Word>) {
        let into = args.values("-t --target-directory");
        if into.is_empty() {
            let count = args.operands.len();
            (
                args.operands
                    .iter()
                    .take(count.saturating_sub(1))
                    .copied()
                    .collect(),
                args.operands
                    .iter()
                    .skip(count.saturating_sub(1))
                    .copied()
                    .collect(),
            )
        } else {
            (args.operands.clone(), into)
        }
    };
    match command.name {
        "rm" | "rmdir" | "unlink" | "shred" | "trash" => {
            effects.deletes = true;
            effects.writes = all();
        }
        "mv" | "rename" => effects.writes = all(),
        "cp" | "install" | "ln" | "rsync" => {
            let (from, to) = split_last();
            effects.reads.extend(command.targets(from));
            effects.writes = command.targets(to);
            if command.name == "rsync" {
                effects.network |= args.operands.iter().any(|w| w.shown().contains(':'));
                effects.deletes |=
                    args.has("--delete --delete-after --delete-before --remove-source-files");
            }
        }
        "mkdir" | "touch" | "truncate" | "mkfifo" | "tee" | "sponge" | "gzip" | "gunzip"
        | "bzip2" | "xz" | "zstd" | "patch" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano"
        | "emacs" | "dos2unix" | "unix2dos" => {
            effects.writes = all();
        }
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => {
            effects.writes = command.targets(args.operands.iter().skip(1).copied());
        }
        "sed" | "gsed" | "perl"
            if args.has("-i --in-place")
                || command.words.iter().any(|w| w.prefix().starts_with("-i")) =>
        {
            effects.writes = command.targets(args.operands.iter().skip(1).copied());
        }
        "dd" => dd(command, effects),
        "find" => {
            effects.deletes |= command.words.iter().any(|w| w.prefix() == "-delete");
            if effects.deletes {
                effects.writes.clone_from(&effects.reads);
            }
        }
        "curl" | "wget" => {
            let args = Args::new(
                command.words,
                "o O H d X u A e T F b c --output --data --header --request --user --upload-file --output-document",
            );
            let to = match command.name {
                "curl" => args.values("-o --output"),
                _ => args.values("-O --output-document"),
            };
            effects.writes = command.targets(to);
            effects
                .reads
                .extend(command.targets(args.values("-T --upload-file")));
            for word in args.values("-d --data --data-binary -F") {
                if let Some((_, file)) = word.shown().split_once('@') {
                    effects.reads.push(command.target(&Word::literal(file)));
                }
            }
            for word in &args.operands {
                if let Some(file) = word.shown().strip_prefix("file://") {
                    effects.reads.push(command.target(&Word::literal(file)));
                }
            }
        }
        "tar" | "bsdtar" => {
            effects.writes = command.targets(args.values("-C --directory"));
            effects.reads.extend(all());
        }
        "unzip" => effects.writes = command.targets(args.values("-d")),
        _ => unknown(command, effects),
    }
}

fn dd(command: &Command<'_>, effects: &mut Effects) {
    for word in command.words {
        let text = word.shown();
        if let Some(file) = text.strip_prefix("of=") {
            effects.writes.push(command.target(&Word::literal(file)));
        } else if let Some(file) = text.strip_prefix("if=") {
            effects.reads.push(command.target(&Word::literal(file)));
        }
    }
}

/// Any other program: what looks like a path outside is taken for one that it may touch.
fn unknown(command: &Command<'_>, effects: &mut Effects) {
    for word in command.words {
        let text = word.shown();
        let value = text.split_once('=').map_or(text.as_str(), |(_, v)| v);
        let value = value.trim_start_matches('@');
        let is_url = value.contains("://");
        let flag = value.starts_with('-');
        let path_like = word.tilde
            || value.starts_with(['/', '~', '.'])
            || value.contains('/')
            || crate::permission::secret::is_secret(std::path::Path::new(value));
        if is_url || flag || !path_like {
            continue;
        }
        let target = if value == text {
            command.target(word)
        } else {
            command.target(&Word {
                tilde: value.starts_with('~'),
                ..Word::literal(value)
            })
        };
        effects.reads.push(target);
    }
}
