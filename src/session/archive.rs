//! Sessions packed away: the journal zstd-compressed, the view dropped, and back again on opening.
//!
//! Both ways write a whole new file, sync it and rename it before the old one goes, so a crash at
//! any moment leaves one complete journal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::error::StoreError;
use super::image::Image;
use super::meta::Meta;
use super::place::{Claim, Place, sync_folder};

const LEVEL: i32 = 9;

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// Packs a session that nobody has open. Returns the bytes that became free.
pub(super) fn pack(place: &Place) -> Result<u64, StoreError> {
    let _lock = match place.claim()? {
        Claim::Ours(lock) => lock,
        Claim::Taken(pid) => {
            return Err(StoreError::OpenElsewhere { id: place.id, pid });
        }
    };
    let (journal, archive) = (place.journal(), place.archive());
    if !journal.exists() {
        return Ok(0);
    }
    let before = super::gc::size(&place.folder);
    let mut meta = Meta::read_or_mend(place);
    let temporary = archive.with_extension("tmp");
    let packed = (|| {
        let mut encoder = zstd::Encoder::new(create(&temporary)?, LEVEL)?;
        encoder.include_checksum(true)?;
        io::copy(&mut File::open(&journal)?, &mut encoder)?;
        let mut file = encoder.finish()?;
        file.flush()?;
        file.sync_all()?;
        fs::rename(&temporary, &archive)?;
        sync_folder(&place.folder)?;
        fs::remove_file(&journal)
    })();
    packed.map_err(|e| StoreError::io("pack", &journal, e))?;
    drop(fs::remove_dir_all(place.db()));
    if let Some(meta) = &mut meta {
        meta.summary.archived = true;
        meta.in_use = false;
        meta.write(place)?;
    }
    Ok(before.saturating_sub(super::gc::size(&place.folder)))
}

/// Brings a packed journal back. The caller holds the session's lock.
pub(super) fn unpack(place: &Place) -> Result<(), StoreError> {
    let (journal, archive) = (place.journal(), place.archive());
    if !archive.exists() {
        return Ok(());
    }
    if !journal.exists() {
        let temporary = place.folder.join("journal.tmp");
        let unpacked = (|| {
            let mut file = create(&temporary)?;
            zstd::stream::copy_decode(BufReader::new(File::open(&archive)?), &mut file)?;
            file.sync_all()?;
            fs::rename(&temporary, &journal)?;
            sync_folder(&place.folder)
        })();
        if let Err(error) = unpacked {
            drop(fs::remove_file(&temporary));
            return Err(StoreError::io("unpack", &archive, error));
        }
    }
    // a crash between the two leaves both; the journal is the complete one
    fs::remove_file(&archive).map_err(|e| StoreError::io("remove", &archive, e))
}

/// A session read into memory, packed or not, without changing anything on disk.
pub(super) fn image(place: &Place) -> Result<Image, StoreError> {
    if place.journal().exists() {
        return Image::read(&place.journal(), None);
    }
    let archive = place.archive();
    let io = |e| StoreError::io("unpack", &archive, e);
    let mut file = tempfile::NamedTempFile::new().map_err(io)?;
    copy_unpacked(&archive, file.as_file_mut()).map_err(io)?;
    Image::read(file.path(), None)
}

/// The bytes of a journal, packed or not, without changing anything of the session.
pub(super) fn bytes(place: &Place) -> io::Result<File> {
    match File::open(place.journal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut file = tempfile::tempfile()?;
            copy_unpacked(&place.archive(), &mut file)?;
            Ok(file)
        }
        other => other,
    }
}

fn copy_unpacked(archive: &Path, to: &mut File) -> io::Result<()> {
    zstd::stream::copy_decode(BufReader::new(File::open(archive)?), to)
}
