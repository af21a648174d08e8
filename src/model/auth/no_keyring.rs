//! Stands in for `keyring` where dunlin was built without it: there is no keyring, and it says so.

use secrecy::SecretString;

const WHY: &str = "this dunlin was built without the feature `keyring`";

/// No keyring.
pub(super) struct System;

impl super::Keyring for System {
    fn get(&self, _provider: &str) -> Result<SecretString, String> {
        Err(WHY.to_owned())
    }

    fn set(&self, _provider: &str, _key: &str) -> Result<(), String> {
        Err(WHY.to_owned())
    }

    /// What a build with a keyring stored there stays reachable for it.
    fn remove(&self, _provider: &str) -> Result<(), String> {
        Err(WHY.to_owned())
    }
}
