//! Images and documents, kept once by content and shared by the sessions of a project.
//!
//! A blob is a file named by the BLAKE3 hash of its bytes; parts hold only `blob:<hash>`. A blob
//! is synced before its reference is returned, so a part never points to something a power cut
//! could take.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;
use super::meta::modified;
use super::place::{make_folder, sync_folder};
use crate::protocol::{BlobRef, Millis};

const SCHEME: &str = "blob:";
/// Whoever renamed a file longer ago has synced its folder, or is dead.
const SETTLED: Duration = Duration::from_mins(1);

/// The blob store of a project. Cheap to clone; calls block on the disk.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: Arc<Path>,
    temporary: Arc<AtomicU64>,
}

impl Blobs {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder: folder.into(),
            temporary: Arc::default(),
        }
    }

    /// Keeps these bytes and returns their reference. Costs one fsync unless they were there. A file of their
    /// name with other bytes in it is damaged, and written anew.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let hash = blake3::hash(bytes).to_hex();
        let path = self.path_of(&hash);
        let name = BlobRef(format!("{SCHEME}{hash}"));
        let io = |e| StoreError::io("write", &path, e);
        let folder = path.parent().unwrap_or(&self.folder);
        make_folder(folder)?;
        // no clean-up takes away what is found here before it is young again
        let _at_it = self.lock(FlockOperation::LockShared);
        if let Some(settled) = freshened(&path, bytes) {
            if !settled {
                sync_folder(folder).map_err(io)?;
            }
            return Ok(name);
        }
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("tmp-{}-{number}", std::process::id()));
        let written = write_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            drop(fs::remove_file(&temporary));
        }
        written.map_err(io)?;
        sync_folder(folder).map_err(io)?;
        Ok(name)
    }

    /// Removes a blob, or what was to become one, that was not touched since `young`; false if somebody needs
    /// it again by now.
    pub(super) fn remove_old(&self, path: &Path, young: Millis) -> io::Result<bool> {
        let _alone = self.lock(FlockOperation::LockExclusive);
        if modified(path) >= young {
            return Ok(false);
        }
        fs::remove_file(path).map(|()| true)
    }

    /// Shared by those who keep bytes, had alone by who removes some: each for a moment. None where nothing
    /// can be locked; then the ages of files are all there is.
    fn lock(&self, how: FlockOperation) -> Option<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.folder.with_extension("lock")).ok()?;
        flock(&file, how).ok().map(|()| file)
    }

    /// The bytes of a blob. Bytes that do not fit their name are refused as damaged.
    pub fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        let path = self.path(blob)?;
        let bytes = fs::read(&path).map_err(|e| StoreError::io("read", &path, e))?;
        if blob.0.strip_prefix(SCHEME) == Some(blake3::hash(&bytes).to_hex().as_str()) {
            Ok(bytes)
        } else {
            Err(StoreError::Damaged {
                path,
                detail: "its content is not what was stored; attach the file again".to_owned(),
            })
        }
    }

    /// Where the bytes of a blob are.
    pub fn path(&self, blob: &BlobRef) -> Result<PathBuf, StoreError> {
        let hash = blob.0.strip_prefix(SCHEME).unwrap_or_default();
        let hex = hash
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if hash.len() != 64 || !hex {
            // the reference came from a file and must not become a path of its own choosing
            return Err(StoreError::Damaged {
                path: self.folder.to_path_buf(),
                detail: format!("`{}` is not a blob reference", blob.0.escape_debug()),
            });
        }
        Ok(self.path_of(hash))
    }

    fn path_of(&self, hash: &str) -> PathBuf {
        let (fan, _) = hash.split_at_checked(2).unwrap_or((hash, ""));
        self.folder.join(fan).join(hash)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Makes a file young again if it holds these bytes; none if it does not. False if it is so new that its name
/// may not be on the disk yet: another process may be between renaming and syncing.
///
/// Young, because the part that will name it is not written yet and a clean-up may run meanwhile.
fn freshened(path: &Path, bytes: &[u8]) -> Option<bool> {
    let facts = fs::metadata(path).ok()?;
    let same = facts.len() == bytes.len() as u64 && fs::read(path).ok()? == bytes;
    let now = SystemTime::now();
    let touched = same.then(|| File::open(path)?.set_modified(now));
    touched?.ok()?;
    let age = facts
        .modified()
        .ok()
        .and_then(|at| now.duration_since(at).ok());
    Some(age.is_some_and(|age| age > SETTLED))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_kept_once_and_come_back() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let first = blobs.put(b"picture").expect("put");
        let second = blobs.put(b"picture").expect("put");
        assert_eq!(first, second);
        assert_eq!(blobs.get(&first).expect("get"), b"picture");
        let files: usize = fs::read_dir(home.path().join("blobs"))
            .expect("dir")
            .map(|fan| {
                fs::read_dir(fan.expect("entry").path())
                    .expect("dir")
                    .count()
            })
            .sum();
        assert_eq!(files, 1);
    }

    #[test]
    fn damaged_bytes_and_invented_names_are_refused() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let blob = blobs.put(b"picture").expect("put");
        fs::write(blobs.path(&blob).expect("path"), b"picturE").expect("write");
        assert!(matches!(blobs.get(&blob), Err(StoreError::Damaged { .. })));
        for bad in ["blob:../../etc/passwd", "picture", "blob:", ""] {
            assert!(blobs.get(&BlobRef(bad.to_owned())).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_damaged_blob_is_written_again_when_the_same_bytes_come() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let blob = blobs.put(b"picture").expect("put");
        for damaged in [&b""[..], b"picturE", b"pictures"] {
            fs::write(blobs.path(&blob).expect("path"), damaged).expect("write");
            assert!(blobs.get(&blob).is_err());
            blobs.put(b"picture").expect("put");
            assert_eq!(blobs.get(&blob).expect("get"), b"picture");
        }
    }

    #[test]
    fn a_blob_that_is_put_again_is_not_removed_as_old() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let blob = blobs.put(b"picture").expect("put");
        let path = blobs.path(&blob).expect("path");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        File::open(&path)
            .and_then(|f| f.set_modified(long_ago))
            .expect("aged");
        let young = modified(&path) + 1;
        blobs.put(b"picture").expect("put");
        assert!(!blobs.remove_old(&path, young).expect("looked"));
        File::open(&path)
            .and_then(|f| f.set_modified(long_ago))
            .expect("aged");
        assert!(blobs.remove_old(&path, young).expect("removed"));
        assert!(blobs.get(&blob).is_err());
    }
}
