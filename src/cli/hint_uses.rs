//! Which hints the user needs no more: one small JSON file in the data folder, for all projects.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::config::private;
use crate::tui::run::KeepHints;

/// The file.
#[derive(Debug, Clone)]
pub(super) struct HintUses {
    file: PathBuf,
}

impl HintUses {
    pub(super) fn new(data_dir: &Path) -> Self {
        Self {
            file: data_dir.join("hints.json"),
        }
    }

    /// The counts; none if there is no file or it cannot be read: then hints show again.
    pub(super) fn read(&self) -> BTreeMap<String, u32> {
        let text = std::fs::read(&self.file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What keeps the counts. Losing one is no reason to stop: failures are logged.
    pub(super) fn keeper(self) -> KeepHints {
        Box::new(move |uses| {
            if let Err(error) = self.write(uses) {
                tracing::warn!(%error, "the hints were not kept");
            }
        })
    }

    fn write(&self, uses: &BTreeMap<String, u32>) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or(&self.file);
        private::make_folder(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(uses)?)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read_and_damage_only_shows_hints_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let hints = HintUses::new(dir.path());
        assert!(hints.read().is_empty());
        let uses = BTreeMap::from([("@".to_owned(), 3)]);
        hints.clone().keeper()(&uses);
        assert_eq!(hints.read(), uses);
        std::fs::write(dir.path().join("hints.json"), "{").expect("written");
        assert!(hints.read().is_empty());
    }
}
