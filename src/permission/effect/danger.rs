//! What is hard to undo: such commands always ask outside the sandbox, and Enter does not approve
//! them.

use super::args::Args;
use super::{Command, Effects, Target};

/// Programs that are dangerous whatever their words.
const ALWAYS: &[(&str, &str)] = &[
    (
        "mkfs fdisk sfdisk parted wipefs blkdiscard mkswap cryptsetup",
        "changes a disk",
    ),
    (
        "shutdown reboot halt poweroff init telinit",
        "stops the machine",
    ),
    ("killall pkill", "ends programs by name"),
    ("iptables ip6tables nft ufw", "changes the firewall"),
    (
        "useradd userdel usermod groupadd passwd chpasswd visudo",
        "changes users",
    ),
    (
        "mount umount swapon swapoff losetup",
        "changes what is mounted",
    ),
    ("insmod rmmod modprobe sysctl", "changes the kernel"),
    ("crontab at batch", "runs commands later"),
    ("shred", "destroys data"),
    (
        "su runuser chroot nsenter unshare",
        "runs as another user or in another system",
    ),
    ("dropdb dropuser", "deletes a database"),
    ("ssh-keygen ssh-copy-id gpg", "changes keys"),
];

/// (program, words that make it dangerous, why)
const WITH: &[(&str, &str, &str)] = &[
    ("cargo", "publish yank owner", "publishes"),
    ("npm", "publish unpublish deprecate", "publishes"),
    ("pnpm", "publish", "publishes"),
    ("yarn", "publish", "publishes"),
    ("twine", "upload", "publishes"),
    ("gem", "push yank", "publishes"),
    ("docker", "push", "publishes"),
    ("docker", "prune", "deletes what docker keeps"),
    (
        "docker",
        "--privileged",
        "gives a container the whole machine",
    ),
    (
        "podman",
        "--privileged",
        "gives a container the whole machine",
    ),
    ("kubectl", "delete drain replace", "changes a cluster"),
    ("helm", "uninstall delete rollback", "changes a cluster"),
    (
        "terraform",
        "apply destroy import",
        "changes infrastructure",
    ),
    ("tofu", "apply destroy import", "changes infrastructure"),
    ("pulumi", "up destroy", "changes infrastructure"),
    ("gh", "delete merge", "changes the remote"),
    (
        "aws",
        "rm rb delete-object delete-bucket terminate-instances",
        "deletes in the cloud",
    ),
    (
        "systemctl",
        "stop disable mask poweroff reboot",
        "stops services",
    ),
    (
        "redis-cli",
        "flushall flushdb FLUSHALL FLUSHDB",
        "deletes a database",
    ),
];

/// Fills in the dangers of a command that is not read-only.
pub(super) fn describe(command: &Command<'_>, effects: &mut Effects) {
    let words: Vec<String> = command
        .words
        .iter()
        .map(crate::permission::shell::Word::shown)
        .collect();
    for (names, why) in ALWAYS {
        let family = names.split(' ').next().is_some_and(|n| n == "mkfs");
        if names.split(' ').any(|n| n == command.name)
            || (family && command.name.starts_with("mkfs"))
        {
            effects.dangers.push((*why).to_owned());
        }
    }
    for (name, marks, why) in WITH {
        if *name == command.name && words.iter().any(|w| marks.split(' ').any(|m| m == w)) {
            effects.dangers.push((*why).to_owned());
        }
    }
    match command.name {
        "rm" | "find" => deletion(command, effects),
        "chmod" | "chown" | "chgrp" => {
            let args = Args::new(command.words, "");
            if args.has("-R --recursive")
                || words
                    .iter()
                    .any(|w| matches!(w.as_str(), "777" | "0777" | "a+rwx" | "u+s" | "+s"))
            {
                effects
                    .dangers
                    .push("changes rights of many files".to_owned());
            }
        }
        "dd" if words.iter().any(|w| w.starts_with("of=")) => {
            effects
                .dangers
                .push("overwrites its output byte by byte".to_owned());
        }
        "kill" if words.iter().any(|w| matches!(w.as_str(), "-1" | "1" | "0")) => {
            effects.dangers.push("ends many programs".to_owned());
        }
        "mv" if effects.writes.iter().any(|t| is_broad(t, command)) => {
            effects
                .dangers
                .push("moves a whole folder of yours".to_owned());
        }
        "psql" | "mysql" | "sqlite3" => {
            let all = words.join(" ").to_lowercase();
            if ["drop ", "truncate ", "delete from"]
                .iter()
                .any(|w| all.contains(w))
            {
                effects.dangers.push("deletes from a database".to_owned());
            }
        }
        _ => {}
    }
}

fn deletion(command: &Command<'_>, effects: &mut Effects) {
    if !effects.deletes {
        return;
    }
    let args = Args::new(command.words, "");
    let recursive = command.name == "find" || args.unsure || args.has("-r -R --recursive");
    let filtered = command.name == "find"
        && command.words.iter().any(|w| {
            matches!(
                w.prefix(),
                "-name" | "-iname" | "-path" | "-regex" | "-mtime" | "-size" | "-empty"
            )
        });
    let broad = effects.writes.iter().any(|t| is_broad(t, command));
    if recursive && !filtered && (broad || effects.writes.is_empty()) {
        effects
            .dangers
            .push("deletes a whole folder of yours".to_owned());
    }
    if args.has("--no-preserve-root") {
        effects.dangers.push("deletes the whole system".to_owned());
    }
}

/// True for what is more than one build folder: the worktree or its repository, a folder above it,
/// anything outside it and the temporary folders, all that `*` matches, or nobody knows.
fn is_broad(target: &Target, command: &Command<'_>) -> bool {
    let place = command.place;
    let stars = matches!(
        target.typed.trim_end_matches('/'),
        "*" | "./*" | ".*" | "./.*" | "**"
    );
    target.unknown
        || stars
        || target.paths.is_empty()
        || target.paths.iter().any(|path| {
            place.worktree.starts_with(path)
                || path.ends_with(".git")
                || (!place.writes_inside(path) && !place.in_temp(path))
                || place.temp.iter().any(|t| t == path)
        })
}
