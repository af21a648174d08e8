//! Keys in the operating system's keyring: on Linux the kernel's, which needs no daemon and no bus.
//!
//! Only `auth` uses it. Built with the feature `keyring`; `no_keyring` stands in without it. The
//! kernel keeps keys until the machine restarts, or for some days after they were last used.

use keyring_core::Entry;
use keyring_core::api::CredentialStoreApi;
use linux_keyutils_keyring_store::Store;
use secrecy::SecretString;

/// Under which name all keys are.
const SERVICE: &str = "dunlin";

fn entry(provider: &str) -> Result<Entry, String> {
    // A store of our own instead of the crate's global one.
    Store::new()
        .and_then(|store| store.build(SERVICE, provider, None))
        .map_err(|error| error.to_string())
}

/// The key of a provider.
pub(super) fn get(provider: &str) -> Result<SecretString, String> {
    let key = entry(provider)?
        .get_password()
        .map_err(|error| error.to_string())?;
    Ok(SecretString::from(key))
}

/// Stores the key of a provider.
pub(super) fn set(provider: &str, key: &str) -> Result<(), String> {
    entry(provider)?
        .set_password(key)
        .map_err(|error| error.to_string())
}

/// Removes the key of a provider; one that is gone already is removed.
pub(super) fn remove(provider: &str) -> Result<(), String> {
    match entry(provider)?.delete_credential() {
        Ok(()) | Err(keyring_core::Error::NoEntry) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
