//! Writing a file so that a crash leaves the old or the new content, never a mixture.
//!
//! Called by the tools that write, with a resolved path (links already followed). Keeps mode and
//! owner. It does not sync: the journal and the snapshots are what survives a power loss, and 4 ms per
//! edit would be felt.

use std::fs::{File, Metadata};
use std::io::{self, Seek, Write};
use std::path::Path;

use crate::tools::reads::mtime;

/// Replaces the content of `path`, or creates it with its parent folders. `before` is the metadata
/// that went with the content the caller based its change on; none if there was no file. Returns the
/// new metadata. The error is a sentence for the model, and then nothing was changed.
pub fn save(path: &Path, content: &[u8], before: Option<&Metadata>) -> Result<Metadata, String> {
    let name = path.display();
    let dir = path
        .parent()
        .ok_or_else(|| format!("{name} is not a file; give the path of a file."))?;
    let done = match before {
        Some(before) => {
            if before.permissions().readonly() {
                return Err(format!(
                    "{name} is read-only, so it was not changed. If it is meant to be changed, make it \
                     writable first (chmod u+w)."
                ));
            }
            let now = std::fs::metadata(path)
                .map_err(|error| format!("{name} is gone ({error}); read it again."))?;
            if !same_file(before, &now) {
                return Err(format!(
                    "{name} changed while it was being edited; read it again."
                ));
            }
            replace(path, dir, content, before)
        }
        None => create(path, dir, content),
    };
    done.and_then(|()| std::fs::metadata(path)).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{name} could not be written: permission denied. Choose another path or ask the user.")
        }
        io::ErrorKind::AlreadyExists if before.is_none() => {
            format!("{name} was created by somebody else in the meantime; read it first.")
        }
        _ => format!("{name} could not be written: {error}."),
    })
}

fn create(path: &Path, dir: &Path, content: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut temp = temporary(dir)?;
    temp.write_all(content)?;
    temp.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

fn replace(path: &Path, dir: &Path, content: &[u8], before: &Metadata) -> io::Result<()> {
    // a new file would cut hard links, and would get our own user and group
    if shared_or_foreign(before) {
        return in_place(path, content);
    }
    let mut temp = match temporary(dir) {
        Ok(temp) => temp,
        // a folder that we may not write, with a file that we may
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return in_place(path, content);
        }
        Err(error) => return Err(error),
    };
    temp.write_all(content)?;
    temp.as_file().set_permissions(before.permissions())?;
    temp.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn temporary(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dunlin-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(dir)
}

fn in_place(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(content)?;
    let end = file.stream_position()?;
    file.set_len(end)
}

#[cfg(unix)]
fn shared_or_foreign(meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    meta.nlink() > 1 || meta.uid() != user.as_raw() || meta.gid() != group.as_raw()
}

#[cfg(not(unix))]
fn shared_or_foreign(_meta: &Metadata) -> bool {
    false
}

fn same_file(a: &Metadata, b: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if a.ino() != b.ino() || a.dev() != b.dev() {
            return false;
        }
    }
    a.len() == b.len() && mtime(a) == mtime(b)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn mode_survives_and_no_temporary_file_stays() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("run.sh");
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).expect("mode");
        let before = fs::metadata(&path).expect("metadata");
        let after = save(&path, b"new", Some(&before)).expect("saved");
        assert_eq!(after.permissions().mode() & 0o777, 0o751);
        assert_eq!(fs::read(&path).expect("content"), b"new");
        assert_eq!(fs::read_dir(dir.path()).expect("entries").count(), 1);
    }

    #[test]
    fn a_new_file_gets_its_folders_and_the_usual_mode() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let plain = dir.path().join("plain");
        fs::write(&plain, "").expect("a file");
        let path = dir.path().join("a/b/c.txt");
        let meta = save(&path, b"x", None).expect("saved");
        assert_eq!(meta.mode(), fs::metadata(&plain).expect("metadata").mode());
        let error = save(&path, b"y", None).expect_err("it exists");
        assert!(error.contains("in the meantime"), "{error}");
        assert_eq!(fs::read(&path).expect("content"), b"x");
    }

    #[test]
    fn hard_links_stay_linked() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "long old content").expect("a file");
        fs::hard_link(&one, &two).expect("a link");
        let before = fs::metadata(&one).expect("metadata");
        save(&one, b"new", Some(&before)).expect("saved");
        assert_eq!(fs::read(&two).expect("content"), b"new");
    }

    #[test]
    fn a_read_only_or_changed_file_is_left_alone() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("a");
        fs::write(&path, "old").expect("a file");
        let before = fs::metadata(&path).expect("metadata");
        fs::write(&path, "other content").expect("changed by somebody");
        let error = save(&path, b"new", Some(&before)).expect_err("changed");
        assert!(error.contains("changed while"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("mode");
        let before = fs::metadata(&path).expect("metadata");
        let error = save(&path, b"new", Some(&before)).expect_err("read-only");
        assert!(error.contains("read-only"), "{error}");
        assert_eq!(fs::read(&path).expect("content"), b"other content");
    }
}
