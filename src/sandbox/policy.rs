//! What one command may do, as plain data that goes through an argument to the launcher.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::used::SandboxSettings;

/// What a confined command may do. Everything that is not `unreadable` may be read and run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Folders it may write below.
    pub writable: Vec<PathBuf>,
    /// Files and folders it may not read, even below `writable`.
    pub unreadable: Vec<PathBuf>,
    /// True if it may use the network.
    pub network: bool,
    /// The command's own folder for temporary files, handed to it as `TMPDIR`; none for the usual one.
    pub temp: Option<PathBuf>,
}

/// Variables that lead to programs outside the sandbox which would act for the command.
pub(super) const DOORS: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
    "TMUX",
    "STY",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// Below the home folder: keys, tokens, browsers' and shells' secrets.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".npmrc",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/gh/hosts.yml",
    ".config/glab-cli",
    ".config/gcloud",
    ".config/op",
    ".config/git/credentials",
    ".config/hub",
    ".config/doctl",
    ".config/heroku",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/rclone",
    ".local/share/keyrings",
    ".mozilla",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".anthropic",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".gemini/oauth_creds.json",
    "Library/Keychains",
];

impl Policy {
    /// The policy for commands of a session: writes in the worktree (and, if it is a linked one, its
    /// repository), the temporary folders and those of the settings; no secrets of the home folder,
    /// nothing of dunlin's own folders but `readable` (full outputs). Looks at the file system.
    pub fn for_session(worktree: &Path, home: &Path, settings: &SandboxSettings) -> Self {
        let mut writable = vec![worktree.to_owned()];
        writable.extend(linked_repository(worktree));
        writable.extend(temporary_folders());
        writable.extend(settings.writable.iter().cloned());
        Self {
            writable,
            unreadable: SECRETS.iter().map(|name| home.join(name)).collect(),
            network: settings.network,
            temp: None,
        }
    }

    /// The same for a command that must change nothing (mode plan): it writes only in `temp`, a folder
    /// that nobody else uses, and has no network.
    #[must_use]
    pub fn reading_only(self, temp: PathBuf) -> Self {
        Self {
            writable: vec![temp.clone()],
            network: false,
            temp: Some(temp),
            ..self
        }
    }

    /// Adds a file or folder that must not be read, e.g. the file with dunlin's own keys.
    #[must_use]
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.unreadable.push(path.into());
        self
    }

    /// One line for the status: `workspace-write`, or `workspace-write, network`.
    pub const fn label(&self) -> &'static str {
        if self.network {
            "workspace-write, network"
        } else {
            "workspace-write"
        }
    }

    /// The policy as one argument: JSON with paths as bytes, because a path need not be UTF-8.
    pub(super) fn to_argument(&self) -> OsString {
        let bytes = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|p| encode(p.as_os_str())).collect()
        };
        let value = serde_json::json!({
            "w": bytes(&self.writable),
            "u": bytes(&self.unreadable),
            "n": self.network,
            "t": self.temp.as_ref().map(|p| encode(p.as_os_str())),
        });
        value.to_string().into()
    }

    /// Reads what `to_argument` wrote.
    pub(super) fn from_argument(text: &OsStr) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(text.to_str()?).ok()?;
        let paths = |name: &str| -> Option<Vec<PathBuf>> {
            value
                .get(name)?
                .as_array()?
                .iter()
                .map(|p| p.as_str().and_then(decode))
                .collect()
        };
        Some(Self {
            writable: paths("w")?,
            unreadable: paths("u")?,
            network: value.get("n")?.as_bool()?,
            temp: match value.get("t") {
                None | Some(serde_json::Value::Null) => None,
                Some(path) => Some(path.as_str().and_then(decode)?),
            },
        })
    }
}

/// The folders for temporary files: `$TMPDIR` of the program and the usual ones.
fn temporary_folders() -> Vec<PathBuf> {
    let mut folders = vec![
        std::env::temp_dir(),
        "/tmp".into(),
        "/var/tmp".into(),
        "/dev/shm".into(),
    ];
    folders.dedup();
    folders
}

/// `.git` of a linked worktree or submodule is a file that names a folder elsewhere; git writes there.
fn linked_repository(worktree: &Path) -> Vec<PathBuf> {
    let Ok(text) = std::fs::read_to_string(worktree.join(".git")) else {
        return Vec::new();
    };
    let Some(folder) = text.trim().strip_prefix("gitdir:") else {
        return Vec::new();
    };
    let folder = worktree.join(folder.trim());
    let common = std::fs::read_to_string(folder.join("commondir"))
        .map(|text| folder.join(text.trim()))
        .ok();
    let is_repository = |path: &PathBuf| path.join("HEAD").is_file();
    [Some(folder), common]
        .into_iter()
        .flatten()
        .filter(is_repository)
        .collect()
}

/// Bytes as text: UTF-8 as it is, `%xx` for every other byte and for `%`.
fn encode(text: &OsStr) -> String {
    let mut out = String::new();
    for chunk in text.as_encoded_bytes().utf8_chunks() {
        out.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            out.push_str(&format_byte(*byte));
        }
    }
    out
}

fn format_byte(byte: u8) -> String {
    format!("%{byte:02x}")
}

#[cfg(unix)]
fn decode(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn decode(text: &str) -> Option<PathBuf> {
    Some(PathBuf::from(text.replace("%25", "%")))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_its_way_through_an_argument() {
        use std::os::unix::ffi::OsStringExt;
        let policy = Policy {
            writable: vec![
                PathBuf::from("/a b/é%25\"\\"),
                PathBuf::from(OsString::from_vec(b"/x\xff\xfe%".to_vec())),
            ],
            unreadable: vec![PathBuf::from("/s")],
            network: true,
            temp: Some(PathBuf::from("/t %")),
        };
        assert_eq!(Policy::from_argument(&policy.to_argument()), Some(policy));
        assert_eq!(Policy::from_argument(OsStr::new("{}")), None);
        assert_eq!(Policy::from_argument(OsStr::new("nonsense")), None);
    }

    #[test]
    fn a_linked_worktree_brings_its_repository() {
        let dir = tempfile::tempdir().expect("temp");
        let main = dir.path().join("main/.git");
        let linked = main.join("worktrees/x");
        let worktree = dir.path().join("x");
        std::fs::create_dir_all(&linked).expect("dir");
        std::fs::create_dir_all(&worktree).expect("dir");
        std::fs::write(main.join("HEAD"), "ref: refs/heads/main\n").expect("write");
        std::fs::write(linked.join("HEAD"), "ref: refs/heads/x\n").expect("write");
        std::fs::write(linked.join("commondir"), "../..\n").expect("write");
        std::fs::write(
            worktree.join(".git"),
            format!("gitdir: {}\n", linked.display()),
        )
        .expect("write");
        let policy = Policy::for_session(&worktree, dir.path(), &SandboxSettings::default());
        assert!(policy.writable.contains(&linked));
        assert!(policy.writable.contains(&linked.join("../..")));
        std::fs::write(worktree.join(".git"), "gitdir: /etc\n").expect("write");
        let policy = Policy::for_session(&worktree, dir.path(), &SandboxSettings::default());
        assert!(
            !policy.writable.contains(&PathBuf::from("/etc")),
            "no repository"
        );
    }
}
