//! Images and documents, kept once by content and shared by the sessions of a project.
//!
//! A blob is a file named by the BLAKE3 hash of its bytes; parts hold only `blob:<hash>`. A blob
//! is synced before its reference is returned, so a part never points to something a power cut
//! could take.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
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
/// A file that was written longer ago than this is on the disk, whoever wrote it.
const SETTLED: Duration = Duration::from_mins(5);

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

    /// Keeps these bytes and returns their reference. Costs one fsync unless they were there, whole: a
    /// damaged copy is written anew.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let hash = blake3::hash(bytes).to_hex();
        let path = self.path_of(&hash);
        let name = BlobRef(format!("{SCHEME}{hash}"));
        let folder = path.parent().unwrap_or(&self.folder);
        let new_folder = !folder.exists();
        make_folder(folder)?;
        // until this returns no clean-up takes it
        let _shared = self.lock(FlockOperation::LockShared);
        let whole = |kept: &[u8]| kept == bytes;
        if fs::read(&path).is_ok_and(|kept| whole(&kept)) && freshen(&path).is_ok() {
            return Ok(name);
        }
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("tmp-{}-{number}", std::process::id()));
        let io = |e| StoreError::io("write", &path, e);
        let written = write_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            drop(fs::remove_file(&temporary));
        }
        written.map_err(io)?;
        sync_folder(folder).map_err(io)?;
        if new_folder {
            sync_folder(&self.folder).map_err(io)?;
            self.folder
                .parent()
                .map_or(Ok(()), sync_folder)
                .map_err(io)?;
        }
        Ok(name)
    }

    /// Holds the store against clean-ups (shared) or against everybody (exclusive); none where the file
    /// system has no locks. May wait for as long as a blob takes to be written.
    fn lock(&self, how: FlockOperation) -> Option<File> {
        let folder = File::open(&self.folder).ok()?;
        flock(&folder, how).ok()?;
        Some(folder)
    }

    /// Lets `remove` have a blob that is still older than `young` allows now that nobody can attach it: it may
    /// have been attached since it was found to be old.
    pub(super) fn remove_old(&self, path: &Path, young: Millis, remove: impl FnOnce()) {
        let _alone = self.lock(FlockOperation::LockExclusive);
        if modified(path) < young {
            remove();
        }
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

/// Makes a blob young again: the part that will name it is not written yet, and a clean-up may run
/// meanwhile. What another process wrote just now need not be on the disk.
fn freshen(path: &Path) -> std::io::Result<()> {
    let file = File::open(path)?;
    let now = SystemTime::now();
    let age = now.duration_since(file.metadata()?.modified()?);
    file.set_modified(now)?;
    if age.is_ok_and(|age| age > SETTLED) {
        return Ok(());
    }
    file.sync_data()?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
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
    fn a_damaged_blob_is_written_again_when_its_bytes_are_attached_again() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let blob = blobs.put(b"picture").expect("put");
        for damage in [b"".as_slice(), b"picturE", b"pictures"] {
            fs::write(blobs.path(&blob).expect("path"), damage).expect("write");
            assert!(blobs.get(&blob).is_err());
            blobs.put(b"picture").expect("put");
            assert_eq!(blobs.get(&blob).expect("get"), b"picture");
        }
    }

    #[test]
    fn what_was_attached_since_it_was_found_old_is_not_removed() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let path = blobs
            .path(&blobs.put(b"picture").expect("put"))
            .expect("path");
        let file = File::open(&path).expect("open");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(9))
            .expect("age");
        let young = 10_000;
        assert!(modified(&path) < young);
        blobs.put(b"picture").expect("attached");
        blobs.remove_old(&path, young, || panic!("it is young again"));
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(9))
            .expect("age");
        let mut removed = false;
        blobs.remove_old(&path, young, || removed = true);
        assert!(removed);
    }
}
