//! Stands in for `keyring` where dunlin was built without it: there is no keyring, and it says so.

use secrecy::SecretString;

const WHY: &str = "this dunlin was built without the feature `keyring`";

/// No key.
pub(super) fn get(_provider: &str) -> Result<SecretString, String> {
    Err(WHY.to_owned())
}

/// Stores nothing.
pub(super) fn set(_provider: &str, _key: &str) -> Result<(), String> {
    Err(WHY.to_owned())
}

/// Removes nothing: what a build with a keyring stored there stays reachable for it.
pub(super) fn remove(_provider: &str) -> Result<(), String> {
    Err(WHY.to_owned())
}
