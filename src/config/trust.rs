//! Which folders the user trusts: a project's own configuration, hooks, servers and commands do
//! nothing until then.
//!
//! One small file per folder below `<data>/trusted`, named by a hash of the folder's resolved path,
//! so that several processes can add and remove at once and no lock is needed. Trust is for exactly
//! that folder, not for what is below it: a clone inside a trusted folder is somebody else's.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::private;
use crate::protocol::Millis;

/// A trusted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// The folder, resolved.
    pub folder: PathBuf,
    /// When it was trusted.
    pub since: Millis,
}

/// True if the user trusts this folder.
pub fn is_trusted(data_dir: &Path, folder: &Path) -> bool {
    let folder = resolved(folder);
    read(&record(data_dir, &folder)).is_some_and(|t| t.folder == folder)
}

/// True if the folder holds anything that needs trust: only then is the user asked.
pub fn needs_trust(worktree: &Path) -> bool {
    [".dunlin", ".agents/skills", ".claude/skills"]
        .iter()
        .any(|name| worktree.join(name).is_dir())
}

/// Trusts a folder from now on.
pub fn trust(data_dir: &Path, folder: &Path, now: Millis) -> std::io::Result<()> {
    let folder = resolved(folder);
    let path = record(data_dir, &folder);
    let parent = path.parent().unwrap_or(data_dir);
    private::make_folder(parent)?;
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    writeln!(file, "{now}")?;
    file.write_all(folder.as_os_str().as_encoded_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Takes trust back; false if the folder was not trusted.
pub fn revoke(data_dir: &Path, folder: &Path) -> std::io::Result<bool> {
    match std::fs::remove_file(record(data_dir, &resolved(folder))) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// All trusted folders, sorted by path.
pub fn list(data_dir: &Path) -> Vec<Trusted> {
    let entries = std::fs::read_dir(data_dir.join("trusted"));
    let mut all: Vec<Trusted> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| read(&entry.path()))
        .collect();
    all.sort_by(|a, b| a.folder.cmp(&b.folder));
    all
}

fn resolved(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn record(data_dir: &Path, folder: &Path) -> PathBuf {
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes());
    data_dir.join("trusted").join(hash.to_hex().as_str())
}

fn read(path: &Path) -> Option<Trusted> {
    let bytes = std::fs::read(path).ok()?;
    let newline = memchr::memchr(b'\n', &bytes)?;
    let since = std::str::from_utf8(&bytes[..newline]).ok()?.parse().ok()?;
    Some(Trusted {
        folder: to_path(&bytes[newline + 1..]),
        since,
    })
}

#[cfg(unix)]
fn to_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_for_one_folder_and_can_be_taken_back() {
        let dir = tempfile::tempdir().expect("temp");
        let data = dir.path().join("data");
        let folder = dir.path().join("a b");
        std::fs::create_dir_all(folder.join("inner")).expect("dir");
        assert!(!is_trusted(&data, &folder));
        trust(&data, &folder.join("inner/.."), 42).expect("trust");
        assert!(is_trusted(&data, &folder), "paths are resolved");
        assert!(!is_trusted(&data, &folder.join("inner")));
        let all = list(&data);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].since, 42);
        assert_eq!(revoke(&data, &folder).ok(), Some(true));
        assert_eq!(revoke(&data, &folder).ok(), Some(false));
        assert!(!is_trusted(&data, &folder));
    }

    #[test]
    fn a_damaged_record_trusts_nothing() {
        let dir = tempfile::tempdir().expect("temp");
        let folder = resolved(dir.path());
        trust(dir.path(), &folder, 1).expect("trust");
        std::fs::write(record(dir.path(), &folder), b"1\n/other").expect("write");
        assert!(!is_trusted(dir.path(), &folder));
        std::fs::write(record(dir.path(), &folder), b"\xff").expect("write");
        assert!(!is_trusted(dir.path(), &folder));
    }
}
