//! Where a simple command may run, after the `cd`s before it.
//!
//! A `cd` may fail, so after one both folders are possible, unless `&&` ties what follows to its
//! success. A folder that only the shell knows makes the whole set unknown.

use std::path::{Path, PathBuf};

/// The folders in which a command may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cwd {
    /// The folders that are known to be possible.
    pub folders: Vec<PathBuf>,
    /// True if there may be others.
    pub unknown: bool,
}

impl Cwd {
    /// Exactly this folder.
    pub fn at(folder: &Path) -> Self {
        Self {
            folders: vec![folder.to_owned()],
            unknown: false,
        }
    }

    /// After a `cd` that succeeded: to a known path, or to one that only the shell knows.
    pub fn changed(&self, to: Option<&str>) -> Self {
        match to {
            Some(path) => Self {
                folders: self
                    .folders
                    .iter()
                    .map(|folder| crate::permission::place::normal(&folder.join(path)))
                    .collect(),
                unknown: self.unknown && !Path::new(path).is_absolute(),
            },
            None => Self {
                folders: self.folders.clone(),
                unknown: true,
            },
        }
    }

    /// Either this or that.
    pub fn or(mut self, other: &Self) -> Self {
        for folder in &other.folders {
            if !self.folders.contains(folder) {
                self.folders.push(folder.clone());
            }
        }
        if self.folders.len() > 32 {
            self.folders.truncate(32);
            self.unknown = true;
        }
        self.unknown |= other.unknown;
        self
    }
}
