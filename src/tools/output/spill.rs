//! A writer that takes output without end and keeps its memory bounded.
//!
//! Small outputs stay in memory and never touch the disk. A larger one goes to a file as it comes;
//! only its beginning and its end stay in memory, as much as the plan may show. Used by `OutputStore`,
//! by `bash` and by its background jobs. It blocks for disk writes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Fitted;
use super::cut::{Plan, at_char};
use crate::config::private;
use crate::protocol::OutputRef;

/// Free space that saving an output leaves on the disk, in bytes.
const KEEP_FREE: u64 = 1 << 30;

/// Free space is looked at again after so many bytes.
const LOOK_EVERY: u64 = 64 << 20;

/// See the module's words.
#[derive(Debug)]
pub struct Spill {
    plan: Plan,
    tool: String,
    dir: PathBuf,
    /// Everything, until it is known to be too much; then the beginning.
    head: Vec<u8>,
    /// Bytes of the last line in `head`, where lines are cut.
    head_line: usize,
    tail: Ring,
    total: u64,
    line_ends: u64,
    last: Option<u8>,
    spilled: bool,
    saved: Option<Saved>,
    /// Why the rest of the output is not in the file.
    stopped: Option<String>,
}

/// The file of a full output.
#[derive(Debug)]
struct Saved {
    file: File,
    path: PathBuf,
    bytes: u64,
    look_at: u64,
}

