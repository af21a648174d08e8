//! Keys of providers that the user stored: `auth.json` in the config folder, readable by the owner only.
//!
//! `dunlin auth` writes it, the registry reads it. Keys of the environment win over it. A key is a
//! `SecretString` from the moment it is read and is never printed, only masked.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::protocol::{Fault, FaultKind};

/// Keys by provider id.
pub type Keys = BTreeMap<String, SecretString>;

#[derive(Serialize, Deserialize)]
struct Entry {
    key: String,
}

type File = BTreeMap<String, Entry>;

/// The file in this config folder.
pub fn file(config_dir: &Path) -> PathBuf {
    config_dir.join("auth.json")
}

/// The config folder by the environment: `DUNLIN_CONFIG_DIR`, else `XDG_CONFIG_HOME/dunlin`, else
/// `~/.config/dunlin`.
pub fn config_dir(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let var = |name: &str| {
        env(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    var("DUNLIN_CONFIG_DIR")
        .or_else(|| var("XDG_CONFIG_HOME").map(|dir| dir.join("dunlin")))
        .or_else(|| var("HOME").map(|dir| dir.join(".config").join("dunlin")))
}

/// The stored keys; empty if there is no file.
///
/// # Errors
///
/// If the file is there and cannot be read.
pub fn load(config_dir: &Path) -> Result<Keys, Fault> {
    let entries = read(config_dir)?;
    Ok(entries
        .into_iter()
        .map(|(provider, entry)| (provider, SecretString::from(entry.key)))
        .collect())
}

/// Stores the key of a provider, in place of an older one.
pub fn login(config_dir: &Path, provider: &str, key: &SecretString) -> Result<(), Fault> {
    let key = key.expose_secret().trim();
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(Fault::new(
            FaultKind::Config,
            format!("The key for `{provider}` is empty or holds control characters."),
            "Paste it again, as one line.",
        ));
    }
    let mut entries = read(config_dir)?;
    entries.insert(
        provider.to_owned(),
        Entry {
            key: key.to_owned(),
        },
    );
    write(config_dir, &entries)
}

/// Removes the key of a provider; false if there was none.
pub fn logout(config_dir: &Path, provider: &str) -> Result<bool, Fault> {
    let mut entries = read(config_dir)?;
    if entries.remove(provider).is_none() {
        return Ok(false);
    }
    write(config_dir, &entries)?;
    Ok(true)
}

/// Providers with stored keys, and the keys masked.
pub fn list(config_dir: &Path) -> Result<Vec<(String, String)>, Fault> {
    let keys = load(config_dir)?;
    Ok(keys
        .into_iter()
        .map(|(provider, key)| (provider, mask(&key)))
        .collect())
}

/// Every key that dunlin knows, stored or in one of these environment variables, for taking them out of
/// what leaves the machine.
pub fn known_keys(
    config_dir: &Path,
    variables: &[String],
    env: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let stored = load(config_dir).unwrap_or_default();
    let stored = stored.values().map(|key| key.expose_secret().to_owned());
    let set = variables.iter().filter_map(|name| env(name));
    stored.chain(set).collect()
}

/// Enough of a key to tell two apart: `sk-a…9f2c`, and nothing of a short one.
pub fn mask(key: &SecretString) -> String {
    let chars: Vec<char> = key.expose_secret().chars().collect();
    if chars.len() < 16 {
        return "…".to_owned();
    }
    let head: String = chars.iter().take(4).collect();
    let tail: String = chars.iter().skip(chars.len() - 4).collect();
    format!("{head}…{tail}")
}

fn read(config_dir: &Path) -> Result<File, Fault> {
    let path = file(config_dir);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::new()),
        Err(error) => return Err(trouble(&path, "read", &error.to_string())),
    };
    // The parser's own words could repeat a part of a key.
    serde_json::from_str(&text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        trouble(&path, "understood", &place)
    })
}

fn write(config_dir: &Path, entries: &File) -> Result<(), Fault> {
    let path = file(config_dir);
    let failed = |error: &std::io::Error| trouble(&path, "written", &error.to_string());
    std::fs::create_dir_all(config_dir).map_err(|e| failed(&e))?;
    let text = serde_json::to_string_pretty(entries)
        .map_err(|error| trouble(&path, "written", &error.to_string()))?;
    // Made with mode 0600, synced, then moved into place: never half a file, never readable.
    let mut temporary = tempfile::Builder::new()
        .prefix(".auth")
        .tempfile_in(config_dir)
        .map_err(|e| failed(&e))?;
    temporary
        .write_all(text.as_bytes())
        .and_then(|()| temporary.as_file().sync_all())
        .map_err(|e| failed(&e))?;
    temporary.persist(&path).map_err(|e| failed(&e.error))?;
    Ok(())
}

fn trouble(path: &Path, verb: &str, why: &str) -> Fault {
    Fault::new(
        FaultKind::Config,
        format!("The keys in {} could not be {verb}: {why}.", path.display()),
        "Correct or remove the file, or set the key in the environment.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    #[test]
    fn keys_are_kept_listed_masked_and_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("deep").join("config");
        assert!(load(&dir).expect("no file yet").is_empty());
        login(&dir, "anthropic", &key(" sk-ant-0123456789abcdef\n")).expect("stored");
        login(&dir, "openai", &key("sk-oai-0123456789abcdef")).expect("stored");
        let keys = load(&dir).expect("readable");
        assert_eq!(keys["anthropic"].expose_secret(), "sk-ant-0123456789abcdef");
        assert_eq!(
            list(&dir).expect("readable")[0],
            ("anthropic".to_owned(), "sk-a…cdef".to_owned())
        );
        assert!(logout(&dir, "anthropic").expect("written"));
        assert!(!logout(&dir, "anthropic").expect("nothing to do"));
        assert_eq!(load(&dir).expect("readable").len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        login(dir.path(), "x", &key("0123456789abcdef0")).expect("stored");
        let mode = std::fs::metadata(file(dir.path()))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_broken_file_is_named_and_its_content_is_not_shown() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(file(dir.path()), "{\"x\": sk-secret-secret").expect("written");
        let fault = load(dir.path()).expect_err("broken");
        assert!(fault.message.contains("auth.json"), "{fault}");
        assert!(!fault.to_string().contains("secret"), "{fault}");
        assert!(login(dir.path(), "x", &key("0123456789abcdef0")).is_err());
    }

    #[test]
    fn debug_output_and_masks_hide_keys() {
        let secret = key("sk-ant-0123456789abcdef");
        assert!(!format!("{secret:?}").contains("0123"));
        assert_eq!(mask(&key("short")), "…");
        assert!(login(Path::new("/nowhere"), "x", &key("  ")).is_err());
    }
}
