//! Keys of providers that the user stored: in `auth.json` in the config folder, readable by the owner
//! only, or in the operating system's keyring (feature `keyring`).
//!
//! `dunlin auth` writes them, the registry reads them. Keys of the environment win over them. A key is
//! a `SecretString` from the moment it is read and is never printed, only masked. `file` owns
//! `auth.json`, which also says which keys are in the keyring: keyrings cannot be listed.

mod file;
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod keyring;
#[cfg(not(all(feature = "keyring", target_os = "linux")))]
#[path = "no_keyring.rs"]
mod keyring;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use self::file::Entry;
use crate::protocol::{Fault, FaultKind};

/// A keyring: names of providers to keys. What goes wrong is told in its own words.
trait Keyring {
    /// The key of a provider.
    fn get(&self, provider: &str) -> Result<SecretString, String>;
    /// Stores the key of a provider.
    fn set(&self, provider: &str, key: &str) -> Result<(), String>;
    /// Removes the key of a provider; one that is gone already is removed.
    fn remove(&self, provider: &str) -> Result<(), String>;
}

/// Keys by provider id.
pub type Keys = BTreeMap<String, SecretString>;

/// Where a key is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `auth.json`.
    File,
    /// The operating system's keyring.
    Keyring,
}

impl Place {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "auth.json",
            Self::Keyring => "keyring",
        }
    }
}

/// A stored key as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Whose.
    pub provider: String,
    /// Where.
    pub place: Place,
    /// The key, masked; or why it cannot be read.
    pub masked: Result<String, String>,
}

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

/// The stored keys, empty if there are none, and what was wrong with those that cannot be read.
pub fn load(config_dir: &Path) -> (Keys, Vec<Fault>) {
    load_with(config_dir, &keyring::System)
}

fn load_with(config_dir: &Path, keyring: &dyn Keyring) -> (Keys, Vec<Fault>) {
    let mut problems = Vec::new();
    let entries = file::read(config_dir).unwrap_or_else(|fault| {
        problems.push(fault);
        file::Entries::new()
    });
    let mut keys = Keys::new();
    for (provider, entry) in entries {
        match secret(&provider, entry, keyring) {
            Ok(key) => {
                keys.insert(provider, key);
            }
            Err(why) => problems.push(keyring_trouble(&provider, "read", &why)),
        }
    }
    (keys, problems)
}

fn secret(provider: &str, entry: Entry, keyring: &dyn Keyring) -> Result<SecretString, String> {
    match entry {
        Entry::Key { key } => Ok(SecretString::from(key)),
        Entry::Elsewhere { .. } => keyring.get(provider),
    }
}

/// Stores the key of a provider, in place of an older one. Without a `place` in the keyring if there
/// is one that answers, else in the file. Says where it is now.
///
/// # Errors
///
/// For a key that cannot be one, a file that cannot be written, and a keyring that was asked for and
/// does not answer.
pub fn login(
    config_dir: &Path,
    provider: &str,
    key: &SecretString,
    place: Option<Place>,
) -> Result<Place, Fault> {
    login_with(config_dir, provider, key, place, &keyring::System)
}

fn login_with(
    config_dir: &Path,
    provider: &str,
    key: &SecretString,
    place: Option<Place>,
    keyring: &dyn Keyring,
) -> Result<Place, Fault> {
    let key = key.expose_secret().trim();
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(Fault::new(
            FaultKind::Config,
            format!("The key for `{provider}` is empty or holds control characters."),
            "Paste it again, as one line.",
        ));
    }
    let mut entries = file::read(config_dir)?;
    let kept = match place {
        Some(Place::File) => Place::File,
        Some(Place::Keyring) => {
            keyring
                .set(provider, key)
                .map_err(|why| keyring_trouble(provider, "stored", &why))?;
            Place::Keyring
        }
        None if keyring.set(provider, key).is_ok() => Place::Keyring,
        None => Place::File,
    };
    let entry = match kept {
        Place::Keyring => Entry::elsewhere(),
        Place::File => Entry::Key {
            key: key.to_owned(),
        },
    };
    let old = entries.insert(provider.to_owned(), entry);
    file::write(config_dir, &entries)?;
    if kept == Place::File && matches!(old, Some(Entry::Elsewhere { .. })) {
        // the older key must not stay behind; if the keyring is gone, so is the key
        drop(keyring.remove(provider));
    }
    Ok(kept)
}

/// Removes the key of a provider; false if there was none.
///
/// # Errors
///
/// If the file cannot be written, or the keyring does not give the key up.
pub fn logout(config_dir: &Path, provider: &str) -> Result<bool, Fault> {
    logout_with(config_dir, provider, &keyring::System)
}

fn logout_with(config_dir: &Path, provider: &str, keyring: &dyn Keyring) -> Result<bool, Fault> {
    let mut entries = file::read(config_dir)?;
    match entries.remove(provider) {
        None => return Ok(false),
        Some(Entry::Elsewhere { .. }) => {
            keyring
                .remove(provider)
                .map_err(|why| keyring_trouble(provider, "removed", &why))?;
        }
        Some(Entry::Key { .. }) => {}
    }
    file::write(config_dir, &entries)?;
    Ok(true)
}

/// The stored keys as they may be shown.
///
/// # Errors
///
/// If the file is there and cannot be read.
pub fn list(config_dir: &Path) -> Result<Vec<Stored>, Fault> {
    list_with(config_dir, &keyring::System)
}

fn list_with(config_dir: &Path, keyring: &dyn Keyring) -> Result<Vec<Stored>, Fault> {
    let entries = file::read(config_dir)?;
    Ok(entries
        .into_iter()
        .map(|(provider, entry)| {
            let place = match entry {
                Entry::Key { .. } => Place::File,
                Entry::Elsewhere { .. } => Place::Keyring,
            };
            let masked = secret(&provider, entry, keyring).map(|key| mask(&key));
            Stored {
                provider,
                place,
                masked,
            }
        })
        .collect())
}

/// Every key that dunlin knows, stored or in one of these environment variables, for taking them out of
/// what leaves the machine.
pub fn known_keys(
    config_dir: &Path,
    variables: &[String],
    env: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let (stored, _unreadable) = load(config_dir);
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

fn keyring_trouble(provider: &str, verb: &str, why: &str) -> Fault {
    Fault::new(
        FaultKind::Config,
        format!("The key for `{provider}` could not be {verb} in the keyring: {why}."),
        format!(
            "Store it again with `dunlin auth login {provider} --store file`, or set it in the environment."
        ),
    )
}

#[cfg(test)]
#[path = "auth_tests.rs"]
mod tests;
