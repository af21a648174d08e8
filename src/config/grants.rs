//! Stored "always for this project" answers: `.dunlin/permissions.toml` in the worktree.
//!
//! The user may edit the file; comments and order stay. A file that came with a clone must not grant
//! anything: it counts only if the folder is trusted, or if it is exactly as dunlin last wrote it
//! (its hash is kept in the data folder).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::private;
use super::rules;
use super::used::{Rule, RuleAction, RuleLayer};

/// The owner of the layer.
pub const OWNER: &str = "grants";

/// A file that changed since is read again; one that is this young may change without a trace.
const RACY: Duration = Duration::from_millis(50);

/// The stored answers of a project.
#[derive(Debug, Clone)]
pub struct Grants {
    file: PathBuf,
    seal: PathBuf,
    /// The last answer of `layer`: every tool call asks.
    known: Arc<Mutex<Option<Known>>>,
}

/// What `layer` said, and what the files looked like then.
#[derive(Debug, Clone)]
struct Known {
    trusted: bool,
    files: [Option<Stamp>; 2],
    layer: Result<RuleLayer, String>,
}

/// Changes when a file does: size, when, and which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: SystemTime,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    /// None if there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            length: meta.len(),
            modified: meta.modified().ok()?,
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&meta),
        })
    }

    fn is_settled(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age > RACY)
    }
}

impl Grants {
    /// The grants of this worktree, with seals in this data folder. Reads nothing yet.
    pub fn new(worktree: &Path, data_dir: &Path) -> Self {
        let file = worktree.join(".dunlin/permissions.toml");
        let hash = blake3::hash(file.as_os_str().as_encoded_bytes());
        let seal = data_dir.join("grants").join(hash.to_hex().as_str());
        Self {
            file,
            seal,
            known: Arc::default(),
        }
    }

    /// The file, for messages.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The layer of these grants; empty if there are none. The error is a sentence: the file is not
    /// valid, or it is neither trusted nor sealed, and then it grants nothing. Reads the file only if
    /// it or its seal changed.
    pub fn layer(&self, trusted: bool) -> Result<RuleLayer, String> {
        let files = [Stamp::of(&self.file), Stamp::of(&self.seal)];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && known.trusted == trusted
            && known.files == files
        {
            return known.layer.clone();
        }
        let layer = self.read_layer(trusted);
        let settled = files.iter().flatten().all(Stamp::is_settled);
        *known = settled.then(|| Known {
            trusted,
            files,
            layer: layer.clone(),
        });
        layer
    }

    fn read_layer(&self, trusted: bool) -> Result<RuleLayer, String> {
        let Some(text) = self.read()? else {
            return Ok(layer(Vec::new()));
        };
        if !trusted && !self.is_sealed(&text) {
            return Err(format!(
                "{} grants nothing: it was not written by dunlin here. Trust the folder to use it.",
                self.file.display()
            ));
        }
        rules::read_file(&text).map(layer).map_err(|bad| {
            let first = bad
                .first()
                .map_or_else(String::new, |b| format!(" line {}: {}", b.line, b.message));
            format!("{} grants nothing,{first}.", self.file.display())
        })
    }

    /// The rules as stored, for `/permissions`; empty if there are none or they can't be read.
    pub fn list(&self) -> Vec<Rule> {
        self.read()
            .ok()
            .flatten()
            .and_then(|text| rules::read_file(&text).ok())
            .unwrap_or_default()
    }

    /// Stores a rule that allows; storing it twice changes nothing. A file that is not trusted
    /// (`layer` says no) is set aside rather than sealed with what a stranger wrote.
    pub fn add(&self, tool: &str, pattern: &str, trusted: bool) -> Result<(), String> {
        let foreign = !trusted && self.read()?.is_some_and(|text| !self.is_sealed(&text));
        if foreign {
            // set aside, not lost
            let aside = self.file.with_extension("toml.untrusted");
            std::fs::rename(&self.file, &aside).map_err(|e| {
                format!(
                    "{} is not trusted and can't be moved away ({e}), so the answer was not stored.",
                    self.file.display()
                )
            })?;
        }
        let stored = self.layer(trusted)?.rules;
        let mut document = self.document()?;
        let rule = Rule {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
            action: RuleAction::Allow,
        };
        if stored.contains(&rule) {
            return Ok(());
        }
        if document.is_empty() {
            document.decor_mut().set_prefix(
                "# Answers that dunlin keeps for this project. Lines may be edited or removed.\n",
            );
        }
        let mut table = Table::new();
        table["tool"] = value(tool);
        table["pattern"] = value(pattern);
        table["action"] = value("allow");
        let list = document
            .entry("rule")
            .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(list) = list.as_array_of_tables_mut() else {
            return Err(format!(
                "{}: `rule` is not a list of [[rule]] tables, so nothing was stored. Change or remove it.",
                self.file.display()
            ));
        };
        list.push(table);
        self.write(&document.to_string())
    }