impl Spill {
    pub(super) fn new(plan: Plan, tool: &str, dir: &Path) -> Self {
        Self {
            plan,
            tool: tool.to_owned(),
            dir: dir.to_owned(),
            head: Vec::new(),
            head_line: 0,
            tail: Ring::new(plan.tail_room()),
            total: 0,
            line_ends: 0,
            last: None,
            spilled: false,
            saved: None,
            stopped: None,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.total += bytes.len() as u64;
        self.line_ends += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.last = Some(*last);
        if self.spilled {
            self.save(bytes);
            self.tail.push(bytes);
            self.keep(bytes);
            return;
        }
        let room = self.plan.head_room().saturating_add(self.plan.tail_room());
        if self.head.len() + bytes.len() <= room {
            self.head.extend_from_slice(bytes);
            return;
        }
        // from here on the output is too long for certain
        let held = std::mem::take(&mut self.head);
        self.spilled = true;
        self.save(&held);
        self.save(bytes);
        if bytes.len() < self.plan.tail_room() {
            self.tail.push(&held);
        }
        self.tail.push(bytes);
        self.keep(&held);
        self.keep(bytes);
    }

    /// Adds to the beginning what of it may be shown; long lines only as far as that.
    fn keep(&mut self, bytes: &[u8]) {
        let room = self.plan.head_room();
        let Some(width) = self.plan.line_room() else {
            let free = room.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..free]);
            return;
        };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.head.len() >= room {
                return;
            }
            let body = piece.strip_suffix(b"\n").unwrap_or(piece);
            let free = width.saturating_sub(self.head_line).min(body.len());
            self.head.extend_from_slice(&body[..free]);
            self.head_line += free;
            if body.len() < piece.len() {
                self.head.push(b'\n');
                self.head_line = 0;
            }
        }
    }

    /// Creates the file now, so that it can be read while the output grows (background jobs).
    pub fn save_early(&mut self) -> Option<&Path> {
        if !self.spilled {
            let held = std::mem::take(&mut self.head);
            self.spilled = true;
            self.save(&held);
            self.tail.push(&held);
            self.keep(&held);
        }
        self.path()
    }

    /// The file, if there is one by now.
    pub fn path(&self) -> Option<&Path> {
        self.saved.as_ref().map(|saved| saved.path.as_path())
    }

    /// True if pushing will write to the disk: then it belongs on a blocking thread.
    pub const fn writes_to_disk(&self) -> bool {
        self.spilled
    }

    /// Bytes held in memory.
    pub const fn held(&self) -> usize {
        self.head.capacity() + self.tail.bytes.capacity()
    }

    /// Bytes taken so far.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Lines taken so far.
    pub const fn lines(&self) -> u64 {
        let open = matches!(self.last, Some(byte) if byte != b'\n');
        self.line_ends + open as u64
    }

    /// The last lines so far, for a live view: at most so many lines and bytes.
    pub fn last_lines(&self, lines: usize, bytes: usize) -> String {
        let held = if self.spilled && self.plan.tail_room() > 0 {
            self.tail.last(bytes)
        } else {
            self.head[self.head.len().saturating_sub(bytes)..].to_vec()
        };
        let body = held.strip_suffix(b"\n").unwrap_or(&held);
        let from = memchr::memrchr_iter(b'\n', body)
            .nth(lines.saturating_sub(1))
            .map_or(0, |at| at + 1);
        String::from_utf8_lossy(&body[from..])
            .trim_start_matches('\u{fffd}')
            .to_owned()
    }

    /// The end of the output: the text for the model, with the way to the rest if it was cut.
    pub fn finish(mut self) -> Fitted {
        self.view()
    }

    /// The same for an output that may still grow.
    pub fn view(&mut self) -> Fitted {
        if let Some(whole) = self.whole()
            && self.plan.fits(&whole)
        {
            return Fitted {
                text: lossy(whole),
                full: self.reference(),
                omitted: 0,
            };
        }
        self.save_early();
        let head = clip_lines(&self.head, self.plan);
        let full = match (self.reference(), &self.stopped) {
            (Some(full), why) => Ok((full, why.clone())),
            (None, why) => Err(why.clone().unwrap_or_default()),
        };
        compose(
            self.plan,
            (&head, &self.tail.last(usize::MAX)),
            self.total,
            full,
        )
    }

    /// Everything, if memory still holds it.
    fn whole(&mut self) -> Option<Vec<u8>> {
        if !self.spilled {
            return Some(self.head.clone());
        }
        let after = (self.total as usize).checked_sub(self.head.len())?;
        let end = self.tail.last(after);
        (end.len() == after).then(|| {
            let mut all = self.head.clone();
            all.extend_from_slice(&end);
            all
        })
    }

    fn reference(&self) -> Option<OutputRef> {
        let saved = self.saved.as_ref()?;
        Some(OutputRef {
            path: saved.path.to_string_lossy().into_owned(),
            bytes: saved.bytes,
            lines: self.lines(),
        })
    }

    fn save(&mut self, bytes: &[u8]) {
        if self.stopped.is_some() {
            return;
        }
        if let Err(why) = self.try_save(bytes) {
            tracing::warn!(tool = %self.tool, %why, "a full output is not saved");
            self.stopped = Some(why);
        }
    }

    fn try_save(&mut self, bytes: &[u8]) -> Result<(), String> {
        let saved = match &mut self.saved {
            Some(saved) => saved,
            none => none.insert(create(&self.dir, &self.tool)?),
        };
        if saved.bytes >= saved.look_at {
            saved.look_at = saved.bytes + LOOK_EVERY;
            if free_space(&self.dir).is_some_and(|free| free < KEEP_FREE) {
                return Err("the disk is nearly full".to_owned());
            }
        }
        saved
            .file
            .write_all(bytes)
            .map_err(|error| error.to_string())?;
        saved.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Cuts the ends of an output of `total` bytes that does not fit and says where the rest is: the file
/// and why it is not complete, or why there is no file.
pub(super) fn compose(
    plan: Plan,
    ends: (&[u8], &[u8]),
    total: u64,
    full: Result<(OutputRef, Option<String>), String>,
) -> Fitted {
    let head = &ends.0[..plan.head_cut(ends.0)];
    let head = head.strip_suffix(b"\r").unwrap_or(head);
    let tail = &ends.1[plan.tail_cut(ends.1)..];
    let tail = tail.strip_suffix(b"\n").unwrap_or(tail);
    let omitted = total.saturating_sub((head.len() + tail.len()) as u64);
    let mut text = String::with_capacity(head.len() + tail.len() + 400);
    text.push_str(&String::from_utf8_lossy(head));
    _ = write!(text, "\n\n...{omitted} bytes truncated...\n\n");
    if !tail.is_empty() {
        text.push_str(&String::from_utf8_lossy(tail));
        text.push_str("\n\n");
    }
    let full = match full {
        Ok((full, stopped)) => {
            _ = writeln!(text, "Full output saved to: {}", full.path);
            if let Some(why) = stopped {
                _ = writeln!(text, "(only its first {} bytes: {why})", full.bytes);
            }
            text.push_str("Use grep to search it, or read with offset/limit to view sections.");
            Some(full)
        }
        Err(why) => {
            _ = write!(
                text,
                "The full output could not be saved ({why}). Run it again with less output."
            );
            None
        }
    };
    Fitted {
        text,
        full,
        omitted,
    }
}

/// The text with each line cut to the plan's width.
fn clip_lines(text: &[u8], plan: Plan) -> std::borrow::Cow<'_, [u8]> {
    let Plan::Head { line_chars, .. } = plan else {
        return text.into();
    };
    if line_chars == usize::MAX {
        return text.into();
    }
    let mut clipped = Vec::with_capacity(text.len());
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            clipped.push(b'\n');
        }
        clipped.extend_from_slice(&line[..at_char(line, line_chars)]);
    }
    clipped.into()
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn create(dir: &Path, tool: &str) -> Result<Saved, String> {
    let name: String = tool
        .chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() {
                char
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    // version 7: names sort by time, which is all that anybody needs of them
    let path = dir.join(format!("{name}-{}.txt", uuid::Uuid::now_v7().simple()));
    let open = || {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)
    };
    let file = match open() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            private::make_folder(dir).and_then(|()| open())
        }
        other => other,
    };
    let file = file.map_err(|error| format!("{} ({error})", path.display()))?;
    Ok(Saved {
        file,
        path,
        bytes: 0,
        look_at: LOOK_EVERY,
    })
}

