//! The journal: the truth about a session. One line per commit, only ever appended to.
//!
//! A line is the CRC-32 of its JSON in eight hex digits, a space, the JSON (`record`), a newline.
//! The writer thread appends through `Journal`; everyone else (view, export, search, a second
//! process) reads whole, sound lines through `Lines`. A line counts as written once write(2) took
//! all of it; what is left of a broken write is cut away and never read.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::StoreError;
use super::record::{self, Record, Unreadable};

/// Longest line, newline included. Tool outputs are cut at the source to far less.
pub(super) const MAX_LINE: usize = 256 << 20;

/// Checksum and space before the JSON.
const PREFIX: usize = 9;

/// Where a journal ends, soundly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Offset after the last sound line.
    pub(super) end: u64,
    /// Bytes after `end` that are not a sound line.
    pub(super) torn: u64,
    /// True if what is torn holds whole lines, which a broken write cannot leave behind.
    pub(super) damaged: bool,
    /// The format of the last sound line if a newer dunlin wrote it.
    pub(super) newer: Option<u32>,
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

/// The JSON of a line (without its newline) if the checksum fits. What an editor or a copying tool does to
/// every line (a carriage return at its end, capitals in the sum) can mean nothing else and is passed over.
pub(super) fn check(line: &[u8]) -> Option<&[u8]> {
    let json = line.get(PREFIX..)?;
    let json = json.strip_suffix(b"\r").unwrap_or(json);
    if line[PREFIX - 1] != b' ' {
        return None;
    }
    let mut sum = 0_u32;
    for &digit in &line[..PREFIX - 1] {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        sum = (sum << 4) | u32::from(value);
    }
    (crc32fast::hash(json) == sum).then_some(json)
}

/// Opens a journal or its packed form for reading. Anything but a file is refused: a pipe in its place would
/// never answer.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        ))
    }
}