    /// Takes a stored rule back; false if there was none like it.
    pub fn remove(&self, tool: &str, pattern: &str) -> Result<bool, String> {
        let was_sealed = self.read()?.is_some_and(|text| self.is_sealed(&text));
        let mut document = self.document()?;
        let Some(list) = document
            .get_mut("rule")
            .and_then(Item::as_array_of_tables_mut)
        else {
            return Ok(false);
        };
        let before = list.len();
        let is = |table: &Table, key: &str, text: &str| {
            table.get(key).and_then(Item::as_str) == Some(text)
        };
        list.retain(|table| !(is(table, "tool", tool) && is(table, "pattern", pattern)));
        if list.len() == before {
            return Ok(false);
        }
        let text = document.to_string();
        if was_sealed {
            self.write(&text)?;
        } else {
            self.write_file(&text)?;
        }
        Ok(true)
    }

    fn read(&self) -> Result<Option<String>, String> {
        match std::fs::read_to_string(&self.file) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!(
                "{} can't be read ({e}), so it grants nothing.",
                self.file.display()
            )),
        }
    }

    fn document(&self) -> Result<DocumentMut, String> {
        self.read()?
            .unwrap_or_default()
            .parse()
            .map_err(|e: toml_edit::TomlError| {
                format!(
                    "{} is not valid TOML: {}. Correct it first.",
                    self.file.display(),
                    e.message()
                )
            })
    }

    fn is_sealed(&self, text: &str) -> bool {
        std::fs::read_to_string(&self.seal)
            .is_ok_and(|seal| seal == blake3::hash(text.as_bytes()).to_hex().as_str())
    }

    fn write(&self, text: &str) -> Result<(), String> {
        self.write_file(text)?;
        let hash = blake3::hash(text.as_bytes()).to_hex();
        // the file itself lies in the worktree, whose folders are as open as the user wants them
        let _told_below = private::make_folder(self.seal.parent().unwrap_or(&self.seal));
        replace(&self.seal, hash.as_str())
    }

    fn write_file(&self, text: &str) -> Result<(), String> {
        replace(&self.file, text)
    }
}

fn layer(rules: Vec<Rule>) -> RuleLayer {
    RuleLayer {
        owner: OWNER.to_owned(),
        rules,
    }
}

/// Writes a whole file in one step.
fn replace(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|e| {
        format!(
            "{} can't be written ({e}), so the answer was not stored.",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Grants) {
        let dir = tempfile::tempdir().expect("temp");
        std::fs::create_dir_all(dir.path().join("w/.dunlin")).expect("dir");
        let grants = Grants::new(&dir.path().join("w"), &dir.path().join("data"));
        (dir, grants)
    }

    #[test]
    fn answers_are_stored_listed_and_taken_back() {
        let (_dir, grants) = world();
        grants.add("bash", "cargo add *", false).expect("stored");
        grants.add("bash", "cargo add *", false).expect("stored");
        grants.add("bash", "rm \\*.o \"x\"", false).expect("stored");
        let rules = grants.layer(false).expect("sealed").rules;
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[1].pattern, "rm \\*.o \"x\"");
        assert_eq!(grants.list(), rules);
        assert_eq!(grants.remove("bash", "cargo add *"), Ok(true));
        assert_eq!(grants.remove("bash", "cargo add *"), Ok(false));
        assert_eq!(grants.layer(false).expect("sealed").rules.len(), 1);
    }

    #[test]
    fn a_file_that_came_with_a_clone_grants_nothing_until_trusted() {
        let (_dir, grants) = world();
        let foreign = "# theirs\n[[rule]]\ntool = \"bash\"\npattern = \"*\"\naction = \"allow\"\n";
        std::fs::write(grants.file(), foreign).expect("write");
        assert!(
            grants
                .layer(false)
                .expect_err("foreign")
                .contains("grants nothing")
        );
        assert_eq!(grants.layer(true).expect("trusted").rules.len(), 1);
        // answering in an untrusted folder must not adopt what was there
        grants.add("bash", "make *", false).expect("stored");
        let rules = grants.layer(false).expect("sealed").rules;
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].pattern, "make *");
        // an edit by hand breaks the seal
        let text = std::fs::read_to_string(grants.file()).expect("read");
        std::fs::write(grants.file(), text + "\n[bash]\n\"*\" = \"allow\"\n").expect("write");
        assert!(grants.layer(false).is_err());
    }

    #[test]
    fn comments_of_the_user_stay() {
        let (_dir, grants) = world();
        std::fs::write(
            grants.file(),
            "# mine\n[[rule]] # why\ntool = \"bash\"\npattern = \"x\"\naction = \"allow\"\n",
        )
        .expect("write");
        grants.add("edit", "src/*", true).expect("stored");
        let text = std::fs::read_to_string(grants.file()).expect("read");
        assert!(
            text.starts_with("# mine\n[[rule]] # why\n") && text.contains("src/*"),
            "{text}"
        );
        std::fs::write(grants.file(), "rule = 3\n").expect("write");
        assert!(grants.add("edit", "a", true).is_err());
    }
}
