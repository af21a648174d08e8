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
use std::time::SystemTime;

use super::error::StoreError;
use super::place::{make_folder, sync_folder};
use crate::protocol::BlobRef;

const SCHEME: &str = "blob:";

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

    /// Keeps these bytes and returns their reference. Costs one fsync unless they were there.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let hash = blake3::hash(bytes).to_hex();
        let path = self.path_of(&hash);
        let name = BlobRef(format!("{SCHEME}{hash}"));
        let whole = |m: &fs::Metadata| m.len() == bytes.len() as u64;
        // young again: the part that will name it is not written yet, and a clean-up may run meanwhile
        let freshened = || File::open(&path)?.set_modified(SystemTime::now());
        if fs::metadata(&path).is_ok_and(|m| whole(&m)) && freshened().is_ok() {
            return Ok(name);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        make_folder(folder)?;
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("tmp-{}-{number}", std::process::id()));
        let io = |e| StoreError::io("write", &path, e);
        let written = write_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            drop(fs::remove_file(&temporary));
        }
        written.map_err(io)?;
        sync_folder(folder).map_err(io)?;
        Ok(name)
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
    fn a_blob_of_the_wrong_length_is_written_again() {
        let home = tempfile::tempdir().expect("temp");
        let blobs = Blobs::new(home.path().join("blobs"));
        let blob = blobs.put(b"picture").expect("put");
        fs::write(blobs.path(&blob).expect("path"), b"").expect("write");
        blobs.put(b"picture").expect("put");
        assert_eq!(blobs.get(&blob).expect("get"), b"picture");
    }
}
