//! The journal: the truth about a session. One line per commit, only ever appended to.
//!
//! A line is the CRC-32 of its JSON in eight hex digits, a space, the JSON (`record`), a newline.
//! The writer thread appends through `Journal`; everyone else (view, export, search, a second
//! process) reads whole, sound lines through `Lines`. A line counts as written once write(2) took
//! all of it; what is left of a broken write is cut away and never read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::StoreError;
use super::record::{self, FORMAT, Record, Unreadable};

/// Longest line, newline included. Tool outputs are cut at the source to far less.
pub(super) const MAX_LINE: usize = 256 << 20;

/// Checksum and space before the JSON.
const PREFIX: usize = 9;

/// Where a journal ends, soundly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Offset after the last sound line.
    pub(super) end: u64,
    /// Number of the last commit; 0 for an empty journal.
    pub(super) n: u64,
    /// Bytes after `end` that are not a sound line.
    pub(super) torn: u64,
    /// True if what is torn holds whole lines, which a broken write cannot leave behind.
    pub(super) damaged: bool,
}

/// Finishes a line in `buffer`, which holds `PREFIX` bytes of room and then the JSON.
fn seal(buffer: &mut Vec<u8>) {
    let mut sum = crc32fast::hash(&buffer[PREFIX..]);
    for place in buffer[..PREFIX - 1].iter_mut().rev() {
        *place = b"0123456789abcdef"[(sum & 15) as usize];
        sum >>= 4;
    }
    buffer.push(b'\n');
}

/// Takes so many bytes, then refuses.
struct Limited<'a> {
    into: &'a mut Vec<u8>,
    most: usize,
}

impl io::Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.into.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.into.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The JSON of a line (without its newline) if the checksum fits.
pub(super) fn check(line: &[u8]) -> Option<&[u8]> {
    let json = line.get(PREFIX..)?;
    if line[PREFIX - 1] != b' ' {
        return None;
    }
    let mut sum = 0_u32;
    for &digit in &line[..PREFIX - 1] {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        sum = (sum << 4) | u32::from(value);
    }
    (crc32fast::hash(json) == sum).then_some(json)
}

fn refuse(path: &Path, why: Unreadable) -> StoreError {
    match why {
        Unreadable::Newer(found) => StoreError::Newer {
            path: path.to_owned(),
            found,
            known: FORMAT,
        },
        Unreadable::Malformed(detail) => StoreError::Damaged {
            path: path.to_owned(),
            detail: format!("a line with a fitting checksum is not a commit ({detail})"),
        },
    }
}

