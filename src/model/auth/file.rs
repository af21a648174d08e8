//! `auth.json`: keys, and the names of those that are in the keyring.
//!
//! Only `auth` uses it. Written with mode 0600 and moved into place: never half a file, never readable
//! by others. Nothing of its content is ever repeated in an error.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::private;
use crate::protocol::{Fault, FaultKind};

/// What the file says, by provider id.
pub(super) type Entries = BTreeMap<String, Entry>;

/// What the file says of one provider.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    /// The key itself.
    Key {
        /// It.
        key: String,
    },
    /// The key is somewhere else.
    Elsewhere {
        /// Where: always `keyring`.
        store: String,
    },
}

impl Entry {
    /// An entry for a key in the keyring.
    pub(super) fn elsewhere() -> Self {
        Self::Elsewhere {
            store: "keyring".to_owned(),
        }
    }
}

/// The entries; none if there is no file.
pub(super) fn read(config_dir: &Path) -> Result<Entries, Fault> {
    let path = super::file(config_dir);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Entries::new()),
        Err(error) => return Err(trouble(&path, "read", &error.to_string())),
    };
    // The parser's own words could repeat a part of a key.
    serde_json::from_str(&text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        trouble(&path, "understood", &place)
    })
}

/// Replaces the entries.
pub(super) fn write(config_dir: &Path, entries: &Entries) -> Result<(), Fault> {
    let path = super::file(config_dir);
    let failed = |error: &std::io::Error| trouble(&path, "written", &error.to_string());
    private::make_folder(config_dir).map_err(|e| failed(&e))?;
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
