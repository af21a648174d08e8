//! Which names look like secrets. Called by `Workspace::is_secret` only.
//!
//! A false alarm costs one question to the user, a miss may put a key into a model's context; but
//! examples and public keys are read all the time and must stay out.

use std::path::Path;

/// Folders whose whole content is secret, as path endings.
const FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
];

/// File names, in lower case.
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
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.yml",
    "credentials.yaml",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
    "secrets.env",
    "client_secret.json",
    "service-account.json",
    "service_account.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "master.key",
    ".vault-token",
    "auth.json",
    ".dockercfg",
];

/// Extensions of keys and key stores, in lower case.
const EXTENSIONS: &[&str] = &[
    "pem", "key", "p12", "pfx", "p8", "jks", "keystore", "kdbx", "ppk", "ovpn",
];

/// Endings that mark a template which is meant to be read.
const TEMPLATES: &[&str] = &[
    "example", "sample", "template", "dist", "default", "defaults", "schema",
];

/// True if the path looks like one of a secret.
pub(super) fn looks_secret(path: &Path) -> bool {
    let text = path.to_string_lossy().to_lowercase();
    let text = text.replace('\\', "/");
    let name = text.rsplit('/').next().unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    if TEMPLATES.contains(&extension) || extension == "pub" {
        return false;
    }
    let in_folder = FOLDERS.iter().any(|folder| {
        text.match_indices(folder).any(|(at, _)| {
            let before = at == 0 || text.as_bytes()[at - 1] == b'/';
            let after = text.as_bytes().get(at + folder.len());
            before && after.is_none_or(|byte| *byte == b'/')
        })
    });
    let env = name.starts_with(".env.") || (extension == "env" && !stem.is_empty());
    let process = text.starts_with("/proc/") && (name == "environ" || name == "mem");
    let system = text == "/etc/shadow" || text == "/etc/gshadow";
    let docker = text.ends_with("/.docker/config.json");
    in_folder
        || env
        || process
        || docker
        || system
        || NAMES.contains(&name)
        || (!stem.is_empty() && EXTENSIONS.contains(&extension))
}
