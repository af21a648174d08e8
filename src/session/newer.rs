//! Sessions that a newer dunlin wrote: refused before anything of them is touched, their lock included.
//!
//! Called first by whoever would change a session: opening, renaming, packing, the clean-up. Reading meets
//! the same lines later and refuses them too (`record`). Changes nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::SMALL;
use super::archive;
use super::error::StoreError;
use super::journal::{self, check};
use super::place::Place;
use super::record::{self, FORMAT, Unreadable};

/// Bytes of a large journal in which its first line is looked for.
const HEAD: u64 = 64 << 10;

/// How much of a large journal is looked at. (What is small or packed is looked at whole.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Its first and its last line: a newer dunlin writes every line in its format.
    Ends,
    /// Every line.
    Whole,
}

/// Refuses a session if a line of its journal is of a newer format than ours. A session without a journal has
/// none.
pub(super) fn refuse(place: &Place, look: Look) -> Result<(), StoreError> {
    let journal = place.journal();
    let found = match journal::open_file(&journal) {
        Ok(file) => in_journal(&file, &journal, look)?.map(|format| (journal.clone(), format)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut lines = Versions::default();
            match archive::copy_unpacked(&place.archive(), &mut lines) {
                Ok(_damaged) => lines.newer.map(|format| (place.archive(), format)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(StoreError::io("unpack", &place.archive(), error)),
            }
        }
        Err(error) => return Err(StoreError::io("read the journal", &journal, error)),
    };
    match found {
        None => Ok(()),
        Some((path, found)) => Err(StoreError::Newer {
            path,
            found,
            known: FORMAT,
        }),
    }
}

fn in_journal(file: &File, path: &Path, look: Look) -> Result<Option<u32>, StoreError> {
    let io = |e| StoreError::io("read the journal", path, e);
    let len = file.metadata().map_err(io)?.len();
    let mut lines = Versions::default();
    if look == Look::Whole || len <= SMALL {
        io::copy(&mut &*file, &mut lines).map_err(io)?;
        return Ok(lines.newer);
    }
    let mut head = vec![0; HEAD.min(len) as usize];
    file.read_exact_at(&mut head, 0).map_err(io)?;
    lines.line(head.split(|byte| *byte == b'\n').next().unwrap_or_default());
    Ok(lines.newer.or(journal::tail(file, path)?.newer))
}

/// Looks at the lines of a journal that is written into it.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// The first newer format found.
    pub(super) newer: Option<u32>,
    /// The beginning of a line that is not complete.
    rest: Vec<u8>,
}

impl Versions {
    fn line(&mut self, line: &[u8]) {
        if self.newer.is_some() || is_plainly_known(line) {
            return;
        }
        if let Some(Err(Unreadable::Newer(format))) = check(line).map(record::number) {
            self.newer = Some(format);
        }
    }
}

impl Write for Versions {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut from = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            if self.rest.is_empty() {
                self.line(&bytes[from..newline]);
            } else {
                let mut line = std::mem::take(&mut self.rest);
                line.extend_from_slice(&bytes[from..newline]);
                self.line(&line);
            }
            from = newline + 1;
        }
        // a line that no dunlin wrote must not fill the memory
        if self.rest.len() < journal::MAX_LINE {
            self.rest.extend_from_slice(&bytes[from..]);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// True for a line that begins as we write it, whatever follows: then it need not be read.
fn is_plainly_known(line: &[u8]) -> bool {
    let Some([format, b',']) = line
        .get(9..)
        .and_then(|json| json.strip_prefix(b"{\"v\":"))
        .and_then(|rest| rest.get(..2))
    else {
        return false;
    };
    format.is_ascii_digit() && u32::from(format - b'0') <= FORMAT
}
