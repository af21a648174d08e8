//! Files that look as if they held secrets: `.env`, keys, credentials. Reading one asks, in any mode
//! but `auto` inside the sandbox, which cannot open those of the home folder at all.

use std::path::{Component, Path};

/// Names that are secrets wherever they are.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "shadow",
    "gshadow",
    "sudoers",
    "auth.json",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "secret.key",
    "master.key",
    "service-account.json",
    "application_default_credentials.json",
    "kubeconfig",
    ".terraformrc",
    "wallet.dat",
];

/// Endings of key files.
const ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".asc.key",
    ".gpg",
    ".tfvars",
    ".env",
];

/// Folders all of whose content is secret.
pub const FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    "gcloud",
    "keyrings",
];

/// Endings of example files that hold no secret: `.env.example`.
const EXAMPLES: &[&str] = &[
    ".example",
    ".sample",
    ".template",
    ".dist",
    ".defaults",
    ".pub",
];

/// True if the path's names look like a secret. Case does not matter.
pub fn is_secret(path: &Path) -> bool {
    let lower = path.to_string_lossy().to_lowercase();
    let path = Path::new(&lower);
    let in_secret_folder = path.components().any(|part| match part {
        Component::Normal(name) => FOLDERS.iter().any(|f| name == *f),
        _ => false,
    });
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
        return false;
    };
    in_secret_folder || is_secret_name(name) || is_proc_environment(path, name)
}

fn is_secret_name(name: &str) -> bool {
    if EXAMPLES.iter().any(|e| name.ends_with(e)) {
        return false;
    }
    NAMES.contains(&name) || name.starts_with(".env.") || ENDINGS.iter().any(|e| name.ends_with(e))
}

fn is_proc_environment(path: &Path, name: &str) -> bool {
    path.starts_with("/proc") && matches!(name, "environ" | "mem" | "cmdline")
}

/// True if a name with `*`, `?` or `[` in it is meant to find secrets: it begins with a dot or ends
/// like a key file, and a secret name fits. (`*` alone does not match names that begin with a dot.)
pub fn glob_wants_secret(pattern: &str) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or(pattern).to_lowercase();
    let pointed = name.starts_with('.')
        || name.starts_with("id_")
        || ENDINGS.iter().any(|e| name.ends_with(e));
    let folder = pattern
        .split('/')
        .any(|part| FOLDERS.contains(&part.to_lowercase().as_str()));
    let candidates = NAMES
        .iter()
        .copied()
        .chain([".env.local", "x.pem", "x.key"]);
    folder
        || (pointed
            && candidates
                .into_iter()
                .any(|c| super::pattern::glob(&name, c)))
        || NAMES.contains(&name.as_str())
}

/// True if a variable's name says that it holds a secret.
pub fn is_secret_variable(name: &str) -> bool {
    let upper = name.to_uppercase();
    [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "_PAT",
    ]
    .iter()
    .any(|part| upper.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_look_alikes() {
        for path in [
            "/w/.env",
            "/w/.env.production",
            "/w/prod.env",
            "/home/u/.ssh/id_ed25519",
            "/home/u/.ssh/config",
            "/w/certs/server.KEY",
            "/home/u/.aws/credentials",
            "/etc/shadow",
            "/proc/self/environ",
            "/home/u/.config/gcloud/x.db",
        ] {
            assert!(is_secret(Path::new(path)), "{path}");
        }
        for path in [
            "/w/.env.example",
            "/w/src/environment.rs",
            "/w/keyboard.rs",
            "/w/id_rsa.pub",
            "/w/src/credentials.rs",
            "/w",
            "/",
        ] {
            assert!(!is_secret(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn globs_that_aim_at_secrets_are_seen() {
        for glob in [
            ".e*", ".env*", "./.e?v", "*.pem", "id_*", "~/.ssh/*", ".n[e]trc",
        ] {
            assert!(glob_wants_secret(glob), "{glob}");
        }
        for glob in ["*", "*.rs", "src/*", "?.txt"] {
            assert!(!glob_wants_secret(glob), "{glob}");
        }
    }
}