/// Finds the last sound line without reading the whole file, and refuses a newer format.
pub(super) fn tail(file: &File, path: &Path) -> Result<Tail, StoreError> {
    let io = |e| StoreError::io("read the journal", path, e);
    let len = file.metadata().map_err(io)?.len();
    check_first(file, path, len)?;
    let mut window = 64 * 1024_u64;
    loop {
        let start = len.saturating_sub(window);
        let mut bytes = vec![0; (len - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(io)?;
        if let Some((end, n)) = last_sound(&bytes, start == 0, path)? {
            let rest = &bytes[end..];
            return Ok(Tail {
                end: start + end as u64,
                n,
                torn: rest.len() as u64,
                damaged: rest.contains(&b'\n'),
            });
        }
        if start == 0 {
            return Ok(Tail {
                end: 0,
                n: 0,
                torn: len,
                damaged: bytes.contains(&b'\n'),
            });
        }
        window *= 8;
    }
}

/// A newer format shows in the first line already, unless two versions wrote into one journal.
fn check_first(file: &File, path: &Path, len: u64) -> Result<(), StoreError> {
    let mut head = vec![0; len.min(4096) as usize];
    file.read_exact_at(&mut head, 0)
        .map_err(|e| StoreError::io("read the journal", path, e))?;
    let Some(end) = memchr::memchr(b'\n', &head) else {
        return Ok(());
    };
    match check(&head[..end]).map(record::number) {
        Some(Err(why @ Unreadable::Newer(_))) => Err(refuse(path, why)),
        _ => Ok(()),
    }
}

/// The end and number of the last sound line of `bytes`; `whole` says that they begin the file.
fn last_sound(bytes: &[u8], whole: bool, path: &Path) -> Result<Option<(usize, u64)>, StoreError> {
    let mut upto = bytes.len();
    while let Some(newline) = memchr::memrchr(b'\n', &bytes[..upto]) {
        let start = match memchr::memrchr(b'\n', &bytes[..newline]) {
            Some(before) => before + 1,
            None if whole => 0,
            None => return Ok(None),
        };
        if let Some(json) = check(&bytes[start..newline]) {
            let n = record::number(json).map_err(|why| refuse(path, why))?;
            return Ok(Some((newline + 1, n)));
        }
        upto = newline;
    }
    Ok(None)
}

/// The writing end. One per session and process; the session's lock guards it.
#[derive(Debug)]
pub(super) struct Journal {
    file: Arc<File>,
    path: PathBuf,
    end: u64,
    n: u64,
    /// True while bytes after `end` may be left of a broken write.
    unclean: bool,
    buffer: Vec<u8>,
}

impl Journal {
    /// A writer that goes on at `tail`; what is torn is cut away now.
    pub(super) fn new(file: File, path: PathBuf, tail: &Tail) -> Result<Self, StoreError> {
        if tail.torn > 0 {
            file.set_len(tail.end)
                .map_err(|e| StoreError::io("cut the torn end of", &path, e))?;
        }
        Ok(Self {
            file: Arc::new(file),
            path,
            end: tail.end,
            n: tail.n,
            unclean: false,
            buffer: Vec::new(),
        })
    }

    /// The open file, for `fdatasync` on another thread.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Offset after the last sound line.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Writes one commit with one write(2). On an error nothing of it stays.
    pub(super) fn append(&mut self, records: &[Record]) -> Result<(), StoreError> {
        self.begin_line();
        record::encode(self.n + 1, records, &mut self.buffer).map_err(StoreError::Encode)?;
        self.write_line()
    }

    /// The same for a commit whose line is no longer than `most` bytes; false, and nothing was done, if
    /// it is longer.
    pub(super) fn append_short(
        &mut self,
        records: &[Record],
        most: usize,
    ) -> Result<bool, StoreError> {
        self.begin_line();
        let into = &mut self.buffer;
        match record::encode(self.n + 1, records, Limited { into, most }) {
            Ok(()) => self.write_line().map(|()| true),
            Err(error) if error.is_io() => Ok(false),
            Err(error) => Err(StoreError::Encode(error)),
        }
    }

    fn begin_line(&mut self) {
        self.buffer.clear();
        self.buffer.resize(PREFIX, b' ');
    }

    fn write_line(&mut self) -> Result<(), StoreError> {
        seal(&mut self.buffer);
        let bytes = self.buffer.len();
        if bytes > MAX_LINE {
            self.buffer = Vec::new();
            return Err(StoreError::TooLarge {
                bytes,
                limit: MAX_LINE,
            });
        }
        let written = self.write();
        // one huge tool output must not stay in memory for the rest of the session
        if self.buffer.capacity() > 1 << 20 {
            self.buffer = Vec::new();
        }
        written.map_err(|e| StoreError::io("write to the journal", &self.path, e))?;
        self.end += bytes as u64;
        self.n += 1;
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if self.unclean {
            self.file.set_len(self.end)?;
        }
        self.unclean = true;
        if let Err(error) = self.file.write_all_at(&self.buffer, self.end) {
            // the next write tries again if even this fails
            if self.file.set_len(self.end).is_ok() {
                self.unclean = false;
            }
            return Err(error);
        }
        self.unclean = false;
        Ok(())
    }
}

/// What a reader finds at its place.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// A sound line: its JSON, and the offset after it.
    Line {
        /// The JSON of the commit.
        json: &'a [u8],
        /// Offset after the line.
        end: u64,
    },
    /// A whole line whose checksum does not fit.
    Damaged {
        /// Offset after the line.
        end: u64,
    },
}

/// Reads lines from an offset on.
#[derive(Debug)]
pub(super) struct Lines {
    reader: BufReader<io::Take<File>>,
    buffer: Vec<u8>,
    place: u64,
}

impl Lines {
    /// Lines of `path` from `from` up to `to` (the end of the file if none). A line that is not
    /// complete by then is left for later.
    pub(super) fn open(path: &Path, from: u64, to: Option<u64>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let span = to.map_or(u64::MAX, |to| to.saturating_sub(from));
        Ok(Self {
            reader: BufReader::with_capacity(64 * 1024, file.take(span)),
            buffer: Vec::new(),
            place: from,
        })
    }

    /// The next whole line, or none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Found<'_>>> {
        self.buffer.clear();
        let read = (&mut self.reader)
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut self.buffer)?;
        if self.buffer.last() != Some(&b'\n') {
            if read < MAX_LINE {
                return Ok(None);
            }
            return self.skip_endless(read).map(Some);
        }
        self.place += read as u64;
        let end = self.place;
        Ok(Some(match check(&self.buffer[..read - 1]) {
            Some(json) => Found::Line { json, end },
            None => Found::Damaged { end },
        }))
    }

    /// Gets past a line that no dunlin wrote, without holding it in memory.
    fn skip_endless(&mut self, read: usize) -> io::Result<Found<'_>> {
        self.place += read as u64 + self.reader.skip_until(b'\n')? as u64;
        self.buffer = Vec::new();
        Ok(Found::Damaged { end: self.place })
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