/// Finds the last sound line without reading the whole file.
pub(super) fn tail(file: &File, path: &Path) -> Result<Tail, StoreError> {
    let io = |e| StoreError::io("read the journal", path, e);
    let len = file.metadata().map_err(io)?.len();
    let mut window = 64 * 1024_u64;
    loop {
        let start = len.saturating_sub(window);
        let mut bytes = vec![0; (len - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(io)?;
        if let Some((end, newer)) = last_sound(&bytes, start == 0) {
            let rest = &bytes[end..];
            return Ok(Tail {
                end: start + end as u64,
                torn: rest.len() as u64,
                damaged: rest.contains(&b'\n') && !rest.trim_ascii().is_empty(),
                newer,
            });
        }
        if start == 0 {
            return Ok(Tail {
                end: 0,
                torn: len,
                damaged: bytes.contains(&b'\n'),
                newer: None,
            });
        }
        window *= 8;
    }
}

/// The end of the last sound line of `bytes`, and its format if that is newer than ours; `whole` says that
/// they begin the file.
fn last_sound(bytes: &[u8], whole: bool) -> Option<(usize, Option<u32>)> {
    let mut upto = bytes.len();
    while let Some(newline) = memchr::memrchr(b'\n', &bytes[..upto]) {
        let start = match memchr::memrchr(b'\n', &bytes[..newline]) {
            Some(before) => before + 1,
            None if whole => 0,
            None => return None,
        };
        match check(&bytes[start..newline]).map(record::number) {
            Some(Ok(_)) => return Some((newline + 1, None)),
            Some(Err(Unreadable::Newer(format))) => return Some((newline + 1, Some(format))),
            // a checksum that fits what is no commit is no better than one that does not
            Some(Err(Unreadable::Malformed)) | None => {}
        }
        upto = newline;
    }
    None
}

/// The writing end. One per session and process; the session's lock guards it.
#[derive(Debug)]
pub(super) struct Journal {
    file: Arc<File>,
    path: PathBuf,
    end: u64,
    /// Number of the last commit.
    n: u64,
    /// True while bytes after `end` may be left of a broken write.
    unclean: bool,
    buffer: Vec<u8>,
}

impl Journal {
    /// A writer that goes on at `tail`. Nothing is changed before `go_on_after`, which a journal that holds
    /// anything must be given before the first commit.
    pub(super) fn new(file: File, path: PathBuf, tail: &Tail) -> Self {
        Self {
            file: Arc::new(file),
            path,
            end: tail.end,
            n: 0,
            unclean: tail.torn > 0,
            buffer: Vec::new(),
        }
    }

    /// Numbers go on after `n`, the highest that whoever reads this journal has accepted: the last line's
    /// may be lower, and readers pass over what they believe to have. What is torn is cut away now.
    pub(super) fn go_on_after(&mut self, n: u64) -> Result<(), StoreError> {
        self.n = n;
        self.clean()
            .map_err(|e| StoreError::io("cut the torn end of", &self.path, e))
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
        record::encode(self.next(), records, &mut self.buffer).map_err(StoreError::Encode)?;
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
        let n = self.next();
        let into = &mut self.buffer;
        match record::encode(n, records, Limited { into, most }) {
            Ok(()) => self.write_line().map(|()| true),
            Err(error) if error.is_io() => Ok(false),
            Err(error) => Err(StoreError::Encode(error)),
        }
    }

    const fn next(&self) -> u64 {
        self.n.saturating_add(1)
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
        self.n = self.next();
        Ok(())
    }

    fn clean(&mut self) -> io::Result<()> {
        if self.unclean {
            self.file.set_len(self.end)?;
            self.unclean = false;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.clean()?;
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
        /// Offset of the line.
        start: u64,
        /// Offset after the line.
        end: u64,
    },
    /// A whole line whose checksum does not fit.
    Damaged {
        /// Offset after the line.
        end: u64,
    },
}

/// Reads a file from an offset on, whoever else reads it.
#[derive(Debug)]
struct At {
    file: Arc<File>,
    place: u64,
}

impl Read for At {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.place)?;
        self.place += read as u64;
        Ok(read)
    }
}

/// Reads lines from an offset on.
#[derive(Debug)]
pub(super) struct Lines {
    file: Arc<File>,
    reader: BufReader<io::Take<At>>,
    buffer: Vec<u8>,
    place: u64,
}

impl Lines {
    /// Lines of `path` from `from` up to `to` (the end of the file if none). A line that is not
    /// complete by then is left for later.
    pub(super) fn open(path: &Path, from: u64, to: Option<u64>) -> io::Result<Self> {
        Ok(Self::of(Arc::new(open_file(path)?), from, to))
    }

    /// The same of a file that is open.
    pub(super) fn of(file: Arc<File>, from: u64, to: Option<u64>) -> Self {
        let span = to.map_or(u64::MAX, |to| to.saturating_sub(from));
        let at = At {
            file: Arc::clone(&file),
            place: from,
        };
        Self {
            file,
            reader: BufReader::with_capacity(64 * 1024, at.take(span)),
            buffer: Vec::new(),
            place: from,
        }
    }

    /// The file that is read.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// The next whole line, or none at the end. Empty lines are passed over.
    pub(super) fn next(&mut self) -> io::Result<Option<Found<'_>>> {
        let read = loop {
            self.buffer.clear();
            let read = (&mut self.reader)
                .take(MAX_LINE as u64)
                .read_until(b'\n', &mut self.buffer)?;
            let is_blank = self.buffer.trim_ascii().is_empty();
            if !is_blank || self.buffer.last() != Some(&b'\n') {
                break read;
            }
            self.place += read as u64;
        };
        if self.buffer.last() != Some(&b'\n') {
            if read < MAX_LINE {
                return Ok(None);
            }
            return self.skip_endless(read).map(Some);
        }
        let start = self.place;
        self.place += read as u64;
        let end = self.place;
        Ok(Some(match check(&self.buffer[..read - 1]) {
            Some(json) => Found::Line { json, start, end },
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
