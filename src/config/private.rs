//! Folders that only the user can look into, whatever the umask is.
//!
//! Everything that makes a folder below the data or the configuration folder makes it here: what was said,
//! the contents of files and keys lie there, and most homes can be entered by everybody on the machine.
//! What is in the folders has its own modes (0600).

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// What the user's group and everybody else may do.
const OTHERS: u32 = 0o077;

/// Makes a folder, and those above it that are missing. One that is there stays as it is.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Closes a folder that an earlier dunlin left open to others. One that is not there, is somebody else's or
/// only a link is left alone. True if it was open.
pub fn close_folder(path: &Path) -> bool {
    let Ok(facts) = fs::symlink_metadata(path) else {
        return false;
    };
    let ours = facts.uid() == rustix::process::geteuid().as_raw();
    let open = facts.is_dir() && ours && facts.mode() & OTHERS != 0;
    if open && let Err(error) = fs::set_permissions(path, Permissions::from_mode(0o700)) {
        // a file system without modes, for example
        tracing::warn!(%error, folder = %path.display(), "others can look into the folder");
        return false;
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("facts").mode() & 0o7777
    }

    #[test]
    fn what_is_made_is_closed_and_what_was_open_is_closed() {
        let home = tempfile::tempdir().expect("temp");
        let deep = home.path().join("a/b/c");
        make_folder(&deep).expect("made");
        for folder in [&deep, &home.path().join("a/b"), &home.path().join("a")] {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
        assert!(!close_folder(&deep));
        fs::set_permissions(&deep, Permissions::from_mode(0o755)).expect("opened");
        assert!(close_folder(&deep));
        assert_eq!(mode(&deep), 0o700);
    }

    #[test]
    fn links_and_what_is_missing_are_left_alone() {
        let home = tempfile::tempdir().expect("temp");
        let elsewhere = home.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("made");
        fs::set_permissions(&elsewhere, Permissions::from_mode(0o755)).expect("opened");
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&elsewhere, &link).expect("link");
        assert!(!close_folder(&link));
        assert!(!close_folder(&home.path().join("missing")));
        assert_eq!(mode(&elsewhere), 0o755);
    }
}
