//! Deletes old full outputs. Called by `app` at start and hourly, per folder of outputs.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What a cleaning removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Deletes the files of `dir` that were last written more than `keep` before `now`. A folder that
/// does not exist is clean. What cannot be deleted is left for the next time.
pub fn clean(dir: &Path, keep: Duration, now: SystemTime) -> io::Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(cleaned),
        other => other?,
    };
    for entry in entries.flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let age = meta
            .modified()
            .ok()
            .and_then(|time| now.duration_since(time).ok());
        if !meta.is_file() || age.is_none_or(|age| age <= keep) {
            continue;
        }
        if std::fs::remove_file(entry.path()).is_ok() {
            cleaned.files += 1;
            cleaned.bytes += meta.len();
        }
    }
    Ok(cleaned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_files_older_than_the_limit_go() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let now = SystemTime::now();
        for (name, days) in [("old", 8), ("young", 6)] {
            let path = dir.path().join(name);
            fs::write(&path, "12345").expect("a file");
            let file = fs::File::options().append(true).open(&path).expect("open");
            file.set_modified(now - Duration::from_secs(days * 86_400))
                .expect("time");
        }
        let week = Duration::from_hours(7 * 24);
        let cleaned = clean(dir.path(), week, now).expect("cleans");
        assert_eq!(cleaned, Cleaned { files: 1, bytes: 5 });
        assert!(dir.path().join("young").exists() && !dir.path().join("old").exists());
        assert_eq!(
            clean(&dir.path().join("none"), week, now).expect("clean"),
            Cleaned::default()
        );
    }
}
