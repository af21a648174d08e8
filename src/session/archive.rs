//! Sessions packed away: the journal zstd-compressed, the view dropped, and back again on opening.
//!
//! Both ways write a whole new file, sync it and rename it before the old one goes, so a crash at
//! any moment leaves one complete journal. Packed are frames of whole lines that stand for themselves, so
//! that a damaged place costs no more than its frame.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::disk::size;
use super::error::StoreError;
use super::image::Image;
use super::journal::{Lines, open_file};
use super::lost;
use super::meta::Meta;
use super::newer::{self, Look};
use super::place::{Claim, Place, sync_folder};

const LEVEL: i32 = 9;
/// Bytes of lines that are packed together.
const FRAME: usize = 1 << 20;
/// How every frame begins.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

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
    newer::refuse(place, Look::Whole)?;
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
    let before = size(&place.folder);
    let mut meta = Meta::read_or_mend(place);
    let temporary = archive.with_extension("tmp");
    let packed = (|| {
        let mut file = create(&temporary)?;
        compress(&open_file(&journal)?, &mut file)?;
        file.sync_all()?;
        place.step();
        fs::rename(&temporary, &archive)?;
        place.step();
        sync_folder(&place.folder)?;
        fs::remove_file(&journal)
    })();
    if let Err(error) = packed {
        // half a file must not take the last room of a full disk
        drop(fs::remove_file(&temporary));
        return Err(StoreError::io("pack", &journal, error));
    }
    place.step();
    drop(fs::remove_dir_all(place.db()));
    place.step();
    if let Some(meta) = &mut meta {
        meta.summary.archived = true;
        meta.in_use = false;
        meta.write(place)?;
    }
    Ok(before.saturating_sub(size(&place.folder)))
}

/// Bytes that packing would free: everything is done but the writing.
pub(super) fn would_free(place: &Place) -> Result<u64, StoreError> {
    let journal = place.journal();
    newer::refuse(place, Look::Whole)?;
    let mut packed = Counted::default();
    let done = open_file(&journal).and_then(|file| compress(&file, &mut packed));
    done.map_err(|e| StoreError::io("read", &journal, e))?;
    // as file systems round
    let packed = packed.0.next_multiple_of(4_096);
    Ok((size(&place.db()) + size(&journal)).saturating_sub(packed))
}

/// Bytes that were written nowhere.
#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes whole lines as frames of about `FRAME` bytes each: what is damaged later costs one of them.
fn compress(journal: &File, to: &mut impl Write) -> io::Result<()> {
    let mut reader = BufReader::new(journal);
    let mut lines = Vec::with_capacity(FRAME);
    loop {
        let read = reader.read_until(b'\n', &mut lines)?;
        if lines.len() >= FRAME || (read == 0 && !lines.is_empty()) {
            let mut encoder = zstd::Encoder::new(&mut *to, LEVEL)?;
            encoder.include_checksum(true)?;
            encoder.write_all(&lines)?;
            encoder.finish()?;
            lines.clear();
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// Brings a packed journal back. The caller holds the session's lock. What was damaged meanwhile is left
/// out, and told; the packed file is then kept.
pub(super) fn unpack(place: &Place, notices: &mut Vec<String>) -> Result<(), StoreError> {
    let (journal, archive) = (place.journal(), place.archive());
    if !archive.exists() {
        return Ok(());
    }
    let mut damaged = 0;
    if !journal.exists() {
        let temporary = place.folder.join("journal.tmp");
        let unpacked = (|| {
            let mut file = create(&temporary)?;
            damaged = copy_unpacked(&archive, &mut file)?;
            file.sync_all()?;
            place.step();
            fs::rename(&temporary, &journal)?;
            place.step();
            sync_folder(&place.folder)
        })();
        if let Err(error) = unpacked {
            drop(fs::remove_file(&temporary));
            return Err(StoreError::io("unpack", &archive, error));
        }
    }
    if damaged > 0 {
        let kept = place.unused("journal.zst.damaged");
        fs::rename(&archive, &kept).map_err(|e| StoreError::io("set aside", &archive, e))?;
        notices.push(format!(
            "The packed journal of this session is damaged in {damaged} place(s); what could be read was \
             unpacked, and the packed file is kept in {}.",
            kept.display()
        ));
        return Ok(());
    }
    // a crash between the two leaves both; the journal is the complete one
    fs::remove_file(&archive).map_err(|e| StoreError::io("remove", &archive, e))?;
    place.step();
    Ok(())
}

/// A session read into memory, packed or not, without changing anything on disk.
pub(super) fn image(place: &Place) -> Result<Image, StoreError> {
    let mut image = if place.journal().exists() {
        Image::read(place.id, &place.journal(), None)?
    } else {
        let archive = place.archive();
        let io = |e| StoreError::io("unpack", &archive, e);
        // without a name: nothing of what was said stays behind, however this process ends
        let mut file = tempfile::tempfile().map_err(io)?;
        let damaged = copy_unpacked(&archive, &mut file).map_err(io)?;
        let mut image = Image::of(place.id);
        image.read_on(Lines::of(Arc::new(file), 0, None), &archive)?;
        image.damaged += damaged;
        image
    };
    lost::heal(&mut image, place);
    Ok(image)
}

/// The bytes of a journal, packed or not, without changing anything of the session.
pub(super) fn bytes(place: &Place) -> io::Result<File> {
    match open_file(&place.journal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut file = tempfile::tempfile()?;
            copy_unpacked(&place.archive(), &mut file)?;
            Ok(file)
        }
        other => other,
    }
}

/// Unpacks frame by frame; gives the number of damaged ones. Of those comes what stands before the damage:
/// lines have checksums of their own.
pub(super) fn copy_unpacked(archive: &Path, to: &mut impl Write) -> io::Result<u64> {
    let mut packed = Vec::new();
    open_file(archive)?.read_to_end(&mut packed)?;
    let magic = Finder::new(&MAGIC);
    let (mut rest, mut damaged) = (packed.as_slice(), 0);
    while !rest.is_empty() {
        let mut decoder = zstd::Decoder::with_buffer(rest)?.single_frame();
        match copy_frame(&mut decoder, to) {
            Ok(()) => rest = decoder.finish(),
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(_damage) => {
                damaged += 1;
                // a line that broke off must not swallow the next one
                to.write_all(b"\n")?;
                let after = rest.get(1..).unwrap_or_default();
                let next = magic.find(after).unwrap_or(after.len());
                rest = after.get(next..).unwrap_or_default();
            }
        }
    }
    Ok(damaged)
}

/// `io::copy` would give up what it has read when the next bytes are damaged.
fn copy_frame(decoder: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut bytes = vec![0; 128 << 10];
    loop {
        match decoder.read(&mut bytes)? {
            0 => return Ok(()),
            n => to.write_all(&bytes[..n])?,
        }
    }
}
