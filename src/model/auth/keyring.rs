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

/// The kernel's keyring.
pub(super) struct System;

impl super::Keyring for System {
    fn get(&self, provider: &str) -> Result<SecretString, String> {
        with(|store| get(store, provider))
    }

    fn set(&self, provider: &str, key: &str) -> Result<(), String> {
        with(|store| entry(store, provider)?.set_password(key))
    }

    fn remove(&self, provider: &str) -> Result<(), String> {
        with(|store| remove(store, provider))
    }
}

/// Does something with a store of our own, instead of the crate's global one.
fn with<T>(
    job: impl FnOnce(&dyn CredentialStoreApi) -> keyring_core::Result<T>,
) -> Result<T, String> {
    Store::new()
        .and_then(|store| job(&*store))
        .map_err(|error| error.to_string())
}

fn entry(store: &dyn CredentialStoreApi, provider: &str) -> keyring_core::Result<Entry> {
    store.build(SERVICE, provider, None)
}

fn get(store: &dyn CredentialStoreApi, provider: &str) -> keyring_core::Result<SecretString> {
    Ok(SecretString::from(entry(store, provider)?.get_password()?))
}

fn remove(store: &dyn CredentialStoreApi, provider: &str) -> keyring_core::Result<()> {
    match entry(store, provider)?.delete_credential() {
        Err(keyring_core::Error::NoEntry) => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::super::Keyring;
    use super::*;

    #[test]
    fn a_store_of_the_crate_keeps_gives_and_forgets_keys() {
        let store = keyring_core::mock::Store::new().expect("a store in memory");
        entry(&*store, "x")
            .and_then(|entry| entry.set_password("sk-1"))
            .expect("stored");
        assert_eq!(get(&*store, "x").expect("there").expose_secret(), "sk-1");
        assert!(get(&*store, "y").is_err());
        remove(&*store, "x").expect("removed");
        remove(&*store, "x").expect("removed already");
        assert!(get(&*store, "x").is_err());
    }

    #[test]
    fn the_kernels_keyring_keeps_gives_and_forgets_keys_where_there_is_one() {
        let provider = format!("dunlin-test-{}", std::process::id());
        if let Err(why) = System.set(&provider, "sk-1") {
            println!("skipped: {why}");
            return;
        }
        assert_eq!(
            System.get(&provider).expect("there").expose_secret(),
            "sk-1"
        );
        System.remove(&provider).expect("removed");
        assert!(System.get(&provider).is_err(), "nothing stays behind");
    }
}