#[cfg(unix)]
fn free_space(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_dir: &Path) -> Option<u64> {
    None
}

/// The last bytes of a stream.
#[derive(Debug)]
struct Ring {
    room: usize,
    bytes: Vec<u8>,
    /// Where the oldest byte is, once full.
    at: usize,
}

impl Ring {
    const fn new(room: usize) -> Self {
        Self {
            room,
            bytes: Vec::new(),
            at: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.room == 0 {
            return;
        }
        let bytes = &bytes[bytes.len().saturating_sub(self.room)..];
        let free = (self.room - self.bytes.len()).min(bytes.len());
        if free > 0 && self.bytes.len() + free > self.bytes.capacity() {
            // doubling, but never beyond the room
            let more = self.bytes.len().max(free).min(self.room - self.bytes.len());
            self.bytes.reserve_exact(more.max(free));
        }
        self.bytes.extend_from_slice(&bytes[..free]);
        let bytes = &bytes[free..];
        let first = bytes.len().min(self.room - self.at);
        self.bytes[self.at..self.at + first].copy_from_slice(&bytes[..first]);
        let rest = bytes.len() - first;
        self.bytes[..rest].copy_from_slice(&bytes[first..]);
        if !bytes.is_empty() {
            self.at = (self.at + bytes.len()) % self.room;
        }
    }

    /// The newest bytes, at most `most`, oldest first.
    fn last(&self, most: usize) -> Vec<u8> {
        let (new, old) = self.bytes.split_at(self.at);
        let mut all = Vec::with_capacity(self.bytes.len());
        all.extend_from_slice(old);
        all.extend_from_slice(new);
        all.drain(..all.len().saturating_sub(most));
        all
    }
}
